"""Noise for several sums: of the body's own shape, and Gaussian with the best correlation."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.bodies import BoxHull
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms.factorisation import factorise
from gaugedp.mechanisms.strategies.segment import segment_and_box
from gaugedp.samplers.gauge_noise import BoxHullNoise
from gaugedp.samplers.variables import Normal
from tests.bodies.test_box_hull import KINDS, hulls
from tests.mechanisms.test_exact_strategies import rational, solved
from tests.queries.strategies import examples

MU = gaussian_mu(1.0, 1e-6)


def matrix_of(strategy) -> np.ndarray:
    return strategy.apply(np.eye(strategy.n_noise)).T


def sums(count: int, high: float = 1.0, low: float = 0.0):
    domain = gd.Domain.of(**{f"x{i}": gd.bounded(low, high, step=0.01, missing=0) for i in range(count)})
    return gd.query(domain, "; ".join(f"sum(x{i})" for i in range(count)))


@examples(150)
@given(hulls(5), st.booleans())
def test_every_corner_lies_in_the_ellipsoid(body: BoxHull, weighted: bool) -> None:
    weights = np.arange(1.0, body.ambient_dim + 1) if weighted else None
    strategy = segment_and_box(body, weights)
    matrix = matrix_of(strategy)
    corners = body.factor * np.array(list(product(*zip(body.generators.low, body.generators.high, strict=True))))
    if body.differences:
        ends = np.vstack([corners, 0 * corners[:1]]) if body.with_zero else corners
        corners = (ends[:, None] - ends[None]).reshape(-1, body.ambient_dim)
    preimages = np.linalg.lstsq(matrix, corners.T, rcond=None)[0]
    assert matrix @ preimages == pytest.approx(corners.T, abs=1e-9 * np.abs(corners).max())
    assert np.linalg.norm(preimages, axis=0).max() <= strategy.radius * (1 + 1e-9)
    assert strategy.squares == pytest.approx((matrix**2).sum(axis=1))
    values, counts = strategy.spectrum(weights)
    scaled = matrix if weights is None else matrix / weights[:, None]
    exact = np.zeros(body.ambient_dim)
    singular = np.linalg.svd(scaled, compute_uv=False) ** 2
    exact[: len(singular)] = singular
    actual = np.sort(np.repeat(values, counts.astype(int)))[::-1]
    assert actual == pytest.approx(exact, abs=1e-9 * exact.max())
    assert strategy.least <= strategy.radius * np.linalg.norm(scaled) * (1 + 1e-12)


@pytest.mark.parametrize("off", [1.0, 0.97])
@pytest.mark.parametrize("kind", KINDS)
def test_a_radius_is_proved_for_the_floats_of_the_strategy(kind: tuple[bool, bool], off: float) -> None:
    """The shortest u with L·u = v, in rational numbers: also for an L with a segment that is too short by 3 %."""
    for low, high in (([0.1, -2.0, 0.3], [0.7, 5.0, 0.9]), ([0.0, 1.0, -1.0], [0.5, 1.0, 2.0])):
        body = BoxHull.of(np.array(low), np.array(high), 3.0, *kind)
        strategy = segment_and_box(body, np.array([1.0, 2.0, 1.0]))
        actual = replace(strategy, along=off * strategy.along).proof(body)
        if not strategy.across.all() and body.differences and not body.with_zero:
            assert actual is None  # a coordinate that never moves
            continue
        radius, law, cube = actual
        left, corners = rational(law.right), list(product(*zip(low, high, strict=True)))
        moved = [[Fraction(x) for x in corner] for corner in corners]
        if body.differences:
            ends = moved + [[Fraction(0)] * 3] * body.with_zero
            moved = [[x - y for x, y in zip(a, b, strict=True)] for a in ends for b in ends]
        gram = [[sum(map(Fraction.__mul__, a, b)) for b in left] for a in left]
        longest = max(shortest_square(gram, [3 * x for x in point]) for point in moved)
        assert longest <= Fraction(radius) ** 2 <= Fraction(11, 10)
        units = [[Fraction(x) for x in point] for point in product((-1, 1), repeat=3)]
        assert max(shortest_square(gram, unit) for unit in units) <= Fraction(cube) ** 2
        assert law.kind is Normal
    assert gd.Matrix.calibrate(BoxHull.of(np.zeros(12), np.linspace(1, 2, 12)), gd.GaussianDP(1.0)).exactness == "exact"


def shortest_square(gram: list[list[Fraction]], point: list[Fraction]) -> Fraction:
    """The square of the shortest u with L·u = point, by LLᵀ."""
    return sum(map(Fraction.__mul__, point, solved(gram, point)), Fraction(0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low", [0.0, -1.0, 0.5, -0.3])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_bounds_hold_for_the_best_factorisation(d: int, low: float, kind: tuple[bool, bool]) -> None:
    body = BoxHull.of(np.full(d, low), np.ones(d), 1, *kind)
    strategy, best = segment_and_box(body, None), factorise(body)
    optimum = best.radius * np.linalg.norm(best.left)
    assert strategy.least <= optimum * (1 + 1e-6)
    assert optimum <= strategy.radius * np.linalg.norm(matrix_of(strategy)) * (1 + 1e-6)
    if not any(kind) and low == 0 and d == 4:
        assert strategy.least == pytest.approx(optimum, rel=1e-5)
        assert np.linalg.norm(matrix_of(strategy)) == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("d", [9, 12, 100])
def test_one_sided_sums_have_the_deviation_of_the_theorem(d: int) -> None:
    widths = np.linspace(50, 5000, d)
    mechanism = gd.Matrix.calibrate(BoxHull.of(np.zeros(d), widths), gd.GaussianDP(0.5), widths)
    assert np.sqrt(mechanism.variances) == pytest.approx(
        widths * (math.sqrt(d) + 1) / (2 * 0.5), rel=0.01 if d < 10 else 1e-3
    )
    assert mechanism.floor > 0.99 * math.sqrt((mechanism.variances / widths**2).sum())


def test_errors_of_a_thousand_unlike_sums_come_from_trials() -> None:
    """Their eigenvalues are not computed; the length of so many numbers is near its root mean square."""
    mechanism = gd.Matrix.calibrate(
        BoxHull.of(np.linspace(-9, 50, 1000), np.linspace(60, 99, 1000)), gd.GaussianDP(0.5)
    )
    assert mechanism.strategy.spectrum(None) is None
    square = math.sqrt(mechanism.variances.sum())
    assert 0.75 * square < mechanism.error() <= square


def test_bodies_without_a_lattice_pay_for_rounding() -> None:
    body = BoxHull.of([0.0, 1, -1], [0.5, 1, 2])
    mechanism = gd.Matrix.calibrate(body, gd.GaussianDP(1.0))
    step = float(mechanism.lattice_step)
    matrix, corners = matrix_of(mechanism.strategy), np.array(list(product((-1.0, 1.0), repeat=3)))
    longest = np.linalg.norm(np.linalg.lstsq(matrix, corners.T, rcond=None)[0], axis=0).max()
    assert mechanism.scale * step >= mechanism.strategy.radius + step * longest
    strategy = segment_and_box(body, None)
    longest = np.linalg.norm(np.linalg.pinv(matrix_of(strategy)) @ corners.T, axis=0).max()
    assert strategy.cube_radius() >= longest
    with pytest.raises(InvalidRequest, match="follow from others"):
        segment_and_box(BoxHull.of([0.0, 1, 1], [1.0, 1, 1]), None).cube_radius()


@pytest.mark.many
@pytest.mark.parametrize("count", [2, 3, 4, 8, 9, 12, 20, 40, 80, 200])
def test_several_sums_err_less_than_by_other_noise(count: int) -> None:
    plan = gd.plan(sums(count), gd.PrivacyUnit(), epsilon=1.0, delta=1e-6)
    errors = {candidate.mechanism.name: candidate.error for candidate in plan.candidates}
    assert plan.mechanism.name in {"KNorm", "Matrix"}
    assert plan.error < min(errors["Cube"], errors["Laplace"], errors["Gaussian"])
    if count == 12:
        assert plan.error < 20
    if count >= 80:
        expected = count * (math.sqrt(count) + 1) / (2 * MU) / math.sqrt(count)
        assert plan.error == pytest.approx(expected, rel=0.03)
        assert "The best Gaussian noise" in plan.bound_in_words()


class Less(BoxHullNoise):
    """Noise that is 10 % too small, drawn in floats."""

    def __init__(self, body: BoxHull) -> None:
        super().__init__(body)
        self.law = None

    def draw(self, size, rng) -> np.ndarray:
        return 0.9 * super().draw(size, rng)


@pytest.mark.statistical
def test_an_audit_finds_a_tenth_less_noise() -> None:
    body = BoxHull.of(np.zeros(5), np.full(5, 100.0))
    mechanism = gd.KNorm.calibrate(body, gd.PureDP(1.0))
    first, other = np.zeros(5), np.full(5, 100.0)
    assert not gd.audit.audit(mechanism, first, other, runs=4000, rng=gd.research_rng(1)).violated
    correlated = gd.Matrix.calibrate(body, gd.GaussianDP(1.0))
    assert not gd.audit.audit(correlated, first, other, runs=4000, rng=gd.research_rng(1)).violated
    for broken in (
        replace(mechanism, noise=Less(body)),
        replace(mechanism, scale_factor=0.9 * mechanism.scale_factor),
        replace(correlated, scale=0.9 * correlated.scale),
    ):
        assert gd.audit.audit(broken, first, other, runs=4000, rng=gd.research_rng(1)).violated
