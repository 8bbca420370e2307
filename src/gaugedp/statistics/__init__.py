"""Statistics: what is computed from released numbers, with intervals and words for reports.

The public face: `Statistic`, the interface; `KINDS`, all statistics by their names in JSON; and the statistics.
"""

from gaugedp.statistics.base import KINDS, Statistic
from gaugedp.statistics.comparison import Change, Difference, IndexNumber, Ratio
from gaugedp.statistics.count import Combination, Count, Sum
from gaugedp.statistics.deviation import StandardDeviation
from gaugedp.statistics.inequality import Gini, Lorenz
from gaugedp.statistics.mean import ColumnMean
from gaugedp.statistics.mean_comparison import MeanChange, MeanDifference, MeanIndex, MeanRatio
from gaugedp.statistics.quantile import Quantile
from gaugedp.statistics.share import Share

__all__ = [
    "KINDS",
    "Change",
    "ColumnMean",
    "Combination",
    "Count",
    "Difference",
    "Gini",
    "IndexNumber",
    "Lorenz",
    "MeanChange",
    "MeanDifference",
    "MeanIndex",
    "MeanRatio",
    "Quantile",
    "Ratio",
    "Share",
    "StandardDeviation",
    "Statistic",
    "Sum",
]
