"""Tables in memory, read cell by cell."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest

NUMERIC, TIMES = "biuf", "mM"  # NumPy's kinds of numbers, and of durations and dates
_NUMBERS = Real | Decimal | str | bytes | np.bool_
_FAILURES = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, ImportError, LookupError, MemoryError,
    OSError, ReferenceError, RuntimeError, SystemError, TypeError, ValueError,
)  # fmt: skip
_WRITTEN = {"True": 1.0, "False": 0.0}  # as NumPy writes them next to a text
_NUMBER = re.compile(r"(?i)u?int\d+|float\d*|halffloat|double|bool(ean)?")  # names of types
_TEXT = re.compile(r"(?i)(large_)?str(ing)?(_view)?(\[.*\])?|categor(y|ical).*|enum.*|dictionary<values=(large_)?str.*")


def number(cell: Any) -> float:
    """Return the number in a cell or one-entry list, else NaN."""
    if type(cell) is float:
        return cell
    inner = _alone(cell)
    if isinstance(inner, str):
        inner = _WRITTEN.get(inner.strip(), inner)
    if not isinstance(inner, _NUMBERS) or isinstance(inner, np.timedelta64):
        return math.nan
    try:
        return float(inner)
    except OverflowError:
        return math.inf if inner > 0 else -math.inf  # type: ignore[operator]  # integers and fractions
    except (TypeError, ValueError):
        return math.nan


def _alone(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return cell.flat[0] if cell.size == 1 else cell
    return cell[0] if isinstance(cell, list | tuple) and len(cell) == 1 else cell


def numbers(cells: np.ndarray) -> np.ndarray:
    """Return an array of any type as floats.

    Numeric arrays are converted together, others cell by cell. In an array of complex numbers those without an
    imaginary part are numbers: one cell may have made it complex.
    """
    if cells.dtype.kind == "c":
        cells = np.where(cells.imag == 0, cells.real, math.nan)
    if cells.dtype.kind in NUMERIC:
        with np.errstate(over="ignore"):
            return cells.astype(float, copy=False)
    return np.fromiter(map(number, cells.flat), float, cells.size).reshape(cells.shape)


def as_they_are(entries: Iterable[Any]) -> np.ndarray:
    listed = list(entries)
    objects = np.empty(len(listed), dtype=object)
    for place, entry in enumerate(listed):  # one by one: a list among them stays one entry
        objects[place] = entry
    return objects


def cells_of(column: Any) -> np.ndarray:
    if isinstance(column, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(column.astype(object), math.nan))
    if hasattr(getattr(column, "type", None), "value_type"):  # Arrow: NumPy misreads what its dictionaries miss
        return as_they_are(column.to_pylist())
    try:
        cells = np.asarray(column)
    except ValueError:  # times of day in nanoseconds, of which NumPy and Python have none
        return np.full(len(column), math.nan)
    is_nested = len(getattr(column, "shape", cells.shape)) < cells.ndim  # Polars: entries that are records, or arrays
    return as_they_are(cells) if is_nested else cells


def entries_of(column: Any) -> np.ndarray:
    """Return the entries of a column or list."""
    if hasattr(column, "__array__"):
        return cells_of(column)
    has_entries = hasattr(column, "__iter__") and not isinstance(column, str | bytes)
    return as_they_are(column) if has_entries else np.array(None, dtype=object)


def columns_of(X: Any) -> list[tuple[Any, Any]] | None:
    kind = type(X)
    if hasattr(kind, "itercolumns"):  # Arrow
        return list(zip(X.column_names, X.itercolumns(), strict=True))
    if hasattr(kind, "iter_columns"):  # Polars
        return list(zip(X.columns, X.iter_columns(), strict=True))
    return list(X.items()) if hasattr(kind, "iloc") and X.ndim == 2 else None


def read_cells(X: Any) -> np.ndarray:
    """Return a table as floats; other cells are NaN.

    The shape is unchanged, and infinity is possible. Refused, only by the type of an array or a column: text and
    categories, dates and durations, and arrays of complex numbers. Columns of Python objects are read cell by cell, as
    one cell may have made them so; they are refused if most cells are lists (`is_nested`). The shape of a list is that
    of most entries (`shape_of_most`).
    """
    columns = columns_of(X)
    if columns is not None:
        return _read_frame(X, columns)
    if is_text(X):
        raise _text("The table")
    if kind_of(X) in TIMES:
        raise dated("The table")
    if kind_of(X) == "c":
        raise InvalidRequest("Complex data not supported.", "Use real numbers.")
    cells = entries_of(X)
    if cells.ndim == 1 and cells.dtype.kind == "O":
        return _read_list(cells)
    if cells.ndim == 2 and cells.dtype.kind == "O" and any(holds_lists(column) for column in cells.T):
        raise _listed("A column of the table")
    return numbers(cells)


def kind_of(column: Any) -> str:
    """Return NumPy's kind of a column by its type."""
    kind = str(getattr(getattr(column, "dtype", None), "kind", "O"))
    return "O" if kind == "c" and not isinstance(column, np.ndarray) else kind


def is_text(column: Any) -> bool:
    """Return True for text or categories, only by type."""
    dtype = _type_of(column)
    return getattr(dtype, "kind", "") in ("U", "S") or bool(_TEXT.fullmatch(str(dtype)))


def is_number(column: Any) -> bool:
    """Return True for numbers, only by type."""
    dtype = _type_of(column)
    return str(getattr(dtype, "kind", "O")) in NUMERIC or bool(_NUMBER.fullmatch(str(dtype)))


def _type_of(column: Any) -> Any:
    return getattr(column, "dtype", getattr(column, "type", None))


def _text(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} contains text instead of numbers.", "Encode categories as numbers first, such as 0 and 1."
    )


def dated(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} contains dates or durations instead of numbers.",
        "Convert them, for example to days since a date that is fixed beforehand.",
    )


def _listed(what: str) -> InvalidRequest:
    return InvalidRequest(f"{what} contains lists instead of single numbers.", "Pass one number per cell.")


def _read_frame(X: Any, columns: list[tuple[Any, Any]]) -> np.ndarray:
    if hasattr(X, "isna") and all(dtype.kind in NUMERIC for dtype in X.dtypes):  # pandas: of floats without a copy
        return np.asarray(X.to_numpy(dtype=float, na_value=math.nan))
    table = np.empty(X.shape)
    for place, (name, column) in enumerate(columns):
        table[:, place] = read_column(name, column)
    return table


def read_column(name: Any, column: Any) -> np.ndarray:
    """Return a column of a table as floats; refused as in `read_cells`."""
    if is_text(column):
        raise _text(f"The column {str(name)!r}")
    if kind_of(column) in TIMES:
        raise dated(f"The column {str(name)!r}")
    if holds_lists(column):
        raise _listed(f"The column {str(name)!r}")
    return numbers(cells_of(column))


def unread_cells(X: Any) -> np.ndarray:
    """Return an array or a list as an array of cells as they are, for columns of different types.

    A row of another length than most has only missing cells: no entry decides the type or the shape of the others.
    """
    cells = entries_of(X)
    if cells.dtype.kind in "US":
        return cells.astype(object)  # an array may be of text since one of its columns is
    if cells.ndim != 1 or cells.dtype.kind != "O":
        return cells
    shape = _common_shape(cells)
    table = np.full((len(cells), *shape), None, dtype=object)
    for place, entry in enumerate(cells):
        row = row_of(entry)
        if len(shape) == 1 and row is not None and len(row) == shape[0]:
            table[place] = as_they_are(row)
    return table


def _read_list(entries: np.ndarray) -> np.ndarray:
    shape = _common_shape(entries)
    cells = [_in_shape(entry, shape) for entry in entries]
    return np.array(cells, dtype=float).reshape(len(cells), *shape)


def _common_shape(entries: np.ndarray) -> tuple[int, ...]:
    shape = shape_of_most(entries)
    if not are_alike(entries, shape):
        raise InvalidRequest("The rows have different lengths.", "Pass the same number of values in each row.")
    return shape


def shape_of_most(entries: Sequence[Any] | np.ndarray) -> tuple[int, ...]:
    """Return the most frequent shape of a list's entries.

    () for cells, (d,) for rows, (m, k) for matrices. It is public, like that of an array. If all entries of at least
    three, or all but one, have one shape, no single entry decides it. If two shapes are about equally frequent, one
    entry does, as in every rule of a majority: build an array, which has a shape. A single entry is a row.
    """
    # 2: a list of matrices has cells so far below its entries
    depth = min(len(entries), 2)  # in one row, or one of two, a cell that is a list would make it a matrix
    counts = Counter(_shape(entry, depth) for entry in entries)
    return max(counts, key=lambda shape: (counts[shape], -len(shape), shape), default=())


def are_alike(entries: Sequence[Any] | np.ndarray, shape: tuple[int, ...]) -> bool:
    """Return True if at least half of the entries have a shape."""
    return 2 * sum(_shape(entry, min(len(entries), 2)) == shape for entry in entries) >= len(entries)


def _shape(entry: Any, depth: int) -> tuple[int, ...]:
    row = row_of(entry) if depth else None
    if row is None:
        return ()
    inner = {_shape(cell, depth - 1) for cell in row}
    return (len(row), *(inner.pop() if len(inner) == 1 else ()))


def _in_shape(entry: Any, shape: tuple[int, ...]) -> Any:
    if not shape:
        return number(entry)
    row = row_of(entry)
    if row is None or len(row) != shape[0]:
        return np.full(shape, math.nan)
    return [_in_shape(cell, shape[1:]) for cell in row]


def is_nested(column: Any) -> bool:
    """Return True if most entries (at least two) of a list, or of an array of objects, are lists or other containers.

    If all entries of at least three, or all but one, are of one form, no single entry decides it. In a list of which
    about half of the entries are lists, which is neither numbers nor rows, one entry does: a refusal distinguishes
    neighbours of such a list. Arrays of numbers have a shape instead.
    """
    is_array = hasattr(column, "__array__")
    if (
        kind_of(column) != "O"
        or is_number(column)
        or isinstance(column, str | bytes)
        or not (is_array or isinstance(column, Sequence))
    ):
        return False
    entries = cells_of(column) if is_array else column
    is_list = [] if is_array and entries.ndim != 1 else [_is_list(entry) for entry in entries]
    return sum(is_list) > max(1, len(is_list) / 2)


def holds_lists(column: Any) -> bool:
    """Return True if most entries are lists, of other than one entry."""
    return is_nested(column) and shape_of_most(list(column)) != (1,)


def _is_list(entry: Any) -> bool:
    if isinstance(entry, float | int | str):
        return False
    return row_of(entry) is not None or isinstance(entry, Mapping | Set)


def row_of(entry: Any) -> Sequence[Any] | None:
    if isinstance(entry, float | int | str | bytes):
        return None
    if hasattr(type(entry), "__array__"):
        try:
            row = cells_of(entry)
        except _FAILURES:  # of the entry's own code: it is a cell that is no number
            return None
        return (row.tolist() if row.dtype.kind in NUMERIC else list(row)) if row.ndim else None
    return entry if isinstance(entry, Sequence) else None
