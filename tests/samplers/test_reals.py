"""Rounded functions of random reals: a function of the bits alone, and the right one. Keys are fixed."""

import math
from collections.abc import Iterable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.bodies import LinearImage, LpBall
from gaugedp.samplers import box_noise, known_laws, variables
from gaugedp.samplers.box_noise import BoxNoise
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.integer_log import log_bracket, logs_bracket
from gaugedp.samplers.mapped import Mapped
from gaugedp.samplers.reals import Ends, RealFunction, Reals, rounded, rounded_draws
from gaugedp.samplers.variables import LaplaceVariables, Normal, Spherical, Variables
from tests.samplers.tape import MANY, Tape, tape, truth, undecided

COUNTS = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, -2.0]])
UNLIKE = np.random.default_rng(0).normal(size=(3, 4))
LAWS: dict[str, RealFunction] = {
    "one": BoxNoise(1),
    "three": BoxNoise(3),
    "twenty": BoxNoise(20),
    "cells": Combined(COUNTS, np.eye(3)),
    "sums": Combined(COUNTS, UNLIKE),
    "normal": Combined(COUNTS, UNLIKE[:, :3], Normal),
    "normal sums": Combined(COUNTS, UNLIKE, Normal),
    "ball": Combined(np.eye(3), UNLIKE[:, :3], Spherical),
    "disc": Combined(np.eye(2), UNLIKE[:2, :2], Spherical),
    "line": Combined(np.array([[2.0]]), np.eye(1), Spherical),
}
PRECISIONS = (8, 16, 53, 120)
BRACKETED = ("sums", "normal sums", "ball", "disc")


# -- the integers are a function of the bits alone ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("law", [LAWS["three"], LAWS["sums"]], ids=["three", "sums"])
def test_every_first_precision_gives_the_same_integers_in_many_draws(law: RealFunction) -> None:
    lattice = np.array([30.0, 1.0, 1e6])[: law.d]
    expected = rounded(law, tape(law, 10**5, 2), lattice)
    for first_bits in PRECISIONS:
        assert np.array_equal(rounded(law, tape(law, 10**5, 2), lattice, first_bits), expected), first_bits
    assert undecided(law, tape(law, 10**5, 2), lattice, 8) > 0.9


def test_one_number_has_the_same_bits_for_every_decision() -> None:
    reals = Reals((3, 2), gd.research_rng(4))
    long = reals.bits(1, 1, 200)
    assert reals.bits(1, 1, 256) >> 56 == long
    assert reals.bits(1, 1, 64) == reals.words[1, 1]
    assert [reals.bits(1, 1, n_bits) for n_bits in range(1, 200)] == [long >> 200 - n_bits for n_bits in range(1, 200)]
    assert len({reals.bits(draw, place, 192) & (2**128 - 1) for draw in range(3) for place in range(2)}) == 6


class Number(RealFunction):
    """One number itself, of which floats know nothing."""

    d, n_reals = 1, 1

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        return np.zeros((len(reals.words), 1)), np.full((len(reals.words), 1), np.inf)

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        word = reals.bits(draw, 0, n_bits)
        return [(Fraction(word, 2**n_bits), Fraction(word + 1, 2**n_bits)) for _ in places]


def test_wide_noise_is_exact_modulo_2_to_the_64() -> None:
    """Beyond 53 bits floats know no integer; beyond 64 the sum with an answer is the true one, wrapped."""
    law, reals = Number(), Tape((200, 1), 5)
    for power in (60, 63, 64, 90):
        actual = rounded(law, reals, np.array([2.0**power]))[:, 0]
        words = [reals.bits(draw, 0, power + 1) for draw in range(200)]
        assert [(int(ours) - ((word + 1) >> 1)) % 2**64 for ours, word in zip(actual, words, strict=True)] == [0] * 200


# -- bounds and brackets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bits", [8, 16, 53, 64])
@pytest.mark.parametrize("law", [*LAWS.values(), BoxNoise(100)], ids=[*LAWS, "many"])
def test_the_truth_is_within_the_bound_of_the_floats(law: RealFunction, n_bits: int) -> None:
    """Those of the draw, and those of each coordinate, which are no wider."""
    reals = tape(law, 12, 6)
    true = [truth(law, reals, draw) for draw in range(12)]
    least = np.inf
    for values, bounds in (law.floats(reals, n_bits), law.closer(reals, n_bits)):
        each = np.broadcast_to(bounds, values.shape)
        ratios = [
            float(abs(mpmath.mpf(float(values[place])) - true[place[0]][place[1]])) / float(each[place])
            for place in map(tuple, np.argwhere(each < 1e100))
        ]
        assert max(ratios, default=0) < 1
        assert max(ratios, default=1) > 1e-3  # a bound that is not idle
        total = float(each[each < 1e100].sum())
        assert total <= least * (1 + 1e-9) or each.max() > 1e100
        least = total


@pytest.mark.parametrize("n_bits", [8, 16, 64])
@pytest.mark.parametrize("kind", [LaplaceVariables, Normal, Spherical])
def test_a_point_is_within_its_own_bound_where_further_bits_are_all_ones(kind: type[Variables], n_bits: int) -> None:
    """Numbers near 1/e and 1/2, whose next bits are ones or zeros: those of the angle matter most."""
    worst = 0.0
    law = Combined(np.eye(2), np.eye(2), kind)
    starts = [0.37, 0.5, 0.62, 0.9, 0.13]
    for place in range(40):
        reals = tape(law, 1, place)
        reals.words = reals.words.copy()
        for number in range(law.n_reals):
            first = int(starts[(place + number * (place // 5)) % 5] * 2**n_bits) << 64 - n_bits
            reals.words[0, number] = first | ((1 << 64 - n_bits) - 1) * (place >> number % 3 & 1)
        values, error, total = kind(2).floats(reals, n_bits)
        each = [abs(mpmath.mpf(float(v)) - x) for v, x in zip(values[0], truth(law, reals, 0), strict=True)]
        worst = max(worst, float(sum(each) / error[0]))
        assert all(off <= bound for off, bound in zip(each, kind(2).apart(reals.words, n_bits)[1][0], strict=True))
        assert total[0] >= np.abs(values).sum() * (1 - 2.0**-40)
    assert 0.01 < worst < 1


def test_quotients_are_bracketed_by_the_outer_ends() -> None:
    for point in ((3, 4), (-3, 4), (-4, -3), (0, 5)):
        low, high = variables._scaled(point, (10, 12), (5, 7))
        every = [Fraction(p * r, length) for p in point for r in (10, 12) for length in (5, 7)]
        assert (low, high) == (math.floor(min(every)), math.ceil(max(every)))


def test_a_radius_is_within_its_own_bound() -> None:
    """Words of 64 ones and few zeros: no bit that is not known matters, and all that is left is rounding."""
    words = np.full((200, 7), 2**64 - 1, dtype=np.uint64) - gd.research_rng(11).words(1400).reshape(200, 7) // 5
    radius, error = box_noise.minus_log_product(words, 64)
    for row, actual, bound in zip(words, radius, error, strict=True):
        with mpmath.workprec(MANY):
            true = -mpmath.fsum(mpmath.log(mpmath.ldexp(mpmath.mpf(int(word)), -64)) for word in row)
            assert abs(actual - true) <= bound - 7.0 / float(row.min())
        assert bound < 2.0**-45


def test_balls_with_coordinates_in_units_of_their_own_have_the_law_of_the_ball() -> None:
    upright = np.diag([1.0, 3.0])
    for p in (1.0, 1.5, 2.0, np.inf):
        known = known_laws.known_law(LinearImage(LpBall(2, p), upright))
        assert type(known.law) is type(known_laws.known_law(LpBall(2, p)).law)
        assert known.sides == pytest.approx([1.0, 3.0])
        assert known.cube_gauge == Fraction(4, 3)
        assert known_laws.known_law(LpBall(2, p, 3.0))[1:] == (pytest.approx([3.0]), Fraction(2, 3))


def test_other_images_of_balls_are_mapped_where_the_matrix_is_one_to_one() -> None:
    upright = np.diag([1.0, 3.0])
    for p in (1.0, 1.5, 2.0, np.inf):
        for matrix in (np.array([[1.0, 0.5], [0.0, 1.0]]), -upright):
            known = known_laws.known_law(LinearImage(LpBall(2, p, 3.0), matrix))
            assert isinstance(known.law, Mapped)
            assert (known.law.matrix == matrix).all()
            assert known.sides == pytest.approx([3.0])
        assert isinstance(known_laws.known_law(LinearImage(LpBall(2, p, 3.0), upright)).law, Mapped)
        for matrix in (np.diag([1.0, 0.0]), np.ones((1, 2)), np.ones((2, 2))):
            assert known_laws.known_law(LinearImage(LpBall(2, p), matrix)).law is None


@pytest.mark.parametrize("n_bits", [64, 128, 192])
@pytest.mark.parametrize("law", [BoxNoise(5), *map(LAWS.get, BRACKETED)], ids=["box", *BRACKETED])
def test_the_truth_is_in_the_bracket(law: RealFunction, n_bits: int) -> None:
    reals = tape(law, 60, 7)
    reals.words = reals.words.copy()
    reals.words[0, :6] = 0  # no bits at all: more are drawn before anything is said
    reals.words[1, :6] = 2**64 - 1
    for draw in range(60):
        ends = law.brackets(reals, draw, range(law.d), n_bits)
        for (low, high), true in zip(ends, truth(law, reals, draw), strict=True):
            with mpmath.workprec(MANY):
                bottom, top = (mpmath.mpf(end.numerator) / end.denominator for end in (low, high))
                assert bottom <= true <= top
            assert high - low < 2.0 ** (20 - n_bits) or draw < 2


def test_logarithms_are_bracketed() -> None:
    numbers = [1, 2, 3, 7, 2**64 - 1, 2**64, 10**30 + 1, *(3**k for k in range(1, 200, 7))]
    for n_bits in (1, 20, 64, 200):
        for x in numbers:
            low, high = log_bracket(x, n_bits)
            with mpmath.workprec(MANY):
                assert low <= mpmath.ldexp(mpmath.log(x), n_bits) <= high, (x, n_bits)
            assert high - low <= 2


def test_logarithms_of_all_that_lies_between_are_bracketed() -> None:
    for first, last in ((1, 1), (1, 2), (3, 700), (2**64 - 2, 2**64 - 1), (10**30, 10**30 + 10**12)):
        for n_bits in (8, 64, 200):
            low, high = logs_bracket(first, last, n_bits)
            with mpmath.workprec(MANY):
                assert low <= mpmath.ldexp(mpmath.log(first), n_bits)
                assert mpmath.ldexp(mpmath.log(last), n_bits) <= high


def test_the_logarithm_of_floats_is_within_its_bound() -> None:
    """Powers of two, the ends of the reduction, neighbours of 1, and 5,000 others from 2^−512 to 2^512."""
    rng = np.random.default_rng(8)
    edges = [1.0, math.nextafter(1, 0), 0.5, math.sqrt(0.5), math.nextafter(math.sqrt(0.5), 0), 2.0**-512, 2.0**-64]
    numbers = np.concatenate(
        [edges, rng.random(2000), 2.0 ** -rng.uniform(0, 512, 2000), 2.0 ** rng.uniform(0, 512, 1000)]
    )
    actual = box_noise.minus_log(numbers)
    with mpmath.workprec(200):
        units = [
            float(abs(mpmath.mpf(float(y)) + mpmath.log(mpmath.mpf(float(x)))) * 2**53 / (abs(y) + 1))
            for x, y in zip(numbers, actual, strict=True)
        ]
        assert abs(mpmath.mpf(box_noise._LOG_2) - mpmath.log(2)) < mpmath.ldexp(1, -54)
    assert max(units) < 4
    assert max(units) > 0.5


# -- the law -----------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_law_of_a_coordinate_and_of_the_largest(d: int) -> None:
    """|z_i| = R·|U_i| and max|z| ~ Gamma(d). False alarms: 2·10⁻⁶ each; the control has Gamma(d + 1) for Gamma(d)."""
    fine = 2.0**20
    draws = rounded_draws(BoxNoise(d), 40_000, np.array([fine]), gd.research_rng(9)) / fine
    largest = np.abs(draws).max(axis=1)
    assert scipy.stats.kstest(largest, scipy.stats.gamma(d).cdf).pvalue > 1e-6
    assert scipy.stats.kstest(largest, scipy.stats.gamma(d + 1).cdf).pvalue < 1e-9
    for place in range(d):
        below = lambda y: scipy.special.gammainc(d + 1, y) + y / d * scipy.special.gammaincc(d, y)  # noqa: E731
        assert scipy.stats.kstest(np.abs(draws[:, place]), below).pvalue > 1e-6
        positive = int((draws[:, place] > 0).sum())
        assert scipy.stats.binomtest(positive, len(draws)).pvalue > 1e-6
    if d > 1:
        share = np.abs(draws).min(axis=1) / largest  # all but the largest are uniform below it
        assert scipy.stats.kstest(share, lambda s: 1 - (1 - s) ** (d - 1)).pvalue > 1e-6


@pytest.mark.statistical
def test_sums_of_laplace_variables_have_their_law() -> None:
    """A single variable is Laplace, and the sums have the moments of F·H. False alarms: 2·10⁻⁶; controls are wider."""
    fine = 2.0**20
    line = rounded_draws(Combined(np.eye(1), np.eye(1)), 40_000, np.array([fine]), gd.research_rng(12)) / fine
    assert scipy.stats.kstest(line[:, 0], scipy.stats.laplace.cdf).pvalue > 1e-6
    assert scipy.stats.kstest(line[:, 0], scipy.stats.laplace(scale=1.05).cdf).pvalue < 1e-6
    draws = rounded_draws(Combined(COUNTS, UNLIKE), 200_000, np.array([fine]), gd.research_rng(13)) / fine
    expected = 2 * COUNTS @ UNLIKE @ UNLIKE.T @ COUNTS.T
    products = draws[:, :, None] * draws[:, None, :]
    z = (products.mean(axis=0) - expected) / products.std(axis=0) * len(draws) ** 0.5
    assert np.abs(z).max() < 5
    assert np.abs((products.mean(axis=0) - 1.1 * expected) / products.std(axis=0) * len(draws) ** 0.5).max() > 5


@pytest.mark.statistical
def test_coarse_draws_have_the_chances_of_their_cells() -> None:
    """In one dimension it is Laplace noise, rounded. Chi-square, false alarm 10⁻⁶; controls of other scales."""
    scale, size = 1.7, 200_000
    draws = rounded_draws(BoxNoise(1), size, np.array([scale]), gd.research_rng(10))[:, 0]
    ends = np.arange(9)

    def p_value(scale: float) -> float:
        tail = np.exp(-(ends + 0.5) / scale) / 2  # P(z > k) for k = 0 … 8
        inner = [*(tail[:-1] - tail[1:])[::-1], 1 - 2 * tail[0], *(tail[:-1] - tail[1:])]
        counts = [(draws == k).sum() for k in range(-8, 9)]
        expected = np.array([*inner, 2 * tail[-1]]) * size
        return float(scipy.stats.chisquare([*counts, size - sum(counts)], expected).pvalue)

    assert p_value(scale) > 1e-6
    assert max(p_value(1.02 * scale), p_value(0.98 * scale)) < 1e-6
