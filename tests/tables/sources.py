"""One table of rows as every kind of source. Rows are dictionaries; text files hold text, frames hold typed columns."""

import csv
import math

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}


def as_arrow(rows, types):
    return pa.table({name: pa.array([row[name] for row in rows], TYPES[kind]) for name, kind in types.items()})


def as_pandas(rows, types):
    def series(name, kind):
        values = [row[name] for row in rows]
        if kind is int:
            return pd.Series(values, dtype="Int64")
        return pd.Series(values, dtype="float64" if kind is float else object)

    return pd.DataFrame({name: series(name, kind) for name, kind in types.items()})


def write_text(path, rows, types, delimiter):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        quoting = csv.QUOTE_ALL if any(";" in name for name in types) else csv.QUOTE_MINIMAL  # else they separate
        csv.writer(file, delimiter=delimiter, quoting=quoting).writerow(types)
        writer.writerows([[_written(row[name]) for name in types] for row in rows])
    return path


def _written(value):
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def make(kind, rows, types, folder):
    """The rows as a source of the given kind."""
    if kind in {"csv", "tsv"}:
        return write_text(folder / f"rows.{kind}", rows, types, "," if kind == "csv" else "\t")
    if kind == "pandas":
        return as_pandas(rows, types)
    table = as_arrow(rows, types)
    if kind == "parquet":
        pq.write_table(table, folder / "rows.parquet")
        return str(folder / "rows.parquet")
    return FRAMES[kind](table)


FRAMES = {
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "arrow": lambda table: table,
    "relation": lambda table: duckdb.connect().from_arrow(table),
}
KINDS = ["csv", "tsv", "parquet", "pandas", *FRAMES]
