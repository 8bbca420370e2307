"""Sums of weights and of squared weights, from which sampling errors follow.

A row with the weight w adds w·(y − c) to an estimate, and w²·(y − c)² to its variance. For y = 1 both follow from Σ w
and Σ w²; for a bounded column from Σ w², Σ w²·δ and Σ w²·δ², δ = x − middle, or from sums of parts of the weights.
docs/theory/survey_weights.md
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.statistics.base import COUNTED, ROUNDED, SQUARED, Ends, Part, Statistic, Wording


class SamplingSums(Statistic):
    """Sums over cells, for sampling errors of other terms."""

    of_sampling: ClassVar[bool] = True
    rounding = 0.0  # of the values of a column, at most

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each cell, of y = 1."""
        return np.asarray((self._of_rows * values.reshape(len(self._of_rows), -1)).sum(axis=0))

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the sums within the widths.

        If a sum consists of several numbers, their noise is independent, and the noise of the sum is within their
        widths.
        """
        sums, reach = self.answers(values), self.answers(widths)
        return sums - reach, sums + reach

    @property
    def _of_rows(self) -> np.ndarray:
        return self.factors(np.zeros(1), of_rows=True)

    @abstractmethod
    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:
        """Return the factors of released sums, shape (sums, centres).

        A cell's released sums times these factors give its sum about `centre`. If `of_rows`, or if there is no column,
        it is the sum of y = 1, and otherwise the sum of the column.
        """


class WeightedTotals(SamplingSums, kind="weighted totals"):
    """Sums of weights, or numbers of rows, in cells."""

    is_independent = True
    wording = Wording("Weighted total")

    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:  # noqa: ARG002
        """Return the factors of Σ w·(1 − centre)."""
        return np.asarray(1 - centre)[None]


class SquaredWeights(SamplingSums, kind="squared weights"):
    """Sums of squared weights in cells."""

    wording = Wording("Sum of squared weights")

    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:  # noqa: ARG002
        """Return the factors of Σ w²·(1 − centre)²."""
        return np.asarray((1 - centre) ** 2)[None]


class WeightedSquares(SquaredWeights, kind="weighted squares"):
    """Sums of squared weights in cells, with independent noise."""

    is_independent = True


@dataclass(frozen=True)
class SumsOfColumn(SamplingSums):
    """Sums of weights and of the values of a column between bounds."""

    middle: float
    half_range: float

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> Self:
        """Return the sums of a column."""
        return cls(n_cells, float((column.low + column.high) / 2), float((column.high - column.low) / 2))


@dataclass(frozen=True)
class SquaresOfColumn(SumsOfColumn):
    """Sums of squared weights and of the squares of a column, whose values may be rounded before."""

    rounding: float = 0.0
    wording = Wording("Sum of squared weights")

    def rounded(self, by: float) -> Self:
        """Return the sums of values that are rounded by at most `by`."""
        return replace(self, rounding=by)


class ColumnTotals(SumsOfColumn, kind="weighted totals of a column"):
    """Sums of the weights, divided into parts by a column: a row adds its weight to them, all together."""

    moments = tuple(Part(1, place) for place in range(3))
    is_independent = True
    wording = Wording("Weighted total")

    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:
        """Return the factors of Σ w·(x − centre), or of Σ w·(1 − centre) if `of_rows`."""
        if of_rows:
            return np.stack([1 - centre] * len(self.moments))
        low, high = self.middle - self.half_range - centre, self.middle + self.half_range - centre
        return np.stack([low, high, np.zeros_like(low)])


class ColumnSquares(SquaresOfColumn, kind="weighted squares of a column"):
    """Sums of the squared weights, divided into parts by a column and its square."""

    moments = tuple(Part(2, place) for place in range(4))
    is_independent = True

    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:
        """Return the factors of Σ w²·(x − centre)², or of Σ w²·(1 − centre)² if `of_rows`."""
        if of_rows:
            return np.stack([(1 - centre) ** 2] * len(self.moments))
        low, high = self.middle - self.half_range - centre, self.middle + self.half_range - centre
        return np.stack([low**2, low * high, high**2, np.zeros_like(low)])


class SecondMoments(SquaresOfColumn, kind="second moments"):
    """Sums of squared weights, times a column and its square, centred on the middle of its bounds."""

    moments = (COUNTED, ROUNDED, SQUARED)

    def factors(self, centre: np.ndarray, of_rows: bool = False) -> np.ndarray:
        """Return the factors that centre second moments.

        The sums are Σ w²·(x − centre)² or, if `of_rows`, Σ w²·(1 − centre)².
        """
        if of_rows:
            return np.stack([(1 - centre) ** 2, np.zeros_like(centre), np.zeros_like(centre)])
        away = centre - self.middle
        return np.stack([self.half_range**2 / 2 + away**2, -2 * away, np.full_like(away, 0.5)])
