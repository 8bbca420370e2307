"""Kronecker products of maps: counts of rows in pairs of answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from math import prod

import numpy as np

from gaugedp.queries.labels import Words
from gaugedp.queries.maps import CellMap


@dataclass(frozen=True)
class Product(CellMap):
    """Product of 0/1 maps, one per attribute; the last runs fastest."""

    factors: tuple[CellMap, ...]

    @property
    def n_cells(self) -> int:
        """Product of the factors' cells."""
        return prod(factor.n_cells for factor in self.factors)

    @property
    def injective(self) -> bool:
        """True if all factors are injective."""
        return all(factor.injective for factor in self.factors)

    @property
    def n_released(self) -> int:
        """Product of the factors' answers."""
        return prod(factor.n_released for factor in self.factors)

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Apply each factor's map along its own axis."""
        ahead = cells.shape[:-1]
        table = cells.reshape(*ahead, *(factor.n_cells for factor in self.factors))
        for axis, factor in enumerate(self.factors, len(ahead)):
            table = np.moveaxis(factor.apply(np.moveaxis(table, axis, -1)), -1, axis)
        return table.reshape(*ahead, -1)

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Apply each factor's transposed map along its own axis."""
        table = np.asarray(rows).reshape([factor.n_released for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            table = np.apply_along_axis(factor.adjoint, axis, table)
        return table.ravel()

    def powers(self, p: float) -> np.ndarray:
        """Return the products of the factors' powers."""
        return reduce(np.multiply.outer, [factor.powers(p) for factor in self.factors]).ravel()

    def largest_difference_power(self, p: float) -> float:
        """Bound by twice the largest power: |x − y|^p ≤ x + y for 0/1."""
        if self.n_cells == 1:
            return 0.0
        return 1.0 if np.isinf(p) else 2 * float(self.powers(p).max())

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the labels of the factors, one attribute each."""
        pairs = zip(self.factors, columns, strict=True)
        return tuple(chain.from_iterable(factor.labels([column]) for factor, column in pairs))
