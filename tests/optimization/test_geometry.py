"""Geometries: strong convexity at random pairs, ranges that are reached, duals, gradients, nearest points."""

import math

import numpy as np
import pytest

from gaugedp.errors import InvalidRequest
from gaugedp.optimization.geometry import Geometry, Simplex

RNG_SEED = 20
GEOMETRIES = [
    Geometry((1,), 1), Geometry((2,), 1, 3.0), Geometry((7,), 1), Geometry((40,), 1, 0.5), Geometry((400,), 1),
    Geometry((5,), 1.1), Geometry((9,), 1.5, 2.0), Geometry((60,), 1.2), Geometry((6,), 2, 2.0), Geometry((6,), 3),
    Geometry((8,), math.inf, 1.5), Geometry((3, 4), 1), Geometry((12, 9), 1, 2.0), Geometry((4, 3), 1.5),
    Geometry((3, 3), 2), Geometry((4, 2), 4, 3.0), Geometry((2, 5), math.inf),
]  # fmt: skip
each = pytest.mark.parametrize("geometry", GEOMETRIES, ids=repr)


def points(geometry: Geometry, count: int, seed: int = 0) -> np.ndarray:
    """Dense and sparse points, near and far."""
    rng = np.random.default_rng((RNG_SEED, seed))
    actual = rng.standard_normal((count, geometry.ambient_dim)) * rng.lognormal(0, 1, (count, 1))
    actual[1::3] *= rng.random(actual[1::3].shape) < 0.3
    actual[2::3] *= rng.lognormal(0, 2, actual[2::3].shape)
    return actual


@each
def test_the_regulariser_is_strongly_convex_in_both_norms(geometry: Geometry) -> None:
    first, other = points(geometry, 300), points(geometry, 300, 1)
    other[::2] = first[::2] + 0.01 * other[::2]
    slopes = geometry.gradient(first)
    excess = geometry.regulariser(other) - geometry.regulariser(first) - (slopes * (other - first)).sum(axis=1)
    slack = 1e-11 * (geometry.regulariser(other) + geometry.regulariser(first) + 1)
    assert (excess >= geometry.norm(other - first) ** 2 / 2 - slack).all()
    assert (excess >= geometry.convexity / 2 * ((other - first) ** 2).sum(axis=1) - slack).all()


def least_modulus(geometry: Geometry) -> float:
    """The least quotient of the Bregman divergence and ½‖·‖² found at small steps from random points."""
    one, step = points(geometry, 4000), points(geometry, 4000, 2)
    kept = (geometry.norm(one) > 0) & (geometry.norm(step) > 0)
    one, step = one[kept], step[kept]
    other = one + 1e-3 * step * (geometry.norm(one) / geometry.norm(step))[:, None]
    excess = geometry.regulariser(other) - geometry.regulariser(one)
    excess -= (geometry.gradient(one) * (other - one)).sum(axis=1)
    return float((2 * excess / geometry.norm(other - one) ** 2).min())


@pytest.mark.parametrize("geometry", [Geometry((2,), 1.5), Geometry((2,), 2), Geometry((2,), 1), Geometry((3,), 1)])
def test_strong_convexity_is_nearly_reached(geometry: Geometry) -> None:
    """Positive control: the constant is no multiple of what is needed."""
    assert 0.99 < least_modulus(geometry) < 1.2


@pytest.mark.parametrize(
    "geometry", [Geometry((9,), 1), Geometry((40,), 1.2), Geometry((9, 12), 1), Geometry((6,), 1, q=1.6)]
)
def test_strong_convexity_in_l2_is_reached_at_two_equal_values(geometry: Geometry) -> None:
    """The divergence at (1, 1), along (1, −1): a constant 1 % larger would be wrong."""
    one, step = np.zeros((2, *geometry.shape))
    places = [(0, 0), (1, 1)] if len(geometry.shape) == 2 else [(0,), (1,)]
    for place, sign in zip(places, (1, -1), strict=True):
        one[place], step[place] = 1.0, 1e-3 * sign
    start, end = one.reshape(1, -1), (one + step).reshape(1, -1)
    excess = geometry.regulariser(end) - geometry.regulariser(start)
    excess -= (geometry.gradient(start) * (end - start)).sum(axis=1)
    assert excess[0] == pytest.approx(geometry.convexity / 2 * (step**2).sum(), rel=1e-4)
    assert geometry.convexity > 1.1 * geometry.curvature


@pytest.mark.parametrize(("p", "q"), [(1, 1.0), (1, 2.1), (1.5, 1.4), (3, 1.9), (2, math.nan)])
def test_a_regulariser_that_is_not_strongly_convex_is_refused(p: float, q: float) -> None:
    with pytest.raises(InvalidRequest, match="`q` is"):
        Geometry((3,), p, 1.0, q)


@each
def test_the_range_is_reached_and_kept(geometry: Geometry) -> None:
    inside = points(geometry, 500)
    inside = inside[geometry.norm(inside) > 0]
    inside *= geometry.radius / geometry.norm(inside)[:, None]
    shape = geometry.shape
    spread = np.zeros(geometry.ambient_dim)
    if len(shape) == 1:
        ends = np.array([np.eye(shape[0])[0], np.ones(shape[0])])
    else:
        first = np.zeros(shape)
        first[0, 0] = 1.0
        ends = np.array([first.ravel(), np.eye(*shape).ravel()])
    ends *= geometry.radius / geometry.norm(ends)[:, None]
    heights = geometry.regulariser(np.concatenate([inside, ends, spread[None]]))
    assert heights.min() == 0
    assert heights.max() <= geometry.range * (1 + 1e-12)
    assert geometry.regulariser(ends).max() == pytest.approx(geometry.range)
    for exponent in (1.0, 1.3, 2.0, math.inf):
        lengths = Geometry(shape, exponent).norm(np.concatenate([inside, ends]))
        assert lengths.max() <= geometry.reach(exponent) * (1 + 1e-12)
        assert lengths.max() == pytest.approx(geometry.reach(exponent))


@each
def test_gradients_by_differences_and_the_mirror_map(geometry: Geometry) -> None:
    here, step = points(geometry, 30)[::3], 1e-6
    for direction in points(geometry, 6, 3):
        unit = direction / np.linalg.norm(direction) if direction.any() else direction
        slope = (geometry.regulariser(here + step * unit) - geometry.regulariser(here - step * unit)) / (2 * step)
        assert slope == pytest.approx(geometry.gradient(here) @ unit, rel=1e-4, abs=1e-4 * geometry.weight)
    assert geometry.mirror(geometry.gradient(here)) == pytest.approx(here, rel=1e-6, abs=1e-9)
    assert not geometry.gradient(np.zeros_like(here)).any()


@each
def test_the_dual_norm_and_the_normal(geometry: Geometry) -> None:
    first, other = points(geometry, 300), points(geometry, 300, 4)
    first = first[geometry.norm(first) > 0]
    products = (first * other[: len(first)]).sum(axis=1)
    bound = geometry.norm(first) * geometry.dual_norm(other[: len(first)])
    assert (products <= bound * (1 + 1e-12)).all()
    normals = geometry.normal(first)
    assert geometry.dual_norm(normals) == pytest.approx(np.ones(len(first)))  # and Hölder is an equality there
    assert (normals * first).sum(axis=1) == pytest.approx(geometry.norm(first))
    lengths = np.linalg.norm(normals, axis=1)
    assert lengths.max() <= geometry.row_reach * (1 + 1e-12)


@each
def test_the_outer_ball_holds_the_ball(geometry: Geometry) -> None:
    inside = points(geometry, 300)
    inside = inside[geometry.norm(inside) > 0]
    inside *= geometry.radius / geometry.norm(inside)[:, None]
    assert geometry.outer.contains(inside * (1 - 1e-12)).all()
    assert geometry.outer.bend == pytest.approx(1 / geometry.reach(2))
    assert (geometry.bend > 0) == (geometry.p == 2)


@pytest.mark.parametrize("geometry", [g for g in GEOMETRIES if g.p in {1, 2, math.inf}], ids=repr)
def test_the_nearest_point_is_nearest(geometry: Geometry) -> None:
    """⟨x − Px, z − Px⟩ ≤ 0 for all z in the ball, and points of the ball stay."""
    far = 3 * points(geometry, 60)
    near = geometry.projection(far)
    assert (geometry.norm(near) <= geometry.radius * (1 + 1e-12)).all()
    residue = far - near
    support = geometry.radius * geometry.dual_norm(residue)
    assert (support <= (residue * near).sum(axis=1) + 1e-9 * (1 + support)).all()
    assert geometry.projection(near * (1 - 1e-9)) == pytest.approx(near * (1 - 1e-9))


@pytest.mark.parametrize("n_values", [1, 2, 3, 7, 8, 20, 100, 10**4, 10**8])
@pytest.mark.parametrize("p", [1, 1.05, 1.3, 1.7, 1.99])
def test_the_exponent_is_best_and_never_above_the_printed_constants(n_values: int, p: float) -> None:
    geometry = Geometry((n_values,), p)
    others = np.linspace(max(p, 1 + 1e-6), 2, 20_001)
    weights = n_values ** (2 / p - 2 / others) / (others - 1)
    assert geometry.weight <= weights.min() * (1 + 1e-9)
    if p > 1:
        assert geometry.weight <= 1 / (p - 1) * (1 + 1e-12)
    if p == 1 and n_values >= 3:
        assert geometry.weight <= math.e**2 * math.log(n_values)
        assert geometry.weight <= max(n_values, 2 * math.e * math.log(n_values))


def test_the_entropy_of_the_simplex_is_strongly_convex() -> None:
    """At random pairs, and nearly with equality in ℓ₂ at (½, ½), along (1, −1)."""
    simplex, rng = Simplex(5), np.random.default_rng(5)
    one, other = rng.dirichlet(np.full(5, 0.3), (2, 2_000)) * 0.99 + 0.002
    one[0], other[0] = [0.5 - 1e-9, 0.5 - 1e-9, 1e-9, 1e-9, 0], [0.501 - 1e-9, 0.499 - 1e-9, 1e-9, 1e-9, 0]
    one[0, 4] = other[0, 4] = 1e-12
    excess = simplex.regulariser(other) - simplex.regulariser(one) - (simplex.gradient(one) * (other - one)).sum(axis=1)
    squares = ((other - one) ** 2).sum(axis=1)
    assert (excess >= np.abs(other - one).sum(axis=1) ** 2 / 2 - 1e-12).all()
    assert (excess >= simplex.convexity / 2 * squares - 1e-12).all()
    assert excess[0] < 1.01 * simplex.convexity / 2 * squares[0]
    assert (simplex.dual_norm(one) == one.max(axis=1)).all()
    assert simplex.row_reach == pytest.approx(np.linalg.norm(np.ones(5)))


def test_the_simplex() -> None:
    simplex, rng = Simplex(6), np.random.default_rng(3)
    first, other = rng.dirichlet(np.full(6, 0.4), 500), rng.dirichlet(np.full(6, 0.4), 500)
    excess = simplex.regulariser(other) - simplex.regulariser(first)
    excess -= (simplex.gradient(first + 1e-300) * (other - first)).sum(axis=1)
    assert (excess >= np.abs(other - first).sum(axis=1) ** 2 / 2 - 1e-9).all()
    corners = np.concatenate([np.eye(6), np.full((1, 6), 1 / 6)])
    assert np.ptp(simplex.regulariser(corners)) == pytest.approx(simplex.range)
    kept = first[(first > 1e-9).all(axis=1)]
    assert simplex.mirror(simplex.gradient(kept)) == pytest.approx(kept)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Geometry((0,), 2), lambda: Geometry((2, 3, 4), 2), lambda: Geometry([3], 2),  # type: ignore[arg-type]
        lambda: Geometry((3,), 0.9), lambda: Geometry((3,), math.nan), lambda: Geometry((3,), 2, 0.0),
        lambda: Geometry((3,), 1.5).projection(np.ones((1, 3))), lambda: Simplex(0),
    ],
)  # fmt: skip
def test_what_is_no_geometry_is_refused(wrong) -> None:
    with pytest.raises(InvalidRequest):
        wrong()
