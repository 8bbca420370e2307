"""Columns whose type no category can match are refused at the scan, by the type and the domain alone."""

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gaugedp as gd
from gaugedp.errors import UnreadableTable
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.engine import Kind
from gaugedp.tables.spelling import category_numbers, truths

TYPES = {  # in SQL: a value, categories that are such values, and some that none is
    "BOOLEAN": ("true", ["yes", "no"], ["male", "female"]),
    "INTEGER": ("1", ["1", "2"], ["male", "1.5"]),
    "DOUBLE": ("0.5", ["0.50", "x"], ["half", "inf"]),
    "DECIMAL(5, 2)": ("0.5", ["0.5", "x"], ["half"]),
    "FLOAT": ("0.5", ["0.5", "x"], ["half"]),
    "DATE": ("'2020-01-02'", ["2020-01-02"], ["2020-01", "2020-01-02 00:00:00"]),
    "TIMESTAMP": ("'2020-01-02'", ["2020-01-02 00:00:00"], ["2020-01-02", "2020-01-02T00:00:00"]),
    "TIME": ("'01:02:00'", ["01:02:00"], ["01:02", "01:02:00.0"]),
    "UUID": (f"'{'1' * 32}'", ["11111111-1111-1111-1111-111111111111"], ["1" * 32, "x"]),
}


def counts(source: Any, categories: Any) -> list[int]:
    table = gd.Table.scan(source, domain=gd.Domain.of(A=categories))
    return table.totals([Aggregate(("A",))], b"")[0].tolist()


@pytest.mark.many
@pytest.mark.parametrize("sql_type", TYPES)
@pytest.mark.parametrize("has_rows", [True, False])
def test_a_type_that_no_category_can_match_is_refused_whatever_the_rows_are(sql_type: str, has_rows: bool) -> None:
    value, possible, impossible = TYPES[sql_type]
    relation = duckdb.connect().sql(f"SELECT CAST({value} AS {sql_type}) AS A WHERE {has_rows}")
    assert counts(relation, possible)[0] == has_rows
    for outside in ("drop", "other"):
        with pytest.raises(UnreadableTable, match=r"Column 'A' holds .*none of its categories.*Nothing was read"):
            counts(relation, gd.categories(impossible, outside))


def test_the_rule_holds_for_every_source_and_for_a_refused_release(tmp_path: Path) -> None:
    rows = pa.table({"A": pa.array([1, 2], pa.int8())})
    pq.write_table(rows, tmp_path / "rows.parquet")
    sources = [
        rows,
        tmp_path / "rows.parquet",
        rows.to_pandas(),
        pl.from_arrow(rows),
        duckdb.connect().from_arrow(rows),
    ]
    for source in [*sources, rows.to_pandas().astype("category")]:
        with pytest.raises(UnreadableTable, match=r"integers .* none of its categories is such a value"):
            counts(source, ["male", "female"])
        assert counts(source, ["01", "2"]) == [1, 1]
    assert counts(rows.to_pandas().astype(str), ["male", "female"]) == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        (["true", "false"], [2, 1]),
        (["False", "True"], [1, 2]),
        (["TRUE", "FALSE", "NA"], [2, 1, 0]),
        (["no", "yes"], [1, 2]),
        (["Yes", "No"], [2, 1]),
        (["0", "1"], [1, 2]),
        (["yes", "no", "true"], [2, 1, 0]),
        (["yes"], [2]),
    ],
)
def test_booleans_match_the_two_categories_that_mean_them(categories: list[str], expected: list[int]) -> None:
    values = [True, False, True, None]
    for source in (
        pa.table({"A": values}),
        pl.DataFrame({"A": values}),
        pd.DataFrame({"A": pd.Series(values, dtype="boolean")}),
        pd.DataFrame({"A": pd.Series(values, dtype=object)}),
        pd.DataFrame({"A": pd.Series(values, dtype="category")}),
    ):
        assert counts(source, categories) == expected, source
    assert counts(pd.DataFrame({"A": pd.Series(["true", "x"], dtype=object)}), ["True", "False"]) == [0, 0]


def test_one_code_of_many_is_no_boolean() -> None:
    assert truths(["1", "2"]) == {}
    assert truths(["1", "0", "2"]) == {"true": "1", "false": "0"}
    assert truths(["true", "yes", "no"]) == {"true": "yes", "false": "no"}


def test_a_look_up_on_a_column_of_another_type_is_refused() -> None:
    places = {"PLACE": ["a", "b"], "KIND": ["town", "village"], "PRICE": ["1", "2"]}
    facts = gd.look_up(places, on="PLACE", PRICE=gd.bounded(0, 5))
    for name in ("KIND", "PRICE"):
        with pytest.raises(UnreadableTable, match=r"Column 'PLACE' .* none of its categories"):
            gd.Table.scan(pa.table({"PLACE": [1, 2]}), domain=gd.Domain.of(**{name: facts[name]}))


@pytest.mark.parametrize("kind", ["BOOLEAN", "TIME", "UUID"])
@pytest.mark.parametrize(
    "fact", [gd.dates("2020-01-01", "2020-02-01", by="day"), gd.integers(0, 5), gd.bins(0, 1, 0.5), gd.bounded(0, 1)]
)
def test_what_is_no_number_and_no_date_is_refused_as_one(kind: str, fact: Any) -> None:
    with pytest.raises(UnreadableTable, match=r"cannot be read as (dates|numbers)"):
        gd.Table.scan(duckdb.connect().sql(f"SELECT NULL::{kind} AS A"), domain=gd.Domain.of(A=fact))


def test_the_ends_of_64_bits_and_large_floats_match_their_category() -> None:
    ends = [str(-(2**63)), str(2**63 - 1)]
    assert counts(pa.table({"A": [-(2**63), 2**63 - 1, 0]}), ends) == [1, 1]
    assert counts(pa.table({"A": [1e300, -1e19, 0.0]}), ["1e300", "-1e19"]) == [1, 1]
    assert counts(duckdb.connect().sql("SELECT 18446744073709551615::UBIGINT AS A"), [str(2**64 - 1)]) == [1]


def test_a_tiny_number_is_told_from_0_without_its_digits() -> None:
    assert category_numbers(["1e-999999999", "1e3"], whole=True) == {1000: 1}
    assert list(category_numbers(["1e-999999999"], whole=False)) == [0]


def test_every_kind_that_can_be_refused_has_an_example() -> None:
    from gaugedp.tables.engine import NUMBERS, SPELT
    from gaugedp.tables.spelling import EXAMPLES

    assert set(EXAMPLES) == (SPELT | NUMBERS) - {Kind.TEXT}
