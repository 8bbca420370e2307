"""The ledger: reserve before looking, settle before showing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath, urandom
from typing import Any

from gaugedp._validate import non_negative
from gaugedp.domain import PrivacyUnit
from gaugedp.errors import STAYS_SPENT, InvalidRequest, LedgerRefused
from gaugedp.guarantees import Budget, Guarantee, from_dict
from gaugedp.ledger.account import Account, check_names, check_text
from gaugedp.ledger.chain import ORIGIN, Act, Head, Row, Units, canonical, extend, is_last, link, request_text
from gaugedp.ledger.chain import units as read_units
from gaugedp.ledger.chain import units_text
from gaugedp.ledger.memory import MEMORY, MemoryStore
from gaugedp.ledger.store import Store, Transaction
from gaugedp.ledger.verify import Report, verify

FORMAT = 1
MAX_RELEASED_BYTES = 900_000_000
UNCHANGED = "The ledger was not changed."


@dataclass(frozen=True)
class Reservation:
    """Paid: the entry `number` of the ledger charges `promise` under `key`, for ever. To be settled once."""

    key: str
    promise: Guarantee
    number: int
    tip: str


@dataclass(frozen=True)
class Stored:
    """The release that an earlier reservation of the same `key` and request was settled with. It costs nothing."""

    key: str
    released: bytes = field(repr=False)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. `charge` is in the budget's whole units, `time` is ISO 8601 in UTC."""

    number: int
    kind: str
    key: str | None
    promise: Guarantee | None
    charge: Units
    request: Mapping[str, Any] | None
    time: str
    tip: str


class Ledger:
    """The durable account of one table and one privacy unit, shared by threads and processes.

    Guaranteed, whoever races and whenever a process is killed: the charges of all reservations together never
    exceed the budget; a reservation that was returned is on the disk; what was reserved stays spent, settled or
    not; a settled release is on the disk before `settle` returns. Entries are never changed or taken back, and
    a hash chain shows it where someone did. Time decides nothing.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._budget = Budget(store.run(lambda transaction: _account(transaction.head()).budget, write=False))

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        budget: Guarantee | None = None,
        *,
        table: str | None = None,
        unit: PrivacyUnit | None = None,
        timeout: float = 30.0,
    ) -> "Ledger":
        """Return the ledger in the file `path`; where there is none, create it with `budget`.

        An existing ledger keeps its budget: another one is refused. `table` and `unit` bind the ledger where it is
        not yet bound (else the first reservation does) and must be the bound ones where it is. A locked ledger is
        waited for at most `timeout` seconds. ":memory:" is an in-memory ledger.
        """
        check_names(table, unit)
        non_negative(timeout=timeout)
        first = None if budget is None else _opening(budget)
        if fspath(path) == MEMORY:
            ledger = cls(MemoryStore(first or _opening(budget)))
        else:
            from gaugedp.ledger.sqlite import SqliteStore

            ledger = cls(SqliteStore.open(fspath(path), timeout, first))
        ledger._agree(budget, table, unit)
        return ledger

    @classmethod
    def in_memory(
        cls, budget: Guarantee, *, table: str | None = None, unit: PrivacyUnit | None = None
    ) -> "Ledger":
        """Return a ledger for tests and tries: `durable` is False, and it is gone when the process ends."""
        return cls.open(MEMORY, budget, table=table, unit=unit)

    @property
    def durable(self) -> bool:
        """Whether entries outlive the process."""
        return self._store.durable

    @property
    def budget(self) -> Guarantee:
        """The promise that all releases together keep."""
        return _account(self._head()).budget

    @property
    def spent(self) -> Guarantee:
        """What was reserved so far, in the budget's own kind."""
        return self._budget.promise(read_units(self._head().spent))

    @property
    def remaining(self) -> Guarantee:
        """What is left, in the budget's own kind."""
        return self._budget.left(read_units(self._head().spent))

    @property
    def table(self) -> str | None:
        """The name of the table, None until bound."""
        return _account(self._head()).table

    @property
    def unit(self) -> PrivacyUnit | None:
        """Who is protected, None until bound."""
        return _account(self._head()).unit

    @property
    def tip(self) -> str:
        """The hash that stands for all entries so far; print it with a release, and `verify(tip)` later."""
        return self._head().tip

    def affords(self, *promises: Guarantee) -> bool:
        """Whether a reservation of the first of `promises` that has a price here would fit now."""
        _check_promises(promises)
        if _priced(self._budget, promises) is None:
            return False
        return self._budget.admits(read_units(self._head().spent), self._budget.charge(*promises))

    def reserve(
        self,
        promises: Sequence[Guarantee],
        *,
        table: str,
        unit: PrivacyUnit,
        request: Mapping[str, Any],
        key: str | None = None,
    ) -> Reservation | Stored:
        """Pay for one release before looking: charge the first of `promises` that has a price here.

        On return the charge is durable and final. `request` says what is asked, never what was seen. A `key` that
        was settled for the same request and promise returns the stored release at no cost. Refused, with nothing
        spent: what does not fit the budget; another table or unit; a key of another request, or of one that was
        reserved and never settled.
        """
        _check_promises(promises)
        check_names(check_present("table", table), check_present("unit", unit))
        key = urandom(16).hex() if key is None else key
        check_text("The key", key)
        promise = _priced(self._budget, promises)
        charge = self._budget.charge(*promises)
        text = None if promise is None else canonical(promise.to_dict())
        act = Act("reserve", key, text, units_text(charge), request_text(request))
        return self._store.run(lambda transaction: self._reserve(transaction, act, Account(self._budget.total, table, unit)))

    def settle(self, reservation: Reservation, released: bytes) -> str:
        """Store what will be shown for `reservation`, durably, and return the tip of the chain. Once only."""
        if not isinstance(released, bytes) or len(released) > MAX_RELEASED_BYTES:
            raise InvalidRequest(
                f"The release is not bytes, or more than {MAX_RELEASED_BYTES:,}.", "Settle with bytes.", STAYS_SPENT
            )
        return self._store.run(
            lambda transaction: self._settle(transaction, reservation, released), undone=STAYS_SPENT
        )

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first; the stored releases stay in the ledger."""
        return self._store.run(lambda transaction: [_entry(row) for row in transaction.rows()], write=False)

    def verify(self, tip: str | None = None) -> Report:
        """Recompute chain, sums, budget and head from the entries; `tip` is one exported before.

        Edits of entries, head and releases are found without a tip; a restored older copy and a history that was
        rewritten to its end are found with one.
        """
        return self._store.run(lambda transaction: verify(transaction, tip), write=False)

    def _reserve(self, transaction: Transaction, act: Act, asked: Account) -> Reservation | Stored:
        account = self._current(transaction)
        account.check(self._store.name, asked.table, asked.unit)
        earlier = transaction.find("reserve", act.key or "")
        if earlier is not None:
            return self._replay(transaction, earlier, act)
        self._check_fits(transaction.head(), act)
        self._bind(transaction, account, asked)
        row = _append(transaction, act)
        return Reservation(act.key or "", from_dict(json.loads(act.promise or "")), row.number, row.tip)

    def _replay(self, transaction: Transaction, earlier: Row, act: Act) -> Stored:
        """Return the release that the `earlier` reservation was settled with, where `act` asks the same again."""
        if (earlier.act.request, earlier.act.promise) != (act.request, act.promise):
            raise LedgerRefused(
                f"The key {act.key!r} belongs to another request in {self._store.name}.", "Use a new key."
            )
        settled = transaction.find("settle", act.key or "")
        if settled is None or settled.act.released is None:
            raise LedgerRefused(
                f"The key {act.key!r} was reserved in {self._store.name} and never settled: its budget stays spent.",
                "Use a new key to ask again, at a new price.",
            )
        self._check_link(transaction, settled)
        return Stored(act.key or "", settled.act.released)

    def _settle(self, transaction: Transaction, reservation: Reservation, released: bytes) -> str:
        self._current(transaction)
        row = transaction.find("reserve", reservation.key)
        if row is None or (row.number, row.tip) != (reservation.number, reservation.tip):
            raise LedgerRefused(
                f"The reservation {reservation.key!r} is not in {self._store.name}.",
                "Settle with what this ledger's reserve returned.",
                UNCHANGED,
            )
        if transaction.find("settle", reservation.key) is not None:
            raise LedgerRefused(
                f"The reservation {reservation.key!r} was settled before.", "Reserve again for another release.", UNCHANGED
            )
        return _append(transaction, Act("settle", reservation.key, released=released)).tip

    def _check_fits(self, head: Head, act: Act) -> None:
        spent, charge = read_units(head.spent), read_units(act.charge)
        if not self._budget.admits(spent, charge):
            raise LedgerRefused(
                f"This release costs {self._words(charge, act)}; {self._budget.left(spent)!r} of "
                f"{self._budget.total!r} is left in {self._store.name}.",
                "Ask for less, or use the answers already released.",
            )

    def _words(self, charge: Units, act: Act) -> str:
        """Return the charge in the budget's own kind, or the promise where no such number exists (δ ≥ 1)."""
        try:
            return repr(self._budget.promise(charge))
        except (InvalidRequest, OverflowError):
            return repr(from_dict(json.loads(act.promise or "")))

    def _agree(self, budget: Guarantee | None, table: str | None, unit: PrivacyUnit | None) -> None:
        """Refuse another budget, table or unit than the ledger's; bind what is not yet bound."""
        account = self._store.run(self._current, write=False)
        account.check_budget(self._store.name, budget)
        account.check(self._store.name, table, unit)
        if account.bind(table, unit) != account:
            self._store.run(lambda transaction: self._bind_checked(transaction, Account(account.budget, table, unit)))

    def _bind_checked(self, transaction: Transaction, asked: Account) -> None:
        account = self._current(transaction)
        account.check(self._store.name, asked.table, asked.unit)
        self._bind(transaction, account, asked)

    def _bind(self, transaction: Transaction, account: Account, asked: Account) -> None:
        bound = account.bind(asked.table, asked.unit)
        if bound != account:
            _append(transaction, Act("bind", request=canonical(bound.bindings())), bound.to_text())

    def _current(self, transaction: Transaction) -> Account:
        """Return the account; refuse a head that is not what the last entry left, or a budget that was replaced."""
        head = transaction.head()
        last = transaction.row(head.entries)
        account = _account(head)
        if last is None or not is_last(head, last) or account.budget != self._budget.total:
            raise self._altered()
        self._check_link(transaction, last)
        return account

    def _check_link(self, transaction: Transaction, row: Row) -> None:
        """Refuse an entry that was altered since it was written."""
        before = transaction.row(row.number - 1)
        if link(ORIGIN if before is None else before.tip, row) != row.tip:
            raise self._altered()

    def _altered(self) -> LedgerRefused:
        return LedgerRefused(
            f"The ledger {self._store.name} was altered since its last entry.", "Run verify() to see where."
        )

    def _head(self) -> Head:
        return self._store.run(lambda transaction: transaction.head(), write=False)

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: object) -> "Ledger":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Ledger, (self._store,)

    def __repr__(self) -> str:
        try:
            spent = repr(self.spent)
        except LedgerRefused:
            spent = "unreadable"
        return f"Ledger({self._store.name}, budget={self._budget.total!r}, spent={spent})"
