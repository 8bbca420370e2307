"""DuckDB databases: one per statement, and one for column types."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from gaugedp.errors import GaugedpError
from gaugedp.tables.engine import Sql

if TYPE_CHECKING:
    import duckdb

_SETTINGS = {
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "pandas_analyze_sample": "0",
}  # fmt: skip


@contextmanager
def own_database() -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a connection to a temporary, empty database. It spills to a folder that is removed afterwards."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="gaugedp-") as folder,
        duckdb.connect(config={**_SETTINGS, "temp_directory": folder}) as connection,
    ):
        # on in notebooks with ipywidgets; without them, even turning it off fails
        if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
            connection.execute("SET enable_progress_bar = false")
        yield connection


def with_types(statement: Sql, connection: "duckdb.DuckDBPyConnection") -> str:
    """Return a statement in which long lists are named types.

    DuckDB reads a list of 5,000 within a cast in 50 ms, and in the definition of a type in 5 ms.
    """
    from sqlglot import exp

    kinds = (node.args.get("kind") or "" for node in statement.find_all(exp.DataType))
    # so long a list is faster as a named type
    names = {kind: f"categories{i}" for i, kind in enumerate(dict.fromkeys(kinds)) if len(kind) > 4096}
    text = statement.sql(dialect="duckdb")
    for kind, name in names.items():
        connection.execute(f"CREATE TEMP TYPE {name} AS {kind}")
        text = text.replace(kind, name)  # no category contains a list: its quotes would be doubled
    return text


@contextmanager
def types_database() -> "Iterator[duckdb.DuckDBPyConnection]":
    """Yield a connection to the process's database for column types.

    No row is read in it. Creating a database takes longer than reading types. A failure may leave one unusable: the
    next connection has another.
    """
    import duckdb

    try:
        with _database().cursor() as connection:
            yield connection
    except (duckdb.Error, GaugedpError):
        _database.cache_clear()
        raise


@cache
def _database() -> "duckdb.DuckDBPyConnection":
    import duckdb

    return duckdb.connect(config={**_SETTINGS, "threads": 1})


if hasattr(os, "register_at_fork"):  # a forked process could neither use nor close its parent's database
    os.register_at_fork(before=_database.cache_clear)
