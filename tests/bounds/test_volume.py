"""Lower bounds against closed forms, the best mechanisms for balls, and every pure mechanism on a zoo of bodies."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaugedp import Domain, Identity, Laplace, PrivacyUnit, PureDP, bins, prefix_sums, ranges
from gaugedp.bodies import Ellipsoid, LpBall, Polytope, Volume, image, scaled, volume
from gaugedp.bounds import bound_from_volume, lower_bound, staircase_lower_bound, volume_lower_bound
from gaugedp.errors import InvalidRequest
from tests.bodies.zoo import ZOO, Member

KNORM_ERRORS = {  # exact draws from the list of facets, ε = 1: mean norm
    ("uniform", 2, 6): 1.5134, ("uniform", 3, 12): 2.9380, ("uniform", 4, 20): 4.0322, ("uniform", 5, 30): 4.9678,
    ("uniform", 6, 30): 5.9372, ("uniform", 8, 40): 8.2461, ("signs", 5, 50): 7.5345, ("signs", 6, 60): 9.6441,
    ("signs", 7, 70): 11.8020, ("signs", 8, 80): 14.1848,
}  # fmt: skip


def matrix(kind: str, d: int, n: int) -> np.ndarray:
    if kind == "signs":
        return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1
    return np.random.default_rng(3).uniform(-1, 1, (d, n))


def staircase_error(rank: int, epsilon: float, offset: float, power: int) -> float:
    """E‖z‖^s of the noise with density ∝ e^{−εk} between the radii u + k − 1 and u + k, shell by shell."""
    radii = offset + np.arange(-1, 200 + int(80 * (rank + 2) / epsilon))
    radii[0] = 0.0
    weights = np.exp(-epsilon * np.arange(len(radii) - 1))
    masses = weights * np.diff(radii**rank) / rank
    return float((weights * np.diff(radii ** (rank + power)) / (rank + power)).sum() / masses.sum())


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 8.0])
def test_one_dimension(epsilon: float) -> None:
    for body in (LpBall(1, 2), Polytope.symmetric_hull(np.array([[1.0, 0.5]]))):
        assert volume_lower_bound(body, epsilon) == pytest.approx(1 / math.expm1(epsilon), rel=1e-6)
        assert staircase_lower_bound(body, epsilon) == pytest.approx(
            math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-6
        )


@pytest.mark.many
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("rank", "epsilon"), [(1, 0.5), (2, 1.0), (3, 5.0), (5, 2.0), (8, 10.0)])
def test_the_best_staircase_of_a_ball_attains_the_bound(rank: int, epsilon: float, power: int) -> None:
    best = min(staircase_error(rank, epsilon, u, power) for u in np.linspace(0, 1, 4001))
    bound = staircase_lower_bound(LpBall(rank, 2), epsilon, power=power)
    assert bound <= best * (1 + 1e-12)
    assert bound >= best * (1 - 1e-4)
    assert volume_lower_bound(LpBall(rank, 2), epsilon, power=power) <= bound * (1 + 1e-6)


@pytest.mark.parametrize("norm", [1, 1.5, 2, np.inf])
@pytest.mark.parametrize("rank", [1, 3, 20])
def test_gamma_noise_on_a_ball_is_above_and_near_as_epsilon_falls(rank: int, norm: float) -> None:
    """K-norm noise of the ℓ_p ball: E‖z‖_p = r/ε."""
    for epsilon in (1.0, 1e-2, 1e-6):
        bound = volume_lower_bound(LpBall(rank, norm), epsilon, norm)
        assert (1 - epsilon / rank) * (rank / epsilon) * (1 - 1e-5) <= bound <= rank / epsilon
        squares = staircase_lower_bound(LpBall(rank, norm), epsilon, norm, power=2)
        assert squares <= rank * (rank + 1) / epsilon**2


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "d", "n"), KNORM_ERRORS, ids=str)
def test_knorm_noise_is_within_ten_percent(kind: str, d: int, n: int) -> None:
    body = Polytope.symmetric_hull(matrix(kind, d, n))
    for bound in (volume_lower_bound(body, 1.0), staircase_lower_bound(body, 1.0)):
        assert (bound.kind, bound.rank, bound.standard_error) == ("exact", d, None)
        assert bound < KNORM_ERRORS[kind, d, n] < 1.1 * bound


@pytest.mark.parametrize("rank", [2, 5, 8])
def test_cube_and_octahedron(rank: int) -> None:
    """Mean norms of K-norm noise at ε = 1, 10^6 draws each."""
    rng = np.random.default_rng(4)
    octahedron = np.linalg.norm(rng.laplace(size=(10**6, rank)), axis=1).mean()
    cube = (rank + 1) * np.linalg.norm(rng.uniform(-1, 1, (10**6, rank)), axis=1).mean()
    for body, error in ((LpBall(rank, 1), octahedron), (LpBall(rank, np.inf), cube)):
        assert staircase_lower_bound(body, 1.0) < error * 1.005
        assert error < 1.2 * staircase_lower_bound(body, 1.0)


@pytest.mark.many
@pytest.mark.parametrize("member", ZOO, ids=str)
@pytest.mark.parametrize("norm", [1, 2])
def test_laplace_noise_is_above_the_bounds(member: Member, norm: int) -> None:
    try:
        mechanism = Laplace.calibrate(member.body, PureDP(0.5))
        error = float(mechanism.error(norm))
        bounds = [volume_lower_bound(member.body, 0.5, norm), lower_bound(member.body, 0.5, norm)]
    except InvalidRequest:
        return  # no volume is known
    assert bounds[0] <= bounds[1] * (1 + 1e-5)
    assert 0 < bounds[1] <= error * 1.001


def test_bounds_hold_for_most_of_the_zoo() -> None:
    known = 0
    for member in ZOO:
        try:
            known += lower_bound(member.body, 1.0) > 0
        except InvalidRequest:
            continue
    assert known > 0.75 * len(ZOO)


@pytest.mark.parametrize("build", [prefix_sums, ranges])
def test_noise_on_the_cells_is_above_the_bound(build) -> None:
    domain = Domain.of(age=bins(0, 60, width=10))
    body = build(domain, "age").sensitivity(PrivacyUnit())
    for epsilon in (0.05, 0.5):
        assert lower_bound(body, epsilon) <= Identity.calibrate(body, PureDP(epsilon)).error(2) * 1.02


@pytest.mark.parametrize("n", [4, 12, 40])
def test_bodies_in_a_cube_have_the_volume_of_one(n: int) -> None:
    body = Polytope.symmetric_hull(matrix("uniform", 4, n))
    assert math.exp(volume(body).log_volume / 4) <= 2
    assert volume_lower_bound(body, 1.0) <= volume_lower_bound(LpBall(4, np.inf), 1.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), factor=st.floats(1e-6, 1e6), epsilon=st.floats(1e-5, 20))
def test_the_bound_scales_and_does_not_see_rotations(seed: int, d: int, factor: float, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    body = Polytope.symmetric_hull(rng.normal(size=(d, d + 3)))
    rotation = np.linalg.qr(rng.normal(size=(d + 2, d)))[0]  # into a larger space
    bound = volume_lower_bound(body, epsilon)
    assert volume_lower_bound(scaled(body, factor), epsilon) == pytest.approx(factor * bound, rel=1e-6)
    assert volume_lower_bound(image(body, rotation), epsilon) == pytest.approx(bound, rel=1e-6)
    assert volume_lower_bound(body, epsilon * 1.01) <= bound
    assert volume_lower_bound(body, epsilon, power=2) >= bound**2 * (1 - 1e-6)
    assert volume_lower_bound(body, epsilon) <= staircase_lower_bound(body, epsilon) * (1 + 1e-6)


@pytest.mark.parametrize("norm", [1, 3, np.inf])
def test_flat_bodies_in_other_norms(norm: float) -> None:
    """A disc in a tilted plane: its shadow on two axes is an ellipse."""
    tilted = Ellipsoid(np.array([[1.0, 0.0], [0.0, 0.8], [0.0, 0.6]]))
    ellipse = Ellipsoid(np.diag([1.0, 0.8]))
    assert volume_lower_bound(tilted, 1.0, norm) == pytest.approx(volume_lower_bound(ellipse, 1.0, norm), rel=1e-9)


def test_a_bound_knows_where_it_comes_from() -> None:
    many = np.random.default_rng(0).normal(size=(9, 30))
    bound = volume_lower_bound(Polytope.symmetric_hull(many), 1.0)
    assert (bound.kind, bound.rank, bound.standard_error) == ("certified", 9, None)
    guess = bound_from_volume(Volume(3.0, "estimate", 0.9), 9, 1.0)
    assert guess.kind == "estimate"
    assert guess.standard_error == pytest.approx(0.1 * guess)
    for twin in (copy.deepcopy(guess), pickle.loads(pickle.dumps(guess))):
        assert (twin, twin.volume, twin.rank, twin.standard_error) == (guess, guess.volume, 9, guess.standard_error)


@pytest.mark.parametrize(
    "options", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": 1.0, "norm": 0.5}, {"epsilon": 1.0, "power": 3}]
)
def test_refusals(options) -> None:
    with pytest.raises(InvalidRequest):
        volume_lower_bound(LpBall(2, 2), **options)


def test_a_point_has_no_bound() -> None:
    with pytest.raises(InvalidRequest):
        volume_lower_bound(Polytope.difference_hull(np.ones((2, 3))), 1.0)


def test_extreme_numbers_stay_numbers() -> None:
    assert volume_lower_bound(LpBall(3, 2), 1e4) == 0
    assert math.isfinite(volume_lower_bound(LpBall(3, 2, 1e300), 1e-300))
