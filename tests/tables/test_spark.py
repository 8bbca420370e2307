"""A Spark frame: what is refused at the scan, that nothing is read there, and silence about rows."""

import logging
import subprocess
import sys
import traceback

import numpy as np
import pyarrow as pa
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, categories
from gaugedp.errors import UnknownName, UnreadableTable
from gaugedp.tables.engine import SOURCE, Column, Kind
from gaugedp.tables.spark.engine import LOGGERS
from gaugedp.tables.spark.sql import PLAIN, spark_text
from gaugedp.tables.statement import Aggregation
from gaugedp.tables.table import Aggregate, Table
from tests.tables.conformance import types
from tests.tables.engines import spark, spark_frame

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
SECRET = "s3cr3t-4711"
ROW = PrivacyUnit()
SEX = Domain.of(sex=["1", "2"])


def sql(text):
    spark_frame(pa.table({"x": [1]}), 1)  # skips where there is no Spark
    return spark().sql(text)


def counts(frame, domain=SEX, unit=ROW):
    return Table.scan(frame, domain=domain, unit=unit).totals([Aggregate(tuple(domain.attributes))], b"")[0].tolist()


def test_a_scan_reads_nothing():
    frame = sql("SELECT raise_error('read') AS sex")
    assert "Spark DataFrame" in repr(Table.scan(frame, domain=SEX))


TYPES = ["ARRAY(1)", "MAP(1, 2)", "STRUCT(1 AS a)", "X'61'", "current_timestamp()", "INTERVAL 1 DAY"]


@pytest.mark.parametrize("value", TYPES)
def test_a_type_without_plain_text_is_refused(value):
    frame = sql(f"SELECT {value} AS x, '1' AS sex")
    with pytest.raises(UnreadableTable, match=r"Column 'x' holds .* which cannot be compared with categories"):
        Table.scan(frame, domain=Domain.of(x=["1"]))
    with pytest.raises(UnreadableTable, match="cannot be used to tell people apart"):
        Table.scan(frame, domain=SEX, unit=PrivacyUnit("x"))
    assert counts(frame) == [1, 0], "only needed columns need a known type"


def test_names_that_are_missing_or_clash():
    with pytest.raises(UnknownName, match="There is no column 'sex'"):
        Table.scan(sql("SELECT 1 AS sexx"), domain=SEX)
    with pytest.raises(UnreadableTable, match="differ only in case: 'SEX', 'sex'"):
        Table.scan(sql("SELECT '1' AS sex, '2' AS SEX"), domain=SEX)


def test_any_name_and_any_category_is_taken_as_it_is():
    odd = ["${env:HOME}", "a`b.c", "{x}", "a'b", 'q"\\', "π"]
    frame = spark_frame(pa.table({name: [name, "else"] for name in odd}), 1)
    for name in odd:
        assert counts(frame, Domain({name: categories([name, "$"], "other")})) == [1, 0, 1]


def test_no_text_of_a_statement_depends_on_the_session():
    domain = Domain.of(**{"x": categories(["${a}", "\\", "'", "{", "plain"])})
    plan = Aggregation(domain, PrivacyUnit(), {"x": Column("x", Kind.TEXT, "text")}, (Aggregate(("x",)),))
    text = spark_text(plan.statement(b""), {"x": "c0"})
    assert "'plain'" in text
    assert not any(sign in text.replace(f"{{{SOURCE}}}", "") for sign in "${}\\")
    assert not PLAIN.fullmatch("${a}")


OTHER_SETTINGS = {
    "ansi.enabled": "false", "caseSensitive": "true", "session.timeZone": "Asia/Tokyo", "codegen.wholeStage": "false",
    "legacy.exponentLiteralAsDecimal.enabled": "true", "parser.escapedStringLiterals": "true",
    "parser.quotedRegexColumnNames": "true", "decimalOperations.allowPrecisionLoss": "false",
    "groupByOrdinal": "false", "orderByOrdinal": "false", "groupByAliases": "false", "timestampType": "TIMESTAMP_NTZ",
    "legacy.timeParserPolicy": "LEGACY", "ansi.doubleQuotedIdentifiers": "true",
    "execution.arrow.maxRecordsPerBatch": "3",
}  # fmt: skip


@pytest.mark.parametrize("others", [OTHER_SETTINGS, {"ansi.enforceReservedKeywords": "true"}], ids=["many", "reserved"])
def test_the_settings_of_a_session_do_not_matter(others):
    case = types()
    frame, session = spark_frame(case.table, 1), spark()

    def numbers():
        actual = Table.scan(frame, domain=case.domain, unit=PrivacyUnit("date", max_rows=7)).totals(case.totals, b"key")
        return [answer.tolist() for answer in actual]

    usual = numbers()
    for name, value in others.items():
        session.conf.set(f"spark.sql.{name}", value)
    try:
        assert numbers() == usual
    finally:
        for name in others:
            session.conf.unset(f"spark.sql.{name}")


def test_both_ways_of_arithmetic_give_the_same():
    frame = sql(
        "SELECT * FROM VALUES ('1', 1e300D, '7'), ('2', double('NaN'), 'x'), ('1', 5D, '1e999') AS t(sex, x, y)"
    )
    domain = Domain.of(sex=["1", "2"], x=bins(0, 10, 5, outside="other"), y=bins(0, 10, 5, outside="other"))
    unit, session, actual = PrivacyUnit("x"), spark(), []
    for ansi in ("true", "false"):
        session.conf.set("spark.sql.ansi.enabled", ansi)
        try:
            actual.append([counts(frame, domain), counts(frame, domain, unit)])
        finally:
            session.conf.unset("spark.sql.ansi.enabled")
    assert actual[0] == actual[1]
    assert [sum(each) for each in actual[0]] == [3, 2]


def test_people_who_are_no_text_are_told_apart_by_their_bytes():
    frame = sql("SELECT CAST(b AS STRING) AS pid, '1' AS sex FROM VALUES (X'FF'), (X'FE'), (X'FF') AS t(b)")
    assert counts(frame, unit=PrivacyUnit("pid")) == [2, 0]


def test_a_collation_makes_no_two_people_one():
    frame = sql(
        "SELECT pid COLLATE UTF8_LCASE AS pid, s COLLATE UTF8_LCASE AS sex FROM VALUES ('a', 'x'), ('A', 'X') t(pid, s)"
    )
    assert counts(frame, Domain.of(sex=["x", "X"]), PrivacyUnit("pid")) == [1, 1]


def test_nothing_of_a_failure_is_shown(capfd, loggers):
    frame = sql(f"SELECT CAST(t AS INT) AS sex FROM VALUES ('{SECRET}') AS v(t)").repartition(2)
    table = Table.scan(frame, domain=SEX)
    capfd.readouterr()
    for look in (lambda: table.totals([Aggregate(("sex",))], b""), lambda: table.vector_sum((["sex"], []), _sum, b"")):
        with pytest.raises(UnreadableTable, match="stays spent") as caught:
            look()
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert loggers == []
    assert SECRET not in "".join(capfd.readouterr())


def _sum(cells, steps):
    return np.hstack([cells, steps]).sum(axis=0)


@pytest.fixture
def loggers():
    """What PySpark's loggers of errors say."""
    sql("SELECT 1")
    from pyspark.logger import PySparkLogger

    said, handler = [], logging.Handler()
    handler.emit = said.append
    speakers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    for speaker in speakers:
        speaker.addHandler(handler)
    yield said
    for speaker in speakers:
        speaker.removeHandler(handler)


def test_pysparks_own_loggers_speak_again_afterwards(loggers):
    from pyspark.errors import PySparkException

    counts(sql("SELECT '1' AS sex"))
    with pytest.raises(PySparkException):
        spark().sql("SELECT CAST('loud' AS INT)").collect()
    assert any("loud" in record.getMessage() for record in loggers)


def test_the_session_is_left_as_it_was():
    frame = sql("SELECT '1' AS sex")
    before = (spark().catalog.listTables(), dict(spark().conf.getAll))
    counts(frame)
    assert (spark().catalog.listTables(), dict(spark().conf.getAll)) == before


def test_a_stream_is_refused():
    sql("SELECT 1")
    with pytest.raises(UnreadableTable, match="is a stream"):
        Table.scan(spark().readStream.format("rate").load(), domain=Domain.of(value=["1"]))


def test_without_a_spark_frame_pyspark_is_not_imported():
    code = (
        "import sys, pyarrow as pa, gaugedp as gd; from gaugedp.tables.aggregate import Aggregate;"
        "gd.Table.scan(pa.table({'sex': ['1']}), domain=gd.Domain.of(sex=['1'])).totals([Aggregate(('sex',))], b'');"
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
