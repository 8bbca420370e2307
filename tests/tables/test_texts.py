"""The texts that Spark and PostgreSQL are sent say what no row can make fail; no server is needed to read them."""

import re

import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, bounded
from gaugedp.tables.aggregate import Aggregate
from gaugedp.tables.engine import Column, Kind
from gaugedp.tables.postgres.sql import postgres_text, quoted
from gaugedp.tables.spark.sql import spark_text
from gaugedp.tables.statement import Aggregation


def statement(columns):
    domain = Domain.of(kind=["it's", "${x}"], age=bins(0, 1, 0.1), amount=bounded(-1, 5, 0.5))
    total = Aggregate(("kind", "age"), "amount")
    return Aggregation(domain, PrivacyUnit("pid", max_rows=2), columns, (total,)).statement(b"key")


def columns(**others):
    kinds = {"kind": Kind.TEXT, "age": Kind.REAL, "amount": Kind.TEXT, "pid": Kind.TEXT}
    return {name: Column(name, kind, "") for name, kind in kinds.items()} | others


@pytest.fixture(scope="module")
def spark():
    return spark_text(statement(columns()), {name: f"c{i}" for i, name in enumerate(columns())})


@pytest.fixture(scope="module")
def postgres():
    return " ".join(postgres_text(statement(columns()), columns(), '"people"').split())


def test_a_misfit_is_null_in_spark_and_never_an_error_that_quotes_it(spark):
    assert re.search(r"TRY_CAST\(CASE WHEN CAST\(c2 AS STRING\) RLIKE .* END AS DOUBLE\) AS y0", spark)
    assert re.search(r"TRY_CAST\(CASE WHEN x1_guess .* END AS INT\) AS a1", spark)


def test_a_float_beyond_64_bits_is_rounded_by_no_integer_of_spark(spark):
    assert "< 9.223372036854775808e18D THEN CAST(FLOOR(" in spark
    assert re.search(r">= -9\.223372036854775808e18D AND", spark)


def test_people_in_spark_are_bytes(spark):
    assert "CAST(CAST(c3 AS STRING) AS BINARY) AS person" in spark


def test_a_number_in_spark_fills_its_text(spark):
    (pattern,) = re.findall(r"RLIKE CAST\(X'([0-9a-f]+)' AS STRING\)", spark)
    text = bytes.fromhex(pattern).decode()
    assert text.startswith(r"\A(?:")
    assert text.endswith(r")\z")


def test_sums_in_spark_do_not_wrap(spark):
    assert "SUM(CAST(s0 AS DECIMAL(38, 0)))" in spark
    assert spark.count("AS BIGINT) AS person_rank") == spark.count("AS BIGINT) AS person_row") == 1


def test_no_setting_of_a_spark_session_changes_a_literal(spark):
    assert "'it" not in spark
    assert "${" not in spark
    without_bytes = re.sub(r"X'[0-9a-f]*'", "", spark)
    assert all(number.endswith("D") for number in re.findall(r"\d+(?:\.\d+)?e-?\d+\w?", without_bytes))


def test_spark_reads_the_rows_that_it_is_given(spark):
    assert spark.count("{gaugedp_source}") == 1
    assert '"' not in spark


def test_text_in_postgres_is_compared_byte_by_byte(postgres):
    for place, name in enumerate(columns()):
        assert name == "age" or f'CAST("{name}" AS text) COLLATE "C" AS c{place}' in postgres


def test_a_number_in_postgres_fills_its_text_and_is_looked_at_first(postgres):
    patterns = re.findall(r" ~ E'(.*?)' OFFSET 0\) AS trimmed", postgres)
    assert len(patterns) == 3
    for pattern in patterns:
        assert pattern.startswith("^[")
        assert pattern.endswith("]*$")


def test_no_float_makes_a_cast_of_postgres_fail(postgres):
    assert ">= CAST('-2147483648' AS DOUBLE PRECISION) AND" in postgres
    assert "<= CAST('2147483647' AS DOUBLE PRECISION) THEN CAST(" in postgres
    assert "LEAST(GREATEST(c1, CAST('-1e150' AS DOUBLE PRECISION)), CAST('1e150' AS DOUBLE PRECISION))" in postgres
    assert "NOT y0 = CAST('NaN' AS DOUBLE PRECISION)" in postgres


def test_the_parts_of_a_statement_of_postgres_are_not_merged(postgres):
    inner = postgres[postgres.index("AS cell0") :]
    assert inner.count("(SELECT") == inner.count("OFFSET 0) AS ")
    assert 'FROM "people" OFFSET 0)' in postgres


def test_one_numeric_is_one_person_in_postgres():
    numeric = columns(pid=Column("pid", Kind.WIDE, "values (numeric)"))
    assert 'CAST(trim_scale("pid") AS text)' in postgres_text(statement(numeric), numeric, '"people"')


def test_a_short_float_in_postgres_is_the_number_that_prints_as_it():
    short = columns(age=Column("age", Kind.SHORT_REAL, ""))
    assert 'CAST(CAST("age" AS text) AS double precision) AS c1' in postgres_text(statement(short), short, '"people"')


@pytest.mark.parametrize("name", ['a"b', 'a" FROM others --'])
def test_a_name_in_postgres_is_only_a_name(name):
    assert re.fullmatch(r'"(?:[^"]|"")*"', quoted(name))


def test_no_value_makes_a_cast_of_duckdb_fail():
    """Cells and steps are whole numbers by TRY_CAST: one beyond them is no error after the payment."""
    text = statement(columns()).sql(dialect="duckdb")
    assert "TRY_CAST(CASE WHEN x1_guess" in text
    assert not re.search(r"(?<!TRY_)CAST\(CASE WHEN", text)
