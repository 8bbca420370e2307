"""The generators of a polytope, as a linear operator F."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaugedp.bodies.base import real_numbers, with_weights
from gaugedp.bodies.frame import independent
from gaugedp.domain.nesting import Nesting
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class Block:
    """Answers that count cells over `axes` of a table.

    They are single cells, prefixes or ranges of one axis, or products, whose kinds along the axes are `factors`.
    """

    axes: tuple[int, ...]
    kind: str  # "cells", "prefix", "ranges" or "product"
    factors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Structure:
    """A query as blocks of answers over one table of `shape`, whose cells are generators."""

    shape: tuple[int, ...]
    blocks: tuple[Block, ...]

    @property
    def heights(self) -> list[int]:
        """The number of answers of each block."""
        kinds = [(block.axes, block.factors or (block.kind,) * len(block.axes)) for block in self.blocks]
        sizes = [[(self.shape[axis], kind) for axis, kind in zip(*pair, strict=True)] for pair in kinds]
        return [math.prod(n * (n + 1) // 2 if kind == "ranges" else n for n, kind in block) for block in sizes]


class Generators(Protocol):
    """Matrix of the changes that possible rows cause.

    If a row is added to a table, the d answers of a query change by a vector that depends on the kind of row. These
    vectors, one for each of n kinds of rows, are called *generators*, because they generate the sensitivity body. They
    are the columns v_1, …, v_n of a matrix F of shape (d, n). This protocol describes what a body needs to know about
    F, so that the matrix need not be stored for queries with many cells.

    `whole_numbers` is True if the answers are integers. `counting` is True if, in addition, the answers for
    neighbouring tables differ by an integer combination of columns. Then integer noise on the coefficients protects the
    unit.
    """

    @property
    def ambient_dim(self) -> int:
        """The number d of rows."""

    @property
    def n_generators(self) -> int:
        """The number n of columns."""

    @property
    def rank(self) -> int:
        """The rank of F."""

    @property
    def whole_numbers(self) -> bool:
        """True if the answers are integers."""

    @property
    def counting(self) -> bool:
        """True if neighbours differ by integer combinations of columns."""

    @property
    def structure(self) -> Structure | None:
        """The structure of the map for large queries, if known."""

    @property
    def nesting(self) -> Nesting | None:
        """The levels of nested areas, if only these are counted."""

    def apply(self, coefficients: np.ndarray) -> np.ndarray:
        """Return F·coefficients, exact for integers.

        The coefficients have shape (…, n), and the result has shape (…, d).
        """

    def adjoint(self, direction: np.ndarray) -> np.ndarray:
        """Return Fᵀ·direction, shape (n,)."""

    def extremes(self, direction: np.ndarray) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return the largest and the least ⟨direction, v_i⟩.

        Both are pairs of the product and the index i.
        """

    def column(self, index: int) -> np.ndarray:
        """Return v_index, shape (d,)."""

    def row_squares(self) -> np.ndarray:
        """Return Σ_j F_ij² for each row, shape (d,)."""

    def largest_norm(self, p: float, weights: np.ndarray | None) -> float:
        """Return an upper bound on ‖v_i/weights‖_p."""

    def largest_difference(self, p: float, weights: np.ndarray | None) -> float:
        """Return an upper bound on ‖(v_i − v_j)/weights‖_p."""


class MatrixGenerators:
    """Generators that are the columns of a matrix (d, n)."""

    whole_numbers = False
    counting = False
    structure: Structure | None = None
    nesting: Nesting | None = None

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = real_numbers(matrix, "The generators")
        self.matrix.setflags(write=False)
        if self.matrix.ndim != 2 or 0 in self.matrix.shape:
            raise InvalidRequest(
                f"The generators have shape {np.shape(matrix)}, but must form a matrix.",
                "Pass a matrix of shape (d, n) whose columns are the n generators.",
            )
        if not np.isfinite(self.matrix).all():
            raise InvalidRequest("At least one generator contains NaN or infinity.", "Pass finite numbers.")

    @property
    def ambient_dim(self) -> int:
        """The number of rows."""
        return self.matrix.shape[0]

    @property
    def n_generators(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    @property
    def rank(self) -> int:
        """The numerical rank; `independent` states its tolerance."""
        return len(independent(self.matrix))

    def apply(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the combination of the columns."""
        return coefficients @ self.matrix.T

    def adjoint(self, direction: np.ndarray) -> np.ndarray:
        """Return the products with every column."""
        return self.matrix.T @ direction

    def extremes(self, direction: np.ndarray) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return the largest and least product, with column indices."""
        products = self.adjoint(direction)
        high, low = int(products.argmax()), int(products.argmin())
        return (float(products[high]), high), (float(products[low]), low)

    def column(self, index: int) -> np.ndarray:
        """Return one column."""
        return self.matrix[:, index]

    def row_squares(self) -> np.ndarray:
        """Return the squared norm of each row."""
        return (self.matrix**2).sum(axis=1)

    def largest_norm(self, p: float, weights: np.ndarray | None) -> float:
        """Return the largest norm of a column."""
        columns = self._weighted(weights)
        largest = float(np.abs(columns).max())  # divided out, so that no square underflows
        return largest * float(np.linalg.norm(columns / largest, p, axis=0).max()) if largest else 0.0

    def largest_difference(self, p: float, weights: np.ndarray | None) -> float:
        """Return the largest distance of two columns, or a bound."""
        columns, scales = self.matrix.T, with_weights(weights, self.ambient_dim)
        if columns.size * len(columns) > 10**9:
            return 2 * self.largest_norm(p, weights)
        # subtract before dividing, which loses no digits to the weights
        return max(float(np.linalg.norm((columns - column) / scales, p, axis=1).max()) for column in columns)

    def _weighted(self, weights: np.ndarray | None) -> np.ndarray:
        return self.matrix if weights is None else self.matrix / np.asarray(weights, dtype=float)[:, None]
