"""Ledger in a schema of a PostgreSQL database.

It is durable when a transaction returns. Writers lock the head with SELECT … FOR UPDATE before they read, so that each
sees what the previous one committed. A commit waits for the disk of the server, whatever the settings of the user.
Messages contain no text of the server, and no user or password.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gaugedp._internal.postgres import Address, driver
from gaugedp.errors import LedgerRefused
from gaugedp.ledger import postgres_schema as schema
from gaugedp.ledger.chain import NOTHING, LedgerEvent, extend
from gaugedp.ledger.lock import process_lock, retry_while_locked
from gaugedp.ledger.store import T, Transaction, gone, no_ledger


class PostgresStore:
    """Ledger in the schema `name` of a database. A lock is waited for at most `timeout` seconds."""

    shared = True

    def __init__(self, address: Address, schema_name: str, timeout: float) -> None:
        self._address, self._schema, self._timeout = address, schema_name, timeout
        self._connection = Connection(address, timeout)
        self.durable = False  # until a server with fsync = on was seen
        self.name = repr(f"{address.shown}?ledger={schema_name}")  # without user and password

    @classmethod
    def open(cls, url: str, timeout: float, opening: LedgerEvent | None) -> "PostgresStore":
        """Return the store at postgresql://…/database?ledger=name. A new one is created atomically with `opening`."""
        address, said = Address.parse(url, "ledger")
        return cls.at(address, schema.schema_name(said), timeout, opening)

    @classmethod
    def at(
        cls, address: Address, schema_name: str, timeout: float, opening: LedgerEvent | None = None
    ) -> "PostgresStore":
        """Return the store in a schema of the database at `address`."""
        store = cls(address, schema_name, timeout)
        if not store._in_transaction(lambda connection: schema.is_there(connection, store.name), write=False):
            if opening is None:
                raise no_ledger(store.name)
            store._create(opening)
        return store

    def run(self, act: Callable[["PostgresTransaction"], T], *, write: bool = True) -> T:
        """Return `act(transaction)` as `Store.run` guarantees."""

        def work(connection: Any) -> T:
            if not schema.is_there(connection, self.name):
                raise gone(self.name)
            if write:
                schema.lock(connection)
            return act(PostgresTransaction(connection))

        return self._in_transaction(work, write)

    def _create(self, opening: LedgerEvent) -> None:

        def work(connection: Any) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [schema.CREATING])
            if not schema.is_there(connection, self.name):
                schema.create(connection, self._schema)
                PostgresTransaction(connection).append(*extend(NOTHING, opening))

        self._in_transaction(work, write=True)

    def _in_transaction(self, work: Callable[[Any], T], write: bool) -> T:
        """Commit once; an exception before the commit stores nothing."""

        def begin(connection: Any) -> bool:
            return schema.begin(connection, self._schema, write)

        def attempt() -> T:
            with process_lock, self._connection.transaction(begin) as (connection, self.durable):
                outcome = work(connection)
                self._commit(connection, write)
            return outcome

        return retry_while_locked(attempt, self._timeout, driver().Error, self._judge)

    def _commit(self, connection: Any, write: bool) -> None:
        """Commit; without the server's answer, the outcome is unknown."""
        is_kept = False
        try:
            is_kept = connection.execute("COMMIT").statusmessage == "COMMIT"
        except driver().Error:
            is_kept = not write
        if not is_kept:
            raise schema.unsure(self.name)

    def _judge(self, error: Any) -> tuple[bool, LedgerRefused]:
        return error.sqlstate in schema.BUSY, schema.refusal(error.sqlstate, self.name)

    def __reduce__(self) -> tuple[Callable[..., "PostgresStore"], tuple[Address, str, float]]:
        return PostgresStore.at, (self._address.without_password(), self._schema, self._timeout)


class PostgresTransaction(Transaction):
    """Transaction of a connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def damage(self) -> list[str]:
        """Return a sentence if guards or indexes are missing."""
        return schema.damage(self._connection)

    def _ask(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(statement.replace("?", "%s"), values)
            return iter(cursor.fetchall() if cursor.description else [])

    def _listing(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(binary=True) as cursor:
            yield from cursor.stream(statement)


class Connection:
    """Connection to the server, made on first use or after a failure.

    It is made in at most about `seconds`. The lock of the process limits it to one thread, and keeps forks out of
    transactions. A forked process connects by itself: it cannot use the inherited socket, and the parent's connection
    continues.
    """

    def __init__(self, address: Address, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._idle: list[tuple[int, Any]] = []  # at most one connection, with the process that made it
        weakref.finalize(self, _hang_up, self._idle)

    @contextmanager
    def transaction(self, begin: Callable[[Any], T]) -> Iterator[tuple[Any, T]]:
        """Yield a connection in a begun transaction, with `begin`'s result.

        The caller commits inside. After an exception inside, closing the connection discards an open transaction. If
        the idle connection is broken when a transaction begins, another one is made: nothing has been done yet.
        """
        connection, begun = self._begun(begin)
        try:
            yield connection, begun
        except BaseException:
            _close(connection)
            raise
        if connection.info.transaction_status != driver().pq.TransactionStatus.IDLE or self._idle:
            _close(connection)
        else:
            self._idle.append((os.getpid(), connection))

    def _begun(self, begin: Callable[[Any], T]) -> tuple[Any, T]:
        while self._idle:
            owner, connection = self._idle.pop()
            if owner != os.getpid():
                _let_go(connection)
                continue
            with suppress(driver().Error):
                return connection, _closing_on_failure(begin, connection)
        connection = self._address.connect(self._seconds)
        return connection, _closing_on_failure(begin, connection)


def _closing_on_failure(begin: Callable[[Any], T], connection: Any) -> T:
    try:
        return begin(connection)
    except BaseException:
        _close(connection)
        raise


def _hang_up(idle: list[tuple[int, Any]]) -> None:
    for owner, connection in idle:
        (_close if owner == os.getpid() else _let_go)(connection)
    idle.clear()


def _let_go(connection: Any) -> None:
    with suppress(OSError, driver().Error):
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)
        connection.close()


def _close(connection: Any) -> None:
    with suppress(driver().Error):
        connection.close()
