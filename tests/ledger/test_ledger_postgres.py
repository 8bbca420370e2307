"""What is particular to a ledger on a PostgreSQL server: addresses, rights, settings, guards, a server that is away."""

import pickle
import threading
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest

from gaugedp.errors import InvalidRequest, LedgerRefused, MissingExtra
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Stored
from gaugedp.ledger import postgres as store
from tests.ledger import kit
from tests.ledger.kit import COPY, SECRET, ask, filled, kept, paid, refused, shown
from tests.postgres import Server, private_server

PASSWORD = "hunter2"
AWAY = f"postgresql://someone:{PASSWORD}@127.0.0.1:1/people"


def name_of(url: str) -> str:
    return url.rpartition("=")[2]


def change(server: Server, url: str, *statements: str, guarded: bool = False) -> None:
    """Run statements on the tables of the ledger; without `guarded`, with the guards switched off."""
    role = [] if guarded else ["SET session_replication_role = replica"]
    server.execute(f"SET search_path = {name_of(url)}", *role, *statements)


# -- addresses and passwords -----------------------------------------------------------------------


def test_a_server_that_is_away_is_refused_without_the_password() -> None:
    for url in (AWAY, f"{AWAY}?ledger=people", f"{AWAY}?sslmode=disable&ledger=people"):
        with refused("'postgresql://127.0.0.1:1/people?ledger=", "cannot be reached", "Nothing was read") as refusal:
            Ledger.open(url, PureDP(1))
        assert PASSWORD not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{PASSWORD}@%zz/x",
        f"postgresql://u:{PASSWORD}@h/x?no_such_option=1",
        f"postgresql://u:{PASSWORD}@h/x?ledger=a&ledger=b",
        f"postgresql://u:{PASSWORD}@h/x?ledger=pg_people",
        f"postgresql://u:{PASSWORD}@h/x?ledger=a b",
        f"postgresql://u:{PASSWORD}@h/x?ledger={'x' * 64}",
        f"postgresql://u:{PASSWORD}@h/x?ledger=",
        f"mysql://u:{PASSWORD}@h/x",
    ],
)
def test_an_address_that_is_none_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Ledger.open(url, PureDP(1))
    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_password_in_a_wrong_place_is_not_shown() -> None:
    for url in (f"postgresql://u:{PASSWORD}@@127.0.0.1:1/x", f"postgresql://u:{PASSWORD}/1@127.0.0.1:1/x"):
        with pytest.raises((LedgerRefused, InvalidRequest)) as caught:
            Ledger.open(url, PureDP(1))
        assert PASSWORD not in str(caught.value)


def test_no_password_is_kept_anywhere(postgres: Server) -> None:
    place = postgres.new_ledger()
    url = place.replace("keeper@", f"keeper:{PASSWORD}@")
    ledger = filled(url)
    texts = [repr(ledger), repr(vars(ledger)), repr(ledger._store._address), str(ledger.entries()), str(kept(place))]
    texts += [str(ledger.verify()), repr(pickle.dumps(ledger))]
    assert not any(PASSWORD in text for text in texts)
    again = pickle.loads(pickle.dumps(ledger))
    paid(again, 0.5)
    assert (ledger.spent, repr(again)) == (PureDP(0.8), repr(ledger))


def test_psycopg_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'gaugedp\[postgres\]'"):
        Ledger.open(AWAY, PureDP(1))


# -- opening ---------------------------------------------------------------------------------------


def test_a_ledger_is_a_schema_and_others_are_apart(postgres: Server) -> None:
    first, second = postgres.new_ledger(), postgres.new_ledger()
    paid(Ledger.open(first, PureDP(1)), 0.5)
    assert Ledger.open(second, PureDP(3)).spent == PureDP(0)
    assert Ledger.open(first).spent == PureDP(0.5)
    assert repr(Ledger.open(first)) == f"Ledger('{shown(first)}', budget=PureDP(1), spent=PureDP(0.5))"
    assert Ledger.open(first).durable


def test_the_schema_has_a_name_of_its_own_where_none_is_given(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE plain")
    assert "?ledger=gaugedp'" in repr(Ledger.open(postgres.url("plain"), PureDP(1)))
    assert postgres.execute("SELECT entries FROM gaugedp.head", database="plain") == [(1,)]


def test_an_absent_ledger_needs_a_budget(postgres: Server) -> None:
    place = postgres.new_ledger()
    with refused("There is no ledger", "pass a budget", path=place, kind=InvalidRequest):
        Ledger.open(place)
    with refused("cannot be reached"):
        Ledger.open(postgres.url("absent"), PureDP(1))


def test_other_tables_are_left_alone(postgres: Server) -> None:
    for number, table in enumerate(("head (x int)", "entry (x int)")):
        postgres.execute(f"CREATE SCHEMA taken{number}", f"CREATE TABLE taken{number}.{table}")
        with refused("Use another schema"):
            Ledger.open(postgres.url(ledger=f"taken{number}"), PureDP(1))
        assert len(postgres.execute(f"SELECT 1 FROM pg_tables WHERE schemaname = 'taken{number}'")) == 1


def test_another_version_is_refused(postgres: Server) -> None:
    place = postgres.new_ledger()
    filled(place)
    change(postgres, place, "COMMENT ON TABLE head IS 'gaugedp ledger 2'")
    with refused("another version of gaugedp", path=place):
        Ledger.open(place)


def test_a_ledger_that_went_away_is_not_made_anew(postgres: Server) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    reservation = paid(ledger)
    postgres.execute(f"DROP SCHEMA {name_of(place)} CASCADE")
    with refused("no longer exists", path=place):
        ask(ledger, 0.1)
    with refused("no longer exists", "stays spent", path=place):
        ledger.settle(reservation, SECRET)
    with refused("There is no ledger", kind=InvalidRequest):
        pickle.loads(pickle.dumps(ledger))


def test_rights_that_are_missing(postgres: Server) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    postgres.execute("CREATE ROLE reader LOGIN", f"GRANT USAGE ON SCHEMA {name_of(place)} TO reader")
    as_reader = place.replace("keeper", "reader")
    with refused("may not be used by this user", path=place):
        Ledger.open(as_reader)
    postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name_of(place)} TO reader")
    assert Ledger.open(as_reader).verify(ledger.tip).ok
    with refused("may not be used by this user", path=place):
        ask(Ledger.open(as_reader), 0.1)
    with refused("may not be used by this user"):
        Ledger.open(postgres.new_ledger().replace("keeper", "reader"), PureDP(1))


def test_a_user_who_may_add_and_move_the_head_needs_no_more(postgres: Server) -> None:
    place = postgres.new_ledger()
    filled(place)
    schema = name_of(place)
    postgres.execute(
        "CREATE ROLE spender LOGIN", f"GRANT USAGE ON SCHEMA {schema} TO spender",
        f"GRANT SELECT, INSERT ON {schema}.entry TO spender", f"GRANT SELECT, UPDATE ON {schema}.head TO spender",
    )  # fmt: skip
    ledger = Ledger.open(place.replace("keeper", "spender"))
    ledger.settle(paid(ledger, 0.5, "theirs"), SECRET)
    assert (ledger.verify().ok, ledger.spent) == (True, PureDP(0.8))


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_databases_of_other_encodings(postgres: Server, encoding: str) -> None:
    postgres.execute(f"CREATE DATABASE l_{encoding} ENCODING '{encoding}' TEMPLATE template0")
    ledger = Ledger.open(postgres.url(f"l_{encoding.lower()}"), PureDP(1), table="Städte €")
    ledger.settle(ask(ledger, 0.1, "ü", table="Städte €"), SECRET)  # type: ignore[arg-type]
    assert ask(ledger, 0.1, "ü", table="Städte €") == Stored("ü", SECRET)
    assert ledger.verify().ok


def test_long_keys_are_kept_apart(ledger: Ledger) -> None:
    keys = ["\U0001f600" * 999 + end for end in "ab"]
    for key in keys:
        ledger.settle(paid(ledger, 0.1, key), key.encode())
    assert [ask(ledger, 0.1, key) for key in keys] == [Stored(key, key.encode()) for key in keys]


# -- settings of the server ------------------------------------------------------------------------


def test_a_commit_waits_for_the_disk_whatever_the_settings_of_the_user(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres.new_ledger()
    Ledger.open(place, PureDP(1))
    postgres.execute(
        "CREATE ROLE hasty LOGIN SUPERUSER", "ALTER ROLE hasty SET synchronous_commit = off",
        "ALTER ROLE hasty SET default_transaction_read_only = on", "ALTER ROLE hasty SET search_path = public",
        "ALTER ROLE hasty SET default_transaction_isolation = 'serializable'",
    )  # fmt: skip
    results: list[Any] = []

    def watched(connection: Any, *rest: Any) -> bool:
        is_durable = begin(connection, *rest)
        results.append(connection.execute("SHOW synchronous_commit").fetchone())
        return is_durable

    begin = store.schema.begin
    monkeypatch.setattr(store.schema, "begin", watched)
    ledger = Ledger.open(place.replace("keeper", "hasty"))
    paid(ledger, 0.5)
    assert (set(results), ledger.durable, ledger.spent) == ({("on",)}, True, PureDP(0.5))


def test_a_server_that_does_not_wait_for_its_disk_is_not_durable() -> None:
    with private_server("fsync=off") as server:
        ledger = Ledger.open(server.new_ledger(), PureDP(1))
        paid(ledger, 0.5)
        assert not ledger.durable
    with private_server("full_page_writes=off") as server:
        assert not Ledger.open(server.new_ledger(), PureDP(1)).durable


# -- locks -----------------------------------------------------------------------------------------


def test_a_locked_ledger_is_refused_after_the_timeout_and_can_be_read(postgres: Server) -> None:
    place = postgres.new_ledger()
    filled(place)
    ledger = Ledger.open(place, timeout=0.2)
    with closing(psycopg.connect(postgres.url())) as other:
        other.execute(f"SELECT 1 FROM {name_of(place)}.head FOR UPDATE")
        with refused("is locked by another process", "Try again", path=place):
            ask(ledger, 0.1)
        assert ledger.spent == PureDP(0.3)
        assert ledger.verify().ok


def test_a_lock_is_waited_for(postgres: Server) -> None:
    place = postgres.new_ledger()
    ledger = filled(place, 0)
    other = psycopg.connect(postgres.url())
    other.execute(f"SELECT 1 FROM {name_of(place)}.head FOR UPDATE")
    timer = threading.Timer(1.4, other.close)
    timer.start()
    start = time.monotonic()
    paid(ledger, 0.5)
    assert time.monotonic() - start > 1
    timer.join()
    assert ledger.spent == PureDP(0.5)


# -- an answer that does not come ------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_connection_that_breaks_at_the_commit_leaves_no_doubt_unsaid(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whether the charge was kept is not known, and is not denied; nothing is charged twice by trying again."""
    place = postgres.new_ledger()
    ledger = filled(place)
    reservation = paid(ledger, 0.1, "open end")

    class Torn:
        def __init__(self, connection: Any) -> None:
            self.connection = connection

        def execute(self, text: str) -> None:
            if moment == "after":
                self.connection.execute(text)
            raise psycopg.OperationalError(f"server closed the connection {PASSWORD}")

    commit = store.PostgresStore._commit
    with monkeypatch.context() as patch:
        patch.setattr(
            store.PostgresStore, "_commit", lambda self, connection, write: commit(self, Torn(connection), write)
        )
        with pytest.raises(LedgerRefused) as caught:
            ask(ledger, 0.5, "torn")
        with pytest.raises(LedgerRefused) as late:
            ledger.settle(reservation, SECRET)
    assert str(caught.value).endswith("Nothing was read; the request may have been charged.")
    assert str(late.value).endswith("stays spent; no answer was shown.")
    assert PASSWORD not in f"{caught.value}{late.value}"
    assert caught.value.__context__ is None
    assert ledger.spent == PureDP(0.9 if moment == "after" else 0.4)
    assert ledger.verify().ok
    if moment == "after":
        with refused("has no answer yet", "the budget is lost"):
            ask(ledger, 0.5, "torn")


def test_a_commit_that_rolls_back_is_no_commit(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = filled(postgres.new_ledger())
    act = ledger._store.run

    def failing(inner: Any, *, write: bool = True) -> Any:
        def quiet(transaction: Any) -> Any:
            outcome = inner(transaction)
            with pytest.raises(psycopg.Error):
                transaction._connection.execute("SELECT 1/0")
            return outcome

        return act(quiet if write else inner, write=write)

    monkeypatch.setattr(ledger._store, "run", failing)
    with pytest.raises(LedgerRefused, match="may have been charged"):
        ask(ledger, 0.5)
    assert ledger.spent == PureDP(0.3)


# -- other hands -----------------------------------------------------------------------------------

CHANGES = {name: statement.replace("x'00'", "'\\x00'") for name, statement in kit.CHANGES.items()}
REFUND = ("DELETE FROM entry WHERE number IN (7, 8)",
          "UPDATE head SET entries = 6, spent = (SELECT spent FROM entry WHERE number = 6)")  # fmt: skip


@pytest.mark.parametrize("name", [*CHANGES, "refund"])
def test_a_change_is_found(postgres: Server, name: str) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    change(postgres, place, *(REFUND if name == "refund" else [CHANGES[name]]))
    report = ledger.verify()
    assert not report.ok
    assert "The guards against changes were changed." not in report.problems
    assert SECRET.decode() not in str(report)


@pytest.mark.parametrize("name", ["last missing", "all missing", "head count", "head sum", "head tip", "head missing"])
def test_nothing_is_spent_on_an_altered_head(postgres: Server, name: str) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    open_end = paid(ledger)
    ledger.settle(open_end, SECRET)
    change(postgres, place, CHANGES[name].replace("= 8", "= 10"))
    with refused("altered by another program", path=place):
        ask(ledger, 0.1)
    with refused("altered by another program", "stays spent", path=place):
        ledger.settle(open_end, b"x")


@pytest.mark.parametrize(
    "statement",
    [
        *(CHANGES[name] for name in ("charge", "release", "middle missing", "all missing", "head missing")),
        "TRUNCATE entry",
        "TRUNCATE head",
        COPY.format(90, "'new'"),
        COPY.format(9, "key"),
    ],
)
def test_the_guards_refuse_a_change(postgres: Server, statement: str) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    with pytest.raises(psycopg.Error):
        change(postgres, place, statement, guarded=True)
    assert ledger.verify().ok


GUARDS = "The guards against changes were changed."


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TRIGGER entry_stays ON entry", GUARDS),
        ("ALTER TABLE entry DISABLE TRIGGER entry_is_last", GUARDS),
        ("CREATE OR REPLACE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'", GUARDS),
        ("DROP INDEX entry_once", "A unique index of the entries is missing."),
    ],
)
def test_missing_guards_are_found(postgres: Server, statement: str, problem: str) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    change(postgres, place, statement, guarded=True)
    assert ledger.verify().problems == (problem,)


def test_an_older_copy_is_found_by_an_exported_tip(postgres: Server) -> None:
    place = postgres.new_ledger()
    ledger = filled(place)
    change(postgres, place, "CREATE TABLE old AS TABLE entry", "CREATE TABLE old_head AS TABLE head")
    exported = ledger.settle(paid(ledger, 0.5), SECRET)
    change(postgres, place, "DELETE FROM entry", "DELETE FROM head", "INSERT INTO entry SELECT * FROM old",
           "INSERT INTO head SELECT * FROM old_head")  # fmt: skip
    assert Ledger.open(place).verify().ok
    assert not Ledger.open(place).verify(exported).ok
    assert not ledger.verify().ok, "it knows the tip of its own last entry"
