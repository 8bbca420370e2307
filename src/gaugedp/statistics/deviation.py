"""Standard deviations from released sums, sums of squares and counts.

In the unit in which values lie in [−1, 1]: B = Σ d + e_B, A = Σ (2·d² − 1) + e_A and N = n + e_N. For the mean m and
variance v of d, the pivot is A − 4m·B + c·N = e_A − 4m·e_B + c·e_N for c = 2m² + 1 − 2v, as Σ (2·(d − m)² − 1) = n·(2v
− 1). The quantile of its size is a norm of (1, m, c) if the noise is log-concave, symmetric and continuous (Meyer and
Reisner 1991), so that linear interpolation between places lies above it; on a lattice, with a step more.
docs/theory/derived.md
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.base import COUNTED, ROUNDED, SQUARED, Ends, Statistic, Terms, Wording, longest_half
from gaugedp.statistics.inversion import quotients_within
from gaugedp.statistics.trials import kinds_of, public_trials, rounded_up

MEANS: np.ndarray = np.linspace(-1, 1, 17)  # m at which widths are known
PLACES: np.ndarray = np.linspace(-1, 3, 9)  # c at which widths are known
ENDS: np.ndarray = np.linspace(-1, 1, 3)  # m at which the sizes of the noise of B − m·N are
N_WIDTHS = len(ENDS) + len(MEANS) * len(PLACES)
_STEPS: np.ndarray = np.linspace(0, 1, 33)  # from the least to the largest mean that B and N leave open


@dataclass(frozen=True)
class StandardDeviation(Statistic, kind="standard deviation"):
    """Standard deviations of a bounded column.

    The released numbers are n_answers sums centred on the middle of the range, n_answers sums of 2·(distance)² −
    half_range², and n_answers counts. If a count is not positive, the answer is half_range/2.
    """

    half_range: float
    rounding: float = field(default=0.0, kw_only=True)
    of_plan: ClassVar[tuple[tuple[float, float], ...]] = ((0, 0), (0, 0.25), (0, 1), (0.8, 0), (0.8, 0.2))  # (m, v)
    word = "sd"
    moments = (ROUNDED, SQUARED, COUNTED)
    pivot = "deviations"
    takes_all_widths = True
    wording = Wording("Standard deviation of {}", "standard deviations", in_units=True)

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "StandardDeviation":
        """Return the standard deviations of a column."""
        return cls(n_cells, float((column.high - column.low) / 2))

    def rounded(self, by: float) -> "StandardDeviation":
        """Return the statistic of values rounded by at most `by`."""
        return replace(self, rounding=by)

    @property
    def span(self) -> float:
        """Half the range."""
        return self.half_range

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the standard deviations."""
        return self.half_range * _roots(_variances(*self._scaled(values)))

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return intervals for the standard deviations.

        They are computed from the noisy sum, sum of squares and number of rows of each cell, and they contain the
        published answers. `values`, `widths` and `curves` are as for `Statistic.intervals`.

        Notes
        -----
        Without `curves`, an interval contains the standard deviations for all sums, sums of squares and numbers of rows
        that are within `widths` of the released ones. With `curves`, it is found by a pivot: a combination of the three
        numbers that has mean 0, up to a term that is bounded too, if the variance is the true one
        (docs/theory/derived.md).
        """
        released = self._scaled(values)
        if curves is None:
            low, high = _open_in_box(released, _of_box(*self._scaled(widths)))
        else:
            low, high = _open_at_mean(released, curves)
        middle, has_rows = _variances(*released), released[2] > 0
        least = _roots(np.where(has_rows, np.minimum(low, middle), 0))
        most = _roots(np.where(has_rows, np.maximum(high, middle), 1))
        low, high = self.half_range * least - self.rounding, self.half_range * most + self.rounding
        return np.maximum(low, 0), np.minimum(high, self.half_range)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:
        """Return half the longest interval of three public cells.

        They are a narrow, an even and a wide cell of `count` rows.
        """
        cells = [(self.half_range * m, self.half_range**2 * (2 * (v + m**2) - 1), 1.0) for m, v in self.of_plan]
        values = (count * np.repeat(cell, self.n_answers) for cell in cells)
        return longest_half(self.intervals(each, widths, curves) for each in values)

    def _scaled(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sums, squares, counts = np.split(values, 3)
        return sums / self.half_range, squares / self.half_range**2, counts

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Terms) -> "DeviationWidths":
        """Return the widths of |e_A − 4m·e_B + c·e_N|.

        e_A, e_B and e_N are the noise of the three released numbers of a cell.
        """
        triples = [start + np.arange(term.n_released).reshape(3, -1).T for start, term in terms]
        scales = [np.tile([term.half_range, term.half_range**2, 1.0], (term.n_answers, 1)) for _, term in terms]
        places = np.concatenate(triples)
        return DeviationWidths(noise, places, units[places] / np.concatenate(scales))


class DeviationWidths:
    """Widths of |e_A − 4m·e_B + c·e_N| at all (m, c), and sizes of e_B − m·e_N at ENDS."""

    def __init__(self, noise: AdditiveNoise, triples: np.ndarray, units: np.ndarray) -> None:
        grid = [column.ravel() for column in np.meshgrid(-4 * MEANS, PLACES, indexing="ij")]
        self._noise, self._triples, self._units = noise, triples, units
        self._of_means = np.stack([np.ones(len(ENDS)), np.zeros(len(ENDS)), -ENDS])
        self._coefficients = np.stack([grid[0], np.ones(len(grid[0])), grid[1]])
        half_widths = np.asarray(noise.half_widths(0.95)[triples] * units)
        self._kinds = kinds_of(half_widths)
        self._alike = noise.form == "independent" and np.ptp(half_widths, axis=0).max() == 0
        self._sizes, self._trials = self._of_draws()

    def widths(self, level: float) -> np.ndarray | None:
        """Return noise sizes, and widths at all (m, c).

        The shape is (cells, places), and the sizes are root mean squares of e_B − m·e_N. The widths are order
        statistics, three standard errors above the quantiles, plus a step of the lattice. None if there are too few
        draws for the level. Cells of one kind get the largest of them.
        """
        rank = safe_rank(len(self._trials[0]), level) if self._trials else None
        if rank is None:
            return None
        quantiles = [trials[rank] for trials in self._trials]
        columns = np.hstack([np.array(self._sizes), np.array(quantiles)])
        largest = np.zeros((self._kinds.max() + 1, columns.shape[1]))
        np.maximum.at(largest, self._kinds[: len(columns)], columns)
        steps = float(self._noise.lattice_step) * self._units @ np.abs(self._coefficients)
        widths = largest[self._kinds]
        widths[:, -steps.shape[1] :] += steps
        return rounded_up(widths)

    def _of_draws(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the sizes and sorted pivots of each cell.

        The pivot is |e_A − 4m·e_B + c·e_N|. One cell if all are alike; nothing for walks, or too many answers.
        """
        cells = range(1 if self._alike else len(self._triples))
        numbers = self._noise.n_answers + self._coefficients.shape[1] * len(cells)
        # 10**7: numbers sorted, with more than the fewest trials
        trials = public_trials(self._noise, 1908, 10**7, numbers, numbers)
        if trials is None:
            return [], []
        rows = [trials[:, self._triples[cell]] * self._units[cell] for cell in cells]
        sizes = [np.sqrt(((row @ self._of_means) ** 2).mean(axis=0)) for row in rows]
        return sizes, [np.sort(np.abs(row @ self._coefficients), axis=0) for row in rows]


def _variances(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return (A/N + 1)/2 − (B/N)² in [0, 1], or 1/4 if N ≤ 0."""
    few = counts <= 0
    divisors = np.where(few, 1.0, counts)
    with np.errstate(over="ignore"):
        means = np.clip(sums / divisors, -1, 1)
        variances = (np.clip(squares / divisors, -1, 1) + 1) / 2 - means**2
    return np.where(few, 0.25, np.clip(variances, 0, 1))


def _roots(variances: np.ndarray) -> np.ndarray:
    return np.sqrt(np.clip(variances, 0, 1))


def _open_at_mean(released: Sequence[np.ndarray], curves: np.ndarray) -> Ends:
    sums, _, counts = released
    divisors = np.where(counts > 0, counts, 1.0)
    mean = np.clip(sums / divisors, -1, 1)
    sizes, grid = np.split(curves, [len(ENDS)], axis=1)
    at_least, at_0, at_most = (sizes**2).T
    spread = at_0 + mean * (at_most - at_least) / 2 + mean**2 * ((at_most + at_least) / 2 - at_0)
    return _variances_at(mean, released, _at(grid, mean) + (2 * np.maximum(spread, 0) / divisors)[:, None])


def _open_in_box(released: Sequence[np.ndarray], curves: np.ndarray) -> Ends:
    sums, _, counts = released
    of_means, grid = np.split(curves, [len(ENDS)], axis=1)
    first, last = quotients_within(sums, counts, of_means, ENDS)
    first, last = np.where(first <= last, first, -1.0), np.where(first <= last, last, 1.0)
    most = 1 - np.clip(0, first, last) ** 2  # no v is above 1 − m²
    low, high = np.full(len(sums), np.inf), np.full(len(sums), -np.inf)
    for step in _STEPS:
        mean = first + step * (last - first)
        bottom, top = _variances_at(mean, released, _at(grid, mean))
        is_open = (bottom <= top) & (top >= 0) & (bottom <= most)
        low, high = np.where(is_open, np.minimum(low, bottom), low), np.where(is_open, np.maximum(high, top), high)
    return np.clip(low, 0, most), np.clip(high, 0, most)


def _variances_at(mean: np.ndarray, released: Sequence[np.ndarray], widths: np.ndarray) -> Ends:
    """Return the least and largest v with |A − 4m·B + c·N| within `widths` (n, places of c)."""
    sums, squares, counts = released
    ends = quotients_within(4 * mean * sums - squares, counts, widths, PLACES)
    high, low = (mean**2 + (1 - c) / 2 for c in ends)
    return low, high


def _at(grid: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return widths (n, len(PLACES)), interpolated linearly in m."""
    table = grid.reshape(len(grid), len(MEANS), len(PLACES))
    position = (np.clip(means, -1, 1) + 1) / 2 * (len(MEANS) - 1)
    place = np.minimum(position.astype(int), len(MEANS) - 2)
    share = (position - place)[:, None]
    rows = np.arange(len(grid))
    return (1 - share) * table[rows, place] + share * table[rows, place + 1]


def _of_box(sums: np.ndarray, squares: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the curves from the widths of B, A and N, linear except at 0 (a place)."""
    of_means = sums[:, None] + np.abs(ENDS) * counts[:, None]
    slopes = 4 * np.abs(MEANS)[:, None] + np.zeros_like(PLACES), np.abs(PLACES) + np.zeros((len(MEANS), 1))
    grid = squares[:, None] + sums[:, None] * slopes[0].ravel() + counts[:, None] * slopes[1].ravel()
    return np.hstack([of_means, grid])
