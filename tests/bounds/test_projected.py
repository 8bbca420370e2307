"""Shadows, counts and roundness."""

import math

import numpy as np
import pytest
import scipy.optimize

from gaugedp.bodies import Body, Ellipsoid, LpBall, Polytope, image, minkowski_sum, project, volume
from gaugedp.bounds import (
    counts_lower_bound,
    is_approximately_isotropic,
    isotropic_constant,
    lower_bound,
    projected_lower_bound,
    staircase_lower_bound,
    volume_quantity,
)
from gaugedp.bounds.nearness import counts_error_bound
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms import NIM, KNorm
from gaugedp.samplers.facets import ListedFacets

LONG = Ellipsoid(np.diag([10.0, 1.0, 1e-3, 1e-3]))


def signs(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1


def stretched(d: int, n: int, base: float) -> Polytope:
    return Polytope.symmetric_hull(np.diag(base ** -np.arange(d)) @ signs(d, n))


def test_a_long_ellipsoid_is_bounded_by_its_long_axes() -> None:
    """By its shadows on the first axes: Σm_i is least, with Π_{i≤k} m_i ≥ (L_k²/k)^k, by a general search."""
    axes = Ellipsoid(np.diag([10.0, 3.0, 2.9, 1e-2]))
    alone = [staircase_lower_bound(Ellipsoid(axes.matrix[:k, :k]), 1.0) for k in (1, 2, 3, 4)]
    logs = np.array([k * math.log(bound**2 / k) for k, bound in enumerate(alone, 1)])
    least = scipy.optimize.minimize(
        lambda points: np.exp(points).sum(),
        np.full(4, 5.0),
        constraints={"type": "ineq", "fun": lambda points: np.cumsum(points) - logs},
        options={"ftol": 1e-12},
    )
    bound = projected_lower_bound(axes, 1.0)
    assert bound == pytest.approx(math.sqrt(least.fun), rel=1e-5)
    assert 1.02 * max(alone) < bound < 1.5 * max(alone)
    assert bound.rank < 4


@pytest.mark.parametrize("base", [1.0, 2.0, 10.0])
@pytest.mark.parametrize("turned", [False, True])
def test_shadows_on_other_runs_of_axes_add_nothing(base: float, turned: bool) -> None:
    """Theorem 9 with the shadows on all runs of axes u_i … u_j, by a general search: at most 0.1 % more."""
    rank = 6
    columns = np.diag(base ** -np.arange(rank)) @ np.random.default_rng(2).normal(size=(rank, 10))
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(rank, rank)))[0] if turned else np.eye(rank)
    body = Polytope.symmetric_hull(turn @ columns)
    axes = np.linalg.eigh(body.columns() @ body.columns().T)[1][:, ::-1]
    runs = [(first, last) for first in range(rank) for last in range(first + 1, rank + 1)]
    alone = [staircase_lower_bound(project(body, axes[:, first:last]), 1.0) for first, last in runs]
    sizes = np.array([last - first for first, last in runs])
    logs = sizes * np.log(np.square(alone) / sizes)
    inside = np.array([[first <= place < last for place in range(rank)] for first, last in runs], dtype=float)
    least = scipy.optimize.minimize(
        lambda points: np.exp(points).sum(),
        np.full(rank, logs.max()),
        jac=np.exp,
        constraints={"type": "ineq", "fun": lambda points: inside @ points - logs, "jac": lambda _: inside},
        options={"ftol": 1e-12},
    )
    assert least.success
    bound = projected_lower_bound(body, 1.0)
    assert bound <= math.sqrt(least.fun) * (1 + 1e-6)
    assert bound >= math.sqrt(least.fun) * (1 - 1e-3)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_round_bodies_are_bounded_by_themselves(norm: float) -> None:
    """For a ball of ℓ₂ the bound is the least error there is: nothing may be above it."""
    body = LpBall(6, norm)
    assert projected_lower_bound(body, 1.0) == pytest.approx(staircase_lower_bound(body, 1.0), rel=1e-12)


@pytest.mark.slow
def test_thin_bodies_have_a_certified_ratio() -> None:
    """Lengths from 1 to 1e−4 in rank 8, where the volume alone says a hundredth of this."""
    body = stretched(8, 12, 10 ** (4 / 7))
    bound, nim = lower_bound(body, 1.0), NIM.calibrate(body, PureDP(1.0))
    assert nim.error() / bound < 2.2
    assert KNorm.calibrate(body, PureDP(1.0)).error() / bound < 3.2
    assert bound > 10 * staircase_lower_bound(body, 1.0)
    assert (bound.kind, bound.confidence) == ("exact", 1)


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_bounds_of_shadows_grow_with_the_body(size: float) -> None:
    body = stretched(4, 10, 3.0)
    columns = body.columns() * size
    assert lower_bound(Polytope.symmetric_hull(columns), 1.0) / size == pytest.approx(lower_bound(body, 1.0), rel=1e-9)


@pytest.mark.parametrize("base", [1.0, 2.0, 10.0])
def test_shadows_never_lose(base: float) -> None:
    body = stretched(5, 20, base)
    bound = projected_lower_bound(body, 1.0)
    assert bound >= staircase_lower_bound(body, 1.0)
    assert bound == lower_bound(body, 1.0)
    assert (bound.rank < 5) == (base > 1)


@pytest.mark.parametrize("base", [1.3, 10.0])
def test_shadows_are_below_the_error_of_noise_on_each_row(base: float) -> None:
    """Laplace noise with the widths b_i ∝ |f_i|^{1/3}, real-valued: E‖z‖₂ ≤ √(2·Σb_i²)."""
    body = stretched(5, 30, base)
    rows = base ** -np.arange(5)
    widths = rows ** (1 / 3) * (rows ** (2 / 3)).sum()
    assert projected_lower_bound(body, 1.0) <= math.sqrt(2 * (widths**2).sum())


def test_high_ranks_use_shadows_with_exact_volumes() -> None:
    body = stretched(12, 30, 4.0)
    bound = projected_lower_bound(body, 1.0)
    assert (bound.kind, bound.rank <= 8) == ("exact", True)
    assert bound > staircase_lower_bound(body, 1.0)


def test_any_covariance_gives_a_bound() -> None:
    rng = np.random.default_rng(0)
    body = stretched(4, 12, 3.0)
    best = projected_lower_bound(body, 1.0)
    for _ in range(5):
        root = rng.normal(size=(4, 4))
        other = projected_lower_bound(body, 1.0, covariance=root @ root.T)
        assert staircase_lower_bound(body, 1.0) <= other <= 1.05 * best
    with pytest.raises(InvalidRequest):
        projected_lower_bound(body, 1.0, covariance=np.eye(3))


@pytest.mark.parametrize(
    "body",
    [
        LpBall(3, 1),
        LpBall(4, np.inf),
        image(LpBall(2, np.inf), np.array([[3.0, 0], [0, 1], [1, 1]])),
        Polytope.difference_hull(np.eye(4)),
        Polytope.difference_hull(np.eye(3), with_zero=True),
        Polytope.symmetric_hull(np.array([[2.0], [1.0]])),
    ],
    ids=str,
)
@pytest.mark.parametrize("norm", [1, 1.5, 2, 4, np.inf])
def test_the_best_bound_of_every_kind_of_body(body: Body, norm: float) -> None:
    bound = lower_bound(body, 1.0, norm)
    assert bound > 0
    assert bound >= staircase_lower_bound(body, 1.0, norm)
    if norm <= 2:
        assert bound >= lower_bound(body, 1.0, 2)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_a_body_without_a_volume_is_bounded_by_its_width(norm: float) -> None:
    body = minkowski_sum(LpBall(2, 2), LpBall(2, np.inf, 10.0))
    bound = lower_bound(body, 1.0, norm)
    assert (bound.kind, bound.rank) == ("exact", 1)
    share = 2**-0.5 if norm > 2 else 1
    widest = share * (1 + 10 * math.sqrt(2)) * math.exp(0.5) / math.expm1(1)
    assert 0.7 * widest <= bound <= widest
    with pytest.raises(InvalidRequest):
        staircase_lower_bound(body, 1.0, norm)


def test_refusals() -> None:
    point = Polytope.difference_hull(np.ones((2, 3)))
    for body, epsilon, norm in ((point, 1.0, 2), (LONG, 0.0, 2), (LONG, 1.0, 0.5)):
        with pytest.raises(InvalidRequest):
            lower_bound(body, epsilon, norm)


# -- counts ----------------------------------------------------------------------------------------


def geometric_error(epsilon: float) -> float:
    """E|Z|, P(Z = k) ∝ e^{−ε|k|}: no ε-DP noise for one count has less (Ghosh, Roughgarden and Sundararajan 2012)."""
    return 1 / math.sinh(epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 1.0, 3.0, 10.0])
def test_one_count_is_bounded_by_the_geometric_mechanism(epsilon: float) -> None:
    bound = counts_lower_bound(Polytope.symmetric_hull(np.array([[1.0]])), epsilon)
    assert 0 <= bound <= geometric_error(epsilon)
    if epsilon <= 0.1:
        assert bound >= 0.95 * geometric_error(epsilon)


@pytest.mark.parametrize("epsilon", [0.02, 0.2, 1.0, 6.0, 9.0])
def test_a_histogram_of_counts_is_bounded_by_geometric_noise(epsilon: float) -> None:
    """The real-valued bound does not hold here for large ε, the bound for counts does."""
    body = Polytope.symmetric_hull(np.eye(5))
    error = math.sqrt(5 * 0.5 / math.sinh(epsilon / 2) ** 2)  # root mean square, above the mean
    assert counts_lower_bound(body, epsilon) <= error
    assert (lower_bound(body, epsilon) > 5 / math.sinh(epsilon)) == (epsilon > 3)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-7, 0.02, 0.2, 1.0, 2.0, 4.0, 9.0, 1e200])
def test_squares_of_counts_are_bounded_by_geometric_noise(epsilon: float, n: int) -> None:
    least = math.sqrt(n / 2) / math.sinh(min(epsilon, 600.0) / 2)
    bound = counts_error_bound(Polytope.symmetric_hull(np.eye(n)), np.ones(n), epsilon)
    assert bound <= least
    if 1e-9 < epsilon <= 2:
        assert bound >= (1 - 1e-9 if n == 1 else 0.91) * least


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1.0, 4.0])
def test_counts_become_real_by_variables_that_keep_epsilon(epsilon: float) -> None:
    """Theorem 4: sums of its density over alternatives within e^ε are smooth to ε, and its variance is taken off."""
    rng, at = np.random.default_rng(3), np.linspace(-4, 4, 801)
    places = np.arange(-6, 7)
    density = np.sinh(epsilon * np.maximum(0, 1 - np.abs(np.subtract.outer(at, places))))
    for steps in (np.ones(13), -np.ones(13), *rng.choice((-1, 1), (20, 13)), *rng.uniform(-1, 1, (20, 13))):
        values = density @ np.exp(epsilon * np.cumsum(steps))
        assert np.abs(np.diff(np.log(values))).max() <= epsilon * (at[1] - at[0]) * (1 + 1e-9)
    middles = (np.arange(20_000) + 0.5) / 20_000
    deviation = math.sqrt(np.average(middles**2, weights=np.sinh(epsilon * (1 - middles))))
    body = Polytope.symmetric_hull(4 * np.eye(9))
    smooth = staircase_lower_bound(body, epsilon / 1000) / 1000
    lost = smooth - counts_lower_bound(body, epsilon, shadows=False)
    assert lost == pytest.approx(12 * deviation, rel=2e-3 if epsilon < 0.1 else 1e-5)


def test_counts_need_units_that_come_and_go() -> None:
    for body in (Polytope.difference_hull(np.eye(3)), Polytope.symmetric_hull(np.eye(3), 0.5), LpBall(2, 1)):
        with pytest.raises(InvalidRequest):
            counts_lower_bound(body, 1.0)
    doubled = Polytope.symmetric_hull(np.eye(3), 2)
    assert counts_lower_bound(doubled, 0.1) == counts_lower_bound(Polytope.symmetric_hull(np.eye(3)), 0.1)


# -- roundness -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 2, 7])
def test_isotropic_constants_of_cube_and_ball(rank: int) -> None:
    cube = isotropic_constant(np.eye(rank) / 3, volume(LpBall(rank, np.inf)))
    assert cube == pytest.approx(1 / math.sqrt(12))
    ball = isotropic_constant(np.eye(rank) / (rank + 2), volume(LpBall(rank, 2)))
    assert ball == pytest.approx(math.gamma(1 + rank / 2) ** (1 / rank) / math.sqrt(math.pi * (rank + 2)))
    assert ball <= cube * (1 + 1e-12)


@pytest.mark.parametrize(
    ("kind", "d", "n", "constant", "quantity"),
    [("uniform", 2, 6, 0.2836, 3.7415), ("uniform", 5, 30, 0.2777, 14.9519), ("signs", 6, 60, 0.2877, 29.2422)],
)
def test_published_figures(kind: str, d: int, n: int, constant: float, quantity: float) -> None:
    matrix = signs(d, n) if kind == "signs" else np.random.default_rng(3).uniform(-1, 1, (d, n))
    body = Polytope.symmetric_hull(matrix)
    covariance = ListedFacets(matrix).second_moment()
    assert isotropic_constant(covariance, volume(body)) == pytest.approx(constant, abs=6e-5)
    assert volume_quantity(body, 1.0) == pytest.approx(quantity, abs=6e-5)
    assert volume_quantity(body, 0.5) == pytest.approx(2 * quantity, abs=2e-4)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0] * 3
    turned = isotropic_constant(rotation @ covariance @ rotation.T, volume(image(body, rotation)))
    assert turned == pytest.approx(constant, abs=6e-5)


def test_what_counts_as_round() -> None:
    assert is_approximately_isotropic(np.eye(3), 1.0)
    assert not is_approximately_isotropic(np.diag([4.0, 1.0]), 1.4)
    assert is_approximately_isotropic(np.diag([4.0, 1.0]), math.sqrt(2))  # 4 = c²·√4
    for bad in (np.diag([1.0, 0.0]), np.ones(3), np.ones((2, 3))):
        with pytest.raises(InvalidRequest):
            is_approximately_isotropic(bad, 1.0)
