"""Columns of texts and numbers, written to a Parquet file some lines at a time."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gaugedp.errors import GaugedpError
from gaugedp.tables.duckdb.engine import own_database
from gaugedp.tables.engine import quoted

Block = Mapping[str, np.ndarray]


def write_parquet(path: str | Path, blocks: Iterable[Block]) -> None:
    """Write blocks of lines, in order; texts are arrays of objects. Raises OSError where the file cannot be written."""
    import duckdb

    with own_database() as database:
        for number, block in enumerate(blocks):
            database.register("block", dict(block))
            lines = f"SELECT {', '.join(map(_typed, block, block.values()))} FROM block"
            database.execute(f"INSERT INTO lines {lines}" if number else f"CREATE TABLE lines AS {lines}")
        try:
            database.table("lines").write_parquet(str(path))
        except duckdb.IOException:
            raise OSError(None, "the file cannot be written") from None
        except duckdb.Error:
            raise GaugedpError("The file could not be made.", "Write a .csv file.", "The answer stays.") from None


def _typed(name: str, column: np.ndarray) -> str:
    """Return a column for SQL; one of texts, of which a block may have none."""
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if column.dtype == object else quoted(name)
