"""Means: quotients of released sums and counts, with Fieller intervals.

For released S = s + a and N = n + b with s = m·n, S − m·N = a − m·b. So the m with |S − m·N| ≤ q(m) hold the true
quotient with the probability with which |a − m·b| ≤ q(m) (Fieller 1954). q is a norm of (1, m) if the noise is
log-concave, symmetric and continuous (Meyer and Reisner 1991), so that chords between places lie above it; on a lattice
they do with a step more. docs/theory/derived.md
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.base import CENTRED, COUNTED, Ends, Influence, Statistic, Wording, inverse, longest_half
from gaugedp.statistics.inversion import quotients_within
from gaugedp.statistics.trials import public_trials, rounded_up

PLACES: np.ndarray = np.linspace(-1, 1, 9)  # of m
_OF_PLAN: np.ndarray = np.linspace(-1, 1, 65)  # means, at which the length of an interval is computed


@dataclass(frozen=True)
class ColumnMean(Statistic, kind="mean"):
    """Means of a bounded column, with Fieller intervals.

    The released numbers are n_answers sums of distances from the middle of the bounds, then n_answers counts. If a
    count is not positive, the answer is the middle of the bounds.
    """

    middle: float
    half_range: float
    word = "mean"
    moments = (CENTRED, COUNTED)
    pivot = "quotients"
    splits_misses = True
    is_between_bounds = True
    wording = Wording("Mean {}", "means", in_units=True)

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "ColumnMean":
        """Return the means of a column."""
        return cls(n_cells, float((column.low + column.high) / 2), float((column.high - column.low) / 2))

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return middle + sum/count."""
        sums, counts = np.split(values, 2)
        return self.middle + self._kept(_divided(sums, counts, counts > 0))

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return intervals of the means; curves are at equidistant means."""
        answers, (sums, counts) = self.answers(values), np.split(values, 2)
        if curves is not None:
            places = self.half_range * np.linspace(-1, 1, curves.shape[1])
            low, high = quotients_within(sums, counts, curves, places)
            return np.minimum(self.middle + low, answers), np.maximum(self.middle + high, answers)
        around, beside = np.split(widths, 2)
        has_rows = counts - beside > 0
        ends = [
            _divided(sums + side * around, count, has_rows)
            for side in (-1, 1)
            for count in (counts - beside, counts + beside)
        ]
        low = np.where(has_rows, np.minimum.reduce(ends), -self.half_range)
        high = np.where(has_rows, np.maximum.reduce(ends), self.half_range)
        return self.middle + self._kept(low), self.middle + self._kept(high)

    @property
    def range(self) -> tuple[float, float]:
        """The bounds of the column."""
        return self.middle - self.half_range, self.middle + self.half_range

    def influence(self, values: np.ndarray) -> Influence:
        """Return the influence of a row on a mean.

        For a row with weight w and value x, it is w·(x − mean)/Σ w, and infinite without weight.
        """
        return Influence(inverse(np.split(values, 2)[1]), self.answers(values))

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:
        """Return half the longest interval over all means."""
        pairs = widths.reshape(2, self.n_answers).T
        kinds = pairs if curves is None else np.hstack([pairs, curves])
        is_new = np.concatenate([[True], (kinds[1:] != kinds[:-1]).any(axis=1)])  # equal neighbours only once
        widths, curves = pairs[is_new].T.ravel(), None if curves is None else curves[is_new]
        cases = (np.repeat([count * self.half_range * mean, count], len(widths) // 2) for mean in _OF_PLAN)
        return longest_half(self.intervals(values, widths, curves) for values in cases)

    def _kept(self, distances: np.ndarray) -> np.ndarray:
        return np.clip(distances, -self.half_range, self.half_range)

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Sequence[tuple[int, "ColumnMean"]]) -> "MeanWidths":
        """Return the widths of |a − m·b|."""
        first = np.concatenate([start + np.arange(term.n_answers) for start, term in terms])
        second = np.concatenate([start + term.n_answers + np.arange(term.n_answers) for start, term in terms])
        scaled = units.copy()
        scaled[second] *= np.concatenate([np.full(term.n_answers, term.half_range) for _, term in terms])
        return MeanWidths(noise, scaled, first, second)


class MeanWidths:
    """Widths for quotients of answers `first` by `second` (indices), in `units` with |m| ≤ 1."""

    def __init__(self, noise: AdditiveNoise, units: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        self._noise, self._units, self._first, self._second = noise, units, first, second
        self._trials = self._sorted_trials()

    def widths(self, level: float) -> np.ndarray:
        """Return q at PLACES, exceeded with probability 1 − `level`.

        Each |a − m·b|, shape (pairs, places), is within it with probability `level`. It is an order statistic of trial
        draws with a public seed, three standard errors above the quantile, plus a step of the lattice of both, to cover
        the chords; or the widths of both at (1 + level)/2 together, if there are too few draws or that is smaller.
        Pairs whose own widths are the same get the larger.
        """
        half_widths = self._noise.half_widths((1 + level) / 2) * self._units
        both = self._along(half_widths)
        rank = None if self._trials is None else safe_rank(len(self._trials), level)
        if self._trials is None or rank is None:
            return both
        quantiles = rounded_up(self._trials[rank] + self._along(float(self._noise.lattice_step) * self._units))
        pairs = np.column_stack([half_widths[self._first], half_widths[self._second]])
        alike = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        largest = np.zeros((alike.max() + 1, len(PLACES)))
        np.maximum.at(largest, alike, quantiles)
        by_trials = largest[alike]
        return np.where(by_trials.sum(axis=1, keepdims=True) < both.sum(axis=1, keepdims=True), by_trials, both)

    def _along(self, sizes: np.ndarray) -> np.ndarray:
        """Return size of first + |m|·size of second, at PLACES."""
        return sizes[self._first, None] + sizes[self._second, None] * np.abs(PLACES)

    def _sorted_trials(self) -> np.ndarray | None:
        """Return sorted |a − m·b|, or None for dependent draws."""
        numbers = max(len(self._units), len(PLACES) * len(self._first))
        used = np.concatenate([self._first, self._second])
        # 4 * 10**6: numbers sorted, with more than the fewest trials
        trials = public_trials(self._noise, 1954, 4 * 10**6, numbers, numbers, used)
        if trials is None:
            return None
        top, bottom = np.split(trials * self._units[used], 2, axis=1)
        return np.sort(np.abs(top[:, :, None] - bottom[:, :, None] * PLACES), axis=0)


def _divided(sums: np.ndarray, counts: np.ndarray, where: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.divide(sums, counts, out=np.zeros(len(sums)), where=where)
