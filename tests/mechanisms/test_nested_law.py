"""Noise of several levels: their answers determine the question, in rational numbers. Keys are fixed."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Polytope
from gaugedp.mechanisms.nim import NIM, NestedNoise, ProjectedNoise, nested_law
from gaugedp.samplers.cone_noise import ConeNoise
from gaugedp.samplers.mapped import Mapped, SummedVariables
from tests.mechanisms.test_exact_strategies import rational, solved
from tests.mechanisms.test_nim import long_body
from tests.samplers import test_mapped
from tests.samplers.tape import MANY, Tape

ONE = gd.PureDP(1.0)
FACETS = long_body(8.0, 4, 9)
BOX = LinearImage(LpBall(4, np.inf, 2.0), np.diag([1.0, 1e-3, 0.1, 1e-2]))
BODIES = {"facets": FACETS, "box": BOX}


def of(body: Body, depth: int | None = None) -> tuple[NIM, NestedNoise, SummedVariables]:
    mechanism = NIM.calibrate(body, ONE, depth)
    noise = mechanism.noise
    assert isinstance(noise, NestedNoise)
    assert isinstance(noise.law, SummedVariables)
    return mechanism, noise, noise.law


def times(matrix: list[list[Fraction]], point: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, point, strict=True)), Fraction(0)) for row in matrix]


def gauge(level: ProjectedNoise, point: list[Fraction]) -> Fraction:
    """‖point‖ in the body of a level's noise, exactly."""
    law, sides = level.noise.law, [Fraction(float(side)) for side in level.noise.sides]
    if isinstance(law, ConeNoise):
        rows = zip(law.cones.normals, law.cones.sizes, strict=True)
        sizes = [abs(times([[Fraction(int(x)) for x in row]], point)[0]) / size for row, size in rows]
        return max(sizes) * 2**law.cones.exponent / sides[0]
    if isinstance(law, Mapped):
        return max(map(abs, solved(rational(law.matrix), point))) / sides[0]
    return abs(point[0]) / (Fraction(float(law.matrix[0, 0])) * sides[0])  # a line


def answers(noise: NestedNoise, law: SummedVariables) -> tuple[list[list[list[Fraction]]], list[list[Fraction]]]:
    """share_l·Q_lᵀ for each level, and Σ_l share_l·C_l·Q_lᵀ, C_l what the law does over the sides of the level."""
    d = len(noise.levels[0].basis)
    total, transposed = [[Fraction(0)] * d for _ in range(d)], []
    for level, share, part in zip(noise.levels, noise.shares, law.parts, strict=True):
        rows = [[Fraction(float(share)) * x for x in row] for row in rational(level.basis.T)]
        sides = np.broadcast_to(level.noise.sides, level.basis.shape[1])
        maps = [[x / Fraction(float(s)) for x, s in zip(row, sides, strict=True)] for row in rational(part.matrix)]
        for i in range(d):
            for j in range(d):
                total[i][j] += sum(maps[i][k] * rows[k][j] for k in range(len(rows)))
        transposed.append(rows)
    return transposed, total


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("depth", [2, 3])
def test_every_point_is_a_sum_of_points_of_the_levels(name: str, depth: int) -> None:
    """Corners of the body and of the cube of rounding: what the levels pay for them, by elimination."""
    body = BODIES[name]
    mechanism, noise, law = of(body, depth)
    transposed, total = answers(noise, law)

    def paid(point: list[Fraction]) -> Fraction:
        inverse = solved(total, point)
        return sum(gauge(level, times(rows, inverse)) for level, rows in zip(noise.levels, transposed, strict=True))

    corners = body.factor * body.columns() if isinstance(body, Polytope) else 2 * body.matrix @ np.ones((4, 1))
    farthest = max(paid([Fraction(float(x)) for x in corner]) for corner in corners.T)
    cube = sum(paid([Fraction(int(i == j)) for j in range(4)]) for i in range(4))
    assert mechanism.exactness == "exact"
    assert Fraction(99, 100) < farthest <= 1 + Fraction(1, 10**6)
    assert cube <= noise.cube_gauge <= 4 * cube
    assert farthest + mechanism.lattice_step * cube <= Fraction(mechanism.scale_factor)


def test_what_is_exact() -> None:
    lengths = np.diag([1.0, 1e-2, 0.1, 1e-3])
    for body, kind in (
        (LinearImage(LpBall(4, 3), lengths), "exact"),
        (LinearImage(LpBall(4, 1.5), lengths), "exact"),
        (LinearImage(LpBall(4, 65), lengths), "idealized"),
        (Ellipsoid(lengths), "idealized"),
    ):
        assert NIM.calibrate(body, ONE, 2).exactness == kind
    flat = Polytope.symmetric_hull(np.array([[64.0, 0, 64], [64, 0, 64], [0, 1, 1]]))
    assert NIM.calibrate(flat, ONE, 2).exactness == "idealized"
    assert NIM.calibrate(FACETS, ONE, 3).exactness == "exact"  # the last level is a line


def test_nothing_is_proved_where_the_levels_miss_the_question() -> None:
    """Maps that add up to a little more than the answer, and a scale with no room for rounding."""
    _, noise, _ = of(BOX, 2)
    maps = noise.maps
    assert nested_law(BOX, noise.levels, maps, noise.shares, 1 + 1e-6).law is not None
    assert nested_law(BOX, noise.levels, maps, noise.shares, 1.0).law is None
    for share in (1e-6, 1.0):
        more = [matrix * (1 + share) for matrix in maps]
        assert nested_law(BOX, noise.levels, more, noise.shares, 1 + 1e-6).law is None


def truth(law: SummedVariables, reals: Tape, draw: int) -> list[mpmath.mpf]:
    """The sum of the truths of the parts, each from its own numbers."""
    with mpmath.workprec(MANY):
        each = [test_mapped.truth(part, numbers, draw) for part, numbers in law._with_numbers(reals)]
        return [mpmath.fsum(x) for x in zip(*each, strict=True)]


def test_parts_of_numbers_have_bits_of_their_own() -> None:
    reals = gd.samplers.reals.Reals((2, 5), gd.research_rng(1))
    first, second = reals.columns(0, 2), reals.columns(2, 5)
    assert [second.bits(1, place, 64) for place in range(3)] == reals.words[1, 2:].tolist()
    assert first.bits(0, 2, 128) != second.bits(0, 2, 128)
    assert first.bits(0, 0, 192) == reals.columns(0, 2).bits(0, 0, 192)
    assert first.bits(0, 0, 192) % 2**128 != second.bits(0, 0, 192) % 2**128


def test_the_noise_of_a_line_is_that_of_its_longest_generator() -> None:
    mechanism = gd.KNorm.calibrate(Polytope.symmetric_hull(np.array([[0.1, -0.7, 0.3]]), 2.0), ONE)
    assert mechanism.exactness == "exact"
    assert (mechanism.noise.law.right.tolist(), mechanism.noise.sides.tolist()) == ([[0.7]], [2.0])
    assert 1 / Fraction(1.4) <= mechanism.noise.cube_gauge <= 1 / Fraction(1.4) * (1 + Fraction(1, 2**30))
