"""DuckDB engine for files, frames and DuckDB relations.

No message of the engine, which may quote rows, is passed on.

Text files are read by a fixed rule, and nothing is guessed from the rows. Fields are separated by a comma (.csv) or a
tab (.tsv), may be quoted by ", in which "" is a quote, and an empty field is missing; a domain's text format may name
other marks and another encoding, from which a temporary copy in UTF-8 is made. A line is left out, for every query, if
it has too few fields, bytes that are not UTF-8 in any field of the header, or more than the engine's largest line;
fields beyond the header are ignored. A quote that is not closed takes everything to the next quote into its
field, so a table should be written by a program that writes CSV.
"""

import shutil
import zlib
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.errors import GaugedpError, UnreadableTable
from gaugedp.tables import frames
from gaugedp.tables.duckdb.database import own_database, types_database, with_types
from gaugedp.tables.duckdb.parquet import ParquetRows, path_text
from gaugedp.tables.duckdb.types import column_of, value_at
from gaugedp.tables.engine import SOURCE, Column, Engine, Kind, Of, Sql, added_up, in_format, quoted
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

_TEXT = (
    "auto_detect = false, header = true, encoding = 'utf-8', hive_partitioning = false, "
    "parallel = false"  # a scanner that starts inside a quoted field would read its text as rows
)
TEXT_RULE = f"{_TEXT}, strict_mode = false, ignore_errors = true"  # no row can make the reader fail
_FAILING_RULE, _STRICT_RULE = (f"{_TEXT}, strict_mode = {mode}, ignore_errors = false" for mode in ("false", "true"))
BROKEN_LINES = (
    "Malformed lines are left out of every query: those with fewer fields than the header, with bytes that are not "
    "{}, or of some megabytes. Extra fields are ignored."
)
QUOTE_COMMAS = " Quote numbers that contain commas, such as 1,250."
Attach = Callable[["duckdb.DuckDBPyConnection"], AbstractContextManager[object] | None]
T = TypeVar("T")
Block = Mapping[str, np.ndarray]


class _InProcess(Engine, ABC):
    """Base of engines over files, frames and relations."""

    rules: tuple[str, ...] = ()
    sql_products: int = 4  # batches are faster for more columns: docs/benchmarks/releases.md#duckdb-and-spark
    in_process: bool = True

    def _finished(self, work: Callable[[], T]) -> T:
        return _or_refuse(work, unfinished())


@dataclass(frozen=True)
class DuckDBEngine(_InProcess):
    """Source with its own connection for each statement.

    `attach` gives the connection the table `SOURCE`, and may return what is to be open until it is read.
    """

    description: str
    columns: Mapping[str, Column]
    _attach: Attach = field(repr=False)
    rules: tuple[str, ...] = ()
    text_file: File | None = None

    def limited(self, memory_bytes: int) -> "DuckDBEngine":
        """See Engine."""

        def attach(connection: "duckdb.DuckDBPyConnection") -> AbstractContextManager[object] | None:
            connection.execute(f"SET memory_limit = '{memory_bytes}B'")
            connection.execute("SET preserve_insertion_order = false")
            return self._attach(connection)

        return replace(self, _attach=attach)

    def fetched(self, statement: Sql) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the result's rows in source order, in batches."""
        refusal = stopped()
        with own_database() as connection, _or_refuse(lambda: self._attach(connection), refusal) or nullcontext():
            result = _or_refuse(lambda: connection.execute(with_types(statement, connection)), refusal)
            while rows := _or_refuse(lambda: result.fetchmany(2**14), refusal):
                yield rows

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        with own_database() as connection, self._attach(connection) or nullcontext():
            return connection.execute(with_types(statement, connection)).fetchnumpy()

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        with own_database() as connection, self._attach(connection) or nullcontext():
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
    source: Any, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]], text_format: TextFormat = PLAIN
) -> DuckDBEngine | RelationEngine:
    """Return the engine that shows the `needed` columns. See `tables.sources`."""
    import duckdb

    if isinstance(source, str | Path):
        return _open_file(File.find(source, text_format), needed)
    if frames.library(source) is not None:
        return open_frame(source, needed, truths, text_format)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return _open_relation(source, needed, text_format)
    raise UnreadableTable(
        f"A source of type {type(source).__name__} cannot be read.",
        "Pass the path of a file, a pandas, polars or Spark frame, an arrow table or a DuckDB relation.",
    )


def _open_file(file: File, needed: Sequence[str]) -> DuckDBEngine:
    if file.format == "Parquet":
        return _open_parquet(file, needed)
    header = file.header()
    check_names(header, needed, in_text=True)
    columns = {name: Column(name, Kind.TEXT, "text", True, text_format=file.text_format) for name in needed}
    rule = BROKEN_LINES.format(file.text_format.encoding.replace("utf", "UTF"))
    rule += QUOTE_COMMAS * (file.text_format.separator in ("", ","))
    attach = partial(_attach_text, file, len(header), partial(_text_file, file, header, needed))
    return DuckDBEngine(f"a {file.format} file", columns, attach, (rule,), file)


def file_names(file: File) -> list[str]:
    """Return the names of the columns of Parquet files, with duplicates; those of partitions are last."""
    return _parquet(file).names


def _parquet(file: File) -> ParquetRows:
    def read() -> ParquetRows:
        with types_database() as connection:
            return ParquetRows.of(file, connection)

    return _or_refuse(read, unreadable())


def _open_parquet(file: File, needed: Sequence[str]) -> DuckDBEngine:
    rows = _parquet(file)
    check_names(rows.names, needed)
    places = {name: rows.names.index(name) for name in needed}
    text = rows.select({place: quoted(name) for name, place in places.items()})
    words = "a folder of Parquet files" if file.path.is_dir() else "a Parquet file"
    columns = {name: rows.column(place) for name, place in places.items()}
    return DuckDBEngine(words, columns, lambda connection: _view(connection, text))


def open_whole(file: File, names: Sequence[str]) -> tuple[tuple[DuckDBEngine, DuckDBEngine], dict[str, Column]]:
    """Return the file twice, as f0, f1, …, with types. Reading fails at a broken line."""
    if file.format == "Parquet":
        rows = _parquet(file)
        kinds = [replace(rows.column(place), name=f"f{place}") for place in range(len(names))]
        text = rows.select({place: f"f{place}" for place in range(len(names))})
        attached: list[Attach] = [partial(_view, rows=text)] * 2
    else:
        kinds = [Column(f"f{i}", Kind.TEXT, "text", True, text_format=file.text_format) for i in range(len(names))]
        texts = [partial(_text_file, file, names, None, rule=rule) for rule in (_STRICT_RULE, _FAILING_RULE)]
        attached = [partial(_attach_text, file, len(names), each) for each in texts]
    strict, failing = (DuckDBEngine(f"a {file.format} file", {}, attach) for attach in attached)
    return (strict, failing), dict(zip(names, kinds, strict=True))


def open_frame(
    frame: Any, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]], text_format: TextFormat
) -> DuckDBEngine:
    """Return the engine that shows the needed columns of a frame."""
    library = frames.library(frame) or ""
    failures = frames.failures(library)
    empty = _or_refuse(lambda: frames.without_rows(frame), unreadable(), failures)
    check_names(frames.column_names(empty), needed)
    columns: dict[str, Column] = {}
    with types_database() as connection:
        for name in needed:
            kind = _or_refuse(partial(_frame_type, connection, empty, name), unusable(name), failures)
            has_marks = truths.get(name) == MARKS
            columns[name] = replace(column_of(name, kind), has_marks=has_marks, text_format=text_format)
    texts = [name for name, column in columns.items() if column.kind is Kind.TEXT]
    is_mixed = library == "pandas" and text_format.has_own_values
    length = max(map(len, needed), default=0)  # of the longest name: one more letter makes a name that no column has
    written = {name: f"{'t' * length}{i}" for i, name in enumerate(texts)} if is_mixed else {}
    columns = {name: replace(column, written=written.get(name, "")) for name, column in columns.items()}

    def attach(connection: "duckdb.DuckDBPyConnection") -> None:
        rows = _or_refuse(lambda: frames.selected(frame, needed, truths, written), unfinished(), failures)
        connection.register(SOURCE, rows)

    return DuckDBEngine(f"a {library} {type(frame).__name__}", columns, attach)


def _open_relation(
    relation: "duckdb.DuckDBPyRelation", needed: Sequence[str], text_format: TextFormat
) -> RelationEngine:
    names, types = _or_refuse(lambda: (list(relation.columns), list(relation.types)), unreadable())
    check_names(names, needed)
    if _or_refuse(lambda: _has_taken_words(relation), unreadable()):
        raise taken_words("database")
    places = {name: names.index(name) for name in needed}  # case-sensitively
    values = ", ".join(f"{value_at(place, types[place])} AS {quoted(name)}" for name, place in places.items())
    rows = _or_refuse(lambda: relation.project(values), unreadable())
    columns = {name: column_of(name, types[place]) for name, place in places.items()}
    return RelationEngine(in_format(columns, text_format), rows)


def _has_taken_words(relation: "duckdb.DuckDBPyRelation") -> bool:
    listed: Any = relation.query(SOURCE, "SELECT function_name, internal FROM system.main.duckdb_functions()")
    names = listed.fetchall()
    builtin, macros = ({name.lower() for name, internal in names if internal is kind} for kind in (True, False))
    return bool(builtin & macros)


def _frame_type(connection: "duckdb.DuckDBPyConnection", empty: Any, name: str) -> Any:
    connection.register(SOURCE, frames.selected(empty, [name], {}, {}))
    return connection.view(SOURCE).types[0]


def _batches(result: Any) -> Iterator[Mapping[str, np.ndarray]]:
    if find_spec("pyarrow") is None:
        yield result.fetchnumpy()
        return
    reader = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_record_batch
    for batch in reader(min(2**17, 2**23 // len(result.columns))):  # rows, of at most 2^23 numbers
        yield {name: batch.column(i).to_numpy(zero_copy_only=False) for i, name in enumerate(batch.schema.names)}


def _view(connection: "duckdb.DuckDBPyConnection", rows: str) -> None:
    connection.execute(f"CREATE TEMP VIEW {SOURCE} AS {rows}")


def _attach_text(
    file: File, n_columns: int, rows: Callable[[str, str], str], connection: "duckdb.DuckDBPyConnection"
) -> ExitStack | None:
    """Show the rows of a text file, from a copy in the connection's folder if the engine cannot read it as it is."""
    if file.is_read_as_stored(n_columns):
        _view(connection, rows(path_text(file.path), file.packing))
        return None
    ((folder,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as opened:
        copy = opened.enter_context(Path(folder, "text.csv").open("wb"))
        path = _without_name(copy)
        try:
            with file.open(n_columns) as (_, content):
                shutil.copyfileobj(content, copy)
        except (EOFError, zlib.error):
            raise unfinished() from None
        copy.flush()
        _view(connection, rows(path_text(path), "none"))
        return opened.pop_all()


def _without_name(file: IO[bytes]) -> Path:
    """Return the path of an open file, on Linux without a name: a killed process leaves nothing of it."""
    path, named = Path(f"/proc/self/fd/{file.fileno()}"), Path(file.name)
    if not path.exists():
        return named
    named.unlink()
    return path


def _text_file(
    file: File, header: Sequence[str], needed: Sequence[str] | None, path: str, packing: str, rule: str = TEXT_RULE
) -> str:
    """Return the needed columns of a text file, or all.

    Without `needed` they are f0, f1, … The engine knows columns by number, so names do not matter. The condition, which
    always holds, names every column: the engine checks only the bytes of columns that it reads, and a broken line must
    be left out for every query.
    """
    from sqlglot import exp

    fields = [f"f{i}" for i in range(len(header))]
    places = fields if needed is None else [f"f{header.index(name)} AS {quoted(name)}" for name in needed]
    types = ", ".join(f"{name}: 'VARCHAR'" for name in fields)
    quote = exp.Literal.string(file.text_format.quote).sql("duckdb")
    return (
        f"SELECT {', '.join(places) or '1 AS one'} FROM read_csv({path}, columns = {{{types}}}, {rule}, "
        f"quote = {quote}, escape = {quote}, delim = '{file.delimiter}', compression = '{packing}') "
        f"WHERE f0 IS NULL OR COALESCE({', '.join(fields)}) = f0"
    )


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
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if column.dtype == object else quoted(name)
