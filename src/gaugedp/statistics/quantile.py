"""Statistics released with interval ends, such as quantiles."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.statistics.base import Ends, Statistic, Wording

HIGHEST_LEVEL = 0.999


@dataclass(frozen=True)
class WithEnds(Statistic):
    """Answers that are released together with their interval ends.

    The answers come first, then the lower and the upper ends of intervals that hold simultaneously with probability at
    least `level`. With `alone`, the ends of individual intervals follow, each of which holds with that probability. A
    released end of `no_end` or more means that the interval has no such end.
    """

    level: float
    alone: bool = True
    no_end: float = math.inf

    @property
    def n_released(self) -> int:
        """The number of released numbers."""
        return self.n_answers * (5 if self.alone else 3)

    @property
    def ends(self) -> float:
        """The level of the ends."""
        return self.level

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the first numbers."""
        return values[: self.n_answers]

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the released ends, pointwise if available."""
        *_, lower, upper = np.split(values, len(values) // self.n_answers)
        return lower, np.where(upper >= self.no_end, np.inf, upper)

    def simultaneous_intervals(self, values: np.ndarray, widths: np.ndarray) -> Ends:
        """Return the ends of the simultaneous intervals."""
        return self.intervals(values[: 3 * self.n_answers], widths)


class Quantile(WithEnds, kind="quantile"):
    """Quantiles of a bounded column, with intervals."""

    wording = Wording("Quantiles of {}", in_units=True, title_alone="Median {}")
    is_between_bounds = True


@dataclass(frozen=True)
class QuantileAlone(Statistic, kind="quantile without interval"):
    """Quantiles of a bounded column, without intervals."""

    half_range: float
    middle: float = 0.0
    wording = Wording("Quantiles of {}", in_units=True, title_alone="Median {}")

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "QuantileAlone":
        """Return the statistic of a bounded column."""
        low, high = float(column.low), float(column.high)
        return cls(n_cells, (high - low) / 2, (high + low) / 2)

    @property
    def ends(self) -> float:
        """The highest level of an interval: the range always holds."""
        return HIGHEST_LEVEL

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        return values

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the range of the column."""
        middle = np.full(self.n_answers, self.middle)
        return middle - self.half_range, middle + self.half_range
