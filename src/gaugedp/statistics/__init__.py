"""Statistics computed from released numbers, with intervals and report wording.

Public names: `Statistic`, the interface; `KINDS`, every statistic by its name in JSON; and the statistics of queries.
"""

from gaugedp.statistics import between as between
from gaugedp.statistics import comparison as comparison
from gaugedp.statistics import equal_means as equal_means
from gaugedp.statistics import independence as independence
from gaugedp.statistics import inequality as inequality
from gaugedp.statistics import variation as variation
from gaugedp.statistics.base import KINDS, Statistic
from gaugedp.statistics.count import Combination, Count, Sum
from gaugedp.statistics.deviation import StandardDeviation
from gaugedp.statistics.mean import ColumnMean
from gaugedp.statistics.quantile import Quantile, QuantileAlone
from gaugedp.statistics.share import Share
from gaugedp.statistics.squares import (
    ColumnSquares,
    ColumnTotals,
    SecondMoments,
    SquaredWeights,
    WeightedSquares,
    WeightedTotals,
)

__all__ = [
    "KINDS",
    "ColumnMean",
    "ColumnSquares",
    "ColumnTotals",
    "Combination",
    "Count",
    "Quantile",
    "QuantileAlone",
    "SecondMoments",
    "Share",
    "SquaredWeights",
    "StandardDeviation",
    "Statistic",
    "Sum",
    "WeightedSquares",
    "WeightedTotals",
]
