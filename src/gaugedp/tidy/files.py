"""Columns of texts and numbers, written to files."""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp.tidy.columns import NUMBERS
from gaugedp.tidy.spreadsheet import write_sheet

Listed = Mapping[str, Sequence[Any]]


def _write_csv(path: Path, columns: Listed, _: Mapping[str, Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_parquet(path: Path, columns: Listed, _: Mapping[str, Any]) -> None:
    from gaugedp.tables.duckdb.parquet import write_parquet

    kinds = {name: float if name in NUMBERS else object for name in columns}
    write_parquet(path, [{name: np.array(column, dtype=kinds[name]) for name, column in columns.items()}])


WRITERS: dict[str, Callable[[Path, Listed, Mapping[str, Any]], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsx": write_sheet,
}
