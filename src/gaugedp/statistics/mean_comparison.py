"""Means compared with that of another cell, from released centred sums and counts: (sum, count, sum′, count′).

They are computed from a release. docs/theory/derived.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp.statistics.base import Wording
from gaugedp.statistics.comparison import Change, CountRatio, Difference, IndexNumber, Ratio
from gaugedp.statistics.forms import FormQuotient, Quadratic
from gaugedp.statistics.quantile import WithEnds


@dataclass(frozen=True)
class MeanRatio(WithEnds, kind="ratio of means"):
    """Means divided by that of the first cell: (middle + m)/(middle + m′)."""

    of_counts: ClassVar[type[CountRatio]] = Ratio
    wording = Wording("Mean of {}, divided by that of {}", from_zero=True)

    @classmethod
    def quotient(cls, middle: float, half_range: float, step: float) -> FormQuotient:
        """Return the ratio for means within half_range of the middle; a sum that is not 0 is at least a step."""
        low, high = middle - half_range, middle + half_range
        tops = _products([(0, 3, 1.0), (1, 3, middle)])
        bottoms = _products([(2, 1, 1.0), (3, 1, middle)])
        return FormQuotient(tops, bottoms, low / high, high / low if low > 0 else np.inf, max(low, step))


@dataclass(frozen=True)
class MeanIndex(MeanRatio, kind="index of means"):
    """100 times the means divided by that of the first cell."""

    of_counts = IndexNumber
    wording = Wording("Index of the mean of {}, {} = 100", from_zero=True)


@dataclass(frozen=True)
class MeanChange(MeanRatio, kind="change of means"):
    """Changes of means from the cell before, in percent."""

    of_counts = Change
    wording = Wording("Change of the mean of {} from the cell before, in %", sign="%", from_zero=True)


@dataclass(frozen=True)
class MeanDifference(MeanRatio, kind="difference of means"):
    """Means less that of the first cell."""

    of_counts = Difference
    wording = Wording("Mean of {}, less that of {}", from_zero=True, in_units=True)

    @classmethod
    def quotient(cls, middle: float, half_range: float, step: float) -> FormQuotient:  # noqa: ARG003
        """Return m − m′."""
        tops = _products([(0, 3, 1.0), (2, 1, -1.0)])
        return FormQuotient(tops, _products([(1, 3, 1.0)]), -2 * half_range, 2 * half_range, 1.0)


def _products(terms: Sequence[tuple[int, int, float]]) -> Quadratic:
    """Return Σ factor·c_i·c_j of four numbers."""
    squares = np.zeros((4, 4))
    for i, j, factor in terms:
        squares[i, j] += factor
        squares[j, i] += factor
    return Quadratic(squares)
