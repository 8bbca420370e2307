"""Spark engine for classic and Connect frames.

Only totals, or requested rows, are returned; the rows stay where they are. No message of Spark, which may quote rows,
is passed on, and the two loggers by which PySpark prints its errors are silent meanwhile. What the JVM itself writes
into its logs depends on its settings; see docs/sharp-edges/engines.md
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from gaugedp.errors import GaugedpError, MissingExtra, UnreadableTable
from gaugedp.tables.engine import SOURCE, Column, Engine, Kind, Of, Sql, Types
from gaugedp.tables.files import SourceFiles
from gaugedp.tables.refusals import check_names, or_refuse, taken_words, unfinished, unreadable
from gaugedp.tables.spark.plan import check_repeatable, check_words, source_files
from gaugedp.tables.spark.sql import spark_text

KINDS = {
    "timestamp": Kind.INSTANT,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("string", "char", "varchar", "void"), Kind.TEXT),
    "timestamp_ntz": Kind.TIMESTAMP,
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "decimal": Kind.WIDE,
    "double": Kind.REAL,
    "float": Kind.SHORT_REAL,
}
WORDS = {
    "binary": "bytes", "array": "lists", "struct": "records", "map": "records", "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS)
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
T = TypeVar("T")


@dataclass(frozen=True)
class SparkEngine(Engine):
    """Spark frame, read again by each statement; its session stays unchanged."""

    columns: Mapping[str, Column]
    _frame: Any = field(repr=False)  # the needed columns; column i is `c<i>`
    description: str = "a Spark DataFrame"
    rules: tuple[str, ...] = ()
    sql_products: int = 8  # batches are faster for more columns: docs/benchmarks/releases.md#duckdb-and-spark

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        return _columns(self._answer(statement).toArrow())

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        totals = self._answer(statement).mapInArrow(_Partial(of), "total array<bigint>").toArrow()
        sums: np.ndarray = np.array(totals.column(0).to_pylist(), dtype=np.int64).sum(axis=0)
        return sums if totals.num_rows else np.zeros(0, dtype=np.int64)

    def _finished(self, work: Callable[[], T]) -> T:
        return _or_refuse(work, unfinished())

    def _answer(self, statement: Sql) -> Any:
        text = spark_text(statement, {name: f"c{i}" for i, name in enumerate(self.columns)})
        return self._frame.sparkSession.sql(text, **{SOURCE: self._frame})


@dataclass(frozen=True)
class _Partial:
    """Reduction of a partition's batches to one total."""

    of: Of

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        total: Any = None
        for batch in batches:
            part = self.of(_columns(batch)).ravel()
            total = part if total is None else total + part
        if total is not None:
            column = pyarrow.array([total.tolist()], pyarrow.list_(pyarrow.int64()))
            yield pyarrow.RecordBatch.from_arrays([column], ["total"])


def reads(source: object) -> bool:
    """Return True if `source` is a Spark frame, without importing."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and isinstance(source, module.DataFrame)


def open_source(frame: Any, needed: Sequence[str]) -> SparkEngine:
    """Return the engine over a frame, reading only its schema."""
    if find_spec("pyarrow") is None:
        raise MissingExtra.needed_for("Reading a Spark frame", "spark")
    if _or_refuse(lambda: frame.isStreaming, unreadable()):
        raise UnreadableTable("The Spark frame is a stream, which cannot be read as a table.", "Pass a batch frame.")
    _or_refuse(lambda: check_repeatable(frame), unreadable())
    _or_refuse(lambda: check_words(frame.sparkSession), taken_words("session"))
    fields = _or_refuse(lambda: list(frame.schema.fields), unreadable())
    names = [field.name for field in fields]
    check_names(names, needed)
    columns = {name: _column(name, fields[names.index(name)].dataType.simpleString()) for name in needed}
    places = [names.index(name) for name in needed]
    reads = [_read(column, f"f{place}") for column, place in zip(columns.values(), places, strict=True)]
    plain = _or_refuse(lambda: frame.toDF(*(f"f{i}" for i in range(len(names)))), unreadable())
    texts = [f"{read} AS c{i}" for i, read in enumerate(reads)]
    return SparkEngine(columns, _or_refuse(lambda: plain.selectExpr(*texts), unreadable()))


def source_files_of(frame: Any) -> SourceFiles | None:
    """Return a frame's local files, if all rows have one."""
    return _or_refuse(lambda: source_files(frame), unreadable())


def _column(name: str, type_name: str) -> Column:
    family = type_name.partition("(")[0].partition("<")[0].partition(" ")[0]
    return TYPES.column(name, family, type_name)


def _read(column: Column, name: str) -> str:
    match column.kind:
        case Kind.INTEGER:
            return f"CAST({name} AS BIGINT)"
        case Kind.TEXT:
            return f"CAST({name} AS STRING)"
        case Kind.INSTANT:
            return f"DATE_FORMAT({name}, \"yyyy-MM-dd'T'HH:mm:ssXXX\")"
        case Kind.SHORT_REAL:
            return _shortest(name)
    return name


def _shortest(name: str) -> str:
    texts = [f"format_string('%.{digits}e', CAST({name} AS DOUBLE))" for digits in range(9)]
    tries = " ".join(f"WHEN TRY_CAST({text} AS FLOAT) = {name} THEN TRY_CAST({text} AS DOUBLE)" for text in texts)
    written = f"TRY_CAST(CAST({name} AS STRING) AS DOUBLE)"
    return (
        f"CASE WHEN {name} IS NULL THEN CAST(NULL AS DOUBLE) "
        f"WHEN abs({name}) >= 1e-3 AND abs({name}) < 1e7 OR {name} = 0 OR isnan({name}) THEN {written} "
        f"{tries} ELSE {written} END"
    )


def _columns(batch: Any) -> dict[str, np.ndarray]:
    arrays = (batch.column(i).to_numpy(zero_copy_only=False) for i in range(len(batch.schema.names)))
    types = (object if kind == "binary" else np.int64 for kind in batch.schema.types)
    columns = zip(batch.schema.names, arrays, types, strict=True)
    return {name: array.astype(kind, copy=False) for name, array, kind in columns}


def _or_refuse(work: Callable[[], T], refusal: GaugedpError) -> T:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with _silence():
        return or_refuse(work, refusal, (PySparkException, Py4JError))


@contextmanager
def _silence() -> Iterator[None]:
    from pyspark.logger import PySparkLogger  # a plain logger of that name would make PySpark fail later

    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was
