"""Moments of uniform laws: exact values, and reference figures of the K-norm's error."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Ellipsoid, LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.samplers import moments, uniform
from gaugedp.samplers.facets import ListedFacets
from tests.samplers.test_facet_walk import signs_matrix, two_way_marginals

pytestmark = pytest.mark.statistical

# measured apart from this library, by other programs: (r + 1)·E‖Z‖, and the exact mean square of the noise
EXACT = {
    (2, 6): (1.5134, 3.475482),
    (3, 12): (2.9380, 11.828358),
    (4, 20): (4.0322, 20.759291),
    (5, 30): (4.9678, 30.021078),
    (6, 30): (5.9372, 41.782949),
}
BERNOULLI = {(5, 50): 7.5345, (10, 100): 18.812, (20, 200): 42.115}


def test_noise_of_exact_bodies_has_the_known_moments() -> None:
    for (d, n), (length, square) in EXACT.items():
        body = Polytope.symmetric_hull(np.random.default_rng(3).uniform(-1, 1, (d, n)))
        actual = moments(body)
        assert actual.kind == "exact"
        assert np.trace(actual.second_moment) * (d + 1) * (d + 2) == pytest.approx(square, rel=1e-6)
        assert (d + 1) * actual.mean_norm == pytest.approx(length, abs=4 * (d + 1) * actual.standard_error + 0.004)


@pytest.mark.parametrize("shape", BERNOULLI, ids=str)
def test_noise_of_sign_matrices_has_the_known_length(shape: tuple[int, int]) -> None:
    actual = moments(Polytope.symmetric_hull(signs_matrix(*shape)))
    assert (actual.rank + 1) * actual.mean_norm == pytest.approx(BERNOULLI[shape], rel=0.012)
    assert actual.standard_error < 0.004 * actual.mean_norm


def test_noise_of_overlapping_marginals_has_the_known_length() -> None:
    actual = moments(Polytope.symmetric_hull(two_way_marginals(3, 3, 3)))
    assert actual.rank == 19
    assert 20 * actual.mean_norm == pytest.approx(11.18, rel=0.01)
    assert np.linalg.matrix_rank(actual.second_moment, tol=1e-9) == 19


def test_closed_forms() -> None:
    """E‖Z‖² is d/(d + 2) on the ball and d/3 on the cube; 2/((d + 1)(d + 2)) a coordinate on the cross-polytope."""
    cases = [
        (LpBall(4, 2), 4 / 6),
        (LpBall(3, np.inf), 1.0),
        (LpBall(5, 1), 5 * 2 / 42),
        (Ellipsoid(np.eye(2) * 3), 4.5),
    ]
    for body, square in cases:
        actual = moments(body)
        draws = uniform(body, 20_000, gd.research_rng(1))
        lengths = (draws**2).sum(axis=1)
        assert lengths.mean() == pytest.approx(square, abs=4.5 * lengths.std() / 20_000**0.5)
        assert np.trace(actual.second_moment) == pytest.approx(square, rel=0.02)


@pytest.mark.parametrize(
    "matrix", [signs_matrix(3, 9), np.random.default_rng(2).normal(size=(4, 7)), np.tril(np.ones((6, 6)))]
)
def test_uniform_draws_are_uniform(matrix: np.ndarray) -> None:
    """gauge^r is uniform on [0, 1]: mean and variance within 4.5 standard errors; nothing lies outside."""
    body = Polytope.symmetric_hull(matrix)
    powers = body.gauge(uniform(body, 1500, gd.research_rng(3))) ** body.rank
    assert powers.max() <= 1 + 1e-6
    assert powers.mean() == pytest.approx(0.5, abs=4.5 * 12**-0.5 / 1500**0.5)
    assert powers.var() == pytest.approx(1 / 12, rel=0.15)


def test_what_is_computed_for_a_body_is_kept() -> None:
    first, second = (Polytope.symmetric_hull(signs_matrix(5, 20)) for _ in range(2))
    assert (
        moments(first).second_moment is moments(second).second_moment
        or moments(first).mean_norm == moments(second).mean_norm
    )


def test_bodies_without_a_sampler_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="There is no K-norm noise"):
        moments(gd.bodies.minkowski_sum(LpBall(2, 1), LpBall(2, 2)))


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_sizes_are_whole_numbers(count: float) -> None:
    with pytest.raises(InvalidRequest, match="size"):
        uniform(LpBall(2, 1), count)  # type: ignore[arg-type]


def test_lists_of_facets_have_the_shares_of_their_cones() -> None:
    listed = ListedFacets(np.array([[1.0, 0, 1], [0, 1, 1]]))
    assert len(listed.shares) == 6
    assert listed.shares == pytest.approx(1 / 6)
