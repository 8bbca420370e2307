"""What happens to a ledger inside one transaction."""

import json
from dataclasses import dataclass

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import Budget, from_dict
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger.account import Account, opened_by
from gaugedp.ledger.chain import ORIGIN, Act, Head, Row, Units, extend, link, units
from gaugedp.ledger.entries import Entry, Reservation, Stored, entry
from gaugedp.ledger.store import Transaction

_UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)


@dataclass(frozen=True)
class Books:
    """The entries as one transaction sees them; `name` is the ledger's in messages."""

    transaction: Transaction
    name: str

    def account(self) -> Account:
        """Return whose budget it is, as the first entries say."""
        try:
            opening, *binding = (row.act.request or "" for row in self.transaction.opening())
            account = opened_by(opening)
            for bindings in binding:
                account = account.bound_by(bindings)
        except _UNREADABLE:
            raise self._altered() from None
        return account

    def spent(self, budget: Budget) -> Units:
        """Return the sum of all charges, as the head says."""
        return self._sum(self.transaction.head(), budget)

    def entries(self) -> list[Entry]:
        """Return all entries by number."""
        try:
            return [entry(row) for row in self.transaction.rows()]
        except _UNREADABLE:
            raise self._altered() from None

    def bind(self, asked: Account) -> None:
        """Bind what is not bound yet to the table and unit `asked` for; refuse others than the bound ones."""
        self._bind(self._checked(asked), asked)

    def reserve(self, act: Act, asked: Account, resume: bool) -> Reservation | Stored:
        """Charge `act`, or return what its key was reserved or settled with; refuse as `Ledger.reserve` says."""
        account = self._checked(asked)
        earlier = self.transaction.find("reserve", str(act.key))
        if earlier is not None:
            return self._replay(earlier, act, resume)
        self._check_fits(Budget(account.budget), act)
        self._bind(account, asked)
        return _reservation(self._append(act))

    def settle(self, reservation: Reservation, released: bytes) -> str:
        """Store `released`; refuse a reservation that is not here, or was settled before."""
        self._check_intact()
        row = self.transaction.find("reserve", reservation.key)
        if row is None or (row.number, row.tip) != (reservation.number, reservation.tip):
            raise LedgerRefused(
                f"The reservation {reservation.key!r} is not in {self.name}.",
                "Settle with what this ledger's reserve returned.",
            )
        if self.transaction.find("settle", reservation.key) is not None:
            raise LedgerRefused(
                f"The reservation {reservation.key!r} in {self.name} was settled before.",
                "Reserve again for another release.",
            )
        return self._append(Act("settle", reservation.key, released=released)).tip

    def _checked(self, asked: Account) -> Account:
        """Return the account, where it is intact and the one `asked` for."""
        self._check_intact()
        account = self.account()
        account.check_budget(self.name, asked.budget)
        account.check(self.name, asked.table, asked.unit)
        return account

    def _replay(self, earlier: Row, act: Act, resume: bool) -> Reservation | Stored:
        """Return what the `earlier` reservation was settled with, where `act` asks the same again.

        Without a settlement, return the reservation itself, to `resume` it: paid once, it can be settled once.
        """
        if (earlier.act.request, earlier.act.guarantee) != (act.request, act.guarantee):
            self._check_link(earlier)
            raise _other_request(earlier.act, self.name)
        settled = self.transaction.find("settle", str(act.key))
        if settled is None and resume:
            self._check_link(earlier)
            return _reservation(earlier)
        if settled is None or settled.act.released is None:
            raise LedgerRefused(
                f"The key {act.key!r} was reserved in {self.name} at {earlier.time} and has no answer yet.",
                "If that run is still going, wait and ask again under the same key: it will be free. "
                "If it was killed, the budget is lost: use a new key.",
            )
        self._check_link(earlier)
        self._check_link(settled)
        return Stored(str(act.key), settled.act.released)

    def _check_fits(self, budget: Budget, act: Act) -> None:
        spent, charge = self.spent(budget), units(act.charge)
        if not budget.admits(spent, charge):
            left = rounded_left(budget.in_words(spent)[1], budget.total)
            raise LedgerRefused(
                f"This release costs {rounded_up(_words(budget, charge, act))}; "
                f"{left} of {rounded_up(budget.total)} is left in {self.name}.",
                "Ask for a smaller delta, or for none: the epsilon would fit."
                if budget.accounting == "approx" and budget.admits(spent, (charge[0], 0))
                else "Ask for less, or use the answers already released.",
            )

    def _bind(self, account: Account, asked: Account) -> None:
        bound = account.bind(asked.table, asked.unit)
        if bound != account:
            self._append(Act("bind", request=bound.bindings()))

    def _append(self, act: Act) -> Row:
        row, head = extend(self.transaction.head(), act)
        self.transaction.append(row, head)
        return row

    def _check_intact(self) -> None:
        """Refuse a head that the last entry did not leave, and altered first or last entries."""
        head = self.transaction.head()
        last = self.transaction.row(head.entries)
        if last is None or (last.spent, last.tip) != (head.spent, head.tip):
            raise self._altered()
        for row in (*self.transaction.opening(), last):
            self._check_link(row)

    def _check_link(self, row: Row) -> None:
        """Refuse an entry that was altered since it was written."""
        before = self.transaction.row(row.number - 1)
        if link(ORIGIN if before is None else before.tip, row) != row.tip:
            raise self._altered()

    def _sum(self, head: Head, budget: Budget) -> Units:
        try:
            spent = units(head.spent)
        except ValueError:
            raise self._altered() from None
        if len(spent) != len(budget.capacity) or min(spent) < 0:
            raise self._altered()
        return spent

    def _altered(self) -> LedgerRefused:
        return LedgerRefused(f"The ledger {self.name} was altered by other hands.", "Run its verify() to see where.")


def _reservation(row: Row) -> Reservation:
    return Reservation(str(row.act.key), from_dict(json.loads(str(row.act.guarantee))), row.number, row.tip)


def _words(budget: Budget, charge: Units, act: Act) -> str:
    """Return the charge in the budget's own kind, or the guarantee where no such number exists (δ ≥ 1)."""
    try:
        return repr(budget.guarantee(charge))
    except (InvalidRequest, OverflowError):
        return repr(from_dict(json.loads(str(act.guarantee))))


def _other_request(earlier: Act, name: str) -> LedgerRefused:
    """Return the refusal of a key under which something else was asked; questions are public."""
    question = json.loads(earlier.request or "{}").get("query")
    again = f" Or ask for {question!r} as it was asked, at no cost." if question else ""
    return LedgerRefused(f"The key {earlier.key!r} belongs to another request in {name}.", f"Use a new key.{again}")
