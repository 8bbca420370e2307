"""A ledger in memory, for tests and tries: it is gone when the process ends."""

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from typing import NoReturn

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger import schema
from gaugedp.ledger.chain import NOTHING, LedgerEvent, extend
from gaugedp.ledger.sqlite import SqliteTransaction
from gaugedp.ledger.store import MEMORY, T, no_ledger


class MemoryStore:
    """Entries in a database in memory: not durable, for the threads of one process only."""

    durable = shared = False
    name = repr(MEMORY)

    def __init__(self, opening: LedgerEvent | None) -> None:
        if opening is None:
            raise no_ledger(self.name)
        self._connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self._lock = threading.RLock()
        self._owner = os.getpid()
        schema.create(self._connection)
        SqliteTransaction(self._connection).append(*extend(NOTHING, opening))

    def run(self, act: Callable[[SqliteTransaction], T], *, write: bool = True) -> T:
        """Return `act(transaction)` as `Store.run` guarantees, except that nothing outlives the process."""
        if os.getpid() != self._owner:
            raise LedgerRefused(
                "This in-memory ledger belongs to another process.", "Open a ledger file to share a budget."
            )
        with self._lock, self._connection:  # which commits, or keeps nothing where `act` raises
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            return act(SqliteTransaction(self._connection))

    def __reduce__(self) -> NoReturn:
        raise InvalidRequest(
            "An in-memory ledger cannot be sent to another process or kept in a file.",
            "Open a ledger file: Ledger.open('people.ledger', budget=…).",
        )
