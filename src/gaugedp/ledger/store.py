"""The interface of a store: it keeps entries and knows no budgets."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from gaugedp.errors import InvalidRequest
from gaugedp.ledger.chain import Head, Row

T = TypeVar("T")


class Transaction(Protocol):
    """One consistent view of a ledger; what is appended becomes durable all together, or not at all."""

    def head(self) -> Head:
        """Return the head."""

    def row(self, number: int) -> Row | None:
        """Return entry `number`."""

    def find(self, kind: str, key: str) -> Row | None:
        """Return the entry of this `kind` and `key`; there is at most one."""

    def opening(self) -> list[Row]:
        """Return the entries of the kinds "open" and "bind" by number; there are at most three."""

    def rows(self) -> Iterator[Row]:
        """Return all entries by number."""

    def append(self, row: Row, head: Head) -> None:
        """Add the entry `row` and put `head` in the place of the head."""

    def damage(self) -> list[str]:
        """Return a sentence for each fault of the store itself, beneath the entries."""


class Store(Protocol):
    """A place that keeps one ledger. `name` is what messages call it, in quotation marks."""

    @property
    def name(self) -> str:
        """The name that messages use."""

    @property
    def durable(self) -> bool:
        """Whether entries outlive the process and, as far as the store can tell, a power cut."""

    @property
    def shared(self) -> bool:
        """Whether other processes can open it."""

    def run(self, act: Callable[[Transaction], T], *, write: bool = True) -> T:
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
