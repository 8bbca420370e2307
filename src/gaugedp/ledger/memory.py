"""A ledger in memory, for tests and tries: it is gone when the process ends."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger.chain import NOTHING, Head, LedgerEvent, Row, extend
from gaugedp.ledger.store import T, no_ledger

MEMORY = ":memory:"


class MemoryStore:
    """Entries in a list: not durable, for the threads of one process only."""

    durable = shared = False
    name = repr(MEMORY)

    def __init__(self, opening: LedgerEvent | None) -> None:
        if opening is None:
            raise no_ledger(self.name)
        row, self._head = extend(NOTHING, opening)
        self._rows = [row]
        self._lock = threading.RLock()
        self._owner = os.getpid()

    def run(self, act: Callable[["MemoryTransaction"], T], *, write: bool = True) -> T:
        """Return `act(transaction)` as `Store.run` guarantees, except that nothing outlives the process."""
        if os.getpid() != self._owner:
            raise LedgerRefused(
                "This in-memory ledger belongs to another process.", "Open a ledger file to share a budget."
            )
        with self._lock:
            transaction = MemoryTransaction(self._rows, self._head)
            outcome = act(transaction)
            if write:  # the head comes last: rows beyond it do not count
                self._rows[self._head.entries :] = transaction.added
                self._head = transaction.now
            return outcome

    def __reduce__(self) -> NoReturn:
        raise InvalidRequest(
            "An in-memory ledger cannot be sent to another process or kept in a file.",
            "Open a ledger file: Ledger.open('people.ledger', budget=…).",
        )


class MemoryTransaction:
    """The entries up to the head, and those being added."""

    def __init__(self, rows: list[Row], head: Head) -> None:
        self._kept, self.now = rows[: head.entries], head
        self.added: list[Row] = []

    def head(self) -> Head:
        """Return the head."""
        return self.now

    def row(self, number: int) -> Row | None:
        """Return entry `number`."""
        return next((row for row in self.rows() if row.number == number), None)

    def find(self, kind: str, key: str) -> Row | None:
        """Return the entry of this `kind` and `key`."""
        return next((row for row in self.rows() if (row.event.kind, row.event.key) == (kind, key)), None)

    def opening(self) -> list[Row]:
        """Return the entries that say whose budget it is."""
        return [row for row in self.rows() if row.event.kind in ("open", "bind")]

    def rows(self) -> Iterator[Row]:
        """Return all entries by number."""
        return iter([*self._kept, *self.added])

    def append(self, row: Row, head: Head) -> None:
        """Add `row` and put `head` in the place of the head."""
        self.added.append(row)
        self.now = head

    def damage(self) -> list[str]:
        """Return nothing: there is no store beneath the entries."""
        return []
