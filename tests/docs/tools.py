"""The tools that blocks of pages may need: each makes what the pages speak of, or skips the test with a word.

A tool takes the folder of the page and returns a function that puts the addresses of this machine into a block.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.postgres import missing, shared_server
from tests.tables.engines import spark_frame

Edit = Callable[[str], str]
CENSUS, ACCOUNTS = "postgresql://analyst@db.example.org/census?", "postgresql://keeper@db.example.org/accounts?"


def write_people(path: Path, n_people: int = 500) -> None:
    """Write made-up rows, four a person."""
    rng, n_rows = np.random.default_rng(1), 4 * n_people
    people = {
        "pid": np.repeat(np.arange(n_people), 4),
        "sex": rng.choice(["1", "2"], n_rows),
        "age": rng.integers(0, 100, n_rows),
        "income": rng.integers(0, 200_000, n_rows),
    }
    parquet.write_table(pa.table(people), path)


def spark(_: Path) -> Edit:
    """The one Spark session of the tests, which a page's own builder gives back."""
    spark_frame(pa.table({"x": [1]}), 1)
    return str


def postgres(folder: Path) -> Edit:
    """A server with the example as survey.people, and as the view people."""
    if missing() is not None:
        pytest.skip(missing())
    server = shared_server()
    text = csv.ConvertOptions(column_types={"SEX": pa.string(), "PINCP": pa.string()})
    address = server.table(csv.read_csv(folder / "acs.csv", convert_options=text))
    made = address.rsplit("table=", 1)[1]
    server.execute(
        "CREATE SCHEMA survey",
        f"ALTER TABLE {made} SET SCHEMA survey",
        f"ALTER TABLE survey.{made} RENAME TO people",
        "CREATE VIEW people AS SELECT * FROM survey.people",
    )
    here = server.url()
    words = {CENSUS: f"{here}&", ACCOUNTS: f"{here}&", "dbname=census": here}
    return lambda code: _replaced(code, words)


def _replaced(code: str, words: dict[str, str]) -> str:
    for word, here in words.items():
        code = code.replace(word, here)
    return code


TOOLS: dict[str, Callable[[Path], Edit]] = {"postgres": postgres, "spark": spark}
