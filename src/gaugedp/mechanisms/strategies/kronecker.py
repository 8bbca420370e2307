"""Kronecker products of strategies, optimal if their factors are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from gaugedp.bodies.generators import Structure
from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.base import UP, Strategy
from gaugedp.mechanisms.strategies.ordered import MOST_CELLS, best_ordered
from gaugedp.mechanisms.strategies.ranges import RangeStrategy
from gaugedp.mechanisms.strategies.toeplitz import rooted
from gaugedp.mechanisms.strategies.trees import best_tree


@dataclass(frozen=True, eq=False)
class Each(Strategy):
    """The identity on n cells, optimal for normal noise."""

    n_cells: int
    radius: float = 1.0

    @property
    def least(self) -> float:
        """√n, the nuclear norm of the identity over √n."""
        return math.sqrt(self.n_cells)

    @property
    def n_noise(self) -> int:
        """The number of cells."""
        return self.n_cells

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the noise unchanged."""
        return unit

    def cells(self) -> np.ndarray:
        """Return the identity."""
        return np.eye(self.n_cells)

    @property
    def squares(self) -> np.ndarray:
        """Ones."""
        return np.ones(self.n_cells)

    def describe(self) -> str:
        """Return its size."""
        return f"{self.n_cells:,} cells"


@dataclass(frozen=True, eq=False)
class Kronecker(Strategy):
    """L = L_1 ⊗ … ⊗ L_k: norms multiply (docs/theory/matrix.md, theorem 7)."""

    factors: Sequence[Strategy]
    radius: float
    least: float

    @property
    def n_noise(self) -> int:
        """The product of the factors' numbers."""
        return math.prod(factor.n_noise for factor in self.factors)

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Apply each factor along its own axis."""
        table = unit.reshape(len(unit), *(factor.n_noise for factor in self.factors))
        for axis, factor in enumerate(self.factors, 1):
            rows = np.moveaxis(table, axis, -1)
            turned = factor.apply(rows.reshape(-1, factor.n_noise)).reshape(*rows.shape[:-1], -1)
            table = np.moveaxis(turned, -1, axis)
        return table.reshape(len(unit), -1)

    def cells(self) -> np.ndarray | None:
        """Return the product of the factors' cells."""
        tables = [table for factor in self.factors if (table := factor.cells()) is not None]
        return reduce(np.kron, tables) if len(tables) == len(self.factors) else None

    @cached_property
    def squares(self) -> np.ndarray:
        """The products of the factors' squares."""
        return _outer([factor.squares for factor in self.factors])

    @cached_property
    def largest(self) -> np.ndarray:
        """The products of the factors' largest entries."""
        return _outer([factor.largest for factor in self.factors])

    def describe(self) -> str:
        """Return the factors."""
        return " x ".join(factor.describe() for factor in self.factors)


def kronecker(body: Polytope, structure: Structure, p: int) -> Kronecker:
    """Return the strategy of a single product of counts.

    The product of the best strategies (p = 2), or of good trees (p = 1). Axes of over 2^20 cells have the Toeplitz
    root, some 4 % worse. For p = 2 and replaced units ⟨u_i, u_j⟩ ≥ 0, so ‖u_i − u_j‖ ≤ √2·max‖u‖.
    """
    (block,) = structure.blocks
    factors = [_factor(kind, structure.shape[axis], p) for kind, axis in zip(block.factors, block.axes, strict=True)]
    rows = body.coefficient_radius if p == 1 else body.factor * (math.sqrt(2) if body.differences else 1.0)
    radius = rows * math.prod(factor.radius for factor in factors)
    is_bounded = p == 2 and (body.with_zero or not body.differences)
    least = body.factor * math.prod(factor.least for factor in factors) if is_bounded else 0.0
    return Kronecker(factors, radius * UP, least / UP)


def _factor(kind: str, n: int, p: int) -> Strategy:
    if kind == "cells":
        return Each(n)
    if p == 2:
        return best_ordered(n, kind == "ranges") if n <= MOST_CELLS else rooted(n, kind == "ranges")
    tree = best_tree(n, kind == "ranges")
    return RangeStrategy(tree, n) if kind == "ranges" else tree


def _outer(vectors: list[np.ndarray]) -> np.ndarray:
    return reduce(np.multiply.outer, vectors).ravel()
