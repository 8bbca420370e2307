"""The connection of a process to a server, kept between transactions and made again where it broke.

The lock of the process (gaugedp.ledger.lock) keeps it to one thread, and forks out of transactions. A forked process
connects by itself: it cannot reach the socket that it inherits, and the parent's connection goes on.
"""

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from gaugedp._postgres import Address, driver

T = TypeVar("T")


class Connection:
    """A connection to the server at `address`, made in at most about `seconds` when it is first used."""

    def __init__(self, address: Address, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._idle: list[tuple[int, Any]] = []  # at most one connection, with the process that made it
        weakref.finalize(self, _hang_up, self._idle)

    @contextmanager
    def transaction(self, begin: Callable[[Any], T]) -> Iterator[tuple[Any, T]]:
        """Give a connection in the transaction that `begin` began, and what `begin` returned; commit it inside.

        Whatever is raised inside, closing the connection keeps nothing of an open transaction. Where the idle
        connection turns out to be broken as a transaction begins, another one is made: nothing has been done yet.
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
    """Close the parent's connection in this process alone: the word of leave goes nowhere."""
    with suppress(OSError, driver().Error):
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)
        connection.close()


def _close(connection: Any) -> None:
    with suppress(driver().Error):
        connection.close()
