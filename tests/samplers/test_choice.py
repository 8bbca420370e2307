"""Exact choices: the law, the decisions in integers, and the extremes. Keys are fixed; p-values at least 1e-4."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.samplers import choice
from gaugedp.samplers.choice import choose, coins, one_of_each
from tests.samplers.fit import of_cells
from tests.samplers.playback import Playback

N_DRAWS = 40_000
LEAST = 1e-4


def fits(found: np.ndarray, chances: np.ndarray) -> float:
    """Return the p-value of the chi-square test."""
    return of_cells(np.bincount(found, minlength=len(chances)), chances)


def law(gaps, rate, counts=None) -> np.ndarray:
    weights = [mpmath.e ** (-mpmath.mpf(rate.numerator) / rate.denominator * int(gap)) for gap in gaps]
    weights = [weight * int(count) for weight, count in zip(weights, counts or [1] * len(weights), strict=True)]
    return np.array([float(weight / sum(weights)) for weight in weights])


CASES = [
    ([0, 1, 2, 5], Fraction(1, 2), None),
    ([7, 7, 7], Fraction(3), None),
    ([-4, 10, -3, 0], Fraction(1, 10), [1, 5, 0, 3]),
    ([0, 10**15, 10**15 + 1], Fraction(1, 10**15), [1, 2, 3]),
    ([-(2**60), 2**60, 0], Fraction(1, 2**62), None),
    ([3], Fraction(1), None),
    ([0, 5], Fraction(10) ** 400, [0, 4]),
    ([0, 5], Fraction(1, 10**400), [1, 4]),
]


@pytest.mark.parametrize("in_integers", [False, True])
@pytest.mark.parametrize(("gaps", "rate", "counts"), CASES)
def test_the_law(monkeypatch, in_integers: bool, gaps, rate, counts) -> None:
    size = N_DRAWS
    if in_integers:  # every draw is undecided by floats
        monkeypatch.setattr(choice, "_MARGIN", 2.0)
        size //= 40
    actual = choose(np.array(gaps), rate, size, gd.research_rng(1), None if counts is None else np.array(counts))
    shifted = [gap - min(g for g, c in zip(gaps, counts or gaps, strict=True) if counts is None or c) for gap in gaps]
    assert actual.dtype == np.int64
    assert fits(actual, law(shifted, rate, counts)) > LEAST


def test_floats_and_integers_decide_alike() -> None:
    gaps, rate = np.arange(50) % 17, Fraction(1, 3)
    by_floats = choose(gaps, rate, 400, gd.research_rng(5))
    words = gd.research_rng(5).words(400)
    further = gd.research_rng(6)
    assert by_floats.tolist() == [choice._Decision(gaps, rate, None).settle(int(word), further) for word in words]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1, max_size=12).filter(
        lambda pairs: any(count for _, count in pairs)
    ),
    st.fractions(Fraction(1, 50), 20),
)
def test_the_thresholds_enclose_the_truth(pairs, rate) -> None:
    gaps, counts = np.array(pairs).T
    least = gaps[counts > 0].min()
    lows, highs = choice._Decision(np.maximum(gaps - least, 0), rate, counts)._thresholds(64)
    with mpmath.workdps(60):
        ratio = mpmath.mpf(rate.numerator) / rate.denominator
        weights = [int(c) * mpmath.e ** (-ratio * max(0, int(gap - least))) for gap, c in pairs]
        running = [sum(weights[: place + 1]) / sum(weights) * 2**64 for place in range(len(weights))]
    assert all(low <= true <= high for low, true, high in zip(lows, running, highs, strict=True))
    assert all(high - low < 2**20 for low, high in zip(lows, highs, strict=True))
    assert lows[-1] == highs[-1] == 2**64


def test_the_margin_holds_what_floats_lose() -> None:
    rng = np.random.default_rng(0)
    for rate in (Fraction(1, 3), Fraction(7, 10**6)):
        gaps = rng.integers(0, int(700 / rate), 300)
        gaps[0] = 0
        lows, highs = choice._Decision(gaps, rate, None)._thresholds(64)
        shares = choice._shares(gaps, float(rate), None)
        true = np.array([float(Fraction(low + high, 2**65)) for low, high in zip(lows, highs, strict=True)])
        assert np.abs(shares - true).max() < choice._MARGIN + 300 * choice._EACH


def test_coins() -> None:
    gaps = np.repeat([0, 1, 3, 1000, 10**9], N_DRAWS)
    heads = coins(gaps, Fraction(1, 4), gd.research_rng(2)).reshape(5, -1)
    assert heads[0].all()
    assert not heads[3:].any()
    for row, chance in zip(heads[1:3], np.exp([-0.25, -0.75]), strict=True):
        assert abs(row.mean() - chance) < 4.5 * (chance * (1 - chance) / N_DRAWS) ** 0.5


def test_coins_in_integers(monkeypatch) -> None:
    monkeypatch.setattr(choice, "_MARGIN", 2.0)
    heads = coins(np.repeat([0, 2, 800], 1000), Fraction(1, 4), gd.research_rng(3)).reshape(3, -1)
    assert heads[0].all()
    assert not heads[2].any()
    assert abs(heads[1].mean() - np.exp(-0.5)) < 0.07


@pytest.mark.parametrize(("beside", "consulted"), [(2.0**-46, True), (2.0**-30, False)])
def test_next_to_a_threshold_integers_decide(monkeypatch, beside: float, consulted: bool) -> None:
    """One half between two candidates, and e^−1 for a coin: floats are asked alone where they can be sure."""
    bits = Playback([[2**63 + int(beside * 2**64)]], [0])
    assert choose(np.array([0, 0]), Fraction(1), 1, bits).tolist() == [1]
    assert len(bits.drawn) == consulted
    settled = []
    monkeypatch.setattr(choice, "_settle_coin", lambda *requested: not settled.append(requested))
    bits = Playback([[int(np.exp(-1.0) * 2.0**64) + int(beside * 2**64)]])
    assert coins(np.array([1]), Fraction(1), bits).tolist() == [consulted]
    assert len(settled) == consulted


class Repeating:
    """Words that tie at first."""

    def __init__(self) -> None:
        self.calls = 0

    def words(self, count: int) -> np.ndarray:
        self.calls += 1
        return np.full(count, 9, np.uint64) if self.calls == 1 else np.arange(count, dtype=np.uint64) * np.uint64(4)


def test_one_of_each() -> None:
    heads = np.tile([True, False, True, True], (N_DRAWS, 1))
    assert fits(one_of_each(heads, gd.research_rng(4)), np.array([1, 0, 1, 1]) / 3) > LEAST
    ties = Repeating()
    assert one_of_each(heads[:1], ties).tolist() == [3]
    assert ties.calls == 2
    assert one_of_each(np.array([[False, True]]), Repeating()).tolist() == [1]


def test_counts_of_any_size() -> None:
    """Counts beyond all floats, against whole numbers: by floats and, beside a threshold, by integers alike."""
    counts = np.array([3 * 10**400, 0, 10**400, 2 * 10**400], dtype=object)
    draws = choose(np.zeros(4, dtype=np.int64), Fraction(1), 6000, gd.research_rng(4), counts)
    observed = np.bincount(draws, minlength=4)
    assert observed[1] == 0
    assert fits(np.searchsorted([0, 2, 3], draws), np.array([3, 1, 2]) / 6) > 1e-3
    settled = [
        choice._Decision(np.zeros(4), Fraction(1), counts).settle(word << 62, gd.research_rng(1)) for word in range(4)
    ]
    assert settled == [0, 0, 2, 3]
