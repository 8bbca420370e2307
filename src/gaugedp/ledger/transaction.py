"""Ledger transaction: reading, binding, reserving and settling."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import Budget, from_dict
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger.approval import charge_digest, check_approval
from gaugedp.ledger.chain import ORIGIN, LedgerEvent, Row, Units, canonical, extend, link, units
from gaugedp.ledger.entries import Entry, Reservation, Stored, entry
from gaugedp.ledger.header import LedgerHeader, opened_by
from gaugedp.ledger.signature import unsigned
from gaugedp.ledger.store import Transaction

_UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)


class Seen(NamedTuple):
    """Known chain: first tip, and number and tip of the last entry."""

    first: str
    number: int
    tip: str


@dataclass(frozen=True)
class LedgerTransaction:
    """Ledger within a `transaction` of its store, named `name`."""

    transaction: Transaction
    name: str

    def first(self) -> Seen:
        """Return the initial knowledge of a `Ledger`: the first entry."""
        row = self.transaction.row(1)
        if row is None:
            raise self._altered()
        return Seen(row.tip, 1, row.tip)

    def seen(self, before: Seen) -> Seen:
        """Return what was seen `before`, with the current last entry."""
        head = self.transaction.head()
        return before._replace(number=head.entries, tip=head.tip)

    def check_same(self, seen: Seen) -> None:
        """Refuse a ledger that replaced the opened one."""
        row = self.transaction.row(1)
        if row is not None and row.tip != seen.first:
            raise LedgerRefused(
                f"The file of the ledger {self.name} was replaced after the ledger had been opened.",
                "Restore the file, or open the ledger again if the new file is intended.",
            )

    def following(self, seen: Seen) -> "LedgerTransaction":
        """Return this transaction; refuse a replaced or older ledger.

        An older copy lacks the last entry that was `seen`.
        """
        self.check_same(seen)
        row = self.transaction.row(seen.number)
        if row is None or row.tip != seen.tip:
            raise self._altered()
        return self

    def header(self) -> LedgerHeader:
        """Return the budget, table and unit, from the first entries."""
        try:
            opening, *binding = (row.event.request or "" for row in self.transaction.opening())
            header = opened_by(opening)
            for bindings in binding:
                header = header.bound_by(bindings)
        except _UNREADABLE:
            raise self._altered() from None
        return header

    def spent(self, budget: Budget) -> Units:
        """Return the sum of all charges, from the head."""
        try:
            spent = units(self.transaction.head().spent)
        except ValueError:
            raise self._altered() from None
        if len(spent) != len(budget.capacity) or min(spent) < 0:
            raise self._altered()
        return spent

    def entries(self) -> list[Entry]:
        """Return all entries by number."""
        try:
            return [entry(row) for row in self.transaction.rows()]
        except _UNREADABLE:
            raise self._altered() from None

    def bind(self, requested: LedgerHeader) -> None:
        """Bind missing table and unit; refuse other than the bound ones."""
        self._bind(self._checked(requested), requested)

    def reserve(self, event: LedgerEvent, requested: LedgerHeader, resume: bool) -> Reservation | Stored:
        """Charge `event`, or return what its key was settled with. Refusals are those of `Ledger.reserve`."""
        header = self._checked(requested)
        earlier = self.transaction.find("reserve", str(event.key))
        if earlier is not None:
            return self._replay(earlier, event, resume)
        bound = header.bind(requested.table, requested.unit)
        check_approval(self.name, self.first().first, bound, event)
        self._check_fits(Budget(header.budget), event)
        self._bind(header, requested)
        return _reservation(self._append(event))

    def charge_digest(self, event: LedgerEvent, requested: LedgerHeader) -> str:
        """Return the digest of a charge that could follow, for its approval."""
        header = self._checked(requested).bind(requested.table, requested.unit)
        return charge_digest(self.first().first, header, event)

    def settle(self, reservation: Reservation, released: bytes) -> str:
        """Store `released` for an unsettled reservation of this ledger."""
        self._check_intact()
        row = self.transaction.find("reserve", reservation.key)
        if row is None or (row.number, row.tip) != (reservation.number, reservation.tip):
            raise LedgerRefused(
                f"The ledger {self.name} has no reservation {reservation.key!r}.",
                "Pass the result of this ledger's `reserve` to `settle`.",
            )
        if self.transaction.find("settle", reservation.key) is not None:
            raise LedgerRefused(
                f"The reservation {reservation.key!r} in {self.name} already has an answer.",
                "Reserve again for a new release.",
            )
        return self._append(LedgerEvent("settle", reservation.key, released=released)).tip

    def stored(self, key: str) -> bytes:
        """Return the release stored under a key. A key without a stored release is refused."""
        settled = self.transaction.find("settle", key)
        if settled is None or settled.event.released is None:
            raise InvalidRequest(
                f"Nothing is stored under the key {key!r}.",
                "List the keys with Ledger.entries() or `gaugedp ledger show`.",
            )
        self._check_link(settled)
        return settled.event.released

    def _checked(self, requested: LedgerHeader) -> LedgerHeader:
        self._check_intact()
        header = self.header()
        header.check_budget(self.name, requested.budget)
        header.check(self.name, requested.table, requested.unit)
        return header

    def _replay(self, earlier: Row, event: LedgerEvent, resume: bool) -> Reservation | Stored:
        self._check_link(earlier)
        if (_asked(earlier.event), earlier.event.guarantee) != (_asked(event), event.guarantee):
            raise _other_request(earlier.event, self.name)
        settled = self.transaction.find("settle", str(event.key))
        if settled is None and resume:
            return _reservation(earlier)
        if settled is None or settled.event.released is None:
            raise LedgerRefused(
                f"The key {event.key!r} was reserved in {self.name} at {earlier.time} and has no answer yet.",
                "If that run is still going, wait and repeat the request with the same key, at no cost. "
                "If it was killed, the budget is lost: use a new key.",
            )
        self._check_link(settled)
        return Stored(str(event.key), settled.event.released)

    def _check_fits(self, budget: Budget, event: LedgerEvent) -> None:
        spent, charge = self.spent(budget), units(event.charge)
        if not budget.admits(spent, charge):
            remaining = rounded_left(budget.in_words(spent)[1], budget.total)
            raise LedgerRefused(
                f"This release costs {rounded_up(_words(budget, charge, event))}; "
                f"{remaining} of {rounded_up(budget.total)} is left in {self.name}.",
                "Use a smaller delta, or none: the epsilon would fit."
                if budget.accounting == "approx" and budget.admits(spent, (charge[0], 0))
                else "Request less, or use the answers already released.",
            )

    def _bind(self, header: LedgerHeader, requested: LedgerHeader) -> None:
        bound = header.bind(requested.table, requested.unit)
        if bound != header:
            self._append(LedgerEvent("bind", request=bound.bindings()))

    def _append(self, event: LedgerEvent) -> Row:
        row, head = extend(self.transaction.head(), event)
        self.transaction.append(row, head)
        return row

    def _check_intact(self) -> None:
        head = self.transaction.head()
        last = self.transaction.row(head.entries)
        if last is None or (last.spent, last.tip) != (head.spent, head.tip):
            raise self._altered()
        for row in (*self.transaction.opening(), last):
            self._check_link(row)

    def _check_link(self, row: Row) -> None:
        before = self.transaction.row(row.number - 1)
        if link(ORIGIN if before is None else before.tip, row) != row.tip:
            raise self._altered()

    def _altered(self) -> LedgerRefused:
        return LedgerRefused(f"The ledger {self.name} was altered by another program.", "Run verify() to see where.")


def _asked(event: LedgerEvent) -> str:
    return canonical(unsigned(json.loads(event.request or "{}")))


def _reservation(row: Row) -> Reservation:
    return Reservation(str(row.event.key), from_dict(json.loads(str(row.event.guarantee))), row.number, row.tip)


def _words(budget: Budget, charge: Units, event: LedgerEvent) -> str:
    """Return the charge in the budget's accounting, if possible.

    For δ ≥ 1 there is no such number, and the guarantee is returned.
    """
    try:
        return repr(budget.guarantee(charge))
    except (InvalidRequest, OverflowError):
        return repr(from_dict(json.loads(str(event.guarantee))))


def _other_request(earlier: LedgerEvent, name: str) -> LedgerRefused:
    question = json.loads(earlier.request or "{}").get("query")
    again = f" Or repeat the request {question!r} unchanged, at no cost." if question else ""
    return LedgerRefused(f"The key {earlier.key!r} belongs to another request in {name}.", f"Use a new key.{again}")
