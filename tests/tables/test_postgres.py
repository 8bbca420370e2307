"""PostgreSQL as an engine: the integers of DuckDB for every value, and silence about the rows."""

import itertools
import math
import random
import traceback

import numpy as np
import psycopg
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import bins, bounded, categories, integers
from gaugedp.errors import GaugedpError, InvalidRequest, UnknownName, UnreadableTable
from gaugedp.tables.postgres import ServerTable
from gaugedp.tables.table import Aggregate, Table
from tests.postgres import Server, postgres, private_server
from tests.tables.sources import as_arrow
from tests.tables.test_table import DOMAIN, TOTALS, TYPES, random_rows

__all__ = ["postgres"]
SECRET = "s3cr3t-4711"
SEX = Domain.of(sex=["1", "2"])
ONE_ROW = PrivacyUnit()
_names = itertools.count(1)


def counts(source, domain=SEX, unit=ONE_ROW):
    name = next(iter(domain.attributes))
    return Table.scan(source, domain=domain, unit=unit).totals([Aggregate((name,))], b"")[0].tolist()


def made(server: Server, definition: str, database: str = "postgres") -> str:
    """The address of a new table, view or other thing: {} in its definition is its name."""
    name = f"made_{next(_names)}"
    server.execute(definition.format(name), database=database)
    return server.url(database, table=name)


def same(server: Server, rows: pa.Table, domain: Domain, totals: list, unit=ONE_ROW) -> list:
    """The totals on the server, having checked that they are DuckDB's."""
    there, here = (Table.scan(source, domain=domain, unit=unit) for source in (server.table(rows), rows))
    results = [answer.tolist() for answer in there.totals(totals, b"key")]
    assert results == [answer.tolist() for answer in here.totals(totals, b"key")]
    return results


# -- the same integers -----------------------------------------------------------------------------


def test_random_rows_are_those_of_duckdb(postgres: Server) -> None:
    same(postgres, as_arrow(random_rows(31, 1500), TYPES), DOMAIN, TOTALS)


ENDS = [5e-324, 1e-320, 2.3e-308, 1e-300, 1e-160, 1e-150, 1e149, 1e151, 1e292, 1.7976931348623157e308]
FLOATS = [sign * value for value in [*ENDS, math.inf, 0.0, 0.05, 0.5, 7.0] for sign in (1, -1)] + [math.nan, None]


@pytest.mark.parametrize("fact", [
    bins(0, 1, 0.1, outside="other"), bins(-1e6, 1e6, 1e3, outside="other"),
    bins(-0.001, 0.001, 0.0001, outside="other"),
    bins(edges=[-1e300, -1e-300, 0, 1e-310, 3], outside="other"), bins(0.3, 0.9, 0.3, outside="other"),
    integers(-3, 12, outside="other"), integers(0, 2**40, outside="other"),
    categories(["0", "7", "0.05", "1e-300"], outside="other"),
])  # fmt: skip
def test_floats_of_any_size_make_nothing_fail(postgres: Server, fact) -> None:
    same(postgres, pa.table({"x": pa.array(FLOATS, pa.float64())}), Domain.of(x=fact), [Aggregate(()), *_cells(fact)])


def _cells(fact) -> list[Aggregate]:
    return [Aggregate(("x",))] if fact.n_inside < 2**20 else []


@pytest.mark.parametrize("fact", [
    bounded(0, 1, 1e-9), bounded(-300, 600, 300), bounded(-(2**40), 2**40), bounded(-10, 5, 0.5, missing=-2.5),
    bounded(0, 3e9, 3e3),
])  # fmt: skip
def test_floats_of_any_size_are_clipped(postgres: Server, fact) -> None:
    draw = random.Random(5)
    near = [draw.uniform(float(fact.low), float(fact.high)) for _ in range(300)]
    ties = [float(fact.low + fact.step * i + fact.step / 2) for i in range(-3, 40)]
    rows = pa.table({"x": pa.array([*FLOATS, *near, *ties], pa.float64())})
    same(postgres, rows, Domain.of(x=fact), [Aggregate((), "x"), Aggregate((), "x", present=True)])


def test_integers_of_any_size_make_nothing_fail(postgres: Server) -> None:
    facts = {
        "a": integers(-5, 5, outside="other"), "b": bins(-10, 10, 5, outside="other"),
        "c": bins(5, 10, 5, outside="other"),
        "d": categories(["5", str(2**63 - 1)], outside="other"), "e": bins(-0.5, 0.5, 0.5, outside="other"),
        "g": bounded(-5, 5), "h": bounded(0.5, 5, step=0.5), "i": bounded(-(2**40), 2**40),
    }  # fmt: skip
    domain = Domain.of(**facts)
    totals = [*(Aggregate((name,)) for name in domain.attributes), *(Aggregate((), name) for name in domain.columns)]
    for kind, bits in ((pa.int64(), 63), (pa.int32(), 31), (pa.int8(), 7)):
        values = pa.array([2**bits - 1, -(2**bits), 5, 0, None] * 50, kind)
        same(postgres, pa.table(dict.fromkeys(facts, values)), domain, totals)


IDS = {
    "integers": pa.array([0, -1, 2**31, 2**63 - 1, -(2**63), None], pa.int64()),
    "floats": pa.array([0.0, -0.0, 1.5, -1e300, math.inf, math.nan], pa.float64()),
    "short floats": pa.array([0.1, 0.7, -3e38, 1.0, math.nan, None], pa.float32()),
    "texts": pa.array(["", "a", "A", "é", "日本", None]),
    "decimals": pa.array(["1.00", "2.50", "-3.00", "0.10", "1.10", None]).cast(pa.decimal128(10, 2)),
    "booleans": pa.array([True, False, True, False, True, None]),
}


@pytest.mark.parametrize("kind", IDS)
def test_the_rows_of_a_person_are_those_that_duckdb_keeps(postgres: Server, kind: str) -> None:
    ids = pa.concat_arrays([IDS[kind]] * 30)
    rows = pa.table({"pid": ids, "day": pa.array([i * 37 % 365 for i in range(len(ids))])})
    domain, unit = Domain.of(day=integers(0, 364)), PrivacyUnit("pid", max_rows=4)
    (days,) = same(postgres, rows, domain, [Aggregate(("day",))], unit)
    assert 0 < sum(days) < len(ids)


# -- the server's own types ------------------------------------------------------------------------


def test_numerics_of_any_size(postgres: Server) -> None:
    """A numeric may hold more than floats do: NaN, infinities, 400 digits before the point or behind it."""
    values = "('NaN'), ('Infinity'), ('-Infinity'), (1e400), (-1e400), (1e-400), (3.5), (3.50), (9.99), (10), (NULL)"
    url = made(postgres, f"CREATE TABLE {{}} AS SELECT v::numeric AS x FROM (VALUES {values}) t(v)")
    domain = Domain.of(x=bins(0, 10, 5, outside="other"))
    assert counts(url, domain) == [3, 2, 6]
    answer = Table.scan(url, domain=Domain.of(x=bounded(0, 10))).totals(
        [Aggregate((), "x"), Aggregate((), "x", present=True)], b""
    )
    assert [each.tolist() for each in answer] == [[2 * (10 + 0 + 10 + 0 + 0 + 4 + 4 + 10 + 10) - 90], [9]]


def test_one_number_is_one_person_however_it_is_written(postgres: Server) -> None:
    ids = "(1.0), (1.00), (1), (2.5), (2.50)"
    url = made(postgres, f"CREATE TABLE {{}} AS SELECT pid::numeric, '1' AS sex FROM (VALUES {ids}) t(pid)")
    assert counts(url, unit=PrivacyUnit("pid")) == [2, 0]


def test_other_types_of_text(postgres: Server) -> None:
    postgres.execute("CREATE TYPE mood AS ENUM ('1', '2')", "CREATE DOMAIN short AS varchar(3) CHECK (value <> '3')")
    for kind in ("mood", "short", "char(5)", "name", "varchar(2)"):
        url = made(
            postgres, f"CREATE TABLE {{}} AS SELECT v::{kind} AS sex FROM (VALUES ('1'), ('2'), ('2'), (NULL)) t(v)"
        )
        assert counts(url) == [1, 2], kind
    url = made(postgres, "CREATE TABLE {} AS SELECT DATE '2020-01-02' AS sex, TIMESTAMP '2020-01-02 03:04:05' AS at")
    assert counts(url, Domain.of(sex=["2020-01-02"])) == counts(url, Domain.of(at=["2020-01-02 03:04:05"])) == [1]


@pytest.mark.parametrize("kind", ["timestamptz", "bytea", "json", "interval", "integer[]", "point", "money"])
def test_types_without_plain_text_are_refused(postgres: Server, kind: str) -> None:
    url = made(postgres, f"CREATE TABLE {{}} (sex {kind}, other text)")
    with pytest.raises(UnreadableTable, match=r"'sex' holds .* which cannot be compared.*Nothing was read"):
        counts(url)
    assert counts(url, Domain.of(other=["1"])) == [0]


def test_two_spellings_are_two_values_whatever_the_collation(postgres: Server) -> None:
    """A column that is compared without regard to case elsewhere is compared letter by letter here."""
    try:
        postgres.execute("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    except psycopg.Error:
        pytest.skip("this server has no such collations")
    rows = "('a'), ('A'), ('b'), ('é'), (' 7 ')"
    url = made(postgres, f"CREATE TABLE {{}} AS SELECT v::text COLLATE loose AS x, v AS y FROM (VALUES {rows}) t(v)")
    assert counts(url, Domain.of(x=["a", "b", "é", "E"])) == [1, 1, 1, 0]
    assert counts(url, Domain.of(x=integers(0, 9, outside="other"))) == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 4]
    assert sum(counts(url, Domain.of(y=["a", "A"]), PrivacyUnit("x"))) == 2


@pytest.mark.parametrize(("encoding", "words"), [("SQL_ASCII", None), ("LATIN1", None), ("EUC_JP", "EUC_JP")])
def test_encodings(postgres: Server, encoding: str, words: str | None) -> None:
    postgres.execute(f"CREATE DATABASE e_{encoding} ENCODING '{encoding}' TEMPLATE template0")
    texts = "('ü'), ('ü'), ('Z'), ('z')" if words is None else "('Z')"
    url = made(
        postgres, f"CREATE TABLE {{}} AS SELECT v AS x, v AS y FROM (VALUES {texts}) t(v)", f"e_{encoding.lower()}"
    )
    domain = Domain.of(x=[*"ZYXWVUTSRQPz", "ü"])
    if words is None:
        assert counts(url, domain, PrivacyUnit("y")) == [1, *[0] * 10, 1, 1]
    else:
        with pytest.raises(UnreadableTable, match=f"{words}.*UTF8.*Nothing was read"):
            counts(url, domain)


def test_bytes_that_are_no_text_make_nothing_fail(postgres: Server) -> None:
    """A database without an encoding takes any bytes as text."""
    postgres.execute("CREATE DATABASE any_bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    url = made(
        postgres,
        r"CREATE TABLE {} AS SELECT v AS x, v AS y, v AS z FROM (VALUES (E'\xff'), (E'\xc31'), ('7')) t(v)",
        "any_bytes",
    )
    domain = Domain.of(x=["7", "ü"], y=integers(7, 9, outside="other"), z=bounded(0, 9))
    table = Table.scan(url, domain=domain, unit=PrivacyUnit("x"))
    totals = [Aggregate(("x",)), Aggregate(("y",)), Aggregate((), "z", present=True), Aggregate(())]
    assert [table.totals([total], b"")[0].tolist() for total in totals] == [[1, 0], [1, 0, 0, 2], [1], [3]]


def test_names_are_only_names(postgres: Server) -> None:
    names = ['a "quoted" one', "semi; DROP TABLE x; --", "größe", "select", "it's", "x0", "person", "100%s", "c1"]
    rows = pa.table({name: ["a", "a", "b'; --", "c"] for name in names})
    domain = Domain({name: categories(["a", "b'; --"]) for name in names})
    table = Table.scan(postgres.table(rows), domain=domain)
    assert [each.tolist() for each in table.totals([Aggregate((name,)) for name in names], b"")] == [[2, 1]] * len(
        names
    )


def test_views_schemas_and_names_with_capitals(postgres: Server) -> None:
    postgres.execute(
        "CREATE SCHEMA field_work",
        "CREATE TABLE field_work.\"People\" AS SELECT '1' AS sex",
        'CREATE VIEW lens AS SELECT * FROM field_work."People"',
    )
    assert counts(postgres.url(table="field_work.People")) == counts(postgres.url(table="lens")) == [1, 0]


# -- connections -----------------------------------------------------------------------------------


def test_a_connection_is_left_as_it_was(postgres: Server) -> None:
    name = postgres.table(pa.table({"sex": ["1", "2", "2"], "x": [0.1, 0.2, 0.3]})).rpartition("=")[2]
    with psycopg.connect(postgres.url(), row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("SET datestyle = 'German'")
        connection.commit()
        for _ in range(2):
            assert counts(ServerTable(connection, name)) == [1, 2]
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        connection.execute(f"INSERT INTO {name} VALUES ('1', 0.5)")
        table = Table.scan(ServerTable(connection, name), domain=SEX)
        assert table.totals([Aggregate(("sex",))], b"")[0].tolist() == [2, 2]
        assert [part.tolist() for part in table.rows(["sex"], [], b"")] == [[[0], [0], [1], [1]], [[], [], [], []]]
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert connection.execute("SHOW datestyle").fetchone() == {"DateStyle": "German, DMY"}
        connection.rollback()
    assert counts(postgres.url(table=name)) == [1, 2]


def test_a_look_writes_nothing_and_repeats(postgres: Server) -> None:
    url = made(postgres, "CREATE TABLE {} AS SELECT (i % 2 + 1)::text AS sex FROM generate_series(1, 5) i")
    before = postgres.execute("SELECT count(*) FROM pg_class")
    table = Table.scan(url, domain=SEX, name="people")
    assert [table.totals([Aggregate(("sex",))], b"")[0].tolist() for _ in range(2)] == [[2, 3]] * 2
    assert postgres.execute("SELECT count(*) FROM pg_class") == before
    assert repr(table) == "<Table 'people': a PostgreSQL table, 1 attributes, protecting one row, added or removed>"


def test_a_view_that_would_write_is_not_looked_at(postgres: Server) -> None:
    postgres.execute("CREATE SEQUENCE looks")
    rows = "SELECT (i % 2 + 1)::text AS sex FROM generate_series(1, 5) i WHERE nextval('public.looks') > 0"
    url = made(postgres, f"CREATE VIEW {{}} AS {rows}")
    with pytest.raises(GaugedpError):
        Table.scan(url, domain=SEX, name="people").totals([Aggregate(("sex",))], b"")
    assert [tuple(row) for row in postgres.execute("SELECT last_value, is_called FROM looks")] == [(1, False)]


def test_table_and_ledger_on_one_server(postgres: Server) -> None:
    url = made(postgres, "CREATE TABLE {} AS SELECT (i % 2 + 1)::text AS sex FROM generate_series(1, 5000) i")
    ledger = gd.Ledger.open(postgres.new_ledger(), gd.PureDP(2.0))
    table, question = gd.Table.scan(url, domain=SEX, name="people"), gd.marginals(SEX, ("sex",))
    answer = gd.release(question, table, ledger=ledger, epsilon=1.0, key="a")
    again = gd.release(question, table, ledger=ledger, epsilon=1.0, key="a")
    assert np.abs(answer.values - 2500).max() < 100
    assert answer.values.tolist() == again.values.tolist()
    assert (ledger.spent, ledger.verify().ok) == (gd.PureDP(1.0), True)


# -- refusals --------------------------------------------------------------------------------------


def shown(error) -> str:
    """Everything a person could be shown of an error."""
    parts, seen = ["".join(traceback.format_exception(error))], error
    while seen is not None:
        parts += [str(seen), repr(seen), repr(seen.args)]
        seen = seen.__cause__ or seen.__context__
    return "".join(parts)


def test_nothing_of_a_failure_is_shown(postgres: Server, capfd) -> None:
    rows = postgres.table(pa.table({"v": [SECRET]})).rpartition("=")[2]
    url = made(postgres, f"CREATE VIEW {{}} AS SELECT CAST(v AS integer) AS sex FROM {rows}")
    table = Table.scan(url, domain=SEX)
    with pytest.raises(UnreadableTable, match="stays spent") as caught:
        table.totals([Aggregate(("sex",))], b"")
    assert SECRET not in shown(caught.value)
    assert caught.value.__context__ is None
    assert "".join(capfd.readouterr()) == ""


def test_a_failure_charges_and_shows_nothing_where_it_comes_before_paying(postgres: Server) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(1.0))
    for url, error, words in (
        (postgres.url(table="absent"), UnreadableTable, "no such table"),
        ("postgresql://u:hunter2@127.0.0.1:1/x?table=people", UnreadableTable, "does not answer"),
        ("postgresql://u:hunter2@127.0.0.1:1/x", InvalidRequest, "does not name a table"),
        ("postgresql://u:hunter2@%zz/x?table=people", InvalidRequest, "server is not valid"),
        ("postgresql://u:hunter2@h/x?table=a.b.c", InvalidRequest, "name is not valid"),
        (postgres.url(table="pg_class"), UnknownName, "There is no column 'sex'"),
    ):
        with pytest.raises(error, match=words) as caught:
            Table.scan(url, domain=SEX)
        assert str(caught.value).endswith("Nothing was read and nothing was spent.")
        assert "hunter2" not in shown(caught.value)
    assert ledger.spent == gd.PureDP(0)
    with pytest.raises(InvalidRequest, match="The source is neither an open connection nor"):
        Table.scan(ServerTable(object(), "people"), domain=SEX)


def test_a_table_that_is_locked_for_ever_is_refused_at_the_scan(postgres: Server, monkeypatch) -> None:
    url = made(postgres, "CREATE TABLE {} AS SELECT '1' AS sex")
    monkeypatch.setattr("gaugedp.tables.postgres.engine.PATIENCE", 0.2)
    with psycopg.connect(postgres.url()) as other:
        other.execute(f"LOCK TABLE {url.rpartition('=')[2]} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(UnreadableTable, match="Nothing was read"):
            counts(url)
    assert counts(url) == [1, 0]


def test_an_old_server_is_refused_at_the_scan(postgres: Server, monkeypatch) -> None:
    monkeypatch.setattr("gaugedp.tables.postgres.engine.OLDEST", 99)
    with pytest.raises(UnreadableTable, match=r"older than PostgreSQL 99.*Nothing was read"):
        counts(made(postgres, "CREATE TABLE {} AS SELECT '1' AS sex"))


def test_a_user_without_rights_is_refused(postgres: Server) -> None:
    url = made(postgres, "CREATE TABLE {} AS SELECT '1' AS sex")
    postgres.execute("CREATE ROLE stranger LOGIN")
    with pytest.raises(UnreadableTable, match="permission to read it"):
        counts(url.replace("keeper", "stranger"))


def test_a_server_that_goes_away_after_the_scan() -> None:
    with private_server() as server:
        url = server.table(pa.table({"sex": ["1", "2"]}))
        table, ledger = Table.scan(url, domain=SEX, name="people"), gd.Ledger.in_memory(gd.PureDP(1.0))
        server.stop("immediate")
        with pytest.raises(GaugedpError, match="stays spent; no answer was shown") as caught:
            gd.release(gd.marginals(SEX, ("sex",)), table, ledger=ledger, epsilon=0.5)
        assert "/" not in str(caught.value)
        assert ledger.spent == gd.PureDP(0.5)
