"""The statements of a ledger on a server, on a connection that needs no server: locks come before what they protect.

SQLite keeps the tables. It knows neither row locks nor schemas: those statements are written down and answered here.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, postgres
from gaugedp.ledger import postgres_schema as schema
from gaugedp.ledger.header import opening_event
from tests.ledger.kit import SECRET, ask, paid

IDLE = object()
READS = re.compile(r"\bFROM (entry|head)\b")
WRITES = re.compile(r"^(INSERT|UPDATE)\b")
SERVERS_OWN = re.compile(r"^(CREATE (SCHEMA|UNIQUE INDEX|INDEX|FUNCTION|TRIGGER)|COMMENT|SELECT pg_advisory)")


class Failure(Exception):
    """What the driver raises."""

    sqlstate = None


class Answer:
    """The rows of one statement."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], statusmessage: str = "") -> None:
        self._rows, self.statusmessage, self.description = list(rows), statusmessage, rows or None

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def nextset(self) -> bool:
        return False


class Line:
    """A connection, and its cursor: statements in the order in which they came, in a list for each transaction."""

    info = SimpleNamespace(transaction_status=IDLE)

    def __init__(self, tables: sqlite3.Connection, said: list[list[str]]) -> None:
        self._tables, self._said, self._answer = tables, said, Answer([])

    def execute(self, statement: str, values: Sequence[object] = ()) -> Answer:
        if statement.startswith("BEGIN"):
            self._said.append([])
        self._said[-1].append(statement)
        self._answer = self._answered(statement, values)
        return self._answer

    def _answered(self, statement: str, values: Sequence[object]) -> Answer:
        if statement.startswith("BEGIN"):
            return Answer([("", "", "", "onon")])
        if statement == "COMMIT":
            return Answer([], "COMMIT")
        if "obj_description" in statement:
            return Answer([(schema.MARK,)] if self._tables.execute("SELECT 1 FROM sqlite_master").fetchone() else [])
        if "to_regnamespace" in statement:
            return Answer([(True,)])
        if SERVERS_OWN.match(statement):
            return Answer([])
        return Answer(self._tables.execute(statement.replace("%s", "?").replace(" FOR UPDATE", ""), values).fetchall())

    def cursor(self, binary: bool) -> "Line":
        assert binary
        return self

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        yield from self.execute(statement).fetchall()

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)

    def close(self) -> None: ...


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ledger, list[list[str]]]]:
    """A new ledger, and the statements of its transactions."""
    states = SimpleNamespace(TransactionStatus=SimpleNamespace(IDLE=IDLE))
    monkeypatch.setattr(postgres, "driver", lambda: SimpleNamespace(Error=Failure, pq=states))
    said: list[list[str]] = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as tables:
        address: Any = SimpleNamespace(shown="postgresql:///people", connect=lambda _: Line(tables, said))
        yield Ledger(postgres.PostgresStore.at(address, "people", 1.0, opening_event(PureDP(1)))), said


ACTS: dict[str, Callable[[Ledger], object]] = {
    "reserve": lambda ledger: paid(ledger, 0.2, "next"),
    "settle": lambda ledger: ledger.settle(paid(ledger, 0.2), SECRET),
    "the same key": lambda ledger: [ledger.settle(paid(ledger, 0.1, "again"), SECRET), ask(ledger, 0.1, "again")],
    "bind": lambda ledger: ledger._agree(None, "people", None),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_writer_locks_the_head_before_it_reads(opened: tuple[Ledger, list[list[str]]], act: str) -> None:
    """At READ COMMITTED a sum that is read without the lock may be that of before another's charge."""
    ledger, said = opened
    said.clear()
    ACTS[act](ledger)
    writing = [statements for statements in said if "READ WRITE" in statements[0]]
    assert writing
    for statements in writing:
        first = next(statement for statement in statements if READS.search(statement))
        assert first == "SELECT one FROM head FOR UPDATE"
        assert "READ COMMITTED" in statements[0], "a snapshot of before the lock would be read"
        assert statements[-1] == "COMMIT"


def test_a_refused_charge_is_judged_under_the_lock(opened: tuple[Ledger, list[list[str]]]) -> None:
    ledger, said = opened
    paid(ledger, 0.9)
    said.clear()
    with pytest.raises(LedgerRefused, match="This release costs"):
        ask(ledger, 0.2)
    first = next(statement for statement in said[0] if READS.search(statement))
    assert first.endswith("FOR UPDATE")
    assert "COMMIT" not in said[0]


def test_who_creates_a_ledger_looks_under_a_lock(opened: tuple[Ledger, list[list[str]]]) -> None:
    """Else two would each find none, and the second one's budget would stand beside the first's."""
    _, said = opened
    creating = next(statements for statements in said if any(map(WRITES.match, statements)))
    assert "pg_advisory_xact_lock" in creating[1]
    assert "obj_description" in creating[2]
