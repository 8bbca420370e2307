"""K-norm noise on a lattice: its law against enumeration, exact gauges, rounding, coordinates, and what it refuses."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.samplers import lattice_rejection
from gaugedp.samplers.gauge_side import GaugeSide, exact_gauge
from gaugedp.samplers.lattice_rejection import LatticeRejection, _below
from gaugedp.samplers.nearest import NearestPlane
from tests.samplers.fit import of_cells

PLANE = np.array([[1, 0, 1, 2], [0, 1, -1, 1]])
SPACE = np.array([[1, 0, 0, 1, 1], [0, 1, 0, 1, 0], [0, 0, 1, 1, -1]])
FLAT = {
    "plane": Polytope.symmetric_hull(np.vstack([PLANE, PLANE.sum(axis=0)])),
    "space": Polytope.symmetric_hull(np.vstack([SPACE, SPACE[:1] - SPACE[2:]]), 2),
    "differences": Polytope.difference_hull(np.vstack([PLANE[1:] - PLANE[:1], PLANE])),
}


@cache
def noise(name: str) -> LatticeRejection:
    return LatticeRejection(FLAT[name])


@pytest.mark.parametrize("name", ["plane", "differences"])
def test_the_law_by_enumeration(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each multiple t, z is accepted from as many fine points as 0 is at t − ⌈N‖z‖_K⌉: all points are counted."""
    monkeypatch.setattr(lattice_rejection, "_LEAST_MULTIPLE", 1)
    sampler, fineness, accepted = noise(name), 4, {}
    for size in range(17):
        ranges = [range(-int(h) * size, int(h) * size + 1) for h in sampler.half]
        points = np.array(list(itertools.product(*ranges)), dtype=np.int64)
        chosen, kept = sampler.accepted(points, np.full(len(points), size), fineness)
        accepted[size] = Counter(map(tuple, chosen[kept].tolist()))
    seen = list(accepted[16])
    assert len(seen) > 20
    answers = np.array(seen, dtype=float) @ sampler.coordinates.left.T
    gauges = np.ceil(fineness * FLAT[name].gauge(answers) - 1e-6).astype(int)
    origin = (0,) * sampler.rank
    for point, gauge in zip(seen, gauges.tolist(), strict=True):
        for size in range(17):
            assert accepted[size][point] == (accepted[size - gauge][origin] if gauge <= size else 0)


@pytest.mark.statistical
@pytest.mark.parametrize("name", FLAT)
def test_draws_have_the_law(name: str) -> None:
    """4,000 draws at ε = 2 (times the factor) against e^{−ε‖z‖_K} by linear programs: chi-square, false alarms 1e−6.

    A law with a quarter more alarms.
    """
    sampler, body = noise(name), FLAT[name]
    grid = np.array(
        list(itertools.product(range(-7, 8) if sampler.rank == 2 else range(-4, 5), repeat=sampler.rank)), dtype=float
    )
    answers = grid @ sampler.coordinates.left.T
    gauges = body.gauge(answers)
    draws = sampler.on_lattice(4000, Fraction(2 * int(body.factor)), gd.research_rng(4))
    assert draws.dtype == np.int64
    counts = Counter(map(tuple, draws.tolist()))
    inside = np.array([counts[tuple(map(int, row))] for row in answers])
    assert inside.sum() > 0.97 * len(draws)
    for epsilon, is_right in ((2 * body.factor, True), (2.5 * body.factor, False)):
        assert (of_cells(inside, np.exp(-epsilon * gauges)) > 1e-6) == is_right


def test_multiples_have_their_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(t) ∝ e^{−t/s}·Π(2·h_i·t + 1), t ≥ 3, at s = 2: chi-square of 6,000 proposals, false alarms 1e−6."""
    monkeypatch.setattr(lattice_rejection, "_LEAST_MULTIPLE", 3)
    sampler, rng = noise("plane"), gd.research_rng(5)
    sizes = sampler._multiples(6000, Fraction(2), rng)
    kept = [size for size in sizes.tolist() if sampler._is_size_kept(size, rng)]
    law = np.array([np.exp(-t / 2) * np.prod(2 * sampler.half * t + 1) for t in range(3, 60)])
    assert of_cells(np.bincount(kept, minlength=60)[3:60], law) > 1e-6


def test_numbers_near_a_step_take_further_bits() -> None:
    """V in [w, w + 1)/2⁶⁴ has 1/3 of its length below 1/3: 900 draws, within five standard deviations of 300."""
    rng = gd.research_rng(6)
    low = sum(_below(2**64 // 3, 3, rng) == 0 for _ in range(900))
    assert abs(low - 300) < 5 * (900 * 2 / 9) ** 0.5
    assert _below(2**63, 3, rng) == 1


@pytest.mark.parametrize("name", FLAT)
def test_gauges_are_exact(name: str) -> None:
    """Integer points against linear programs; points on the surface are inside, and a step less is outside."""
    side = GaugeSide(noise(name).coordinates.columns)
    points = np.random.default_rng(7).integers(-40, 40, (60, side.columns.shape[0]))
    corners = (5 * side.columns[:, :2].sum(axis=1, keepdims=True)).T.astype(np.int64)
    points = np.vstack([points, corners, side.columns.T.astype(np.int64)])
    exact = [exact_gauge(side.columns, side.start, row) for row in points.tolist()]
    assert np.allclose([float(gauge) for gauge in exact], side.programs(points.astype(float))[0], rtol=1e-9)
    sizes = np.array([max(1, -(-gauge.numerator // gauge.denominator)) for gauge in exact])
    assert side.inside(points, sizes).all()
    many = np.flatnonzero(sizes > 1)
    assert not side.inside(points[many], sizes[many] - 1).any()
    for unit in (1, 4):
        expected = [max(1, -(-gauge.numerator // (unit * gauge.denominator))) for gauge in exact]
        assert side.multiples(points, unit).tolist() == expected


@pytest.mark.parametrize("name", FLAT)
def test_coordinates_hold_all_generators(name: str) -> None:
    """C·A is a multiple of I, the box holds the generators, and no generator of the body is missing."""
    at, body = noise(name).coordinates, FLAT[name]
    assert np.array_equal(at.adjoint @ at.matrix, at.divisor * np.eye(len(at.matrix)))
    assert (np.abs(at.columns) <= at.half[:, None]).all()
    shown = {tuple(sign * column) for column in noise(name).lattice_columns().T for sign in (1, -1)}
    wanted = {tuple(column) for column in np.asarray(body.symmetric_columns()).T if column.any()}
    assert wanted <= shown


def test_rounding_moves_with_the_lattice() -> None:
    """c(x + k) = c(x) + k for integers k, of any size, and c(x) is near x; floats agree with integers."""
    left = np.vstack([np.eye(4), [[1, 1, 0, 0], [0, 3, 1, -2]]])
    plane, rng = NearestPlane(left), np.random.default_rng(8)
    numerators, shift = rng.integers(-(10**6), 10**6, (200, 4)), rng.integers(-(2**40), 2**40, (200, 4))
    chosen = plane.exact(numerators, 997)
    moved = plane.exact(numerators.astype(object) + 997 * shift.astype(object), 997)
    assert ((moved - chosen) == shift).all()
    assert np.array_equal(plane.floats(numerators / 997), chosen.astype(float))
    missed = (numerators / 997 - chosen.astype(float)) @ left.T
    plain = (numerators / 997 - np.rint(numerators / 997)) @ left.T
    assert (missed**2).mean() < 0.8 * (plain**2).mean()


def test_what_it_refuses() -> None:
    with pytest.raises(InvalidRequest, match="integer answers"):
        LatticeRejection(Polytope.symmetric_hull(np.vstack([PLANE, PLANE]) * 0.5))
    wide = np.vstack([np.eye(26), np.ones((1, 26))])
    with pytest.raises(InvalidRequest, match="trials"):
        LatticeRejection(Polytope.symmetric_hull(np.hstack([wide, np.ones((27, 1)) - 2 * wide[:, :1]])))
    with pytest.raises(InvalidRequest, match="64-bit"):
        noise("plane").unit(Fraction(1, 10**12))
