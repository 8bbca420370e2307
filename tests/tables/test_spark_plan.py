"""What a Spark frame's recipe tells: other rows each time are refused; sums over files are kept and gone on with."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import integers
from gaugedp.errors import InvalidRequest, UnreadableTable
from gaugedp.tables.buckets import ENDING
from gaugedp.tables.table import Aggregate, Table
from tests.tables.engines import spark, spark_frame

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
DOMAIN, UNIT = Domain.of(kind=["A", "B"], day=integers(0, 9)), PrivacyUnit("pid", max_rows=2)
TOTALS = [Aggregate(("kind",)), Aggregate(("day",))]


@pytest.fixture
def people(tmp_path):
    spark_frame(pa.table({"x": [1]}), 1)  # skips where there is no Spark
    rows = {"pid": [i % 40 for i in range(200)], "kind": ["AB"[i % 3 % 2] for i in range(200)]}
    (tmp_path / "the rows").mkdir()
    pq.write_table(pa.table({**rows, "day": [i * 7 % 10 for i in range(200)]}), tmp_path / "the rows" / "a b.parquet")
    return tmp_path / "the rows"


def read(people):
    return spark().read.parquet(str(people))


def scan(frame, unit=UNIT):
    return Table.scan(frame, domain=DOMAIN, unit=unit)


def numbers(table, key=b"key"):
    return [answer.tolist() for answer in table.totals(TOTALS, key)]


RECIPES = {
    "a random value": lambda frame: frame.withColumn("r", _functions().rand()),
    "a random person": lambda frame: frame.withColumn("pid", (_functions().rand() * 10).cast("int")),
    "a number of its own": lambda frame: frame.withColumn("id", _functions().monotonically_increasing_id()),
    "some rows": lambda frame: frame.limit(10),
    "all but some": lambda frame: frame.offset(10),
    "a sample": lambda frame: frame.sample(0.5, seed=1),
    "beneath": lambda frame: frame.limit(10).crossJoin(spark().range(2)).filter("id > 0"),
}


def _functions():
    from pyspark.sql import functions

    return functions


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_frame_that_may_have_other_rows_each_time_is_refused(recipe, people):
    with pytest.raises(UnreadableTable, match=r"may have other rows each time.* Nothing was read"):
        scan(RECIPES[recipe](read(people)))


def test_what_was_written_is_taken(people, tmp_path):
    read(people).limit(10).write.parquet(str(tmp_path / "written"))
    assert sum(numbers(scan(spark().read.parquet(str(tmp_path / "written")), PrivacyUnit()))[0]) == 10
    assert sum(numbers(scan(read(people).filter("kind = 'Limit' OR day >= 0").repartition(3), PrivacyUnit()))[0]) == 200


def stopped(table, n_buckets):
    def stop(share):
        if share >= n_buckets / table._buckets.count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.reporting(stop).totals(TOTALS, b"key")


def done(folder):
    (kept,) = (path for path in folder.iterdir() if path.name.endswith(ENDING))
    return json.loads(kept.read_text())["sums"]["done"]


def test_a_look_that_was_stopped_goes_on(people, tmp_path):
    folder, whole = tmp_path / "sums", numbers(scan(read(people)))
    stopped(scan(read(people)).in_buckets(3, folder=folder), 2)
    assert done(folder) == 2
    again, seen = scan(read(people)).in_buckets(3, folder=folder), []  # another frame, as in another process
    assert numbers(again.reporting(seen.append), b"another key") == whole
    assert not list(folder.iterdir())


OTHERS = {
    "rows": lambda people: read(people).filter("day < 9"),
    "constant": lambda people: read(people).filter("day < 8"),
    "columns": lambda people: read(people).selectExpr("pid", "kind", "9 - day AS day"),
    "schema": lambda people: spark().read.schema("pid bigint, kind string, day bigint, no int").parquet(str(people)),
    "options": lambda people: spark().read.option("mergeSchema", "true").parquet(str(people)),
}


def test_another_recipe_or_file_is_begun_anew(people, tmp_path):
    folder = tmp_path / "sums"
    places = set()
    for frame in [read(people), *(other(people) for other in OTHERS.values())]:
        stopped(scan(frame).in_buckets(3, folder=folder), 1)
        places |= set(folder.iterdir())
    assert len(places) == 1 + len(OTHERS), "each has sums of its own"
    os.utime(people / "a b.parquet", ns=(1, 1))
    assert numbers(scan(read(people)).in_buckets(3, folder=folder), b"other") == numbers(scan(read(people)), b"other")


def test_rows_that_are_in_no_file_have_no_folder(people, tmp_path):
    for frame in (
        spark_frame(pa.table({"pid": [1], "kind": ["A"], "day": [1]}), 1),
        read(people).crossJoin(spark().range(2)),
        read(people).localCheckpoint(),
    ):
        with pytest.raises(InvalidRequest, match="The rows do not come from a file, so their"):
            scan(frame).in_buckets(3, folder=tmp_path / "sums")
        assert numbers(scan(frame).in_buckets(3)) == numbers(scan(frame))
    with pytest.raises(InvalidRequest, match="Pass the number of buckets"):
        scan(read(people)).in_buckets(folder=tmp_path / "sums")


def test_functions_that_took_the_place_of_sparks_own_are_refused(people):
    frame, session = read(people), spark()
    session.udf.register("least", lambda *_: 0, "int")
    try:
        session.conf.set("spark.sql.functionResolution.sessionOrder", "first")  # as older versions resolve names
        if session.sql("SELECT least(1, 2)").head()[0] == 0:
            with pytest.raises(UnreadableTable, match="have the names of built-in ones"):
                scan(frame)
        else:
            assert numbers(scan(frame))
    finally:
        session.conf.unset("spark.sql.functionResolution.sessionOrder")
        session.sql("DROP TEMPORARY FUNCTION least")
    assert numbers(scan(frame))
