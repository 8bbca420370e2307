"""Noise on the integers against its exact probabilities. Keys are fixed, so that nothing here is left to chance."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from scipy import stats

from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.discrete import (
    MAX_SCALE,
    _geometric_digits,
    discrete_gaussian,
    discrete_laplace,
    rounded_gaussian,
    uniform_below,
)
from tests.samplers import fit

pytestmark = pytest.mark.statistical
SIZE = 300_000
ALARM = 1e-6 / 400  # fewer than 400 questions are asked here, so that a false alarm has a chance below 1e-6
SCALES = ["1/10", "1/2", "1", "10/3", "63", "64", "65", "127", "128", "1000/7", "4096", "123457/3"]
HUGE = [2**31, 2**40, 2**54]


class Kind(NamedTuple):
    draw: Callable[[int, Fraction, Entropy], np.ndarray]
    coverage: Callable[[float], fit.Coverage]


KINDS = {
    "laplace": Kind(discrete_laplace, fit.laplace_coverage),
    "gaussian": Kind(lambda size, scale, rng: discrete_gaussian(size, scale**2, rng), fit.gaussian_coverage),
    "rounded": Kind(rounded_gaussian, fit.rounded_coverage),
}
EVERY = [(kind, scale) for kind in KINDS for scale in SCALES]


@cache
def drawn(kind: str, scale: str) -> np.ndarray:
    rng = research_rng(1000 + EVERY.index((kind, scale)))
    actual = KINDS[kind].draw(SIZE, Fraction(scale), rng)
    actual.setflags(write=False)
    return actual


@cache
def coverage(kind: str, scale: str) -> fit.Coverage:
    return KINDS[kind].coverage(float(Fraction(scale)))


def p_value(draws: np.ndarray, kind: str, scale: str) -> float:
    return fit.chi_square(draws, coverage(kind, scale), float(Fraction(scale)))


@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_draws_follow_the_law(kind: str, scale: str) -> None:
    draws = drawn(kind, scale)
    assert draws.dtype == np.int64
    assert draws.shape == (SIZE,)
    assert p_value(draws, kind, scale) > ALARM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["1", "10/3", "64", "4096"])
@pytest.mark.parametrize("off", ["9/10", "98/100", "102/100", "11/10"])
def test_a_wrong_scale_alarms(kind: str, scale: str, off: str) -> None:
    draws = KINDS[kind].draw(SIZE, Fraction(scale) * Fraction(off), research_rng(7))
    assert p_value(draws, kind, scale) < ALARM


@pytest.mark.parametrize("scale", ["1", "10/3", "64"])
def test_rounded_floats_alarm(scale: str) -> None:
    """Impostors: a rounded Laplace variable of the wrong scale, and one of the right scale where it shows."""
    words = research_rng(8).words(SIZE).astype(float) / 2.0**64 - 0.5
    unit = -np.sign(words) * np.log1p(-2 * np.abs(words))
    wrong = np.rint(unit * float(Fraction(scale)) * 0.97)
    assert p_value(wrong.astype(np.int64), "laplace", scale) < ALARM
    if scale == "1":
        assert p_value(np.rint(unit).astype(np.int64), "laplace", scale) < ALARM


@pytest.mark.parametrize("other", ["gaussian", "rounded"])
def test_the_two_gaussians_can_be_told_apart_at_small_scales(other: str) -> None:
    this = {"gaussian": "rounded", "rounded": "gaussian"}[other]
    assert p_value(drawn(this, "1"), other, "1") < ALARM


@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_signs_are_symmetric(kind: str, scale: str) -> None:
    draws = drawn(kind, scale)
    above, below = int((draws > 0).sum()), int((draws < 0).sum())
    assert above + below == 0 or stats.binomtest(above, above + below).pvalue > ALARM


@pytest.mark.parametrize(("kind", "scale"), EVERY)
def test_zero_has_its_probability(kind: str, scale: str) -> None:
    chance = float(coverage(kind, scale)(np.zeros(1))[0])
    assert stats.binomtest(int((drawn(kind, scale) == 0).sum()), SIZE, chance).pvalue > ALARM


@pytest.mark.parametrize(("kind", "scale"), [each for each in EVERY if each[1] not in ("1/10", "1/2")])
def test_tails_have_their_probability(kind: str, scale: str) -> None:
    for share in (1e-2, 1e-3, 1e-4):
        assert fit.tail(drawn(kind, scale), coverage(kind, scale), float(Fraction(scale)), share) > ALARM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["63", "64", "4096"])
def test_cut_off_tails_alarm(kind: str, scale: str) -> None:
    """The control: the same draws with the tail beyond 1e-4 folded back."""
    draws = drawn(kind, scale).copy()
    draws[np.abs(draws) >= np.quantile(np.abs(draws), 1 - 1.5e-4)] = 0
    assert fit.tail(draws, coverage(kind, scale), float(Fraction(scale)), 1e-4) < ALARM


@pytest.mark.parametrize(("kind", "scale"), [("laplace", "123457/3"), ("gaussian", "123457/3"), ("gaussian", "4096")])
def test_the_lowest_digits_are_uniform(kind: str, scale: str) -> None:
    """At wide scales the last 6 bits are uniform to within 1e-9."""
    digits = np.bincount(drawn(kind, scale) & 63, minlength=64)
    assert stats.chisquare(digits).pvalue > ALARM


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", ["123457/3", "4096", "1000/7"])
def test_digits_are_drawn_with_their_own_weights(kind: str, scale: str) -> None:
    """Many narrow cells around 0, where a wrong digit table would show as a saw."""
    draws = np.abs(drawn(kind, scale))
    width = max(1, int(Fraction(scale) / 40))
    cuts = np.arange(0, 60 * width, width)
    exact = np.diff(coverage(kind, scale)(cuts.astype(float)))
    counts = np.bincount(np.searchsorted(cuts, draws), minlength=len(cuts) + 1)[1:-1]
    observed = np.append(counts, SIZE - counts.sum())
    assert fit.pooled(observed, np.append(exact, 1 - exact.sum()) * SIZE) > ALARM


@pytest.mark.parametrize("scale", ["64", "127", "128", "1000/7", "4096", "123457/3", str(2**54)])
def test_the_digits_multiply_to_the_geometric_law(scale: str) -> None:
    """Each digit's own probabilities, to 192 bits; their product at m must be (1 − q)·q^m."""
    digits = _geometric_digits(Fraction(scale))
    assert sorted(shift for shift, _ in digits)[0] == 0
    laws = [(shift, table._thresholds(192)[0]) for shift, table in digits]
    with mpmath.workdps(80):
        rate = 1 / (mpmath.mpf(Fraction(scale).numerator) / Fraction(scale).denominator)
        for m in (0, 1, 2, 255, 256, 511, int(Fraction(scale)), int(3 * Fraction(scale)) + 1):
            actual = mpmath.mpf(1)
            for place, (shift, lows) in enumerate(laws):
                digit = m >> shift if place == 0 else (m >> shift) % (len(lows) + 1)
                below = lows[digit - 1] if digit else 0
                above = lows[digit] if digit < len(lows) else 2**192
                actual *= mpmath.ldexp(above - below, -192)
            truth = -mpmath.expm1(-rate) * mpmath.exp(-m * rate)
            assert abs(actual / truth - 1) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", HUGE)
def test_huge_scales_have_the_continuous_shape(kind: str, scale: int) -> None:
    size = 4_000 if kind == "rounded" else 100_000
    magnitudes = np.abs(KINDS[kind].draw(size, Fraction(scale), research_rng(21))) / scale
    truth = stats.expon if kind == "laplace" else stats.halfnorm
    assert stats.kstest(magnitudes, truth.cdf).pvalue > ALARM
    assert magnitudes.max() < 16


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_huge_scales_use_all_low_bits(kind: str) -> None:
    draws = KINDS[kind].draw(100_000, Fraction(MAX_SCALE), research_rng(22))
    for shift in (0, 8, 16, 24, 32, 40):
        assert stats.chisquare(np.bincount(draws >> shift & 255, minlength=256)).pvalue > ALARM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["10/3", "64", "1000/7"])
@pytest.mark.parametrize("piece", [7, 500, 5000])
def test_draws_are_independent_across_refills(kind: str, scale: str, piece: int) -> None:
    """Draws from many calls, whose buffers run out in the middle, follow the law and do not know each other."""
    rng = research_rng(31)
    draws = np.concatenate([KINDS[kind].draw(piece, Fraction(scale), rng) for _ in range(1 + 40_000 // piece // 4)])
    assert p_value(draws, kind, scale) > ALARM
    check_independent(draws)


@pytest.mark.parametrize(("kind", "scale"), [each for each in EVERY if each[1] not in ("1/10", "1/2")])
def test_draws_of_one_call_are_independent(kind: str, scale: str) -> None:
    check_independent(drawn(kind, scale))


def check_independent(draws: np.ndarray) -> None:
    assert fit.lag_one(draws) > ALARM
    assert fit.lag_one(np.abs(draws)) > ALARM
    assert fit.runs(draws > 0) > ALARM
    assert fit.runs(np.abs(draws) > np.median(np.abs(draws))) > ALARM


def test_repeated_draws_alarm() -> None:
    """The control: every 20th draw is handed out twice."""
    draws = drawn("laplace", "64").copy()
    draws[1::20] = draws[::20]
    assert fit.lag_one(draws) < ALARM
    assert fit.runs(draws > 0) < ALARM


@pytest.mark.parametrize("kind", KINDS)
def test_two_streams_share_nothing(kind: str) -> None:
    first, second = (KINDS[kind].draw(50_000, Fraction(64), research_rng(seed)) for seed in (41, 42))
    score = float(np.corrcoef(first, second)[0, 1]) * np.sqrt(50_000)
    assert 2 * stats.norm.sf(abs(score)) > ALARM


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["1/10", "10/3", "64", "123457/3"])
def test_equal_keys_repeat_and_sizes_hold(kind: str, scale: str) -> None:
    for size in (0, 1, 2, 1000):
        first, second = (KINDS[kind].draw(size, Fraction(scale), research_rng(5)) for _ in range(2))
        assert first.shape == (size,)
        assert first.dtype == np.int64
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_scales_give_zeros(kind: str) -> None:
    for scale in (Fraction(1, 10**6), Fraction(1, 10**300)):
        assert not KINDS[kind].draw(1000, scale, research_rng(6)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_widest_scale_is_drawn_and_wider_is_refused(kind: str) -> None:
    assert np.abs(KINDS[kind].draw(10, Fraction(MAX_SCALE), research_rng(6))).max() > 2**40
    for scale in (MAX_SCALE + Fraction(1, 10**9), Fraction(10) ** 400):
        with pytest.raises(InvalidRequest, match="wider than 2\\^54"):
            KINDS[kind].draw(10, scale, research_rng(6))


@pytest.mark.parametrize("bound", [1, 2, 7, 3 * 2**60, 2**62])
def test_uniform_numbers_are_uniform_below_their_bounds(bound: int) -> None:
    """Sixteenths of the range; of 64 bits modulo 3·2^60, without rejection, the lowest third would come up 6/16."""
    draws = uniform_below(np.full(20_000, bound, dtype=np.int64), research_rng(5))
    assert ((draws >= 0) & (draws < bound)).all()
    counts = np.bincount(draws * 16 // bound if bound < 16 else draws // (bound // 16), minlength=16)
    shares = np.diff([-(-place * bound // 16) for place in range(17)]) / bound
    expected = shares[shares > 0] * len(draws)
    assert stats.chi2.sf(((counts[shares > 0] - expected) ** 2 / expected).sum(), len(expected)) > ALARM
