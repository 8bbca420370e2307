"""Counts in the cells of many tables at once, from batches of rows: each row is added to every table as it passes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

MANY_TABLES = 32  # from so many on, an engine takes longer to group rows by each than to hand them over


@dataclass(frozen=True)
class Tallies:
    """The tables over sets of attributes, one after the other; attribute i has `sizes[i]` cells, in column `a<i>`."""

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]

    def __call__(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the numbers of the batch's rows in the cells of all tables, the last attribute fastest, int64."""
        return np.concatenate([self._counted(table, batch) for table in self.tables])

    def cut(self, counts: np.ndarray) -> list[np.ndarray]:
        """Return the table of each set from the sum over all batches, which is empty, or 0, where there were none."""
        ends = np.cumsum([self._n_cells(table) for table in self.tables])
        return np.split(counts if len(counts) == ends[-1] else np.zeros(ends[-1], dtype=np.int64), ends[:-1])

    def _counted(self, table: tuple[int, ...], batch: Mapping[str, np.ndarray]) -> np.ndarray:
        cells = np.zeros(len(batch["a0"]), dtype=np.int64)
        for place in table:
            cells = cells * self.sizes[place] + batch[f"a{place}"]
        return np.bincount(cells, minlength=self._n_cells(table))

    def _n_cells(self, table: tuple[int, ...]) -> int:
        return math.prod(self.sizes[place] for place in table)
