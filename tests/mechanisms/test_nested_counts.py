"""Noisy counts at proposed cuts: what a unit moves, what the noise is, and how often a wrong end is verified."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.mechanisms import nested_counts
from gaugedp.mechanisms.nested_counts import NestedCounts

HALF, HIGH = Fraction(1, 2), Fraction(9, 10)
QUARTERS = (Fraction(1, 4), HALF, Fraction(3, 4))


class Recorder:
    """Stands in for the noise: adds none, and keeps the scales."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scales: list[Fraction] = []
        monkeypatch.setattr(nested_counts, "_noise", self._noise)

    def _noise(self, scale: Fraction, size: int, rng: object) -> list[int]:  # noqa: ARG002
        self.scales += [scale] * size
        return [0] * size


def costs(counts: NestedCounts, here: np.ndarray, there: np.ndarray, recorder: Recorder) -> Fraction:
    """Return Σ |change|/scale of what is noised, in units of 1/ε; each number is recovered from the noiseless ranks."""
    recorder.scales.clear()
    shares = [counts.quantiles[i % len(counts.quantiles)] for i in range(2 * len(counts.quantiles))]
    first, other = (counts._ranks(parts, shares, gd.research_rng(1)) for parts in (here, there))
    scales = recorder.scales[: len(recorder.scales) // 2]
    moves = [Fraction(b - a, 64) for a, b in zip(first, other, strict=True)]
    if len(counts.quantiles) > 1:
        return sum((abs(Fraction(int(b - a))) / s for a, b, s in zip(here, there, scales, strict=True)), Fraction(0))
    inside = (moves[1] - moves[0]) / shares[0].denominator  # D₂ − D₁ = M, in units of 1/b row
    outside = moves[0] + shares[0].numerator * inside
    return abs(outside) / scales[0] + abs(inside) / scales[1]


@pytest.mark.parametrize("quantiles", [(HALF,), (HIGH,), (Fraction(1, 7),), QUARTERS], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_neighbour_moves_the_counts_by_more_than_their_noise_hides(quantiles, rows: int, monkeypatch) -> None:
    """All pairs of small parts, a row added or (rows = 2) replaced; attained, and not with a tenth less noise."""
    recorder = Recorder(monkeypatch)
    counts, n_parts = NestedCounts(quantiles, Fraction(rows, 1), 0.01), 2 * len(quantiles) + 1
    largest = Fraction(0)
    for here in list(product(range(2), repeat=n_parts))[:: 1 if n_parts == 3 else 9]:
        for place, target in product(range(n_parts), repeat=2):
            there = list(here)
            there[place] += 1
            if rows == 2:
                there[target] -= 1
            largest = max(largest, costs(counts, np.array(here), np.array(there), recorder))
    assert Fraction(9, 10) < largest <= 1


def test_the_noise_has_the_shape_of_the_body() -> None:
    """One quantile: the noise of the two ranks is uniform on growing copies of the hull of all differences."""
    counts = NestedCounts((HALF,), Fraction(50), 0.01)
    draws = np.array([counts._ranks(np.zeros(3, int), [HALF] * 2, gd.research_rng(i)) for i in range(3000)]) / 128
    gauges = 2 * np.abs(draws).max(axis=1) / 50  # the square [−½, ½]²
    assert stats.kstest(gauges, stats.gamma(2).cdf).pvalue > 1e-3
    assert np.var(draws, axis=0) == pytest.approx([50**2] * 2, rel=0.15), "three parts would give 1.5 times that"


def test_every_part_has_its_own_noise() -> None:
    counts = NestedCounts(QUARTERS, Fraction(20), 0.01)
    shares = [QUARTERS[i % 3] for i in range(6)]
    ranks = np.array([counts._ranks(np.zeros(7, int), shares, gd.research_rng(i)) for i in range(400)], dtype=float)
    for i, share in enumerate(map(float, shares)):
        variance = 2 * 20**2 * ((i + 1) * (1 - share) ** 2 + (6 - i) * share**2)
        assert np.var(ranks[:, i] / (64 * shares[i].denominator)) == pytest.approx(variance, rel=0.35)


@pytest.mark.statistical
@pytest.mark.parametrize("quantiles", [(HALF,), (HIGH,), QUARTERS], ids=str)
def test_wrong_ends_are_verified_as_seldom_as_stated(quantiles) -> None:
    """Ends exactly at rank q·n, the worst case; miss = 0.2, and hardly less often. False alarms: once in 10^5."""
    counts, table = NestedCounts(quantiles, Fraction(8), 0.2), np.zeros(101, dtype=np.int64)
    table[1:] = 40
    lower = np.array([1 + int(100 * share) for share in quantiles])  # #below = q·n
    right, wrong = np.zeros(2 * len(quantiles)), 2000
    for i in range(wrong):
        right += counts.verify(table, np.array([lower, lower - 1]), gd.research_rng(i)).ravel()
    for count in right.tolist():
        assert stats.binomtest(int(count), wrong, 0.2, alternative="greater").pvalue > 1e-6
        assert count > 0.15 * wrong


def test_the_bounds_need_no_count() -> None:
    counts, table = NestedCounts((HALF,), Fraction(10**6), 0.01), np.array([0, 5, 5, 0])
    assert counts.verify(table, np.array([[0], [3]]), gd.research_rng(1)).all()
    assert not counts.verify(table, np.array([[1], [2]]), gd.research_rng(1)).any()


def test_ends_in_any_order_are_judged_by_their_own_ranks() -> None:
    """Almost no noise: of crossing ends of three quantiles, those on their side are verified, the others not."""
    counts, table = NestedCounts(QUARTERS, Fraction(1, 1000), 1e-6), np.full(100, 10)
    ends = np.array([[10, 60, 70], [30, 40, 90]])
    assert counts.verify(table, ends, gd.research_rng(1)).tolist() == [[True, False, True], [True, False, True]]
