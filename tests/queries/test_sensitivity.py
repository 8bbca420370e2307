"""Sensitivity bodies against brute force: every row there is, every pair of neighbours."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.mechanisms.body_limits import is_histogram
from gaugedp.queries.maps import Prefix, Ranges
from tests.queries.brute import differences, longest
from tests.queries.strategies import domains, exact_stacks, examples, measure_terms, stacks

POWERS = (1, 2, np.inf)
ROW = gd.PrivacyUnit()
REPLACED = gd.PrivacyUnit(neighbours="replace")
PERSON = gd.PrivacyUnit("pid", max_rows=3)
PERSON_REPLACED = gd.PrivacyUnit("pid", "replace", 3)
UNITS = [ROW, REPLACED, gd.PrivacyUnit("pid"), gd.PrivacyUnit("pid", "replace")]
QUICK = examples(40)


def check_holds(query, unit) -> None:
    body, apart = query.sensitivity(unit), differences(query, unit)
    assert body.ambient_dim == len(query.steps) == apart.shape[1]
    directions = np.random.default_rng(5).normal(size=(8, len(query.steps)))
    assert (body.support(directions) >= (directions @ apart.T).max(axis=1) - 1e-6 * body.radius(np.inf)).all()
    for p in POWERS:
        assert body.radius(p) >= longest(apart, p) * (1 - 1e-12)
        assert body.radius(p, query.errors.reach) >= longest(apart, p, query.errors.reach) * (1 - 1e-12)


@QUICK
@given(stacks(), st.sampled_from(UNITS))
def test_no_neighbours_differ_by_more_than_the_body(query, unit) -> None:
    check_holds(query, unit)


@QUICK
@given(stacks(), st.sampled_from(UNITS))
def test_columns_are_written_out_as_they_are_and_a_histogram_is_known_by_them(query, unit) -> None:
    body = query.sensitivity(unit)
    one_by_one = np.stack([body.generators.column(i) for i in range(body.generators.n_generators)], axis=1)
    columns = body.columns()
    assert columns.tobytes() == one_by_one.astype(float).tobytes()
    is_permutation = len(set(columns.shape)) == 1 and sorted(columns.T.tolist()) == sorted(
        np.eye(len(columns)).tolist()
    )
    assert is_histogram(body) == (is_permutation and body.generators.counting)


@examples(20)
@given(stacks(), st.sampled_from([PERSON, PERSON_REPLACED]))
def test_no_persons_differ_by_more_than_the_body(query, unit) -> None:
    check_holds(query, unit)


@pytest.mark.parametrize("unit", [PERSON, PERSON_REPLACED])
def test_many_rows_of_a_person_in_a_box(unit) -> None:
    domain = gd.Domain.of(a=gd.bounded(0, 1, missing=0), b=gd.bounded(-1, 1, missing=0))
    check_holds(gd.query(domain, "sum(a); sum(b)"), unit)


@pytest.mark.parametrize("text", ["sum(z); sum(v)", "sum(z); count", "sum(z) by a; sum(v) by a"])
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_a_row_without_a_value_adds_nothing_beyond_its_bounds(text: str, unit) -> None:
    domain = gd.Domain.of(a=gd.integers(1, 2), z=gd.bounded(2, 4), v=gd.bounded(-4, -2))
    check_holds(gd.query(domain, text), unit)


@QUICK
@given(exact_stacks(), st.sampled_from(UNITS))
def test_the_radii_of_counts_are_exact(query, unit) -> None:
    body, apart = query.sensitivity(unit), differences(query, unit)
    for p in POWERS:
        assert body.radius(p) == pytest.approx(longest(apart, p), rel=1e-12)


@QUICK
@given(domains(), st.data(), st.sampled_from(UNITS))
def test_the_radii_of_one_sum_are_exact(domain, data, unit) -> None:
    query = data.draw(st.sampled_from([term for term in measure_terms(domain) if term.text.startswith("sum")]))
    body, apart = query.sensitivity(unit), differences(query, unit)
    for p in POWERS:
        assert body.radius(p) == pytest.approx(longest(apart, p), rel=1e-12)


@QUICK
@given(exact_stacks(), st.sampled_from(UNITS))
def test_the_support_of_counts_is_attained_by_neighbours(query, unit) -> None:
    body, apart = query.sensitivity(unit), differences(query, unit)
    directions = np.random.default_rng(6).normal(size=(5, len(query.steps)))
    assert np.allclose(body.support(directions), (directions @ apart.T).max(axis=1), rtol=1e-9, atol=1e-12)
    ends = body.argmax(directions)
    assert np.allclose((directions * ends).sum(axis=1), body.support(directions), rtol=1e-9, atol=1e-12)


@examples(25)
@given(exact_stacks(), st.sampled_from(UNITS))
def test_the_rank_is_that_of_the_differences(query, unit) -> None:
    apart = differences(query, unit)
    assert query.sensitivity(unit).rank == np.linalg.matrix_rank(apart)


@examples(15)
@given(stacks(), st.sampled_from([ROW, REPLACED]))
def test_every_difference_has_gauge_at_most_one(query, unit) -> None:
    assume(query.sensitivity(unit).generators.n_generators <= 150)
    apart = differences(query, unit)[::7][:20]
    assume(np.abs(apart).max(initial=0) < 1e6)  # steps of a matrix are beyond the tolerance of a linear program
    assert (query.sensitivity(unit).gauge(apart) <= 1 + 1e-6).all()


@examples(25)
@given(stacks(), st.sampled_from(["add_remove", "replace"]))
def test_three_rows_a_person_make_exactly_three_times_the_body(query, neighbours) -> None:
    one = query.sensitivity(gd.PrivacyUnit("pid", neighbours))
    three = query.sensitivity(gd.PrivacyUnit("pid", neighbours, 3))
    directions = np.random.default_rng(4).normal(size=(4, len(query.steps)))
    assert np.allclose(three.support(directions), 3 * one.support(directions), rtol=1e-12)
    for p in POWERS:
        assert three.radius(p) == pytest.approx(3 * one.radius(p), rel=1e-12)
    assert three.coefficient_radius == 3 * one.coefficient_radius


def test_a_one_way_marginal_in_figures() -> None:
    query = gd.marginals(gd.Domain.of(a=["x", "y", "z"]), "a")
    added, replaced = query.sensitivity(ROW), query.sensitivity(REPLACED)
    assert [added.radius(p) for p in POWERS] == [1, 1, 1]
    assert [replaced.radius(p) for p in POWERS] == [2, pytest.approx(2**0.5, rel=1e-15), 1]
    assert (added.coefficient_radius, replaced.coefficient_radius) == (1, 2)


def test_other_figures_by_hand() -> None:
    domain = gd.Domain.of(a=gd.integers(1, 8), b=["x", "y"], v=gd.bounded(-3, 10), z=gd.bounded(2, 5))
    figures = {
        "a; b; a*b": ([3, 3**0.5, 1], [6, 6**0.5, 1]),
        "prefix(a)": ([8, 8**0.5, 1], [8, 8**0.5, 1]),  # replace: the zero vector against the first cell
        "ranges(a)": ([20, 20**0.5, 1], [20, 20**0.5, 1]),
        "sum(v)": ([10, 10, 10], [13, 13, 13]),
        "sum(z)": ([5, 5, 5], [5, 5, 5]),  # rows without a value can exist
        "sum(v) by b": ([10, 10, 10], [20, 200**0.5, 13]),
        "mean(v)": ([14, 170**0.5, 13], [27, 677**0.5, 26]),  # 26 and 1 are never reached together: an upper bound
    }
    for text, (added, replaced) in figures.items():
        query = gd.query(domain, text)
        assert [query.sensitivity(ROW).radius(p) for p in POWERS] == pytest.approx(added), text
        assert [query.sensitivity(REPLACED).radius(p) for p in POWERS] == pytest.approx(replaced), text


def test_a_matrix_in_figures() -> None:
    query = gd.workload([[1, -2, 0], [3, 1, 1]], gd.Domain.of(a=gd.integers(1, 3)))
    assert [query.sensitivity(ROW).radius(p) for p in POWERS] == pytest.approx([4, 10**0.5, 3])
    assert [query.sensitivity(REPLACED).radius(p) for p in POWERS] == pytest.approx([5, 13**0.5, 3])
    assert [query.sensitivity(PERSON).radius(p) for p in POWERS] == pytest.approx([12, 90**0.5, 9])


def test_under_replace_a_row_left_out_counts_as_nothing() -> None:
    kept = gd.Domain.of(a=gd.integers(1, 3, "other"))  # four cells, and no rule that drops a row
    assert gd.prefix_sums(kept, "a").sensitivity(REPLACED).radius(1) == 4  # the first cell against a broken line
    assert gd.count(kept).sensitivity(REPLACED).radius(1) == 1


@pytest.mark.parametrize("factor", [0.99, 0.5])
def test_a_body_that_is_too_small_would_be_caught(factor: float) -> None:
    class TooSmall:
        def __init__(self, query) -> None:
            self.query = query
            self.domain, self.attributes, self.columns = query.domain, query.attributes, query.columns
            self.steps, self.errors, self.evaluate = query.steps, query.errors, query.evaluate

        def sensitivity(self, unit):
            body = self.query.sensitivity(unit)
            return type(body)(body.generators, factor, body.differences, body.with_zero)

    with pytest.raises(AssertionError):
        check_holds(TooSmall(gd.marginals(gd.Domain.of(a=["x", "y"]), "a")), ROW)


@pytest.mark.parametrize("n_cells", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("kind", [Prefix, Ranges])
def test_a_replaced_row_moves_ranges_as_far_as_counted(kind: type[Prefix | Ranges], n_cells: int) -> None:
    """Over all pairs of cells, by the rows themselves."""
    rows = kind(n_cells).apply(np.eye(n_cells))
    apart = [np.abs(row - other) for row in rows for other in rows]
    for p in (1, 2, np.inf):
        power = max((gaps.max() if np.isinf(p) else (gaps**p).sum()) for gaps in apart)
        assert kind(n_cells).largest_difference_power(p) == power
