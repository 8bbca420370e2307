"""Large questions stay implicit: no matrix, little memory, quick refusals."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

N = 100_000
UNITS = [gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace"), gd.PrivacyUnit("pid", "replace", 3)]


@pytest.fixture
def memory():
    """Fail where more than 200 MB were in use at once."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_hundred_thousand_prefix_sums_are_never_written_out(unit) -> None:
    query = gd.prefix_sums(gd.Domain.of(x=gd.integers(1, N)), "x")
    body = query.sensitivity(unit)
    times = unit.max_rows
    assert body.radius(1) == times * N  # under replace: a row that is left out against the first cell
    assert body.radius(2) == pytest.approx(times * N**0.5)
    assert body.radius(np.inf) == times
    assert body.rank == N
    direction = np.ones(N)
    assert body.support(direction)[0] == times * N
    assert body.argmax(direction).shape == (1, N)
    with pytest.raises(InvalidRequest, match="Use `radius` or `support`"):
        body.gauge(direction)


@pytest.mark.slow
@pytest.mark.usefixtures("memory")
def test_a_hundred_thousand_prefix_sums_are_planned() -> None:
    query = gd.prefix_sums(gd.Domain.of(x=gd.integers(1, N)), "x")
    actual = gd.plan(query, gd.PrivacyUnit(), epsilon=1, delta=1e-6)
    assert {candidate.mechanism.name for candidate in actual.candidates} == {
        "Laplace",
        "Identity",
        "Gaussian",
        "Matrix",
    }
    assert len(actual.mechanism.prepare(gd.research_rng(1))(np.zeros(N, dtype=np.int64))) == N


@pytest.mark.usefixtures("memory")
def test_the_joint_table_of_many_attributes_is_never_made() -> None:
    domain = gd.Domain.of(**{f"a{i}": gd.integers(1, 20) for i in range(18)})
    query = gd.marginals(domain, *domain.attributes, *((f"a{i}", f"a{i + 1}") for i in range(17)))
    body = query.sensitivity(gd.PrivacyUnit())
    assert (body.radius(1), body.radius(2)) == (35, 35**0.5)
    assert query.sensitivity(UNITS[1]).radius(1) == 70
    assert body.rank == 1 + 18 * 19 + 17 * 19**2
    actual = gd.plan(query, gd.PrivacyUnit(), epsilon=1, delta=1e-6)
    assert [candidate.mechanism.name for candidate in actual.candidates] == ["Laplace", "Gaussian", "Matrix"]
    with pytest.raises(InvalidRequest, match="cells of the joint table, which are too many"):
        body.support(np.ones(len(query.steps)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda domain: gd.marginals(domain, ("x", "y")),
        lambda domain: gd.bounded_sums(domain, "v", ("x", "y")),
        lambda domain: gd.bounded_means(domain, "v", ("x", "y")),
        lambda domain: gd.prefix_sums(domain, "z"),
        lambda domain: gd.ranges(domain, "z"),
        lambda domain: gd.ranges(domain, "x"),
        lambda domain: gd.query(domain, "z"),
        lambda domain: gd.workload(np.ones((1, 4)), domain),
    ],
)
def test_a_million_million_cells_are_refused_and_never_listed(ask) -> None:
    domain = gd.Domain.of(x=gd.integers(1, 10**6), y=gd.integers(1, 10**6), z=gd.bins(0, 1e12, 1), v=gd.bounded(0, 9))
    with pytest.raises(InvalidRequest, match=r"cells|answers"):
        ask(domain)


def test_many_terms_are_refused_where_their_answers_take_too_much_memory() -> None:
    domain = gd.Domain.of(**{name: gd.integers(1, 6000) for name in "abc"}, v=gd.bounded(0, 9))
    with pytest.raises(InvalidRequest, match=r"108,000,000 answers. These numbers would take 0.864 GB of memory"):
        gd.marginals(domain, ("a", "b"), ("b", "c"), ("a", "c"))
    with pytest.raises(InvalidRequest, match=r"at most 80,000,000 counts, or 10,000,000 sums"):
        gd.bounded_sums(domain, "v", ("a", "b"))
    assert gd.marginals(domain, ("a", "b"), ("b", "c")).n_answers == 72_000_000


@pytest.mark.parametrize("neighbours", ["add_remove", pytest.param("replace", marks=pytest.mark.thorough)])
def test_ten_million_marginals_are_planned_in_a_few_arrays(neighbours: str) -> None:
    """Adult has 21 million: the benchmark releases them."""
    domain = gd.Domain.of(**{name: gd.integers(1, 150) for name in "abcd"})
    query = gd.marginals(domain, *combinations("abcd", 3))
    tracemalloc.start()
    for requested in ({"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}):
        actual = gd.plan(query, gd.PrivacyUnit(neighbours=neighbours), **requested)
        assert "Matrix" in {candidate.mechanism.name for candidate in actual.candidates}
        assert str(actual)
    assert tracemalloc.get_traced_memory()[1] < 8 * 8 * query.n_answers
    tracemalloc.stop()


def test_the_rank_of_a_large_matrix_is_not_computed() -> None:
    domain = gd.Domain.of(x=gd.integers(1, 2100))
    query = gd.workload(np.eye(2100), domain)
    with pytest.raises(InvalidRequest, match="too large to compute"):
        _ = query.sensitivity(gd.PrivacyUnit()).rank
