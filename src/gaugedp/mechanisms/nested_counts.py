"""Noisy counts between cuts of one cell, and the ranks that they show."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.mechanisms.count_tree import STEPS, rows_wide
from gaugedp.samplers.discrete import discrete_laplace


@dataclass(frozen=True)
class NestedCounts:
    """Noisy ranks #(rows before a cut) − q·n of two cuts per quantile q.

    The cuts divide the rows of a cell into disjoint parts, which share no row: noise of `scale` (rows) on each of them
    costs what it costs on one. For one quantile the two outer parts count as one number, (1 − q)·#left − q·#right,
    which a row moves by at most max(q, 1 − q): noise of the shape of all differences of the two nested sums. `miss` is
    the probability, at most, with which a cut is verified wrongly.
    """

    quantiles: tuple[Fraction, ...]
    scale: Fraction
    miss: float

    @property
    def largest_scale(self) -> Fraction:
        """The largest scale that is drawn, in steps."""
        return STEPS * self.scale * (1 if len(self.quantiles) > 1 else _heavy(self.quantiles[0]))

    def verify(self, table: np.ndarray, ends: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return which lower and upper `ends` (2, k) are certain, to 1 − miss each, to be on their side.

        A lower end is at most its quantile if fewer than q·n rows lie below it, an upper end at least its quantile if
        more than q·n rows lie at or below it. The lowest and the highest value always are.
        """
        cuts = np.concatenate([ends[0], ends[1] + 1])
        order = np.argsort(cuts, kind="stable")
        running = np.concatenate([[0], np.cumsum(table)])
        parts = np.diff(running[[0, *cuts[order], len(table)]])
        quantiles = [self.quantiles[place % len(self.quantiles)] for place in order]
        is_sure = np.zeros(len(cuts), dtype=bool)
        ranks = self._ranks(parts, quantiles, rng)
        for place, (at, quantile, rank) in enumerate(zip(order, quantiles, ranks, strict=True)):
            wide = math.ceil(Fraction(self.width(place, quantile)) * STEPS * quantile.denominator)
            is_sure[at] = rank + wide < 0 if at < len(self.quantiles) else rank - wide > 0
        return is_sure.reshape(2, -1) | (ends == [[0], [len(table) - 1]])

    def width(self, place: int, quantile: Fraction) -> float:
        """Return w in rows with P(noise of the rank of the cut at a place ≥ w) ≤ miss."""
        return _width(self, place, quantile)

    def scales(self, place: int, quantile: Fraction) -> Counter[float]:
        """Return the scales, in rows, of the Laplace variables in the rank of the cut at a place."""
        numbers, weights = self._noise(place, quantile)
        return sum((Counter({w * float(self.scale): n}) for n, w in zip(numbers, weights, strict=True)), Counter())

    def _noise(self, place: int, quantile: Fraction) -> tuple[tuple[int, int], tuple[float, float]]:
        """Return the numbers of Laplace variables in the rank of a cut, and their two weights."""
        left, right = float(1 - quantile), float(quantile)
        if len(self.quantiles) == 1:
            return (1, 1), (max(left, right), left if place else right)
        return (place + 1, 2 * len(self.quantiles) - place), (left, right)

    def _ranks(self, parts: np.ndarray, quantiles: list[Fraction], rng: Entropy) -> list[int]:
        """Return the noisy ranks of the cuts, in units of 1/(64·b) row for q = a/b."""
        if len(self.quantiles) == 1:
            quantile, (left, inside, right) = quantiles[0], parts.tolist()
            outside = STEPS * _rank(quantile, left, right) + _noise(_heavy(quantile) * self.scale, 1, rng)[0]
            inside = STEPS * inside + _noise(self.scale, 1, rng)[0]
            return [outside + _rank(quantile, 0, inside), outside + _rank(quantile, inside, 0)]
        noisy = STEPS * parts.astype(object) + _noise(self.scale, len(parts), rng)
        left = np.cumsum(noisy)
        return [_rank(q, below, left[-1] - below) for q, below in zip(quantiles, left[:-1], strict=True)]


def _rank(quantile: Fraction, left: int, right: int) -> int:
    return (quantile.denominator - quantile.numerator) * left - quantile.numerator * right


def _heavy(quantile: Fraction) -> int:
    """Return how far a row moves the rank of a cut, in units of 1/b row."""
    return max(quantile.numerator, quantile.denominator - quantile.numerator)


def _noise(scale: Fraction, size: int, rng: Entropy) -> list[int]:
    return discrete_laplace(size, STEPS * scale, rng).tolist()


@lru_cache(maxsize=1000)
def _width(counts: NestedCounts, place: int, quantile: Fraction) -> float:
    numbers, weights = counts._noise(place, quantile)
    first, second = (np.array([number]) for number in numbers)
    return float(rows_wide(STEPS * counts.scale, (first, second), weights, counts.miss)[0])
