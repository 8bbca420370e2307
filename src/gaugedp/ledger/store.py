"""Store interface, and the SQL of the tables `entry` and `head`. A store holds entries and knows no budgets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger.chain import Head, LedgerEvent, Row

T = TypeVar("T")
MEMORY = ":memory:"  # path of a ledger in memory
_COLUMNS = "number, kind, key, promise, charge, request, released, spent, time, tip"
_SELECT = f"SELECT {_COLUMNS} FROM entry"
_INSERT = f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
GUARDS_CHANGED = "The guards against changes were changed."
RESTORE = "Restore it from a copy, and verify the copy with the last exported tip."


class Store(Protocol):
    """Storage of one ledger; `name` is its quoted name in messages."""

    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def durable(self) -> bool:
        """True if entries outlive the process and a power cut."""

    @property
    def shared(self) -> bool:
        """True if other processes can open it."""

    def run(self, act: Callable[["Transaction"], T], *, write: bool = True) -> T:
        """Return `act(transaction)`, committed; an exception stores nothing.

        `act` may be called again from the start, after an attempt that stored nothing. Writing transactions exclude
        each other. A failure of the store raises LedgerRefused.
        """

    def __reduce__(self) -> tuple[object, ...]: ...


def no_ledger(name: str) -> InvalidRequest:
    """Return the error for a missing ledger without a budget."""
    return InvalidRequest(
        f"There is no ledger {name}.",
        "Check the path. To create one, pass a budget: --budget 1 to `gaugedp ledger open` or to the command "
        "that is charged, budget=gd.PureDP(1.0) in Python.",
    )


class Transaction(ABC):
    """Consistent view of a ledger; appends are atomic and durable.

    A store adds how statements run and how damage is found.
    """

    @abstractmethod
    def _ask(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Run a statement with ? for each value; return its rows."""

    @abstractmethod
    def _listing(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Run a statement of any result length; stream its rows."""

    @abstractmethod
    def damage(self) -> list[str]:
        """Return a sentence for each fault of the store itself."""

    def head(self) -> Head:
        """Return the head; an invalid one has −1 entries."""
        stored = next(self._ask("SELECT entries, spent, tip FROM head"), None)
        entries, spent, tip = (-1, "", "") if stored is None else stored
        return Head(entries if isinstance(entries, int) else -1, str(spent), str(tip))

    def row(self, number: int) -> Row | None:
        """Return entry `number`."""
        return next(map(_row, self._ask(f"{_SELECT} WHERE number = ?", number)), None)

    def find(self, kind: str, key: str) -> Row | None:
        """Return the only entry of this `kind` and `key`."""
        return next(map(_row, self._ask(f"{_SELECT} WHERE kind = ? AND key = ?", kind, key)), None)

    def opening(self) -> list[Row]:
        """Return the "open" and "bind" entries, at most three."""
        return list(map(_row, self._ask(f"{_SELECT} WHERE kind IN ('open', 'bind') ORDER BY number")))

    def rows(self) -> Iterator[Row]:
        """Return all entries by number."""
        return map(_row, self._listing(f"{_SELECT} ORDER BY number"))

    def append(self, row: Row, head: Head) -> None:
        """Add `row` and replace the head."""
        self._ask(_INSERT, *_cells(row))
        self._ask("UPDATE head SET entries = ?, spent = ?, tip = ?", head.entries, head.spent, head.tip)


def gone(name: str) -> LedgerRefused:
    """Return the refusal of an opened ledger that is missing."""
    return LedgerRefused(f"The ledger {name} no longer exists.", "Restore it.")


def altered(name: str) -> LedgerRefused:
    """Return the refusal of a ledger with changed tables."""
    return LedgerRefused(f"The ledger {name} was altered by another program.", RESTORE)


def _cells(row: Row) -> tuple[object, ...]:
    event = row.event
    said = (event.kind, event.key, event.guarantee, event.charge, event.request, event.released)
    return (row.number, *said, row.spent, row.time, row.tip)


def _row(stored: tuple[Any, ...]) -> Row:
    """Return the row that `_cells` wrote. A cell of another type becomes a text that no chain contains."""
    number, *said, spent, time, tip = stored
    *words, released = said
    blob = released if released is None or isinstance(released, bytes) else repr(released).encode()
    kind, key, guarantee, charge, request = map(_word, words)
    return Row(number, LedgerEvent(kind, key, guarantee, str(charge), request, blob), *map(str, (spent, time, tip)))


def _word(cell: object) -> Any:
    return cell if cell is None or isinstance(cell, str) else repr(cell)
