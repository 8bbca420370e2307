"""Linear maps from the cells of one contingency table to answers, in integers, never larger than they must be."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.bodies.generators import MatrixGenerators
from gaugedp.errors import InvalidRequest

MAX_ANSWERS = 10**7
_MATRIX_BITS = 30
_MOST_PARTS = 1000  # of denominators that are looked for


class CellMap(ABC):
    """An integer matrix of shape (n_rows, n_cells), times a `step`. `injective` maps lose nothing."""

    n_cells: int
    step = Fraction(1)
    injective = True

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of answers."""

    @abstractmethod
    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the map of `cells` (…, n_cells), in steps, shape (…, n_rows); integers stay exact integers."""

    @abstractmethod
    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the transposed map of `rows` (n_rows,)."""

    @abstractmethod
    def powers(self, p: float) -> np.ndarray:
        """Return Σ_row |entry|^p for each cell (the largest |entry| at p = ∞), shape (n_cells,)."""

    @abstractmethod
    def row_squares(self) -> np.ndarray:
        """Return Σ_cell entry² for each row, shape (n_rows,)."""

    @abstractmethod
    def largest_difference_power(self, p: float) -> float:
        """Return at least the largest Σ_row |entry − entry′|^p (largest |entry − entry′|) over two cells."""

    @abstractmethod
    def row_label(self, row: int, cell_labels: "list[str]") -> str:
        """Return the text of one answer."""


@dataclass(frozen=True)
class Identity(CellMap):
    """Every cell is an answer."""

    n_cells: int

    @property
    def n_rows(self) -> int:
        """A row for each cell."""
        return self.n_cells

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the cells."""
        return cells

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows."""
        return rows

    def powers(self, p: float) -> np.ndarray:
        """One entry 1 in each column."""
        del p
        return np.ones(self.n_cells)

    def row_squares(self) -> np.ndarray:
        """The number of cells in each row."""
        return self.apply(np.ones(self.n_cells))

    def largest_difference_power(self, p: float) -> float:
        """Two entries differ by 1."""
        return 0.0 if self.n_cells == 1 else (1.0 if np.isinf(p) else 2.0)

    def row_label(self, row: int, cell_labels: list[str]) -> str:
        """The cell's label."""
        return cell_labels[row]


@dataclass(frozen=True)
class Prefix(CellMap):
    """Answer k counts the cells 0 … k."""

    n_cells: int

    @property
    def n_rows(self) -> int:
        """A row for each cell."""
        return self.n_cells

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the running sums."""
        return np.cumsum(cells, axis=-1)

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums from each row on."""
        return np.cumsum(rows[::-1])[::-1]

    def powers(self, p: float) -> np.ndarray:
        """Cell j is in n − j answers."""
        return np.ones(self.n_cells) if np.isinf(p) else np.arange(self.n_cells, 0, -1, dtype=float)

    def row_squares(self) -> np.ndarray:
        """The number of cells in each row."""
        return self.apply(np.ones(self.n_cells))

    def largest_difference_power(self, p: float) -> float:
        """The first and the last cell differ in n − 1 answers."""
        return min(1.0, self.n_cells - 1.0) if np.isinf(p) else self.n_cells - 1.0

    def row_label(self, row: int, cell_labels: list[str]) -> str:
        """The last cell that is counted."""
        return f"..{cell_labels[row]}"


@dataclass(frozen=True)
class Ranges(CellMap):
    """Every range of cells i … j, i ≤ j, in lexicographic order."""

    n_cells: int

    @property
    def n_rows(self) -> int:
        """n(n + 1)/2."""
        return self.n_cells * (self.n_cells + 1) // 2

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(self.n_cells)

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return differences of running sums."""
        running = np.cumsum(cells, axis=-1)
        first, last = self._ends
        return running[..., last] - running[..., first] + cells[..., first]

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return, for each cell, the sum of the rows whose range holds it."""
        first, last = self._ends
        change = np.zeros(self.n_cells + 1, dtype=np.asarray(rows).dtype)
        np.add.at(change, first, rows)
        np.subtract.at(change, last + 1, rows)
        return np.cumsum(change)[:-1]

    def powers(self, p: float) -> np.ndarray:
        """Cell j is in (j + 1)(n − j) ranges."""
        place = np.arange(self.n_cells, dtype=float)
        return np.ones(self.n_cells) if np.isinf(p) else (place + 1) * (self.n_cells - place)

    def row_squares(self) -> np.ndarray:
        """The number of cells in each row."""
        return self.apply(np.ones(self.n_cells))

    def largest_difference_power(self, p: float) -> float:
        """Ranges that hold exactly one of two cells, the most over all pairs."""
        if np.isinf(p):
            return min(1.0, self.n_cells - 1.0)
        held = self.powers(1)
        place = np.arange(self.n_cells, dtype=float)
        return max(
            float((held[i] + held[i:] - 2 * (i + 1) * (self.n_cells - place[i:])).max()) for i in range(self.n_cells)
        )

    def row_label(self, row: int, cell_labels: list[str]) -> str:
        """The first and the last cell."""
        first, last = (int(end[row]) for end in self._ends)
        return f"{cell_labels[first]}..{cell_labels[last]}"


class MatrixMap(CellMap):
    """A given real matrix in whole steps, each entry moved by 2^−31 of the largest at most.

    The step is 1/m where fractions with denominators up to 1000 come that near all entries: 1 for whole numbers, 1/6
    for halves and thirds, 1/10 for tenths. Else it is a power of two, 2^30 steps to the largest entry.
    """

    injective = False

    def __init__(self, matrix: np.ndarray) -> None:
        columns = MatrixGenerators(matrix).matrix  # checks shape and finiteness
        largest = float(np.abs(columns).max())
        if largest == 0:
            raise InvalidRequest("The workload matrix is zero.", "Give at least one answer that depends on the data.")
        if not 1e-290 < largest < 1e290:
            raise InvalidRequest(f"The largest entry of the workload is {largest:g}.", "Scale the matrix towards 1.")
        self.step = _matrix_step(columns, largest)
        steps = np.round(columns / float(self.step))
        self.matrix = steps.astype(np.int64)
        self.n_cells = columns.shape[1]
        # below 2^20 a sum over 2^43 people fits 64 bits; above, Python's integers take over
        self._small = float(np.abs(steps).max()) <= 2**20
        self._norms = MatrixGenerators(steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixMap) and self.step == other.step and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.step, self.matrix.shape, self.matrix.tobytes()))

    @property
    def n_rows(self) -> int:
        """The number of rows of the matrix."""
        return self.matrix.shape[0]

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the product, exactly."""
        if self._small or not np.issubdtype(cells.dtype, np.integer):
            return cells @ self.matrix.T
        return cells.astype(object) @ self.matrix.T.astype(object)

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the transposed product."""
        return self.matrix.T @ rows

    def powers(self, p: float) -> np.ndarray:
        """Sums over each column."""
        entries = np.abs(self.matrix.astype(float))
        return entries.max(axis=0) if np.isinf(p) else (entries**p).sum(axis=0)

    def row_squares(self) -> np.ndarray:
        """The squared norm of each row."""
        return (self.matrix.astype(float) ** 2).sum(axis=1)

    def largest_difference_power(self, p: float) -> float:
        """Over all pairs of columns, or twice the largest norm where there are too many."""
        norm = self._norms.largest_difference(p, None)
        return norm if np.isinf(p) else norm**p

    def row_label(self, row: int, cell_labels: list[str]) -> str:
        """The row's number."""
        del cell_labels
        return f"row {row}"


def _matrix_step(matrix: np.ndarray, largest: float) -> Fraction:
    denominator = _common_denominator(matrix.ravel(), largest / 2 ** (_MATRIX_BITS + 1))
    if denominator is not None and denominator * largest < 2**_MATRIX_BITS:
        return Fraction(1, denominator)
    return Fraction(2) ** (int(np.ceil(np.log2(largest))) - _MATRIX_BITS)


def _common_denominator(entries: np.ndarray, allowed: float) -> int | None:
    """Return the least m with all entries within `allowed` of multiples of 1/m; None where none is found."""
    denominator = 1
    while denominator < 2**_MATRIX_BITS:
        entries = entries[np.abs(entries - np.round(entries * denominator) / denominator) > allowed]
        if not len(entries):
            return denominator
        nearest = Fraction(float(entries[0])).limit_denominator(_MOST_PARTS)
        finer = math.lcm(denominator, nearest.denominator)
        if abs(float(nearest) - entries[0]) > allowed or finer == denominator:
            break
        denominator = finer
    return None
