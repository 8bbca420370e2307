"""Statistics that are released with the ends of their intervals; among them quantiles."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.statistics.base import Ends, Statistic, Wording


@dataclass(frozen=True)
class WithEnds(Statistic):
    """Answers, then the lower and the upper ends of intervals that hold all at once with probability `level` at least.

    With `alone`, the lower and the upper ends of other intervals follow, each of which holds alone with that
    probability. No width says how far these answers may be off. A released end of `no_end` or more stands for none.
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
        """The level."""
        return self.level

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the first numbers."""
        return values[: self.n_answers]

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the ends that were released, of intervals that hold alone where there are such."""
        *_, lower, upper = np.split(values, len(values) // self.n_answers)
        return lower, np.where(upper >= self.no_end, np.inf, upper)

    def simultaneous_intervals(self, values: np.ndarray, widths: np.ndarray) -> Ends:
        """Return the ends of intervals that hold all at once."""
        return self.intervals(values[: 3 * self.n_answers], widths)


class Quantile(WithEnds, kind="quantile"):
    """Quantiles of a bounded column."""

    wording = Wording("Quantiles of {}", in_units=True, title_alone="Median of {}")
    is_between_bounds = True
