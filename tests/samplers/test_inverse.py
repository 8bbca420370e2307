"""Inversion of a distribution function: exact for every uniform number, also where many bits must be drawn."""

from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from gaugedp.entropy import research_rng
from gaugedp.samplers.inverse import InverseTable, decaying_weights
from tests.samplers.distribution import cumulative
from tests.samplers.fit import of_cells
from tests.samplers.playback import ALL_ONES, Playback, extended

LAWS = {
    "geometric": (Fraction(3, 10), Fraction(0), None),
    "slow geometric": (Fraction(1, 40), Fraction(0), None),
    "fast geometric": (Fraction(9), Fraction(0), None),
    "hardly ever above 0": (Fraction(1000), Fraction(0), None),
    "gaussian": (Fraction(1, 50), Fraction(1, 25), None),
    "narrow gaussian": (Fraction(5), Fraction(10), None),
    "digit": (Fraction(1, 100), Fraction(0), 16),
    "steep digit": (Fraction(3), Fraction(0), 5),
    "coin": (Fraction(1, 7), Fraction(0), 2),
    "one value": (Fraction(1, 7), Fraction(0), 1),
}
PREC = 700


def table(law: str, first_bits: int = 64) -> InverseTable:
    return InverseTable(decaying_weights(*LAWS[law]), first_bits)


def check_inversion(law: str, tab: InverseTable, first_bits: int, prefix: int, more: list[int]) -> None:
    """The drawn bits fix an interval of uniform numbers; the value must be right for all of it."""
    played = Playback([[prefix << (64 - first_bits)]], more)
    value = int(tab.draw(1, played)[0])
    n_bits, uniform = first_bits + 64 * len(played.drawn), extended(prefix, played.drawn)
    with mpmath.workprec(PREC):
        truth = truth_of(law)
        below = truth[value - 1] if value else mpmath.mpf(0)
        above = mpmath.mpf(1) if value >= len(truth) - 1 else truth[value]
        assert below <= mpmath.ldexp(uniform, -n_bits), (law, prefix, more, value)
        assert mpmath.ldexp(uniform + 1, -n_bits) <= above, (law, prefix, more, value)


@cache
def truth_of(law: str) -> list[mpmath.mpf]:
    with mpmath.workprec(PREC):
        return cumulative(*LAWS[law])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first_bits", [8, 12])
def test_every_prefix_is_inverted_exactly(law: str, first_bits: int) -> None:
    tab = table(law, first_bits)
    extras = [[0], [1 << 63], [ALL_ONES, ALL_ONES, 5]] if first_bits == 8 else [[0x123456789ABCDEF0]]
    for prefix in range(2**first_bits):
        for more in extras:
            check_inversion(law, tab, first_bits, prefix, more)


@pytest.mark.parametrize("law", LAWS)
def test_numbers_next_to_a_threshold_are_inverted_exactly(law: str) -> None:
    """Play the first 8 + 64·3 bits of every P(X ≤ k), and the numbers one below and above at each length."""
    tab = table(law, 8)
    for threshold in truth_of(law)[:60]:
        for n_words in (0, 1, 2, 3):
            with mpmath.workprec(PREC):
                at = int(mpmath.floor(mpmath.ldexp(threshold, 8 + 64 * n_words)))
            for near in (at - 1, at, at + 1):
                if 0 <= near < 2 ** (8 + 64 * n_words):
                    words = [near >> 64 * i & ALL_ONES for i in reversed(range(n_words))]
                    check_inversion(law, tab, 8, near >> 64 * n_words, [*words, 0x9999999999999999])


@pytest.mark.parametrize("law", ["geometric", "gaussian", "digit", "coin"])
def test_undecided_numbers_draw_more_bits(law: str) -> None:
    """The bits of a threshold do not decide, so each further word is needed."""
    with mpmath.workprec(PREC):
        bits = int(mpmath.floor(mpmath.ldexp(truth_of(law)[0], 8 + 64 * 3)))
    words = [bits >> 64 * i & ALL_ONES for i in (2, 1, 0)]
    played = Playback([[bits >> 192 << 56]], [*words, 0])
    table(law, 8).draw(1, played)
    assert len(played.drawn) >= 3


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n_bits", [64, 192])
def test_thresholds_bracket_the_truth(law: str, n_bits: int) -> None:
    lows, highs = table(law)._thresholds(n_bits)
    assert len(lows) == len(highs) <= len(truth_of(law))
    with mpmath.workprec(PREC):
        for low, high, truth in zip(lows, highs, truth_of(law), strict=False):
            exact = mpmath.ldexp(truth, n_bits)
            top = 2**n_bits - 1
            assert low <= min(exact, top)
            assert high >= min(mpmath.floor(exact), top)
            assert high - low <= 1


@pytest.mark.parametrize("law", [law for law, (_, _, length) in LAWS.items() if length is None])
@pytest.mark.parametrize("n_bits", [1, 8, 64, 192])
def test_the_last_threshold_of_an_infinite_law_catches_all(law: str, n_bits: int) -> None:
    _, highs = table(law)._thresholds(n_bits)
    assert highs[-1] == 2**n_bits - 1


def p_value(law: str, first_bits: int, size: int, seed: int) -> float:
    """Compare `size` draws with the law by chi-square; what is beyond expects fewer than 20."""
    values = table(law, first_bits).draw(size, research_rng(seed))
    truth = np.array([float(each) for each in truth_of(law)])
    shares = np.diff(truth, prepend=0.0)
    kept = max(1, int(np.argmax(np.append(1 - truth, 0) * size < 20)))
    chances = np.append(shares[:kept], max(0.0, 1 - shares[:kept].sum()))
    return of_cells(np.bincount(np.minimum(values, kept), minlength=kept + 1), chances)


@pytest.mark.statistical
@pytest.mark.parametrize("first_bits", [1, 2, 3, 5, 8, 64])
def test_draws_follow_the_law_however_few_first_bits(first_bits: int) -> None:
    """60 chi-squares at 1e-8 each, fixed keys: a false alarm has a chance below 1e-6."""
    size = 100_000 if first_bits == 64 else 6_000
    for seed, law in enumerate(LAWS):
        assert p_value(law, first_bits, size, 100 * first_bits + seed) > 1e-8, law


@pytest.mark.statistical
def test_a_wrong_law_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a rate that is 10 % off."""
    for law in ("geometric", "gaussian", "steep digit"):
        rate, growth, length = LAWS[law]
        truth_of(law)  # is kept, so the draws are compared with the law as it was
        monkeypatch.setitem(LAWS, law, (rate * Fraction(11, 10), growth * Fraction(11, 10), length))
        assert p_value(law, 64, 100_000, 5) < 1e-8, law


def test_the_size_may_be_0_and_the_type_is_int64() -> None:
    assert table("geometric").draw(0, research_rng(1)).shape == (0,)
    assert table("gaussian").draw(3, research_rng(1)).dtype == np.int64
