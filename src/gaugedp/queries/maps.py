"""Linear maps from the cells of a contingency table, in integers. They are never larger than necessary."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gaugedp._internal.numbers import readable
from gaugedp.bodies.generators import MatrixGenerators
from gaugedp.errors import InvalidRequest
from gaugedp.queries.labels import Listed, Numbered, Spans, Words
from gaugedp.queries.outline import CELLS, PREFIX, RANGES, ROWS
from gaugedp.queries.steps import StepRuns

_COUNT_BYTES, _SUM_BYTES = 8, 64  # per released number: machine integers, and Python's
_MOST_BYTES = 640 * 10**6  # of exact numbers; a release takes ten times as much and still fits a ledger entry
_MATRIX_BITS = 30


def check_size(what: str, n_counts: int, n_sums: int = 0) -> None:
    """Refuse more released numbers than memory and ledger hold."""
    needed = _COUNT_BYTES * n_counts + _SUM_BYTES * n_sums
    if needed > _MOST_BYTES:
        raise InvalidRequest(
            f"{what}. These numbers would take {readable(min(needed, 10**18) / 1e9)} GB of memory or more.",
            f"Request at most {_MOST_BYTES // _COUNT_BYTES:,} counts, or {_MOST_BYTES // _SUM_BYTES:,} sums.",
        )


class CellMap(ABC):
    """Integer matrix (n_released, n_cells), with a step per row. `injective` maps lose no information."""

    if TYPE_CHECKING:  # read-only: a field of some maps, computed by others

        @property
        def n_cells(self) -> int:
            """The number of cells."""

    form: ClassVar[str] = CELLS  # form of the answers
    factors: "tuple[CellMap, ...]" = ()  # for a product

    @property
    def injective(self) -> bool:
        """True if different tables have different answers."""
        return True

    @property
    def step_runs(self) -> StepRuns:
        """Value of one unit of each row, in runs."""
        return [(Fraction(1), self.n_released)]

    @property
    def n_released(self) -> int:
        """Number of answers; by default one for each cell."""
        return self.n_cells

    @abstractmethod
    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Map `cells` (…, n_cells) to exact steps (…, n_released)."""

    @abstractmethod
    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the transposed map of `rows` (n_released,)."""

    @abstractmethod
    def powers(self, p: float) -> np.ndarray:
        """Return Σ_row |entry|^p per cell (maximum at p = ∞), (n_cells,)."""

    def row_squares(self) -> np.ndarray:
        """Return Σ_cell entry² per row; for 0/1 its number of cells."""
        return self.apply(np.ones(self.n_cells))

    @abstractmethod
    def largest_difference_power(self, p: float) -> float:
        """Bound Σ_row |entry − entry′|^p over two cells (maximum at p = ∞)."""

    @abstractmethod
    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the labels along each axis, from attribute `columns`."""


@dataclass(frozen=True)
class Identity(CellMap):
    """Every cell is an answer."""

    n_cells: int

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the cells."""
        return cells

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows."""
        return rows

    def powers(self, p: float) -> np.ndarray:
        """Return ones: each column has one entry 1."""
        del p
        return np.ones(self.n_cells)

    def largest_difference_power(self, p: float) -> float:
        """Return the value for two entries that differ by 1."""
        return 0.0 if self.n_cells == 1 else (1.0 if np.isinf(p) else 2.0)

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the cells' labels."""
        return tuple(map(Listed, columns)) or (Listed(["all"]),)


@dataclass(frozen=True)
class Prefix(CellMap):
    """Prefix sums: answer k counts the cells 0 … k."""

    form: ClassVar[str] = PREFIX
    n_cells: int

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the running sums."""
        return np.cumsum(cells, axis=-1)

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the sums from each row on."""
        return np.cumsum(rows[::-1])[::-1]

    def powers(self, p: float) -> np.ndarray:
        """Return n − j for cell j, the number of its answers."""
        return np.ones(self.n_cells) if np.isinf(p) else np.arange(self.n_cells, 0, -1, dtype=float)

    def largest_difference_power(self, p: float) -> float:
        """Return n − 1, by which the first and last cell differ."""
        return min(1.0, self.n_cells - 1.0) if np.isinf(p) else self.n_cells - 1.0

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the last counted cell of each answer."""
        return (Listed([f"..{label}" for label in columns[0]]),)


@dataclass(frozen=True)
class Ranges(CellMap):
    """Every range of cells i … j, i ≤ j, in lexicographic order."""

    form: ClassVar[str] = RANGES
    n_cells: int

    @property
    def n_released(self) -> int:
        """Number of ranges, n(n + 1)/2."""
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
        """Sum, for each cell, the rows whose range contains it."""
        first, last = self._ends
        change = np.zeros(self.n_cells + 1, dtype=np.asarray(rows).dtype)
        np.add.at(change, first, rows)
        np.subtract.at(change, last + 1, rows)
        return np.cumsum(change)[:-1]

    def powers(self, p: float) -> np.ndarray:
        """Return (j + 1)(n − j) for cell j, the number of its ranges."""
        place = np.arange(self.n_cells, dtype=float)
        return np.ones(self.n_cells) if np.isinf(p) else (place + 1) * (self.n_cells - place)

    def largest_difference_power(self, p: float) -> float:
        """Return the most ranges that contain exactly one of two cells."""
        if np.isinf(p):
            return min(1.0, self.n_cells - 1.0)
        held = self.powers(1)
        place = np.arange(self.n_cells, dtype=float)
        return max(
            float((held[i] + held[i:] - 2 * (i + 1) * (self.n_cells - place[i:])).max()) for i in range(self.n_cells)
        )

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the first and the last cell of each range."""
        return (Spans(columns[0]),)


class MatrixMap(CellMap):
    """Given real matrix, rounded to integer steps.

    Each entry moves by at most 2^−31 of its row's maximum, or 2^−24 if rows differ greatly in size. The step is 1/m if
    fractions with denominators up to 10,000 are that close to all entries: 1 for integers, 1/6 for halves and thirds,
    1/10 for tenths. Otherwise it is a power of two, with 2^30 steps in the largest entry; rows whose sizes are too
    different for one step each have their own, found in the same way.
    """

    injective = False
    form: ClassVar[str] = ROWS

    def __init__(self, matrix: np.ndarray) -> None:
        columns = MatrixGenerators(matrix).matrix  # checks shape and finiteness
        largest = float(np.abs(columns).max())
        if largest == 0:
            raise InvalidRequest("The workload matrix is zero.", "Use at least one answer that depends on the data.")
        if not 1e-290 < largest < 1e290:
            raise InvalidRequest(
                f"The largest entry of the workload matrix is {largest:g}, which is too large or too small for "
                "floating-point computations.",
                "Scale the matrix so that its largest entry is near 1.",
            )
        self._steps = _steps(columns)
        steps = np.round(columns / np.array([float(step) for step in self._steps])[:, None])
        self.matrix = steps.astype(np.int64)
        # below 2^20 a sum over 2^43 people fits 64 bits; above, Python's integers take over
        self._small = float(np.abs(steps).max()) <= 2**20
        self._norms = MatrixGenerators(steps)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MatrixMap) and self._steps == other._steps and np.array_equal(self.matrix, other.matrix)
        )

    def __hash__(self) -> int:
        return hash((*self._steps, self.matrix.shape, self.matrix.tobytes()))

    @property
    def n_cells(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    @property
    def step_runs(self) -> StepRuns:
        """Value of a unit of each row; one run if possible."""
        return [(step, len(list(same))) for step, same in groupby(self._steps)]

    @property
    def n_released(self) -> int:
        """Number of rows of the matrix."""
        return self.matrix.shape[0]

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Return the exact product."""
        if self._small or not np.issubdtype(cells.dtype, np.integer):
            return cells @ self.matrix.T
        return cells.astype(object) @ self.matrix.T.astype(object)

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the transposed product."""
        return self.matrix.T @ rows

    def powers(self, p: float) -> np.ndarray:
        """Return the sums over each column."""
        entries = np.abs(self.matrix.astype(float))
        return entries.max(axis=0) if np.isinf(p) else (entries**p).sum(axis=0)

    def row_squares(self) -> np.ndarray:
        """Return the squared norm of each row."""
        return (self.matrix.astype(float) ** 2).sum(axis=1)

    def largest_difference_power(self, p: float) -> float:
        """Return the maximum over column pairs, or twice the largest norm."""
        norm = self._norms.largest_difference(p, None)
        return norm if np.isinf(p) else norm**p

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the numbers of the rows."""
        del columns
        return (Numbered(self.n_released),)


def _steps(matrix: np.ndarray) -> list[Fraction]:
    tops = np.abs(matrix).max(axis=1)
    largest = float(tops.max())
    tops = np.where(tops > 0, tops, largest)
    common = _exact_step(matrix, tops)
    if common is None and tops.min() >= largest / 16:  # ratio of row sizes for which one power of two is enough
        common = _fine_step(largest)
    if common is not None:
        return [common] * len(matrix)
    return [_row_step(matrix[row : row + 1], tops[row : row + 1], largest) for row in range(len(matrix))]


def _row_step(row: np.ndarray, top: np.ndarray, largest: float) -> Fraction:
    """Return the step of a row of another size. A row that would need too many steps of noise is refused."""
    step = _exact_step(row, top)
    if step is None and float(top[0]) >= largest / 2**20:  # ratio of row sizes that is accepted for any noise
        # 2^44 steps in the largest entry: noise has as many / epsilon, at most 2^54
        step = max(_fine_step(float(top[0])), _fine_step(largest) * 2**_MATRIX_BITS / 2**44)
    if step is None or largest / float(step) > 2**44:
        raise InvalidRequest(
            f"The rows of the workload matrix differ too much in size: one has entries up to {largest:g}, another "
            f"up to {top[0]:g}.",
            "Scale the rows to similar sizes, or query them separately.",
        )
    return step


def _fine_step(largest: float) -> Fraction:
    return Fraction(2) ** (int(np.ceil(np.log2(largest))) - _MATRIX_BITS)


def _exact_step(matrix: np.ndarray, tops: np.ndarray) -> Fraction | None:
    """Return the largest 1/m that fits all entries, or None.

    All entries are within 2^−31 of their rows' `tops` of a multiple of 1/m.
    """
    entries, allowed, largest = matrix.ravel(), np.repeat(tops / 2 ** (_MATRIX_BITS + 1), matrix.shape[1]), tops.max()
    denominator = 1
    while denominator * largest < 2**_MATRIX_BITS:
        off = np.abs(entries - np.round(entries * denominator) / denominator) > allowed
        if not off.any():
            return Fraction(1, denominator)
        entries, allowed = entries[off], allowed[off]
        nearest = Fraction(float(entries[0])).limit_denominator(10_000)  # the largest denominators that are looked for
        finer = math.lcm(denominator, nearest.denominator)
        if abs(float(nearest) - entries[0]) > allowed[0] or finer == denominator:
            break
        denominator = finer
    return None
