"""PostgreSQL engine: the server reads its own tables.

Only totals, or requested rows, are returned. No message of the server, which may quote rows, is passed on; what it
writes into its own log depends on its settings. A statement sees one snapshot of the table, in a transaction that
writes nothing and ends with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gaugedp._internal.postgres import Address, driver, is_address
from gaugedp.errors import GaugedpError, InvalidRequest, UnreadableTable
from gaugedp.tables.engine import Column, Engine, Kind, Of, Sql, Types, added_up, quoted
from gaugedp.tables.postgres.sql import postgres_text
from gaugedp.tables.refusals import check_names, or_refuse, unfinished

KINDS = {
    "timestamptz": Kind.INSTANT,
    **dict.fromkeys(("int2", "int4", "int8"), Kind.INTEGER),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), Kind.TEXT),
    "timestamp": Kind.TIMESTAMP,
    "bool": Kind.BOOLEAN,
    "uuid": Kind.UUID,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "numeric": Kind.WIDE,
    "float8": Kind.REAL,
    "float4": Kind.SHORT_REAL,
}
WORDS = {
    "bytea": "bytes", "json": "records", "jsonb": "records", "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS)
OLDEST = 13  # the first version with all features used
ENCODINGS = ("UTF8", "SQL_ASCII", "LATIN1")  # whose byte order is that of the letters
SETTINGS = """SELECT set_config('client_encoding', 'UTF8', true), set_config('datestyle', 'ISO, YMD', true),
    set_config('extra_float_digits', '1', true), set_config('standard_conforming_strings', 'on', true),
    set_config('jit', 'off', true)"""
# only the server's own functions and operators: objects in a schema of the path could shadow them
OWN_WORDS = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)"
FIND = """SELECT nspname, relname FROM pg_catalog.pg_class AS it JOIN pg_catalog.pg_namespace AS home
    ON home.oid OPERATOR(pg_catalog.=) it.relnamespace
    WHERE it.oid OPERATOR(pg_catalog.=) CAST(pg_catalog.to_regclass(%s) AS pg_catalog.oid)"""
FACTS = "SELECT current_setting('server_encoding'), current_setting('server_version_num')"
TEXT = 25  # type of a text in a result
PATIENCE = 30.0  # seconds to connect, and for a lock on the table at the scan
T = TypeVar("T")


@dataclass(frozen=True)
class ServerTable:
    """Table `name` of a psycopg `connection`, such as "survey.people".

    The connection is left as it was, including its settings and its transaction. Names are as the server stores them:
    lower case, if they were created without quotation marks.
    """

    connection: Any
    name: str


@dataclass(frozen=True)
class PostgresEngine(Engine):
    """Table on a server; `connected` gives one connection per statement."""

    columns: Mapping[str, Column]
    _table: str = field(repr=False)
    _connected: Callable[[], Any] = field(repr=False)
    description: str = "a PostgreSQL table"
    rules: tuple[str, ...] = ()
    sql_products: int = 20  # for more, rows are transferred
    gives_texts: bool = True

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        with self._answer(statement, "") as cursor:
            return _columns(cursor, cursor.fetchall())

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        with self._answer(statement, "gaugedp_rows") as cursor:
            return added_up((_columns(cursor, rows) for rows in iter(lambda: cursor.fetchmany(65_536), [])), of)

    def _finished(self, work: Callable[[], T]) -> T:
        return _or_refuse(work, unfinished())

    @contextmanager
    def _answer(self, statement: Sql, name: str) -> Iterator[Any]:
        text = postgres_text(statement, self.columns, self._table)
        with self._connected() as connection:
            _prepare(connection)
            with connection.cursor(name, binary=True) as cursor:
                cursor.execute(text)
                yield cursor


def reads(source: object) -> bool:
    """Return True for an address, or a table on a server."""
    return is_address(source) or isinstance(source, ServerTable)


def open_source(source: Any, needed: Sequence[str]) -> PostgresEngine:
    """Return the engine that shows the `needed` columns. `source` is an address or a `ServerTable`. No row is read."""
    connected, name = _of_address(source) if isinstance(source, str) else (_of_connection(source), source.name)
    qualified = _qualified(name)
    unreachable = UnreadableTable(
        "The server does not answer, does not accept this user, or has no such table.",
        "Check the address, the user, the password, the name of the table and the permission to read it.",
    )
    table, types, (encoding, version) = _or_refuse(lambda: _types(connected, qualified), unreachable)
    if encoding not in ENCODINGS:
        raise UnreadableTable(
            f"The text encoding of the database is {encoding}.", f"Use a database with {' or '.join(ENCODINGS)}."
        )
    if int(version) < OLDEST * 10_000:
        raise UnreadableTable(f"The server is older than PostgreSQL {OLDEST}.", "Use a newer server, or a file.")
    check_names(list(types), needed)
    columns = {column: _column(column, *types[column]) for column in needed}
    return PostgresEngine(columns, table, connected, gives_texts=encoding != "SQL_ASCII")


def _of_address(url: str) -> tuple[Callable[[], Any], str]:
    address, name = Address.parse(url, "table")
    if name is None:
        raise InvalidRequest(
            "The address of the database does not name a table.", "Write it as postgresql://host/database?table=people."
        )

    @contextmanager
    def connected() -> Iterator[Any]:
        with closing(address.connect(PATIENCE)) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection

    return connected, name


def _of_connection(source: ServerTable) -> Callable[[], Any]:
    if not isinstance(source.connection, driver().Connection):
        raise InvalidRequest(
            "The source is neither an open connection nor an address.", "Pass psycopg.connect(…), or an address."
        )

    @contextmanager
    def connected() -> Iterator[Any]:
        with source.connection.transaction(force_rollback=True):
            yield _Plain(source.connection)

    return connected


@dataclass(frozen=True)
class _Plain:
    """Connection of the caller, with rows as plain tuples."""

    connection: Any

    def execute(self, text: str, values: Sequence[object] | None = None) -> Any:
        return self.cursor().execute(text, values)

    def cursor(self, name: str = "", binary: bool = False) -> Any:
        return self.connection.cursor(name, binary=binary, row_factory=driver().rows.tuple_row)


def _qualified(name: str) -> str:
    parts = name.split(".") if isinstance(name, str) else []
    if not (1 <= len(parts) <= 2 and all(parts)) or "\0" in name:
        raise InvalidRequest("The table's name is not valid.", "Write, for example, people or survey.people.")
    return ".".join(map(quoted, parts))


def _prepare(connection: Any) -> None:
    connection.execute(OWN_WORDS)
    connection.execute(SETTINGS)


def _types(
    connected: Callable[[], Any], qualified: str
) -> tuple[str, dict[str, tuple[str, str, str]], tuple[str, str]]:
    with connected() as connection:
        table = ".".join(map(quoted, connection.execute(FIND, [qualified]).fetchone()))
        _prepare(connection)
        connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE * 1000:.0f}"])
        described = connection.execute(f"SELECT * FROM {table} LIMIT 0").description
        listed = "SELECT oid, typname::text, typtype::text FROM pg_type WHERE oid = ANY(%s)"
        codes = [column.type_code for column in described]
        types = {oid: names for oid, *names in connection.execute(listed, [codes]).fetchall()}
        facts = connection.execute(FACTS).fetchone()
        columns = {column.name: (*types[column.type_code], column.type_display) for column in described}
    return table, columns, facts


def _column(name: str, type_name: str, family: str, shown: str) -> Column:
    return TYPES.column(name, "text" if family == "e" else type_name, shown)  # members of an enum are text


def _columns(cursor: Any, rows: Sequence[Sequence[Any]]) -> dict[str, np.ndarray]:
    names = [column.name for column in cursor.description]
    has_text = any(column.type_code == TEXT for column in cursor.description)
    cells = np.array(rows, dtype=object if has_text else np.int64).reshape(len(rows), len(names))
    kinds = [object if column.type_code == TEXT else np.int64 for column in cursor.description]
    return {name: cells[:, i].astype(kinds[i], copy=False) for i, name in enumerate(names)}


def _or_refuse(work: Callable[[], T], refusal: GaugedpError) -> T:
    return or_refuse(work, refusal, (driver().Error,))
