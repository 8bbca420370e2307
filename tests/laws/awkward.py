"""Small tables of awkward values, as every source that can hold them: as text, and as values of their types."""

import csv
import datetime
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gaugedp import Domain, PrivacyUnit, bins, bounded, categories, dates, integers

TEXTS = [
    "", " ", "a", "A", " a", "a ", "a\u00a0", "é", "e\u0301", "日本", "\U0001f600", "\ufeffa", "x" * 300, "a,b", "a\tb",
    "a\nb", "a\r\nb", 'a"b', '"1"', "'", "\\", "\\N", "NA", "NULL", "None", "nan", "NaN", "inf", "-inf", "Infinity",
    "1", "01", "1.0", "+1", " 1", "1 ", "1e0", "1e300", "1e999", "-0.0", "0", "0x1", "1_0", "1,250", "9" * 25, "\u0661",
    "true", "True", "TRUE", "t", "yes", "no", "2020-01-02", "2020-1-2", "2020-01-02 00:00:00", "2020-01-02T03:04:05Z",
    "01:02:03", "other", "-- a", "; DROP", "${x}", "%", "_",
]  # fmt: skip
_UTC = datetime.datetime
INFINITE = [math.inf, -math.inf]
VALUES: dict[str, tuple[Any, list[Any]]] = {  # of each kind: its arrow type, and values
    "text": (pa.string(), TEXTS),
    "integer": (pa.int64(), [0, 1, -1, 7, 2, 10, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "short": (pa.int8(), [0, 1, -1, 127, -128]),
    "float": (pa.float64(), [0.0, -0.0, 1.0, 0.5, -1.25, 0.1, 1e300, -1e300, 1e-300, 2.0**53, *INFINITE, math.nan]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [datetime.date(2020, 1, 2), datetime.date(2020, 2, 29), datetime.date(1969, 12, 31)]),
    "timestamp": (
        pa.timestamp("us"),
        [_UTC(2020, 1, 2), _UTC(2020, 1, 2, 3, 4, 5), _UTC(2020, 2, 29, 23, 59, 59, 500000), _UTC(1969, 12, 31, 1, 2)],
    ),
    "time": (pa.time64("us"), [datetime.time(1, 2, 3), datetime.time(0), datetime.time(23, 59, 59, 250000)]),
    "decimal": (pa.decimal128(12, 2), [Decimal(x) for x in ("0.00", "1.00", "1.50", "-0.25", "99999999.99")]),
    "uuid": (pa.uuid() if hasattr(pa, "uuid") else None, [uuid.UUID(int=3), uuid.UUID(int=2**127 + 5)]),
}  # fmt: skip

_NUMPY = {  # the pandas type of a kind
    "text": "str", "integer": "Int64", "short": "Int8", "float": "float64", "boolean": "boolean",
    "timestamp": "datetime64[us]",
}  # fmt: skip
Sources = dict[str, Callable[[], Any]]


def text_of(value: Any) -> str | None:
    """Return the text that a file would hold."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return (
                None
                if math.isnan(value)
                else str(int(value))
                if value.is_integer() and abs(value) <= 2**53
                else repr(value)
            )
        case Decimal():
            return str(value).rstrip("0").rstrip(".")
        case datetime.datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}" + f".{value.microsecond:06d}".rstrip("0").rstrip(".")
        case datetime.time():
            return f"{value:%H:%M:%S}" + f".{value.microsecond:06d}".rstrip("0").rstrip(".")
    return str(value)


@dataclass(frozen=True)
class Awkward:
    """A table with the columns A, V and P of some kinds, a domain of A and V, and a unit that may be P."""

    kinds: dict[str, str]
    columns: dict[str, list[Any]]
    domain: Domain
    unit: PrivacyUnit
    is_plain: bool  # categories are written as values are, and nobody has too many rows: text and types say the same

    @property
    def texts(self) -> dict[str, list[str | None]]:
        """The columns as text."""
        return {name: [text_of(value) for value in values] for name, values in self.columns.items()}

    def in_words(self) -> str:
        """Return what to repeat a case with."""
        return f"kinds={self.kinds} columns={self.columns} domain={self.domain} unit={self.unit}"


def awkward(draw: np.random.Generator) -> Awkward:
    """Return a random table."""
    kinds = {name: _one(draw, list(VALUES)) for name in "AV"} | {"P": _one(draw, ["integer", "text", "uuid", "date"])}
    n_rows = int(draw.integers(0, 13))
    pools = {name: [None, *(_one(draw, VALUES[kind][1]) for _ in range(4))] for name, kind in kinds.items()}
    columns = {name: [_one(draw, pool) for _ in range(n_rows)] for name, pool in pools.items()}
    is_plain = bool(draw.random() < 0.5)
    facts = {"A": _attribute(draw, pools["A"], is_plain)}
    facts |= {"V": bounded(-2, 8, 0.5)} if draw.random() < 0.5 else {"V": _attribute(draw, pools["V"], is_plain)}
    unit = PrivacyUnit("P", max_rows=50 if is_plain else 1) if draw.random() < 0.4 else PrivacyUnit()
    return Awkward(kinds, columns, Domain.of(**facts), unit, is_plain)


def _attribute(draw: np.random.Generator, pool: list[Any], is_plain: bool) -> Any:
    outside = _one(draw, ["drop", "other"])
    written = [text for text in map(text_of, pool) if text not in (None, "other", *["inf", "-inf"] * is_plain)]
    foreign = [text for text in TEXTS if text != "other"]
    others = [_one(draw, ["male", "female", "2021-01-01", "00:00:01"] if is_plain else foreign) for _ in range(3)]
    options: list[Callable[[], Any]] = [
        lambda: categories(list(dict.fromkeys([*written, *others])), outside),
        lambda: categories(list(dict.fromkeys(others)), outside),
        lambda: integers(-1, 7, outside),
        lambda: bins(-2, 8, 0.5, outside=outside),
        lambda: bins(edges=[-1, 0, 0.1, 1e300], outside=outside),
        lambda: dates("2019-12-30", "2020-03-01", by="day", outside=outside),
    ]
    return options[int(draw.choice(6, p=[0.35, 0.15, 0.125, 0.125, 0.125, 0.125]))]()


def _one(draw: np.random.Generator, options: list[Any]) -> Any:
    return options[int(draw.integers(len(options)))]


def as_texts(table: Awkward, folder: Path) -> Sources:
    """Return the table as every source of text; a text file holds no empty text: it is missing there."""
    texts = table.texts
    arrow = pa.table({name: pa.array(column, pa.string()) for name, column in texts.items()})

    def frame(columns: dict[str, list[Any]], kind: Any) -> Any:
        return pd.DataFrame({name: pd.Series(column, dtype=kind) for name, column in columns.items()})

    sources: Sources = {
        "arrow text": lambda: arrow,
        "arrow dictionary": lambda: pa.table({name: arrow[name].dictionary_encode() for name in texts}),
        "arrow large text": lambda: arrow.cast(pa.schema([(name, pa.large_string()) for name in texts])),
        "polars text": lambda: pl.from_arrow(arrow),
        "polars categories": lambda: pl.from_arrow(arrow).with_columns(pl.all().cast(pl.Categorical)),
        "pandas texts as objects": lambda: frame(texts, object),
        "pandas text": lambda: frame(texts, "str"),
        "pandas categories": lambda: frame(texts, "str").astype("category"),
        "pandas arrow text": lambda: arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas objects": lambda: frame(table.columns, object),
        "duckdb text": lambda: duckdb.connect().from_arrow(arrow),
        "parquet text": lambda: _parquet(arrow, folder / "text.parquet"),
    }
    if any("" in column for column in texts.values()):
        return sources
    return sources | {
        "csv": lambda: _text_file(texts, folder / "text.csv", ","),
        "tsv": lambda: _text_file(texts, folder / "text.tsv", "\t"),
    }


def _parquet(rows: Any, path: Path) -> Path:
    pq.write_table(rows, path)
    return path


def _text_file(texts: dict[str, list[str | None]], path: Path, delimiter: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(texts)
        writer.writerows(zip(*texts.values(), strict=True))
    return path


def typed(table: Awkward) -> pa.Table:
    """Return the table with its types."""

    def column(name: str) -> Any:
        kind, values = VALUES[table.kinds[name]][0], table.columns[name]
        if table.kinds[name] != "uuid":
            return pa.array(values, kind, from_pandas=False)
        stored = pa.array([value and value.bytes for value in values], pa.binary(16))
        return pa.ExtensionArray.from_storage(kind, stored)

    return pa.table({name: column(name) for name in table.columns})


def as_types(table: Awkward, folder: Path) -> Sources:
    """Return the table as every source that holds values of its types."""
    arrow, kinds = typed(table), set(table.kinds.values())
    sources: Sources = {
        "arrow": lambda: arrow,
        "parquet": lambda: _parquet(arrow, folder / "typed.parquet"),
        "duckdb": lambda: duckdb.connect().from_arrow(arrow),
    }
    if kinds.isdisjoint(("uuid", "decimal")):
        sources |= {
            "polars": lambda: pl.from_arrow(arrow),
            "polars lazy": lambda: pl.from_arrow(arrow).lazy(),
            "pandas with arrow types": lambda: arrow.to_pandas(types_mapper=pd.ArrowDtype),
            "arrow dictionaries": lambda: pa.table({name: _dictionary(arrow[name]) for name in arrow.column_names}),
        }
    if kinds <= _NUMPY.keys():
        series = {name: pd.Series(table.columns[name], dtype=_NUMPY[kind]) for name, kind in table.kinds.items()}
        sources |= {
            "pandas": lambda: pd.DataFrame(series),
            "pandas categories of values": lambda: pd.DataFrame(series).astype("category"),
        }
    return sources


def _dictionary(column: Any) -> Any:
    return column.dictionary_encode() if pa.types.is_integer(column.type) or pa.types.is_string(column.type) else column
