"""Ledger in a SQLite file, or in memory.

A file has one connection per transaction, and is durable when it returns. It is in WAL mode with synchronous = FULL.
Transactions and forks of this process wait for each other, so that no child inherits an open transaction. In addition
to the locks of SQLite, which depend on the name of the file, the file itself is locked.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

from gaugedp._internal.files import sync_folder
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger import schema
from gaugedp.ledger.chain import NOTHING, LedgerEvent, extend
from gaugedp.ledger.file_checks import check_path, check_place, check_single, is_gone, is_in_memory
from gaugedp.ledger.lock import held, process_lock, retry_while_locked
from gaugedp.ledger.store import MEMORY, T, Transaction, no_ledger

_FAILURES = (sqlite3.Error, UnicodeDecodeError, OSError)  # the second if damage makes SQLite's message unreadable
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}


class SqliteStore:
    """Ledger file at `path`, `shown` in messages. A lock is waited for at most `timeout` seconds."""

    shared = True

    def __init__(self, path: Path, shown: str, timeout: float) -> None:
        self._path, self._shown, self._timeout = path, shown, timeout
        self.name = repr(shown)

    @property
    def durable(self) -> bool:
        """True if a restart preserves the file, by its file system."""
        return not is_in_memory(self._path)

    @classmethod
    def open(cls, shown: str, timeout: float, opening: LedgerEvent | None) -> "SqliteStore":
        """Return the store at `shown`, created atomically if absent."""
        store = cls(check_path(shown), shown, timeout)
        if not check_place(store._path, store.name):
            if opening is None:
                raise no_ledger(store.name)
            store._create(opening)
        store._check_file()
        return store

    def run(self, act: Callable[["SqliteTransaction"], T], *, write: bool = True) -> T:
        """Return `act(transaction)` as `Store.run` guarantees."""
        return self._retry_while_locked(lambda: self._attempt(act, write))

    def _attempt(self, act: Callable[["SqliteTransaction"], T], write: bool) -> T:
        """Commit once; an exception before the commit stores nothing."""
        check_single(self._path, self.name)
        with process_lock, held(self._path, write), closing(_connect(self._path)) as connection:
            schema.check_mark(connection, self.name)
            schema.make_durable(connection, self.name)
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            outcome = act(SqliteTransaction(connection))
            connection.execute("COMMIT")
            return outcome

    def _retry_while_locked(self, attempt: Callable[[], T]) -> T:
        """Retry `attempt()` while locked, and translate failures."""
        return retry_while_locked(attempt, self._timeout, _FAILURES, self._judge)

    def _judge(self, error: Exception) -> tuple[bool, LedgerRefused]:
        code = schema.primary_code(error)
        return code in _BUSY, schema.refusal(code, self.name, is_gone(self._path))

    def _create(self, opening: LedgerEvent) -> None:
        for suffix in ("-wal", "-journal"):
            if os.path.lexists(f"{self._path}{suffix}"):
                if os.path.lexists(self._path):
                    return  # another process created the ledger in the meantime, and has it open
                raise LedgerRefused(
                    f"The ledger {self.name} is missing, but {self._shown + suffix!r}, which belongs to an earlier "
                    "ledger, exists.",
                    "Restore the ledger from a backup, or move that file away to start a new one.",
                )
        draft = self._path.with_name(f".{self._path.name}.{os.urandom(8).hex()}.new")
        try:
            # the files that SQLite adds have the same mode
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            self._retry_while_locked(lambda: _write_new(draft, opening, self.name))
            _publish(draft, self._path)
        except FileExistsError:
            pass
        except OSError as error:
            raise LedgerRefused(
                f"The ledger {self.name} cannot be created ({error.strerror}).", "Choose another folder."
            ) from None
        finally:
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    os.unlink(f"{draft}{suffix}")

    def _check_file(self) -> None:
        """Refuse a file of another format, without changing it.

        SQLite itself would first repair what a killed process left. Closing the file drops every lock of this process
        on it, so it happens in turn, when there are none.
        """
        try:
            with process_lock, self._path.open("rb") as file:
                header = file.read(100)
        except OSError as error:
            raise LedgerRefused(
                f"The ledger {self.name} cannot be read ({error.strerror}).", "Check the disk."
            ) from None
        schema.check_header(header, self.name)

    def __reduce__(self) -> tuple[Callable[..., "SqliteStore"], tuple[str, float, None]]:
        return SqliteStore.open, (str(self._path), self._timeout, None)


class SqliteTransaction(Transaction):
    """Transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def damage(self) -> list[str]:
        """Return sentences about damaged pages or changed guards."""
        return schema.damage(self._connection)

    def _ask(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        return self._connection.execute(statement, values)

    def _listing(self, statement: str) -> Iterator[tuple[Any, ...]]:
        return self._connection.execute(statement)


def _connect(path: Path) -> sqlite3.Connection:
    # 0.1: seconds SQLite itself waits for a lock; beyond that we wait, with jitter
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=0.1, isolation_level=None)
    connection.text_factory = lambda stored: stored.decode("utf-8", "replace")
    schema.distrust(connection)
    return connection


def _write_new(draft: Path, opening: LedgerEvent, name: str) -> None:
    with process_lock, closing(_connect(draft)) as connection:
        schema.make_durable(connection, name)
        connection.execute("BEGIN IMMEDIATE")
        schema.create(connection)
        SqliteTransaction(connection).append(*extend(NOTHING, opening))
        connection.execute("COMMIT")


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name durably, or raise FileExistsError."""
    os.link(draft, path)
    os.unlink(draft)
    sync_folder(path.parent)


class MemoryStore:
    """Entries in memory, for the threads of one process."""

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
        """Return `act(transaction)` as `Store.run`, without durability."""
        if os.getpid() != self._owner:
            raise LedgerRefused(
                "This ledger exists only in the memory of the process that opened it, which is another process.",
                "Open a ledger file to share a budget.",
            )
        with self._lock:
            if self._connection.in_transaction:  # of this thread: a signal interrupted it
                raise LedgerRefused(
                    f"The ledger {self.name} is in the middle of another transaction.", "Try again after it has ended."
                )
            with self._connection:  # commits, or stores nothing if `act` raises
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                return act(SqliteTransaction(self._connection))

    def __reduce__(self) -> NoReturn:
        raise InvalidRequest(
            "An in-memory ledger cannot be sent to another process or saved in a file.",
            "Open a ledger file: Ledger.open('people.ledger', budget=…).",
        )
