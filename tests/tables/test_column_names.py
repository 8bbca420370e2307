"""Columns of one name, and names that differ in case only: refused where they are used, else no obstacle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gaugedp as gd
from gaugedp.errors import UnknownName, UnreadableTable
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.lines import FileLines
from gaugedp.tables.sources import file_columns

Made = Callable[[list[str], Path], Any]


def _csv(names: list[str], folder: Path) -> Path:
    path = folder / "rows.csv"
    path.write_text("\n".join([",".join(names), *[",".join(str(10**i) for i in range(len(names)))] * 2]) + "\n")
    return path


def _arrow(names: list[str], _: Path) -> Any:
    return pa.table([pa.array([10**i] * 2) for i in range(len(names))], names=names)


def _parquet(names: list[str], folder: Path) -> Path:
    nested = pa.array([{"PAY": 5, "in": {"z": 1}}] * 2)
    rows = _arrow(names, folder).append_column("nested", nested)
    pq.write_table(rows.select([len(names), *range(len(names))]), folder / "rows.parquet")
    return folder / "rows.parquet"


def _pandas(names: list[str], _: Path) -> Any:
    return pd.DataFrame([[10**i for i in range(len(names))]] * 2, columns=names)


def _relation(names: list[str], _: Path) -> Any:
    columns = ", ".join(f'{10**i} AS "{name}"' for i, name in enumerate(names))
    return duckdb.connect().sql(f"SELECT {columns} FROM range(2)")


SOURCES: dict[str, Made] = {
    "csv": _csv, "arrow": _arrow, "parquet": _parquet, "pandas": _pandas, "duckdb": _relation
}  # fmt: skip
NAMES = ["PAY", "pay", "AGE", "AGE", "PAY_1", "age_1", "x"]


def values(source: Any, name: str) -> int:
    domain = gd.Domain.of(**{name: gd.bounded(0, 10**7)})
    total, count = gd.Table.scan(source, domain=domain).totals([Aggregate((), name), Aggregate(())], b"")
    return (int(total[0]) + int(count[0]) * 10**7) // 2 // int(count[0])


@pytest.mark.parametrize("kind", SOURCES)
def test_a_name_that_another_column_has_too_is_refused(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](NAMES, tmp_path)
    for name, clash in (
        ("PAY", "differ only in case: 'PAY', 'pay'"),
        ("pay", "differ only in case: 'PAY', 'pay'"),
        ("AGE", "differ only in case: 'AGE'"),
    ):
        with pytest.raises(UnreadableTable, match=clash):
            values(source, name)


@pytest.mark.parametrize("kind", SOURCES)
def test_columns_that_clash_are_no_obstacle_to_others(kind: str, tmp_path: Path) -> None:
    """PAY_1 is the column of that name, and not the second PAY, which DuckDB would call so."""
    source = SOURCES[kind](NAMES, tmp_path)
    assert [values(source, name) for name in ("PAY_1", "age_1", "x")] == [10**4, 10**5, 10**6]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_name_that_the_engine_made_is_none(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="There is no column 'PAY_1'"):
        values(SOURCES[kind](["PAY", "PAY", "x"], tmp_path), "PAY_1")


def test_the_names_of_a_parquet_file_are_those_of_its_schema(tmp_path: Path) -> None:
    path = _parquet(NAMES, tmp_path)
    assert file_columns(str(path)) == ["nested", *NAMES]
    lines = FileLines.open(str(path), gd.Domain.of(PAY_1=gd.bounded(0, 10**6)), [], ["PAY_1"])
    assert [batch.steps.tolist() for batch in lines.batches()] == [[[10**4]] * 2]


@pytest.mark.parametrize("kind", SOURCES)
def test_only_a_text_file_is_said_to_have_lines(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](["x", " y"], tmp_path)
    for name, hint in (("other", "Check the spelling"), ("y", "has ' y', with a space")):
        with pytest.raises(UnknownName, match=f"There is no column '{name}'.*{hint}") as refused:
            values(source, name)
        assert ("first line" in str(refused.value)) == ("commas" in str(refused.value)) == (kind == "csv")


def test_a_pandas_name_that_is_a_number_is_said_to_be_one() -> None:
    with pytest.raises(UnknownName, match="The column 0 has a name that is not text: rename it"):
        values(pd.DataFrame([[1, 2]]), "0")
