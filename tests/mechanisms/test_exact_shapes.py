"""What rounding adds to noise of a body's own shape is paid for by proof: in rational numbers, not in floats."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms import norm_noise
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.integer_exp import exp_negative
from gaugedp.samplers.reals import Reals
from tests.mechanisms.test_exact_strategies import rational, solved

ONE = gd.PureDP(1.0)


def test_no_answer_in_a_flat_body_is_rounded() -> None:
    """Generators times factor on the lattice are not enough: a row less moves the answer by the generator itself."""
    for below, factor in ((2.0**-8, 1024), (2.0**-14, 0.5)):
        refused, taken = (np.array([[1.0], [1 + share]]) for share in (below, 1 / 8))
        with pytest.raises(InvalidRequest, match="Some answers follow from others"):
            gd.KNorm.calibrate(Polytope.symmetric_hull(refused, factor), ONE)
        mechanism = gd.KNorm.calibrate(Polytope.symmetric_hull(taken, factor), ONE)
        assert mechanism.exactness == "exact"
        moves = [Fraction(float(x)) * share for x in taken.ravel() for share in (1, Fraction(factor))]
        assert all((move / mechanism.lattice_step).denominator == 1 for move in moves)


@pytest.mark.parametrize("differences", [False, True])
def test_independent_generators_pay_for_rounding_by_proof(differences: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ|B⁻¹·e_i| steps for a cube, B the generators, even where floats tell of none; and the rounding of B itself."""
    points = np.array([[0.1, 2.3]]) if differences else np.random.default_rng(3).normal(size=(4, 4))
    make = Polytope.difference_hull if differences else Polytope.symmetric_hull
    monkeypatch.setattr(norm_noise, "_gauge_of_cube", lambda _: 1e-6)
    mechanism = gd.KNorm.calibrate(make(points, 0.3), ONE)
    assert mechanism.exactness == "exact"
    exact = rational(points)
    if differences:
        exact = [[exact[0][0] - exact[0][1]]]
    units = [[Fraction(int(i == j)) for j in range(len(exact))] for i in range(len(exact))]
    gauge = sum(sum(map(abs, solved(exact, unit))) for unit in units) / Fraction(0.3)
    held = [value for row in rational(mechanism.noise.law.right) for value in row]
    off = max(abs(value - other) for value, other in zip(held, [x for row in exact for x in row], strict=True))
    needed = (mechanism.lattice_step + off * Fraction(0.3)) * gauge
    assert (off > 0) == differences
    assert norm_noise._slip(mechanism.body) >= off * Fraction(0.3)
    assert 1 + needed <= Fraction(mechanism.scale_factor) <= 1 + needed * (1 + Fraction(1, 10**6))


class Short(Reals):
    """Numbers of which a few bits are known, every such number once: more bits there are none."""

    def __init__(self, words: tuple[int, ...], n_bits: int) -> None:
        self.known, self.n_bits = words, n_bits

    def bits(self, draw: int, place: int, n_bits: int) -> int:  # noqa: ARG002
        if n_bits > self.n_bits:
            raise EOFError
        return self.known[place] >> self.n_bits - n_bits

    def many(self, draw: int, places: Sequence[int], n_bits: int) -> list[int]:
        return [self.bits(draw, place, n_bits) for place in places]


def chances(noise: GaugeNoise, n_bits: int) -> tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], int], int]:
    """Return how many of all numbers give each draw, how many more may give it, and how many may give any.

    The lattice has the step 1, and ε is 1. A draw is what `rounded` makes of the ends, by theorem 1 of reals.md.
    """
    law, lattice = noise.law, [Fraction(float(side)) for side in noise.sides]
    sure, maybe, anything = Counter(), Counter(), 0
    for words in product(range(2**n_bits), repeat=law.n_reals):
        try:
            ends = law.brackets(Short(words, n_bits), 0, range(law.d), n_bits)
        except EOFError:
            anything += 1
            continue
        sides = [lattice[place % len(lattice)] for place in range(law.d)]
        results = [
            range(floor(side * low + Fraction(1, 2)), floor(side * high + Fraction(1, 2)) + 1)
            for side, (low, high) in zip(sides, ends, strict=True)
        ]
        points = list(product(*results))
        (sure if len(points) == 1 else maybe).update(points)
    return sure, maybe, anything


SMALL = {
    "count": (Polytope.symmetric_hull(np.array([[1.0]])), 10),
    "two counts": (LpBall(2, 1, 1.0), 6),
}


@pytest.mark.parametrize("name", SMALL)
def test_likelihood_ratios_by_enumeration_are_at_most_e_to_the_epsilon(name: str) -> None:
    """Every bit string of some length: no draw is more than e^ε as likely from a neighbour, by rational numbers.

    Control: from an answer twice as far away the draw 0 is less than e^−ε as likely. Strings that end before anything
    is known have the gauge log 2 times their length, less that of half a cube: more than such a draw has.
    """
    body, n_bits = SMALL[name]
    sure, maybe, anything = chances(gauge_noise(body), n_bits)
    least = Fraction(exp_negative(Fraction(1), 64)[0], 2**64)
    moves = (body.columns() if isinstance(body, Polytope) else np.eye(body.ambient_dim)).astype(int).T
    nothing = (0,) * body.ambient_dim

    def is_broken(seen: tuple[int, ...], move: np.ndarray, unknown: int) -> bool:
        other = tuple(a + int(b) for a, b in zip(seen, move, strict=True))
        return sure[seen] * least > sure[other] + maybe[other] + unknown

    assert sum(sure.values()) > 0
    assert not any(is_broken(seen, sign * move, anything) for seen in sure for move in moves for sign in (1, -1))
    assert all(is_broken(nothing, 2 * move, 0) for move in moves)


class Every(Reals):
    """All strings of a few bits, one for each draw: k numbers have 2^(k·n_bits) of them."""

    def __init__(self, n_reals: int, n_bits: int) -> None:
        cells = np.arange(2 ** (n_reals * n_bits), dtype=np.uint64)
        parts = [cells >> np.uint64(n_bits * place) << np.uint64(64 - n_bits) for place in range(n_reals)]
        self.words = np.stack(parts).T


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three counts", "a rounded square"])
def test_ratios_by_the_bounds_of_all_strings_are_at_most_e_to_the_epsilon(name: str) -> None:
    """Three numbers of 7 bits: what the proved bounds of floats leave open counts as the neighbour's.

    The least and the most strings that give a draw are whole numbers, and are compared by rational numbers. Control: as
    above.
    """
    body = LpBall(3, 1, 1.0) if name == "three counts" else LpBall(1, np.inf, 1.0)
    noise, d = gauge_noise(body), body.ambient_dim
    values, bounds = noise.law.closer(Every(3, 7), 7)
    bounds = bounds + 2.0**-40  # the rounding of the ends themselves
    low, high = np.floor(values - bounds + 0.5), np.floor(values + bounds + 0.5)
    is_sure = (low == high).all(axis=1)
    points = {*product(range(2), repeat=d), *(tuple(2 * np.eye(d, dtype=int)[place]) for place in range(d))}
    least, most = {}, {}
    for point in points:
        touched = ((low <= point) & (high >= point)).all(axis=1)
        least[point], most[point] = int((touched & is_sure).sum()), int(touched.sum())
    share = Fraction(exp_negative(Fraction(1), 64)[0], 2**64)
    apart = [(a, b) for a in points for b in points if np.abs(np.subtract(a, b)).sum() == 1]
    assert all(least[a] * share <= most[b] for a, b in apart)
    nothing = (0,) * d
    assert all(least[nothing] * share > most[point] for point in points if max(point) == 2)
    assert least[nothing] > 2**15
