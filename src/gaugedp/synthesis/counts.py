"""Tables of counts that synthetic rows fit, with their noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.domain.hierarchies import summed
from gaugedp.synthesis.junction_tree import Scope


@dataclass(frozen=True, eq=False)
class CountTable:
    """Released counts over the variables of `scope`, with variances.

    Cell i of an axis is a run of its variable's cells from `starts[axis][i]` on: one, or a tree level's areas.
    """

    scope: Scope
    starts: tuple[tuple[int, ...], ...]
    values: np.ndarray
    variances: np.ndarray

    def of(self, table: np.ndarray) -> np.ndarray:
        """Return this table's counts in a table over the scope."""
        return summed(table, self.starts)

    def over(self, numbers: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """Expand numbers to a table over the scope."""
        for axis, (name, starts) in enumerate(zip(self.scope, self.starts, strict=True)):
            if len(starts) < sizes[name]:
                numbers = np.repeat(numbers, np.diff([*starts, sizes[name]]), axis=axis)
        return numbers
