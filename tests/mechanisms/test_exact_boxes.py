"""Noise with the shape of a box is exact: its sides are rounded outwards, and no cell is likelier than it may be."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp._internal.validate import decimal
from gaugedp.bodies import LpBall, Polytope, Product, image
from gaugedp.mechanisms.base import lattice_radius
from tests.mechanisms.registry import SHAPED

WEIGHTS = np.array([1.0, 0.3, 7.0])
BODIES = {
    "signs": Polytope.symmetric_hull(np.random.default_rng(0).integers(0, 2, (3, 9)) * 2.0 - 1),
    "reals": Polytope.symmetric_hull(np.random.default_rng(1).normal(size=(3, 9)), 0.1),
    "counts": SHAPED["sums"],
    "ball": LpBall(3, 2, 1 / 3),
    "product": Product((LpBall(2, 1, 0.1), LpBall(1, 1, 3.0))),
}


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1 / 3, 1e-6, 40.0])
@pytest.mark.parametrize("name", BODIES)
def test_the_sides_are_no_smaller_than_the_theorem_asks(name: str, epsilon: float) -> None:
    """In rational numbers: s_i·ε ≥ w_i·radius, epsilon read as it is printed; and it is not much more."""
    body = BODIES[name]
    for weights in (None, np.resize(WEIGHTS, body.ambient_dim)):
        mechanism = gd.Cube.calibrate(body, gd.PureDP(epsilon), weights)
        assert mechanism.exactness == "exact"
        _, radius = lattice_radius(body, np.inf, weights)
        for side, weight in zip(mechanism._lattice, [1.0] if weights is None else weights, strict=True):
            paid = Fraction(float(side)) * decimal(epsilon) / (Fraction(float(weight)) * radius)
            assert 1 <= paid < 1 + Fraction(1, 2**38)
        half = mechanism.recalibrated(gd.PureDP(epsilon / 2))
        assert half._lattice == pytest.approx(2 * mechanism._lattice, rel=1e-12)


def test_a_body_is_covered_by_its_exact_radius() -> None:
    """One float more is too much, though both are the same number to 53 bits."""
    mechanism = gd.Cube.calibrate(LpBall(2, np.inf, 2.0), gd.PureDP(1.0))
    assert mechanism.is_valid_for(LpBall(2, np.inf, 2.0))
    assert not mechanism.is_valid_for(LpBall(2, np.inf, 2.0 * (1 + 2.0**-38)))


def test_a_radius_in_which_digits_cancel_is_not_called_proved() -> None:
    """The support of an image is a sum; in that of a polytope, large terms may leave a small one."""
    inner = Polytope.symmetric_hull(np.array([[1e9, 1e9 + 1], [1e9, 1e9]]))
    for body in (gd.bodies.LinearImage(inner, np.array([[1.0, -1.0], [1.0, 1.0]])), image(LpBall(2, 3), np.eye(2) * 2)):
        assert gd.Cube.calibrate(body, gd.PureDP(1.0)).exactness == "idealized"
        assert gd.Cube.calibrate(Product((body, body)), gd.PureDP(1.0)).exactness == "idealized"


def test_the_difference_of_columns_keeps_its_digits_under_weights() -> None:
    """1/3·(1 + 2^−50) − 1/3 by subtraction of quotients would be off by a tenth."""
    apart, weight = 2.0**-50, 3.0
    body = Polytope.difference_hull(np.array([[1.0, 1.0 + apart], [0.0, 0.0]]))
    assert body.radius(np.inf, np.array([weight, 1.0])) == pytest.approx(apart / weight, rel=1e-15, abs=0)


def test_noise_of_a_cube_is_exact_in_either_mechanism() -> None:
    cube, one = LpBall(3, np.inf, 2.0), gd.PureDP(1.0)
    for mechanism in (gd.KNorm.calibrate(cube, one), gd.Cube.calibrate(cube, one)):
        assert mechanism.exactness == "exact"
        step = mechanism.lattice_step
        assert Fraction(float(mechanism._lattice[0])) >= (2 + step) / step
        assert mechanism._lattice[0] == pytest.approx(float(2 / step), rel=2e-3)
        first, again = (mechanism.sample_noise(50, gd.research_rng(1)) for _ in range(2))
        assert np.array_equal(first, again)


# -- likelihood ratios, cell by cell ----------------------------------------------------------------------------------


def corner(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    """Return ∫∫ e^{−max(u, v)} over [0, x] × [0, y], odd in both."""
    low, high = sorted((abs(x), abs(y)))
    inner = 2 * (1 - (1 + low) * mpmath.exp(-low)) + low * (mpmath.exp(-low) - mpmath.exp(-high))
    return inner if (x < 0) == (y < 0) else -inner


def cell(place: tuple[int, int], sides: list[mpmath.mpf]) -> mpmath.mpf:
    """Return the chance of a cell of ℤ² under noise of density e^{−max|z_i|/s_i}/(8·s_1·s_2), rounded."""
    ends = [((k - mpmath.mpf(1) / 2) / s, (k + mpmath.mpf(1) / 2) / s) for k, s in zip(place, sides, strict=True)]
    (left, right), (bottom, top) = ends
    return (corner(right, top) - corner(left, top) - corner(right, bottom) + corner(left, bottom)) / 8


def worst_ratio(sides: list[float], moves: list[tuple[int, int]]) -> mpmath.mpf:
    """Return the largest ratio of the chances of a cell under two answers that differ by a move."""
    with mpmath.workprec(200):
        exact = [mpmath.mpf(float(side)) for side in sides]
        span = range(-12, 13)
        chances = {place: cell(place, exact) for place in itertools.product(range(-16, 17), repeat=2)}
        return max(
            chances[place] / chances[place[0] - move[0], place[1] - move[1]]
            for place in itertools.product(span, repeat=2)
            for move in moves
        )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0])], ids=["cube", "box"])
def test_no_cell_is_likelier_than_the_guarantee_allows(epsilon: float, weights: np.ndarray | None) -> None:
    """All cells and all moves of a body of counts, to 60 digits. The control has sides a thousandth too small."""
    domain = gd.Domain.of(a=gd.integers(1, 3))
    body = gd.workload([[1, 1, 0], [0, 1, 1]], domain).sensitivity(gd.PrivacyUnit("person", max_rows=2))
    mechanism = gd.Cube.calibrate(body, gd.PureDP(epsilon), weights)
    assert mechanism.lattice_step == 1
    sides = list(np.resize(mechanism._lattice, 2))
    reach = float(lattice_radius(body, np.inf, weights)[1])
    most = [int(reach * weight + 1e-9) for weight in (np.ones(2) if weights is None else weights)]
    moves = [move for move in itertools.product(*(range(-m, m + 1) for m in most)) if any(move)]
    with mpmath.workprec(200):
        bound = mpmath.exp(mpmath.mpf(decimal(epsilon).numerator) / decimal(epsilon).denominator)
        assert worst_ratio(sides, moves) <= bound
        assert worst_ratio([0.999 * side for side in sides], moves) > bound
