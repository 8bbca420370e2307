"""Who may make functions or operators beside the table does not change what a statement means."""

import duckdb
import pyarrow as pa
import pytest

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bounded
from gaugedp.errors import UnreadableTable
from gaugedp.tables.postgres import ServerTable
from gaugedp.tables.table import Aggregate, Table
from tests.postgres import Server, postgres, private_server

__all__ = ["postgres"]
ROWS = pa.table(
    {
        "pid": [i % 7 for i in range(90)],
        "name": ["abc"[i % 3] for i in range(90)],
        "amount": [i * 0.37 for i in range(90)],
    }
)
DOMAIN = Domain.of(name=["a", "b"], amount=bounded(0, 10, 0.5))
TOTALS = [Aggregate(()), Aggregate(("name",)), Aggregate((), "amount")]
UNITS = [PrivacyUnit("pid", max_rows=2), PrivacyUnit("name", max_rows=2)]


def numbers(source):
    tables = [Table.scan(source, domain=DOMAIN, unit=unit) for unit in UNITS]
    return [answer.tolist() for table in tables for answer in table.totals(TOTALS, b"key")]


# -- DuckDB: a macro is called in the place of a function or an operator of that name ---------------


@pytest.mark.parametrize("macro", [
    "least(a, b)", "floor(a)", "count()", "sum(a)", "md5(a)", '"+"(a, b)', '"%"(a, b)', "FLOOR(a, b)",
])  # fmt: skip
@pytest.mark.parametrize("kind", ["MACRO", "TEMP MACRO"])
def test_a_macro_with_the_name_of_a_function_is_refused(macro, kind):
    connection = duckdb.connect()
    relation = connection.from_arrow(ROWS)
    connection.execute(f"CREATE {kind} {macro} AS 0")
    with pytest.raises(UnreadableTable, match=r"have the names of built-in ones.*Nothing was read"):
        numbers(relation)


def test_the_list_of_functions_cannot_be_replaced_either():
    connection = duckdb.connect()
    connection.execute("CREATE MACRO duckdb_functions() AS TABLE SELECT 'x' AS function_name, true AS internal")
    connection.execute("CREATE MACRO least(a, b) AS 0")
    with pytest.raises(UnreadableTable, match="have the names"):
        numbers(connection.from_arrow(ROWS))


def test_other_macros_are_taken():
    connection = duckdb.connect()
    connection.execute("CREATE MACRO my_own(a, b) AS a")
    connection.execute("CREATE MACRO my_rows() AS TABLE SELECT 1")
    assert numbers(connection.from_arrow(ROWS)) == numbers(ROWS)


# -- PostgreSQL: a better match in any schema of the path, or a first one where pg_catalog comes later ----

EVIL = {
    "OPERATOR %": ("bigint, integer", "bigint"), "OPERATOR /": ("bigint, integer", "bigint"),
    "OPERATOR *": ("bigint, integer", "bigint"), "OPERATOR +": ("bigint, integer", "bigint"),
    "OPERATOR =": ("bigint, integer", "boolean"), "OPERATOR <": ("double precision, numeric", "boolean"),
    "div": ("numeric, bigint", "numeric"), "concat": ("text, text", "text"), "abs": ("bigint", "bigint"),
    "floor": ("double precision", "double precision"), "md5": ("bytea", "text"),
    "round": ("double precision", "double precision"),
    "set_config": ("text, text, boolean", "text"), "current_setting": ("text", "text"), "quote_ident": ("text", "text"),
}  # fmt: skip
ZERO = {"text": "'0'", "boolean": "true"}


def shadowed(server: Server) -> None:
    """Put a function or operator into the schema `public` for each of the names."""
    for i, (name, (takes, gives)) in enumerate(EVIL.items()):
        word, _, operator = name.partition(" ")
        function = f"evil{i}" if operator else name
        body = f"SELECT {ZERO.get(gives, '0')}::{gives}"
        server.execute(f"CREATE FUNCTION public.{function}({takes}) RETURNS {gives} LANGUAGE sql AS $${body}$$")
        if operator:
            left, right = takes.split(", ")
            server.execute(
                f"CREATE {word} public.{operator} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.{function})"
            )


def test_what_others_made_in_a_schema_of_the_path_is_not_called() -> None:
    import psycopg

    import gaugedp as gd

    pytest.importorskip("psycopg")
    with private_server() as server:
        address, expected = server.table(ROWS), numbers(ROWS)
        shadowed(server)
        assert server.execute("SELECT 7::bigint % 4") == [(0,)]
        for path in ('"$user", public', "public, pg_catalog"):
            server.execute(f"ALTER DATABASE postgres SET search_path = {path}")
            assert numbers(address) == expected
            with psycopg.connect(server.url()) as connection:
                assert numbers(ServerTable(connection, address.rpartition("=")[2])) == expected
                assert connection.execute("SHOW search_path").fetchone() == (path,)
            ledger = gd.Ledger.open(server.new_ledger(), budget=gd.PureDP(1.0))
            question = gd.marginals(DOMAIN, ("name",))
            table = Table.scan(address, domain=DOMAIN, unit=UNITS[0], name="people")
            gd.release(question, table, ledger=ledger, epsilon=0.5)
            assert (ledger.spent, ledger.durable, ledger.verify().ok) == (gd.PureDP(0.5), True, True)


def test_a_table_is_found_by_the_path_of_the_user(postgres: Server) -> None:
    for schema, sex in (("first", "a"), ("second", "b")):
        postgres.execute(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.twice AS SELECT '{sex}'::text AS name")
    domain = Domain.of(name=["a", "b"])
    for schema, expected in (("first", [1, 0]), ("second", [0, 1])):
        for address in (
            postgres.url(table="twice", options=f"-csearch_path={schema}"),
            postgres.url(table=f"{schema}.twice"),
        ):
            assert Table.scan(address, domain=domain).totals([Aggregate(("name",))], b"")[0].tolist() == expected


def test_a_temporary_table_of_an_open_connection_is_found(postgres: Server) -> None:
    import psycopg

    with psycopg.connect(postgres.url()) as connection:
        connection.execute("CREATE TEMP TABLE mine AS SELECT 'a'::text AS name")
        table = Table.scan(ServerTable(connection, "mine"), domain=Domain.of(name=["a"]))
        assert table.totals([Aggregate(("name",))], b"")[0].tolist() == [1]
