"""The interface of a store: it keeps entries and knows no budgets."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from gaugedp.errors import InvalidRequest
from gaugedp.ledger.sql import Transaction

T = TypeVar("T")
MEMORY = ":memory:"  # the path of a ledger that is no file


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
