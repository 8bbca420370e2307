"""Widths for standard deviations: quantiles of |e_A − 4m·e_B + c·e_N| over the noise, and sizes of e_B − m·e_N.

The quantile is a norm of (1, m, c) where the noise is log-concave, symmetric and continuous (Meyer and Reisner 1991),
so that what is straight between places lies above it; on a lattice it does with a step more. docs/theory/derived.md
"""

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.statistics.trials import kinds_of, public_trials, rounded_up

MEANS: np.ndarray = np.linspace(-1, 1, 17)  # m at which widths are known
PLACES: np.ndarray = np.linspace(-1, 3, 9)  # c at which they are
ENDS: np.ndarray = np.linspace(-1, 1, 3)  # m at which the sizes of the noise of B − m·N are
N_WIDTHS = len(ENDS) + len(MEANS) * len(PLACES)
_NUMBERS = 10**7  # sorted, with more than the fewest trials
_PUBLIC_SEED = 1908


class DeviationWidths:
    """Sizes at ENDS of m, and widths at all (m, c), for the triples (B, A, N) of noise."""

    def __init__(self, noise: AdditiveNoise, triples: np.ndarray, units: np.ndarray) -> None:
        """Take the places (cells, 3) of the triples, and what a step of each is worth."""
        grid = [column.ravel() for column in np.meshgrid(-4 * MEANS, PLACES, indexing="ij")]
        self._noise, self._triples, self._units = noise, triples, units
        self._of_means = np.stack([np.ones(len(ENDS)), np.zeros(len(ENDS)), -ENDS])
        self._coefficients = np.stack([grid[0], np.ones(len(grid[0])), grid[1]])
        half_widths = np.asarray(noise.half_widths(0.95)[triples] * units)
        self._kinds = kinds_of(half_widths)
        self._alike = noise.form == "independent" and np.ptp(half_widths, axis=0).max() == 0
        self._sizes, self._trials = self._of_draws()

    def widths(self, level: float) -> np.ndarray | None:
        """Return, shape (cells, places), the root mean squares of e_B − m·e_N, and widths at all (m, c) for the level.

        Those of (m, c) are order statistics, three standard errors above the quantiles, and a step of the lattice.
        None where there are too few draws for the level. Cells of one kind get the largest of them.
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
        """Return for each cell, or the first where it tells all, the sizes and |e_A − 4m·e_B + c·e_N| in order.

        Nothing for a walk, whose draws hang together, and for more answers than draws are made of.
        """
        cells = range(1 if self._alike else len(self._triples))
        numbers = self._noise.n_answers + self._coefficients.shape[1] * len(cells)
        trials = public_trials(self._noise, _PUBLIC_SEED, _NUMBERS, numbers, numbers)
        if trials is None:
            return [], []
        rows = [trials[:, self._triples[cell]] * self._units[cell] for cell in cells]
        sizes = [np.sqrt(((row @ self._of_means) ** 2).mean(axis=0)) for row in rows]
        return sizes, [np.sort(np.abs(row @ self._coefficients), axis=0) for row in rows]
