"""DuckDB engine for files, frames and DuckDB relations.

No message of the engine, which may quote rows, is passed on.

Text files are read by a fixed rule, and nothing is guessed from the rows. Fields are separated by a comma (.csv) or a
tab (.tsv), may be quoted by ", in which "" is a quote, and an empty field is missing. A line is left out, for every
query, if it has too few fields, bytes that are not UTF-8 in any field of the header, or more than the engine's largest
line; fields beyond the header are ignored. A quote that is not closed takes everything to the next quote into its
field, so a table should be written by a program that writes CSV.
"""

import re
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gaugedp.errors import GaugedpError, UnreadableTable
from gaugedp.tables import frames
from gaugedp.tables.duckdb.database import own_database, types_database, with_types
from gaugedp.tables.engine import SOURCE, Column, Engine, Kind, Of, Sql, Types, added_up, quoted
from gaugedp.tables.files import File
from gaugedp.tables.refusals import (
    Failures,
    check_names,
    or_refuse,
    stopped,
    taken_words,
    unfinished,
    unreadable,
    unusable,
)
from gaugedp.tables.spelling import MARKS

if TYPE_CHECKING:
    import duckdb
from collections.abc import Iterable

KINDS = {
    "timestamp with time zone": Kind.INSTANT,
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"), Kind.INTEGER),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint", "decimal"), Kind.WIDE),
    **dict.fromkeys(("varchar", "enum", "sqlnull", "null", '"null"'), Kind.TEXT),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), Kind.TIMESTAMP),
    **dict.fromkeys(("time", "time_ns"), Kind.TIME),
    "boolean": Kind.BOOLEAN,
    "uuid": Kind.UUID,
    "date": Kind.DATE,
    "double": Kind.REAL,
    "float": Kind.SHORT_REAL,
}
WORDS = {
    "blob": "bytes", "list": "lists", "array": "lists", "struct": "records", "map": "records",
    "union": "values of several types", "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS, has_enums=True)
_TEXT = (
    "auto_detect = false, header = true, quote = '\"', escape = '\"', encoding = 'utf-8', hive_partitioning = false, "
    "parallel = false"  # a scanner that starts inside a quoted field would read its text as rows
)
TEXT_RULE = f"{_TEXT}, strict_mode = false, ignore_errors = true"  # no row can make the reader fail
_FAILING_RULE, _STRICT_RULE = (f"{_TEXT}, strict_mode = {mode}, ignore_errors = false" for mode in ("false", "true"))
BROKEN_LINES = (
    "Malformed lines are left out of every query: those with fewer fields than the header, with bytes that are not "
    "UTF-8, or of some megabytes. Extra fields are ignored. Quote numbers that contain commas, such as 1,250."
)
SQL_PRODUCTS = (
    4  # above so many columns, sums of products are faster from batches; docs/benchmarks/releases.md#duckdb-and-spark
)
BATCH, FETCHED = 2**17, 2**14  # rows
BATCH_NUMBERS = 2**23  # in all columns of a batch
Attach = Callable[["duckdb.DuckDBPyConnection"], object]
T = TypeVar("T")
Block = Mapping[str, np.ndarray]


class _InProcess(Engine, ABC):
    """Base of engines over files, frames and relations."""

    rules: tuple[str, ...] = ()
    sql_products: int = SQL_PRODUCTS
    in_process: bool = True

    def _finished(self, work: Callable[[], T]) -> T:
        return _or_refuse(work, unfinished())


@dataclass(frozen=True)
class DuckDBEngine(_InProcess):
    """Source with its own connection for each statement. `attach` gives the connection the table `SOURCE`."""

    description: str
    columns: Mapping[str, Column]
    _attach: Attach = field(repr=False)
    rules: tuple[str, ...] = ()
    text_file: File | None = None

    def limited(self, memory_bytes: int) -> "DuckDBEngine":
        """See Engine."""

        def attach(connection: "duckdb.DuckDBPyConnection") -> None:
            connection.execute(f"SET memory_limit = '{memory_bytes}B'")
            connection.execute("SET preserve_insertion_order = false")
            self._attach(connection)

        return replace(self, _attach=attach)

    def fetched(self, statement: Sql) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the result's rows in source order, in batches."""
        refusal = stopped()
        with own_database() as connection:
            _or_refuse(lambda: self._attach(connection), refusal)
            result = _or_refuse(lambda: connection.execute(with_types(statement, connection)), refusal)
            while rows := _or_refuse(lambda: result.fetchmany(FETCHED), refusal):
                yield rows

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        with own_database() as connection:
            self._attach(connection)
            return connection.execute(with_types(statement, connection)).fetchnumpy()

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        with own_database() as connection:
            self._attach(connection)
            return added_up(_batches(connection.sql(with_types(statement, connection))), of)


@dataclass(frozen=True)
class RelationEngine(_InProcess):
    """Relation, queried on its connection, whose settings do not change."""

    columns: Mapping[str, Column]
    _relation: "duckdb.DuckDBPyRelation" = field(repr=False)
    description: str = "a DuckDB relation"

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        return self._answer(statement).fetchnumpy()

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        return added_up(_batches(self._answer(statement)), of)

    def _answer(self, statement: Sql) -> Any:
        return self._relation.query(SOURCE, statement.sql(dialect="duckdb"))


def open_source(
    source: Any, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]]
) -> DuckDBEngine | RelationEngine:
    """Return the engine that shows the `needed` columns. See `tables.sources`."""
    import duckdb

    if isinstance(source, str | Path):
        return _open_file(File.find(source), needed)
    if frames.library(source) is not None:
        return open_frame(source, needed, truths)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return _open_relation(source, needed)
    raise UnreadableTable(
        f"A source of type {type(source).__name__} cannot be read.",
        "Give the path of a file, a pandas, polars or Spark frame, an arrow table or a DuckDB relation.",
    )


def file_types(file: File) -> list[tuple[str, Any]]:
    """Return a Parquet file's columns and types, with duplicate names."""

    def read() -> list[tuple[str, Any]]:
        with types_database() as connection:
            return list(zip(_parquet_names(connection, file), _parquet_types(connection, file), strict=True))

    return _or_refuse(read, unreadable())


def _parquet_names(connection: "duckdb.DuckDBPyConnection", file: File) -> list[str]:
    """Return the names of the columns, without nested parts."""
    listed = connection.execute(f"SELECT name, num_children FROM parquet_schema({_path(file)})").fetchall()
    names, inner = list[str](), 0
    for name, n_children in listed[1:]:
        if not inner:
            names.append(name)
        inner = max(0, inner - 1) + (n_children or 0)
    return names


def _open_file(file: File, needed: Sequence[str]) -> DuckDBEngine:
    if file.format == "Parquet":
        return _open_parquet(file, needed)
    header = file.header()
    check_names(header, needed, in_text=True)
    columns = {name: Column(name, Kind.TEXT, "text", has_enums=True) for name in needed}
    text = _text_file(file, header, needed)
    return DuckDBEngine(f"a {file.format} file", columns, partial(_view, rows=text), (BROKEN_LINES,), file)


def _open_parquet(file: File, needed: Sequence[str]) -> DuckDBEngine:
    columns = file_types(file)
    names = [name for name, _ in columns]
    check_names(names, needed)
    rows = _parquet(file, _by_place(columns, needed))
    types = {name: columns[names.index(name)][1] for name in needed}
    return DuckDBEngine("a Parquet file", _columns(types), lambda connection: _view(connection, rows))


def _by_place(columns: Sequence[tuple[str, Any]], needed: Sequence[str]) -> str:
    """Return the needed columns for SELECT by position, case-sensitively."""
    names = [name for name, _ in columns]
    return ", ".join(f"{_place(names.index(name), columns)} AS {quoted(name)}" for name in needed)


def _place(at: int, columns: Sequence[tuple[str, Any]]) -> str:
    """Return the column at a position; floats within TRY.

    The minimum and maximum of Parquet exclude NaN, which DuckDB would assume to be between them; outside of TRY it uses
    this range.
    """
    return f"TRY(#{at + 1})" if columns[at][1].id in ("double", "float") else f"#{at + 1}"


def open_whole(path: str, names: Sequence[str]) -> tuple[tuple[DuckDBEngine, DuckDBEngine], dict[str, Column]]:
    """Return the file twice, as f0, f1, …, with types. Reading fails at a broken line."""
    file = File.find(path)
    if file.format == "Parquet":
        columns = file_types(file)
        kinds = [TYPES.column(f"f{i}", kind.id.lower(), str(kind)) for i, (_, kind) in enumerate(columns)]
        texts = [_parquet(file, ", ".join(f"{_place(i, columns)} AS f{i}" for i in range(len(names))))] * 2
    else:
        kinds = [Column(f"f{i}", Kind.TEXT, "text", has_enums=True) for i in range(len(names))]
        texts = [_text_file(file, names, None, rule) for rule in (_STRICT_RULE, _FAILING_RULE)]
    strict, failing = (DuckDBEngine(f"a {file.format} file", {}, partial(_view, rows=text)) for text in texts)
    return (strict, failing), dict(zip(names, kinds, strict=True))


def open_frame(frame: Any, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]]) -> DuckDBEngine:
    """Return the engine that shows the needed columns of a frame."""
    library = frames.library(frame) or ""
    failures = frames.failures(library)
    empty = _or_refuse(lambda: frames.without_rows(frame), unreadable(), failures)
    check_names(frames.column_names(empty), needed)
    columns: dict[str, Column] = {}
    with types_database() as connection:
        for name in needed:
            types = _or_refuse(partial(_frame_types, connection, empty, name), unusable(name), failures)
            columns[name] = replace(_columns(types)[name], has_marks=truths.get(name) == MARKS)

    def attach(connection: "duckdb.DuckDBPyConnection") -> None:
        rows = _or_refuse(lambda: frames.selected(frame, needed, truths), unfinished(), failures)
        connection.register(SOURCE, rows)

    return DuckDBEngine(f"a {library} {type(frame).__name__}", columns, attach)


def _open_relation(relation: "duckdb.DuckDBPyRelation", needed: Sequence[str]) -> RelationEngine:
    names, types = _or_refuse(lambda: (list(relation.columns), list(relation.types)), unreadable())
    check_names(names, needed)
    if _or_refuse(lambda: _has_taken_words(relation), unreadable()):
        raise taken_words("database")
    rows = _or_refuse(lambda: relation.project(_by_place(list(zip(names, types, strict=True)), needed)), unreadable())
    return RelationEngine(_columns({name: types[names.index(name)] for name in needed}), rows)


def _has_taken_words(relation: "duckdb.DuckDBPyRelation") -> bool:
    """Return True if a macro shadows a DuckDB function."""
    listed: Any = relation.query(SOURCE, "SELECT function_name, internal FROM system.main.duckdb_functions()")
    names = listed.fetchall()
    builtin, macros = ({name.lower() for name, internal in names if internal is kind} for kind in (True, False))
    return bool(builtin & macros)


def _parquet_types(connection: "duckdb.DuckDBPyConnection", file: File) -> list[Any]:
    _view(connection, _parquet(file))
    return list(connection.view(SOURCE).types)


def _frame_types(connection: "duckdb.DuckDBPyConnection", empty: Any, name: str) -> dict[str, Any]:
    connection.register(SOURCE, frames.selected(empty, [name], {}))
    return dict(zip([name], connection.view(SOURCE).types, strict=True))


def _columns(types: Mapping[str, Any]) -> dict[str, Column]:
    return {name: TYPES.column(name, kind.id.lower(), str(kind)) for name, kind in types.items()}


def _batches(result: Any) -> Iterator[Mapping[str, np.ndarray]]:
    if find_spec("pyarrow") is None:
        yield result.fetchnumpy()
        return
    reader = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_record_batch
    for batch in reader(min(BATCH, BATCH_NUMBERS // len(result.columns))):
        yield {name: batch.column(i).to_numpy(zero_copy_only=False) for i, name in enumerate(batch.schema.names)}


def _view(connection: "duckdb.DuckDBPyConnection", rows: str) -> None:
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS {rows}")


def _parquet(file: File, columns: str = "*") -> str:
    return f"SELECT {columns} FROM read_parquet({_path(file)}, hive_partitioning = false)"


def _text_file(file: File, header: Sequence[str], needed: Sequence[str] | None, rule: str = TEXT_RULE) -> str:
    """Return the needed columns of a text file, or all.

    Without `needed` they are f0, f1, … The engine knows columns by number, so names do not matter. The condition, which
    always holds, names every column: the engine checks only the bytes of columns that it reads, and a broken line must
    be left out for every query.
    """
    fields = [f"f{i}" for i in range(len(header))]
    places = fields if needed is None else [f"f{header.index(name)} AS {quoted(name)}" for name in needed]
    types = ", ".join(f"{name}: 'VARCHAR'" for name in fields)
    packing = "gzip" if file.is_packed else "none"
    return (
        f"SELECT {', '.join(places) or '1 AS one'} FROM read_csv({_path(file)}, columns = {{{types}}}, {rule}, "
        f"delim = '{file.delimiter}', compression = '{packing}') "
        f"WHERE f0 IS NULL OR COALESCE({', '.join(fields)}) = f0"
    )


def _path(file: File) -> str:
    """Return the path as an SQL text without patterns."""
    from sqlglot import exp

    return exp.Literal.string(re.sub(r"[\[*?]", r"[\g<0>]", str(file.path))).sql("duckdb")


def _or_refuse(work: Callable[[], T], refusal: GaugedpError, failures: Failures = ()) -> T:
    import duckdb

    return or_refuse(work, refusal, (duckdb.Error, *failures))


def write_parquet(path: str | Path, blocks: Iterable[Block]) -> None:
    """Write blocks of lines in order, or raise OSError."""
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
            raise GaugedpError("The file could not be created.", "Write a .csv file.", "The answer remains.") from None


def _typed(name: str, column: np.ndarray) -> str:
    """Return a column for SQL, as text for object arrays."""
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if column.dtype == object else quoted(name)
