"""The interface of a store, which keeps entries and knows no budgets, and the SQL of the tables `entry` and `head`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger.chain import Head, LedgerEvent, Row

T = TypeVar("T")
MEMORY = ":memory:"  # the path of a ledger that is no file
_COLUMNS = "number, kind, key, promise, charge, request, released, spent, time, tip"
_SELECT = f"SELECT {_COLUMNS} FROM entry"
_INSERT = f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
GUARDS_CHANGED = "The guards against changes were changed."
RESTORE = "Restore it from a copy, and verify the copy with the last exported tip."


class Store(Protocol):
    """A place that keeps one ledger. `name` is what messages call it, in quotation marks."""

    @property
    def name(self) -> str:
        """The name that messages use."""

    @property
    def durable(self) -> bool:
        """Return whether entries outlive the process and, as far as the store can tell, a power cut."""

    @property
    def shared(self) -> bool:
        """Return whether other processes can open it."""

    def run(self, act: Callable[["Transaction"], T], *, write: bool = True) -> T:
        """Return `act(transaction)`, committed before this returns; nothing is kept where `act` raises.

        `act` may be called again from the start, after an attempt of which nothing was kept. Writing
        transactions exclude each other. Where the store fails, LedgerRefused says so.
        """

    def __reduce__(self) -> tuple[object, ...]: ...


def no_ledger(name: str) -> InvalidRequest:
    """Return the error for a ledger that does not exist and has no budget to be created with."""
    return InvalidRequest(
        f"There is no ledger {name}.",
        "Check the path. Give the budget to open a new one: --budget 1 to `gaugedp ledger open` or to the command "
        "that pays, budget=gd.PureDP(1.0) in Python.",
    )


class Transaction(ABC):
    """One consistent view of a ledger; what is appended becomes durable all together, or not at all.

    A store adds how statements run and how damage shows.
    """

    @abstractmethod
    def _ask(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Run a statement in which ? stands for each value, and return its rows."""

    @abstractmethod
    def _listing(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Run a statement with a result of any length, and return its rows as they come."""

    @abstractmethod
    def damage(self) -> list[str]:
        """Return a sentence for each fault of the store itself, beneath the entries."""

    def head(self) -> Head:
        """Return the head; one that is missing, or counts with anything but a whole number, counts −1 entries."""
        stored = next(self._ask("SELECT entries, spent, tip FROM head"), None)
        entries, spent, tip = (-1, "", "") if stored is None else stored
        return Head(entries if isinstance(entries, int) else -1, str(spent), str(tip))

    def row(self, number: int) -> Row | None:
        """Return entry `number`."""
        return next(map(_row, self._ask(f"{_SELECT} WHERE number = ?", number)), None)

    def find(self, kind: str, key: str) -> Row | None:
        """Return the entry of this `kind` and `key`; there is at most one."""
        return next(map(_row, self._ask(f"{_SELECT} WHERE kind = ? AND key = ?", kind, key)), None)

    def opening(self) -> list[Row]:
        """Return the entries of the kinds "open" and "bind" by number; there are at most three."""
        return list(map(_row, self._ask(f"{_SELECT} WHERE kind IN ('open', 'bind') ORDER BY number")))

    def rows(self) -> Iterator[Row]:
        """Return all entries by number."""
        return map(_row, self._listing(f"{_SELECT} ORDER BY number"))

    def append(self, row: Row, head: Head) -> None:
        """Add `row` and put `head` in the place of the head."""
        self._ask(_INSERT, *_cells(row))
        self._ask("UPDATE head SET entries = ?, spent = ?, tip = ?", head.entries, head.spent, head.tip)


def gone(name: str) -> LedgerRefused:
    """Return the refusal of a ledger that was opened before and is not there."""
    return LedgerRefused(f"The ledger {name} is not there any more.", "Bring it back.")


def altered(name: str) -> LedgerRefused:
    """Return the refusal of a ledger whose tables are not as they were made."""
    return LedgerRefused(f"The ledger {name} was altered by other hands.", RESTORE)


def _cells(row: Row) -> tuple[object, ...]:
    """Return the cells of `row` in the order of _INSERT and _SELECT."""
    event = row.event
    said = (event.kind, event.key, event.guarantee, event.charge, event.request, event.released)
    return (row.number, *said, row.spent, row.time, row.tip)


def _row(stored: tuple[Any, ...]) -> Row:
    """Return the row that `_cells` wrote; a cell of another type becomes a text that no chain contains."""
    number, *said, spent, time, tip = stored
    *words, released = said
    blob = released if released is None or isinstance(released, bytes) else repr(released).encode()
    kind, key, guarantee, charge, request = map(_word, words)
    return Row(number, LedgerEvent(kind, key, guarantee, str(charge), request, blob), *map(str, (spent, time, tip)))


def _word(cell: object) -> Any:
    return cell if cell is None or isinstance(cell, str) else repr(cell)
