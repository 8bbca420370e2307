"""Widths for standard deviations: quantiles of |e_A − 4m·e_B + c·e_N| over the noise, and widths of e_B and e_N.

The quantile is a norm of (1, m, c) where the noise is log-concave, symmetric and continuous (Meyer and Reisner 1991),
so that what is straight between places lies above it; on a lattice it does with a step more. docs/theory/derived.md
"""

from collections.abc import Sequence

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.mechanisms.ratio_intervals import kinds_of, public_trials, rounded_up

OF_MEANS = 0.05  # of the misses that an interval may have, for where the mean lies
_NUMBERS = 10**7  # sorted, with more than the fewest trials
_PUBLIC_SEED = 1908


class Deviations:
    """Widths at ends of m, and at all (m, c), for the triples (B, A, N) of noise."""

    def __init__(
        self, noise: AdditiveNoise, triples: np.ndarray, units: np.ndarray, places: Sequence[np.ndarray]
    ) -> None:
        """Take the places (cells, 3) of the triples, what a step of each is worth, and `places`: ends, means, c."""
        self._ends, means, others = places
        grid = [column.ravel() for column in np.meshgrid(-4 * means, others, indexing="ij")]
        self._noise, self._triples, self._units = noise, triples, units
        self._coefficients = np.stack([grid[0], np.ones(len(grid[0])), grid[1]])
        self._kinds = kinds_of(self._half_widths(0.95))
        self._trials = self._sorted_trials()

    def widths(self, level: float) -> np.ndarray | None:
        """Return the widths, shape (cells, places): a twentieth of the misses for the mean, the rest for all (m, c).

        Those of (m, c) are order statistics, three standard errors above the quantiles, and a step of the lattice.
        None where there are too few draws for the level. Cells of one kind get the largest widths of them.
        """
        misses = 1 - level
        rank = safe_rank(len(self._trials[0]), 1 - (1 - OF_MEANS) * misses) if self._trials else None
        if rank is None:
            return None
        sums, _, counts = self._half_widths(1 - OF_MEANS * misses / 2).T
        of_means = sums[:, None] + np.abs(self._ends) * counts[:, None]
        quantiles = np.array([trials[rank] for trials in self._trials])
        largest = np.zeros((self._kinds.max() + 1, quantiles.shape[1]))
        np.maximum.at(largest, self._kinds[: len(quantiles)], quantiles)
        steps = float(self._noise.lattice_step) * self._units @ np.abs(self._coefficients)
        return rounded_up(np.hstack([of_means, largest[self._kinds] + steps]))

    def _half_widths(self, level: float) -> np.ndarray:
        return np.asarray(self._noise.half_widths(level)[self._triples] * self._units)

    def _sorted_trials(self) -> list[np.ndarray]:
        """Return |e_A − 4m·e_B + c·e_N| in order, (draws, places) for each cell; for the first where it tells all.

        Nothing for a walk, whose draws hang together, and for more answers than draws are made of.
        """
        alike = self._noise.form == "independent" and np.ptp(self._half_widths(0.95), axis=0).max() == 0
        cells = range(1 if alike else len(self._triples))
        numbers = self._noise.n_answers + self._coefficients.shape[1] * len(cells)
        rows = public_trials(self._noise, _PUBLIC_SEED, _NUMBERS, numbers, numbers)
        if rows is None:
            return []
        of_cells = (rows[:, self._triples[cell]] * self._units[cell] for cell in cells)
        return [np.sort(np.abs(row @ self._coefficients), axis=0) for row in of_cells]


def deviation_widths(
    noise: AdditiveNoise, units: np.ndarray, terms: Sequence[tuple[int, int, float]], places: Sequence[np.ndarray]
) -> Deviations | None:
    """Return the widths of terms (start, n, half_range): of n sums, n sums of squares and n counts, in units (d,).

    None without terms.
    """
    if not terms:
        return None
    triples = np.concatenate([start + np.arange(3 * n).reshape(3, n).T for start, n, _ in terms])
    scales = np.concatenate([np.tile([reach, reach**2, 1.0], (n, 1)) for _, n, reach in terms])
    return Deviations(noise, triples, units[triples] / scales, places)  # in units in which values lie in [−1, 1]
