"""Made-up small domains and stacks of terms over them."""

from itertools import combinations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import gaugedp as gd

NAMES = ("a", "b", "c")
PATIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
OUTSIDE = st.sampled_from(["drop", "other"])


def examples(count: int) -> settings:
    """So many made-up inputs, on however busy a machine."""
    return settings(max_examples=count, deadline=None, suppress_health_check=PATIENT)


@st.composite
def attributes(draw):
    """An attribute with one to four cells."""
    outside = draw(OUTSIDE)
    count = draw(st.integers(1, 3))
    return draw(
        st.sampled_from(
            [
                gd.categories(["x", "y", "z"][:count], outside),
                gd.integers(5, 4 + count, outside),
                gd.bins(0, 10 * count, 10, outside=outside),
            ]
        )
    )


@st.composite
def columns(draw):
    """A bounded column with few steps, on either side of 0, missing values dropped or replaced."""
    step = draw(st.sampled_from([1, 0.5, 3]))
    low = draw(st.integers(-4, 3)) * step
    high = low + draw(st.integers(1, 5)) * step
    missing = draw(st.sampled_from(["drop", low, high]))
    return gd.bounded(low, high, step, missing)


@st.composite
def domains(draw):
    """One to three attributes; two bounded columns."""
    names = NAMES[: draw(st.integers(1, 3))]
    facts = {name: draw(attributes()) for name in names}
    return gd.Domain.of(**facts, v=draw(columns()), w=draw(columns()))


def subsets(domain):
    """Every set of attributes, the empty one among them."""
    names = tuple(domain.attributes)
    return [part for size in range(len(names) + 1) for part in combinations(names, size)]


def marginal_terms(domain):
    """Every marginal."""
    return [gd.marginals(domain, part) for part in subsets(domain)]


def running_terms(domain):
    """Prefix sums and ranges of every attribute."""
    return [make(domain, name) for name in domain.attributes for make in (gd.prefix_sums, gd.ranges)]


def measure_terms(domain):
    """Sums, means and standard deviations of both columns, by everything."""
    makers = (gd.bounded_sums, gd.bounded_means, gd.bounded_deviations)
    return [make(domain, column, by) for make in makers for column in domain.columns for by in subsets(domain)]


@st.composite
def matrix_terms(draw, domain):
    """A matrix of small integers or tenths over the joint table, not zero."""
    entry = st.integers(-3, 3) if draw(st.booleans()) else st.integers(-30, 30).map(lambda k: k / 10)
    n_cells = domain.n_cells()
    rows = draw(st.lists(st.lists(entry, min_size=n_cells, max_size=n_cells), min_size=1, max_size=3))
    rows[0][0] = rows[0][0] or 1
    return gd.workload(rows, domain)


@st.composite
def stacks(draw):
    """A domain and up to four different terms of any kind."""
    domain = draw(domains())
    pool = [*marginal_terms(domain), *running_terms(domain), *measure_terms(domain), draw(matrix_terms(domain))]
    terms = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique_by=lambda term: term.text))
    return gd.stack(*terms)


@st.composite
def exact_stacks(draw):
    """Questions whose radii are documented as exact: prefix sums or ranges alone, or a stack of marginals."""
    domain = draw(domains())
    if draw(st.booleans()):
        return draw(st.sampled_from(running_terms(domain)))
    pool = marginal_terms(domain)
    return gd.stack(*draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique_by=lambda term: term.text)))
