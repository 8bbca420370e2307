"""What least squares asks of rows: sums over them in units where rows have length 1, in memory or on an engine."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import box_steps, into_ball, into_box
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.estimators.weights import weighed
from gaugedp.optimization.least_squares import BITS, Of
from gaugedp.optimization.row_blocks import in_threads
from gaugedp.tables.table import Table


class Frame:
    """The units in which rows have length 1 at most and the target is in [−1, 1].

    Rows of a box are divided by √d. A constant feature of size 1/√d stands for the intercept; all are divided by
    √(1 + 1/d).
    """

    def __init__(self, reading: Reading, row_norm: float | None, target: tuple[float, float], intercept: bool) -> None:
        self.reading, self.row_norm, self.target, self.n_columns = reading, row_norm, target, reading.width
        self.constant = 1 / math.sqrt(self.n_columns) if intercept else 0.0
        self.n_features = self.n_columns + intercept

    @property
    def _length(self) -> float:
        return math.sqrt(1 + self.constant**2)

    @property
    def constant_feature(self) -> float:
        """The last feature, where there is an intercept; else 0."""
        return self.constant / self._length

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (n, d or d + 1) in whole steps."""
        features = np.empty((len(rows), self.n_features))

        def fill(parts: list[slice]) -> None:
            for part in parts:
                features[part] = box_steps(self.scaled(rows[part]), BITS)

        in_threads(fill, rows)
        return features

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (n, d or d + 1) in units where rows have length 1."""
        scaled = np.empty((len(rows), self.n_features))
        if self.reading.box is not None:
            scaled[:, : self.n_columns] = self.reading.in_cube(rows) / math.sqrt(self.n_columns)
        else:
            assert self.row_norm is not None
            scaled[:, : self.n_columns] = into_ball(rows, 2, self.row_norm)
        scaled[:, self.n_columns :] = self.constant
        scaled *= 1 / self._length
        return scaled

    def goal(self, target: np.ndarray) -> np.ndarray:
        """Return the target (n,) in whole steps."""
        return box_steps(self.scaled_target(target), BITS)

    def scaled_target(self, target: np.ndarray) -> np.ndarray:
        """Return the target (n,) in [−1, 1]."""
        return into_box(target, *(np.array(end) for end in self.target))

    def back(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept in the units of the data."""
        low, high = self.target
        slopes = weights[: self.n_columns] / self._length * (high - low) / 2
        constant = float(weights[self.n_columns :].sum()) * self.constant / self._length * (high - low) / 2
        if self.reading.box is None:
            assert self.row_norm is not None
            return slopes / self.row_norm, (low + high) / 2 + constant
        column_low, column_high = self.reading.box
        slopes = slopes / math.sqrt(self.n_columns) / ((column_high - column_low) / 2)
        return slopes, (low + high) / 2 + constant - float(slopes @ ((column_low + column_high) / 2))

    def back_map(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (matrix, shift): coefficients with the intercept last, in the units of the data, of any weights."""

        def stacked(weights: np.ndarray) -> np.ndarray:
            slopes, constant = self.back(weights)
            return np.append(slopes, constant)

        shift = stacked(np.zeros(self.n_features))
        return np.column_stack([stacked(unit) - shift for unit in np.eye(self.n_features)]), shift

    def describe(self) -> str:
        """Return the bounds in words."""
        low, high = self.target
        rows = f"l2 norm at most {self.row_norm:g}" if self.reading.box is None else "columns in a box"
        return f"{rows}, target in [{low:g}, {high:g}]"


class RowSums:
    """Sums over rows in memory, which are brought into the frame when they are first asked for."""

    def __init__(self, frame: Frame, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        self._frame, (self._rows, self._target, self._weights) = frame, data

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        features = weighed(self._frame.features(self._rows), self._weights)
        return np.rint(features, out=features), np.rint(weighed(self._frame.goal(self._target), self._weights))

    def __call__(self, of: Of) -> np.ndarray:
        """Return of(features, target)."""
        return of(*self._steps)


@dataclass(frozen=True)
class TableSums:
    """Sums over the kept rows of a table and its public row: a look each, in which no row leaves the engine."""

    table: Table
    design: TableDesign
    frame: Frame
    row_key: bytes

    def __len__(self) -> int:
        return int(self(_count)[0])

    def __call__(self, of: Of) -> np.ndarray:
        """Return Σ of(features, target) over blocks of rows: the numbers that one block of all would give."""
        row, target = self.design.public_row()
        of_public_row = of(self.frame.features(row), self.frame.goal(target))
        of_table = self.table.vector_sum(self.design.names_in_table, Block(self.design, self.frame, of), self.row_key)
        return of_public_row + of_table


@dataclass(frozen=True)
class Block:
    """A sum over a block of kept rows, as the table lists them."""

    design: TableDesign
    frame: Frame
    of: Of

    def __call__(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the sum, whole numbers."""
        rows, target = self.design.features_and_target(cells, steps)
        return self.of(self.frame.features(rows), self.frame.goal(target)).astype(np.int64)


def _count(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    del target
    return np.array([len(features)])
