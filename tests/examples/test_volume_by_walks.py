"""The formula behind estimated volumes, facet by facet, and the estimates against exact volumes."""

import math
from itertools import product

import numpy as np
import pytest
import scipy.spatial

from examples.papers import volume_by_walks
from examples.papers.volume_by_walks import estimated_volume
from gaugedp import research_rng
from gaugedp.bodies import LpBall, Polytope, prepared, volume
from gaugedp.bounds import bound_from_volume


def between(coordinates: np.ndarray, others: np.ndarray, t: float) -> tuple[float, float]:
    """Return log vol(K_t) and E m_B(t) from the list of facets."""
    columns = coordinates.copy()
    columns[:, others] *= t
    hull = scipy.spatial.ConvexHull(np.hstack([columns, -columns]).T)
    basis = hull.simplices % columns.shape[1]
    sizes = np.abs(np.linalg.det(np.moveaxis(columns[:, basis], 0, 1)))
    counts = np.isin(basis, others).sum(axis=1)
    return math.log(hull.volume), float((sizes * counts).sum() / sizes.sum())


@pytest.mark.parametrize("rank", [2, 3, 4, *(pytest.param(rank, marks=pytest.mark.thorough) for rank in (5, 6))])
def test_the_volume_grows_as_the_columns_in_a_facet(rank: int) -> None:
    ready = prepared(np.random.default_rng(rank).normal(size=(rank, 2 * rank + 3)))
    others = np.setdiff1d(np.arange(2 * rank + 3), ready.basis)
    first = 1 / np.abs(ready.coordinates[:, others]).sum(axis=0).max()
    assert between(ready.coordinates, others, 0.999 * first) == (
        pytest.approx(rank * math.log(2) - math.lgamma(rank + 1)), 0.0
    )  # fmt: skip
    for t in (0.6, 0.8, 0.95):
        step = 1e-6
        low, high = (between(ready.coordinates, others, t * math.exp(sign * step))[0] for sign in (-1, 1))
        assert (high - low) / (2 * step) == pytest.approx(between(ready.coordinates, others, t)[1], abs=1e-5)
    logs = np.linspace(math.log(first), 0, 1501)
    slopes = [between(ready.coordinates, others, math.exp(log))[1] for log in (logs[1:] + logs[:-1]) / 2]
    grown = float(np.mean(slopes)) * -math.log(first)
    whole = between(ready.coordinates, others, 1.0)[0]
    assert rank * math.log(2) - math.lgamma(rank + 1) + grown == pytest.approx(whole, abs=2e-3)


CASES = {
    "uniform": np.random.default_rng(3).uniform(-1, 1, (4, 20)),
    "signs": np.random.default_rng(1).integers(0, 2, (6, 60)) * 2.0 - 1,
    "flat and far apart": np.diag([1.0, 1e4, 1e-3, 0]) @ np.random.default_rng(5).normal(size=(4, 9)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_estimates_agree_with_exact_volumes(name: str) -> None:
    """Five estimated standard errors of 24 pairs: a false alarm in about 10^4 keys; the key is fixed."""
    body = Polytope.symmetric_hull(CASES[name], 2.0)
    actual, exact = estimated_volume(body, research_rng(11)), volume(body)
    assert (actual.kind, exact.kind) == ("estimate", "exact")
    assert 0 < actual.standard_error < 0.1
    assert abs(actual.log_volume - exact.log_volume) < 5 * actual.standard_error


@pytest.mark.statistical
def test_a_cube_of_nine_dimensions() -> None:
    """Every facet a cone over 256 corners; 5 standard errors as above."""
    corners = np.array(list(product((1.0,), *[(1.0, -1.0)] * 8))).T
    actual = estimated_volume(Polytope.symmetric_hull(corners), research_rng(2), strata=14)
    assert abs(actual.log_volume - 9 * math.log(2)) < 5 * actual.standard_error
    bound, exact = bound_from_volume(actual, 9, 1.0), bound_from_volume(volume(LpBall(9, np.inf)), 9, 1.0)
    assert (bound.kind, exact.kind) == ("estimate", "exact")
    assert abs(bound - exact) < 5 * bound.standard_error


@pytest.mark.statistical
def test_standard_errors_are_of_the_size_of_the_errors() -> None:
    """Root mean square of 6 errors in standard errors within [0.3, 2.5]: a false alarm in about 10^3 keys."""
    body = Polytope.symmetric_hull(CASES["uniform"])
    exact = volume(body).log_volume
    drawn = [estimated_volume(body, research_rng(seed), strata=10, chains=4) for seed in range(6)]
    ratios = [(one.log_volume - exact) / one.standard_error for one in drawn]
    assert 0.3 < math.sqrt(np.mean(np.square(ratios))) < 2.5


def test_no_walk_where_none_is_needed() -> None:
    for matrix in (np.eye(4), np.tril(np.ones((8, 8))), np.array([[1.0, 2.0, -3.0]])):
        body = Polytope.symmetric_hull(matrix)
        assert estimated_volume(body) == volume(body)
    inside = Polytope.symmetric_hull(np.array([[1.0, 0, 0.2], [0, 1, 0.3]]))
    assert estimated_volume(inside, research_rng(1)).log_volume == pytest.approx(math.log(2))


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    volume_by_walks.main()
    assert "log volume" in capsys.readouterr().out
