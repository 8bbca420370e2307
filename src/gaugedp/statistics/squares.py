"""Sums of squared weights, from which sampling errors follow.

For an estimate that is linear in the rows with influence w·(y − c), the variance of sampling with replacement is about
Σ w²·(y − c)². For y = 1 it follows from Σ w²; for a bounded column from Σ w², Σ w²·δ and Σ w²·δ², δ = x − middle.
docs/theory/survey_weights.md
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.statistics.base import CENTRED, COUNTED, SQUARED, Ends, Statistic, Wording


class Squares(Statistic):
    """Sums of squared weights; other released numbers follow them."""

    of_sampling: ClassVar[bool] = True
    wording = Wording("Sum of squared weights")

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return Σ w²."""
        return values[: self.n_answers]

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the sums within the widths."""
        sums, reach = values[: self.n_answers], widths[: self.n_answers]
        return sums - reach, sums + reach

    def about(self, values: np.ndarray, deviations: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ w²·(y − centre)² with y = 1 in each cell, and the deviation of its noise."""
        scales = (1 - centre) ** 2
        return scales * values, scales * deviations


class SquaredWeights(Squares, kind="squared weights"):
    """Sums of squared weights in cells."""


@dataclass(frozen=True)
class SecondMoments(Squares, kind="second moments"):
    """Sums of squared weights, times a column and its square, centred on the middle of its bounds."""

    middle: float
    half_range: float
    moments = (COUNTED, CENTRED, SQUARED)

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "SecondMoments":
        """Return the moments of a column."""
        return cls(n_cells, float((column.low + column.high) / 2), float((column.high - column.low) / 2))

    def about(self, values: np.ndarray, deviations: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ w²·(x − centre)² in each cell, and the deviation of its noise."""
        away = centre - self.middle
        parts = np.stack([self.half_range**2 / 2 + away**2, -2 * away, np.full(self.n_answers, 0.5)])
        squares = (parts * values.reshape(3, -1)).sum(axis=0)
        return squares, np.sqrt(((parts * deviations.reshape(3, -1)) ** 2).sum(axis=0))
