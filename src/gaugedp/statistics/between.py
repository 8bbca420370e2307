"""Statistics of two releases: what changed from the earlier to the later one.

For counts and sums x of the later and X of the earlier release, x − θ·X is pure noise at the true ratio θ, and x − X −
θ at the true difference. docs/theory/derived.md, theorem 1
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp.statistics.base import Wording
from gaugedp.statistics.comparison import Change, CountRatio, Difference, IndexNumber, MeanDifference, MeanRatio, Ratio
from gaugedp.statistics.forms import NO_SAMPLING, FormQuotient, Highest, Quotient, beyond
from gaugedp.statistics.quantile import WithEnds


@dataclass(frozen=True, eq=False)
class LinearDifference:
    """x − X of the later and the earlier number, whose noise has a known distribution."""

    def value(self, numbers: np.ndarray) -> float:
        """Return the difference of (later, earlier)."""
        return float(numbers[0] - numbers[1])

    def pivot(self, noise: np.ndarray) -> "DifferencePivot":
        """Return the intervals for noise draws (m, 2)."""
        return DifferencePivot(self, np.abs(noise[:, 0] - noise[:, 1]))


@dataclass(frozen=True, eq=False)
class DifferencePivot:
    """Intervals of a difference by draws (m,) of the size of its noise."""

    quotient: LinearDifference
    sizes: np.ndarray

    def ends(self, numbers: np.ndarray, misses: float, sampling: np.ndarray = NO_SAMPLING) -> tuple[float, float]:
        """Return the interval."""
        middle, reach = (
            self.quotient.value(numbers),
            float(np.hypot(beyond(self.sizes, misses), np.linalg.norm(sampling))),
        )
        return middle - reach, middle + reach


class RatioBetween(WithEnds, kind="ratio between releases"):
    """Ratios of answers of the later release to those of the earlier."""

    of_counts: ClassVar[type[CountRatio]] = Ratio
    of_means: ClassVar[type[MeanRatio]] = MeanRatio
    wording = Wording("Ratio to the earlier release", from_zero=True)

    @classmethod
    def quotient(cls, least: float) -> Quotient:
        """Return the quotient of (later, earlier), for an earlier number of at least `least`."""
        later, earlier = np.eye(2)[:, None]
        return FormQuotient(Highest(later), Highest(earlier), 0.0, np.inf, least)


class IndexBetween(RatioBetween, kind="index between releases"):
    """Index numbers, with the earlier release at 100."""

    of_counts = IndexNumber
    wording = Wording("Index, the earlier release = 100", from_zero=True)


class ChangeBetween(RatioBetween, kind="change between releases"):
    """Percentage changes since the earlier release."""

    of_counts = Change
    wording = Wording("Percentage change since the earlier release", sign="%", from_zero=True)


class DifferenceBetween(RatioBetween, kind="difference between releases"):
    """Differences from the earlier release."""

    of_counts = Difference
    of_means = MeanDifference
    wording = Wording("Difference from the earlier release", from_zero=True)

    @classmethod
    def quotient(cls, least: float) -> LinearDifference:  # noqa: ARG003
        """Return later − earlier."""
        return LinearDifference()


BETWEEN: dict[str, type[RatioBetween]] = {
    kind.of_counts.word: kind for kind in (RatioBetween, IndexBetween, ChangeBetween, DifferenceBetween)
}
