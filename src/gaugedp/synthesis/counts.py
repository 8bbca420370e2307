"""Tables of counts that the rows shall keep: where their cells lie among the cells of variables, and their noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.domain.hierarchies import summed
from gaugedp.synthesis.junction_tree import Scope


@dataclass(frozen=True, eq=False)
class CountTable:
    """Released counts over the variables of `scope`, and the variance of each, both of one shape.

    Cell i of an axis is a run of cells of its variable, from `starts[axis][i]` on: one cell each, or, of a level of a
    tree, the areas in it.
    """

    scope: Scope
    starts: tuple[tuple[int, ...], ...]
    values: np.ndarray
    variances: np.ndarray

    def of(self, table: np.ndarray) -> np.ndarray:
        """Return the counts of its cells that a table over the scope has."""
        return summed(table, self.starts)

    def over(self, numbers: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """Return a table over the scope, of variables of `sizes` cells, in which each cell has its run's number."""
        for axis, (name, starts) in enumerate(zip(self.scope, self.starts, strict=True)):
            if len(starts) < sizes[name]:
                numbers = np.repeat(numbers, np.diff([*starts, sizes[name]]), axis=axis)
        return numbers
