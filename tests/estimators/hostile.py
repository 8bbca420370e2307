"""Neighbouring tables that differ in one hostile cell, in all that may hold a table; and what a fit shows of them."""

import datetime
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow

import gaugedp as gd
from gaugedp._internal.cells import columns_of, is_text
from gaugedp.errors import GaugedpError


class Explosive:
    """An object that is no number and says so in its own way."""

    def __float__(self) -> float:
        raise RuntimeError("a cell was asked for its number")


CELLS: list[Any] = [
    "text", "", " ", "4", "nan", "inf", "True", "\ud800", "9" * 5000, b"\xff", b"3", pandas.Timestamp("2026", tz="UTC"),
    [], [1.0, 2.0], [3.0], (1, 2), [[1.0], [2.0, 3.0]], {"a": 1}, {1.0}, np.zeros(2), np.array([[1.0]]), range(3),
    10**309, -(10**400), Fraction(10**400, 7), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999"), 2**63, True,
    object(), Explosive(), int, None, float("nan"), float("inf"), -float("inf"), 1e308, pandas.NA, pandas.NaT,
    datetime.date(2026, 1, 1), datetime.timedelta(days=1), datetime.time(1), np.timedelta64(3, "ns"),
    np.datetime64("2026-01-01T00:00:00.000000001"), 1j, 2 + 0j, np.complex64(2), np.bool_(True),
]  # fmt: skip
ROWS: list[Any] = [None, 5.0, "abc", [], [1.0], [1.0] * 4, [[1.0] * 3] * 3, {}, np.zeros((2, 2)), object()]  # of a list


def objects(entries: Any) -> np.ndarray:
    """Entries as an array of objects, as they are."""
    column = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        column[place] = entry
    return column


def columns(rows: list[list]) -> list[list]:
    return [[row[place] for row in rows] for place in range(len(rows[0]))]


def object_array(rows: list[list]) -> np.ndarray:
    return np.stack([objects(column) for column in columns(rows)], axis=1)


def frame(rows: list[list]) -> pandas.DataFrame:
    return pandas.DataFrame({f"c{place}": pandas.Series(column) for place, column in enumerate(columns(rows))})


def polars_objects(rows: list[list]) -> polars.DataFrame:
    named = enumerate(columns(rows))
    return polars.DataFrame([polars.Series(f"c{place}", column, dtype=polars.Object) for place, column in named])


def arrow_column(column: list, coded: bool = False) -> pyarrow.ChunkedArray:
    array = pyarrow.chunked_array([pyarrow.array(column)])
    return array.dictionary_encode() if coded else array


def arrow(rows: list[list], coded: bool = False) -> pyarrow.Table:
    return pyarrow.table({f"c{place}": arrow_column(column, coded) for place, column in enumerate(columns(rows))})


TABLES: dict[str, Callable[[list[list]], Any]] = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(tuple(row) for row in rows),
    "arrays in a list": lambda rows: [objects(row) for row in rows],
    "lists in an array": objects,
    "an array of objects": object_array,
    "a masked array": lambda rows: np.ma.masked_array(object_array(rows), mask=False),
    "what NumPy makes of it": np.array,
    "pandas": frame,
    "pandas, objects": lambda rows: frame(rows).astype(object),
    "pandas, nullable": lambda rows: frame(rows).convert_dtypes(),
    "pandas, texts": lambda rows: frame(rows).astype("string"),
    "pandas, categories": lambda rows: frame(rows).astype("category"),
    "Polars": lambda rows: polars.DataFrame(columns(rows), strict=False),
    "Polars, objects": polars_objects,
    "Arrow": arrow,
    "Arrow, dictionaries": lambda rows: arrow(rows, coded=True),
}
COLUMNS: dict[str, Callable[[list], Any]] = {
    "a list": lambda column: column,
    "an array of objects": objects,
    "what NumPy makes of it": np.array,
    "pandas": pandas.Series,
    "pandas, objects": lambda column: pandas.Series(column, dtype=object),
    "pandas, nullable": lambda column: pandas.Series(column).convert_dtypes(),
    "pandas, categories": lambda column: pandas.Series(column).astype("category"),
    "Polars": lambda column: polars.Series(column, strict=False),
    "Polars, objects": lambda column: polars.Series(column, dtype=polars.Object),
    "Arrow": arrow_column,
    "Arrow, dictionaries": lambda column: arrow_column(column, coded=True),
}
NOT_BUILT = (
    *(TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, pyarrow.ArrowException),
    *(polars.exceptions.PolarsError, polars.exceptions.PanicException),
)


def built(make: Callable[[Any], Any], entries: list) -> Any:
    """The table, or None where its library does not build it, or gives it a type that is refused as such.

    The type of a column is what its caller declared, so that a refusal by it says nothing of a row. Here it follows
    from a cell, as the tables of a test declare none. Lists and columns of objects are never left out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = make(entries)
    except NOT_BUILT:
        return None
    columns = columns_of(table)
    is_refused = any(map(is_text, [table] if columns is None else [column for _, column in columns]))
    return None if is_refused or (isinstance(table, np.ndarray) and table.dtype.kind in "cmM") else table


def with_cell(rows: list[list], row: int, column: int, cell: Any) -> list[list]:
    """The same rows but for one cell."""
    changed = [list(entries) for entries in rows]
    changed[row][column] = cell
    return changed


def with_entry(entries: list, place: int, entry: Any) -> list:
    """The same list but for one entry."""
    return [*entries[:place], entry, *entries[place + 1 :]]


@dataclass(frozen=True)
class Pair:
    """Two tables (X, y) in the same kind of container, `name`, which differ in one `cell`, of X or of y."""

    name: str
    cell: str
    tables: tuple[tuple[Any, Any], tuple[Any, Any]]


def pairs(rows: list[list], target: list, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield pairs without end."""
    while True:
        row, cell = int(rng.integers(len(rows))), CELLS[rng.integers(len(CELLS))]
        if rng.random() < 0.3:
            name, side = list(COLUMNS)[rng.integers(len(COLUMNS))], "y"
            both = [(rows, built(COLUMNS[name], column)) for column in (target, with_entry(target, row, cell))]
        else:
            name, side = list(TABLES)[rng.integers(len(TABLES))], "X"
            other = with_cell(rows, row, int(rng.integers(len(rows[0]))), cell)
            both = [(built(TABLES[name], table), target) for table in (rows, other)]
        if not any(part is None for table in both for part in table):
            yield Pair(f"{side}, {name}", f"{cell!r:.40}", (both[0], both[1]))


def shown(model: Any, X: Any, y: Any) -> tuple:
    """All that a fit shows but its noisy answer: the refusal, the ledger's lines, what was printed, and warnings."""
    ledger, out, refusal = gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5)), io.StringIO(), None
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("always")
        try:
            model.set_params(ledger=ledger).fit(X, y)
        except GaugedpError as error:
            refusal = (type(error).__name__, str(error))
    lines = [(entry.kind, entry.guarantee, entry.charge, entry.request) for entry in ledger.entries()[1:]]
    return refusal, lines, out.getvalue(), [(one.category, str(one.message)) for one in caught]
