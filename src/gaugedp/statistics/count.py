"""Statistics released directly: counts, sums, and combinations of counts."""

import numpy as np

from gaugedp.statistics.base import SUMMED, Ends, Influence, Statistic, Wording


class Plain(Statistic):
    """Released numbers that are the answers themselves."""

    is_plain = has_counts = True

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        return values

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:  # noqa: ARG002
        """Return the numbers within the widths."""
        return values - widths, values + widths


class Count(Plain, kind="count"):
    """Numbers of rows."""

    wording = Wording("Number of {rows}", from_zero=True)


class Combination(Plain, kind="matrix"):
    """Linear combinations of counts, one per row of a matrix."""

    wording = Wording("Combination of counts")


class Sum(Plain, kind="sum"):
    """Sums of a bounded column."""

    word = "sum"
    moments = (SUMMED,)
    wording = Wording("Sum of {}", in_units=True)

    def influence(self, values: np.ndarray) -> Influence:
        """Return the influence of a row on a total: w·y."""
        return Influence(np.ones(len(values)), np.zeros(len(values)), is_total=True)
