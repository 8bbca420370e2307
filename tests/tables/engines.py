"""The engines that the conformance suite runs on.

Each makes a source of an arrow table, in which every row occurs `times`, or skips the test with a word.
"""

import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tests.postgres import missing, shared_server

ROOT = Path(__file__).parents[2]
WAREHOUSE = tempfile.TemporaryDirectory(prefix="gaugedp-spark-")  # gone when the tests end


def arrow_table(table, times):
    return pa.concat_tables([table] * times)


def duckdb_relation(table, times):
    return duckdb.connect().from_arrow(arrow_table(table, times))


@cache
def spark():
    """The one local Spark session of a test run, started when it is first asked for."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # what runs on partitions is this Python
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",  # fewer jobs
        "spark.sql.warehouse.dir": WAREHOUSE.name,
        "spark.executorEnv.PYTHONPATH": str(ROOT),  # the tests, wherever the session happens to be started
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short runs: compile little
    }
    builder = SparkSession.builder.master("local[2]").appName("gaugedp tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def require_spark():
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine")


def spark_frame(table, times):
    require_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pandas is newer than what pyspark knows
        frame = spark().createDataFrame(table).repartition(2)
        return frame if times == 1 else frame.crossJoin(spark().range(times).withColumnRenamed("id", "copy"))


def postgres_table(table, times):
    if missing() is not None:
        pytest.skip(missing())
    return shared_server().table(arrow_table(table, times))


ENGINES = {"arrow": arrow_table, "duckdb": duckdb_relation, "spark": spark_frame, "postgres": postgres_table}
