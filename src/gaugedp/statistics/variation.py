"""Coefficients of variation: standard deviations divided by means.

Intervals hold whenever all released numbers are within their widths: docs/theory/derived.md, theorem 7.
"""

from dataclasses import dataclass

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.errors import InvalidRequest
from gaugedp.statistics.base import Ends, Wording
from gaugedp.statistics.deviation import StandardDeviation
from gaugedp.statistics.mean import ColumnMean


@dataclass(frozen=True)
class VariationCoefficient(StandardDeviation, kind="coefficient of variation"):
    """Coefficients of variation of a column: standard deviation over mean."""

    middle: float
    of_plan = ((0, 0), (0, 0.25), (-0.8, 0), (-0.8, 0.36), (0.8, 0))
    word = "cv"
    pivot = ""
    wording = Wording("Coefficient of variation of {}", "coefficients of variation", from_zero=True)

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "VariationCoefficient":
        """Return the coefficients of a column with positive bounds."""
        if column.low <= 0:
            raise InvalidRequest(
                "The coefficient of variation divides by the mean, which may be 0 because the lower bound is not "
                "above 0.",
                "Describe the column with a lower bound above 0, to which values are clipped, or request sd and mean.",
            )
        return cls(n_cells, float((column.high - column.low) / 2), float((column.high + column.low) / 2))

    @property
    def span(self) -> float:
        """The largest coefficient, half_range/√(low·high)."""
        return float(self.half_range / np.sqrt(self.middle**2 - self.half_range**2))

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the standard deviations divided by the means."""
        sums, _, counts = np.split(values, 3)
        means = ColumnMean(self.n_answers, self.middle, self.half_range).answers(np.concatenate([sums, counts]))
        return np.minimum(super().answers(values) / means, self.span)

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return intervals from the open means and mean squares."""
        (sums, squares, counts), (around, about, beside) = np.split(values, 3), np.split(widths, 3)
        square, n_rows, n_widths = self.half_range**2, len(counts), np.concatenate([about, beside])
        means, of_means = np.concatenate([sums, counts]), np.concatenate([around, beside])
        low, high = ColumnMean(n_rows, 0.0, self.half_range).intervals(means, of_means)
        few, many = ColumnMean(n_rows, 0.0, square).intervals(np.concatenate([squares, counts]), n_widths)
        # 2.0**-44: of the squared half range, more than sums of mean squares are off by
        least = (few + square) / 2 - np.maximum(low**2, high**2) - 2.0**-44 * square
        most = np.minimum((many + square) / 2, square) - np.clip(0, low, high) ** 2
        lowest, by = self.middle - self.half_range, self.rounding
        lower = np.maximum(np.sqrt(np.maximum(least, 0)) - by, 0) / (self.middle + high + by)
        upper = (np.sqrt(np.maximum(most, 0)) + by) / np.maximum(self.middle + low - by, lowest)
        answers = self.answers(values)
        return np.minimum(lower, answers), np.maximum(np.minimum(upper, self.span), answers)
