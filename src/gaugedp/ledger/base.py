"""The ledger: reserve before looking, settle before showing."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath, urandom
from pathlib import Path
from typing import Any, TypeVar

from gaugedp._internal.displays import drawing, drawn_by
from gaugedp._internal.files import check_ending
from gaugedp._internal.postgres import is_address
from gaugedp._internal.validate import non_negative
from gaugedp.domain.domain import PrivacyUnit
from gaugedp.errors import STAYS_SPENT, InvalidRequest, LedgerRefused, NotDurable
from gaugedp.guarantees import Budget, Guarantee, compose
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger.chain import LedgerEvent, canonical, request_text, units_text
from gaugedp.ledger.entries import Entry, Reservation, Stored
from gaugedp.ledger.header import LedgerHeader, check_names, check_text, opening_event
from gaugedp.ledger.signature import NOBODY, Signature
from gaugedp.ledger.store import MEMORY, Store
from gaugedp.ledger.transaction import LedgerTransaction, Seen
from gaugedp.ledger.verify import Report, verify

T = TypeVar("T")
MAX_RELEASED_BYTES = 900_000_000
_FORGETS = "is not durable: a restart or a power cut may lose what was spent. Use it for trials, or put it on a disk."


class Ledger:
    """The durable account of one table and one privacy unit, shared by threads and processes.

    Whatever races and whenever a process is killed: the charges of all reservations together never exceed the budget. A
    reservation that was returned is on the disk and stays spent, settled or not. A settled release is on the disk
    before `settle` returns. Entries are never changed or removed, and a hash chain shows changes by other hands. The
    clock decides nothing.

    `is_new`: whether the call of `open` that returned it made the ledger.
    """

    is_new = False
    _repr_html_ = drawn_by("ledger")

    def __init__(self, store: Store, signature: Signature = NOBODY, chain: "_Chain | None" = None) -> None:
        self._store, self._signature = store, signature
        self._chain = _Chain(self._run(LedgerTransaction.first, write=False)) if chain is None else chain
        self._total = Budget(self._read(LedgerTransaction.header).budget)

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

        On a server, `path` is "postgresql://user@host:port/database?ledger=people": the ledger is a schema of that
        database, "gaugedp" where none is named. Passwords are best left to PGPASSWORD or a password file.

        An existing ledger keeps its budget: another one is refused. `table` and `unit` bind the ledger where
        it is not yet bound (else the first reservation does) and must be the bound ones where it is. A locked
        ledger is waited for at most `timeout` seconds. ":memory:" is an in-memory ledger. A file system in memory, or a
        server that does not wait for its disk, brings the warning `NotDurable`. A ledger that is replaced later is
        refused: open it again.
        """
        check_names(table, unit)
        non_negative(timeout=timeout)
        opening = None if budget is None else opening_event(budget)
        ledger = cls(_open_store(fspath(path), timeout, opening))
        ledger.is_new = opening is not None and ledger._begins_with(opening)
        ledger._agree(budget, table, unit)
        if ledger.shared and not ledger.durable:
            warnings.warn(f"The ledger {ledger._store.name} {_FORGETS}", NotDurable, stacklevel=2)
        return ledger

    @classmethod
    def in_memory(cls, budget: Guarantee, *, table: str | None = None, unit: PrivacyUnit | None = None) -> "Ledger":
        """Return a ledger for tests and tries: `durable` is False, and it is gone when the process ends."""
        return cls.open(MEMORY, budget, table=table, unit=unit)

    def signed(self, *, by: str | None = None, purpose: str | None = None) -> "Ledger":
        """Return this ledger for one payer: its entries say `by` whom and for which `purpose` they were paid.

        Both are public, one line of at most 200 letters, and hashed with the entry. They change no cost: a key
        returns what it paid for, whoever asks. What is settled or resumed keeps the signature of its payment.
        """
        ledger = Ledger(self._store, Signature.checked(by, purpose), self._chain)
        ledger.is_new = self.is_new
        return ledger

    @property
    def durable(self) -> bool:
        """Return whether entries outlive the process and, as far as the store can tell, a power cut."""
        return self._store.durable

    @property
    def shared(self) -> bool:
        """Return whether other processes can open it; one in memory belongs to its process alone."""
        return self._store.shared

    @property
    def budget(self) -> Guarantee:
        """The guarantee that all releases together keep."""
        return self._read(LedgerTransaction.header).budget

    @property
    def spent(self) -> Guarantee:
        """Return the reserved total so far, in the budget's own kind."""
        return self._total.guarantee(self._read(lambda ledger: ledger.spent(self._total)))

    @property
    def remaining(self) -> Guarantee:
        """Return the remaining budget, in its own kind; of a best order at the orders that still have room."""
        return self._total.room(self._read(lambda ledger: ledger.spent(self._total)))

    @property
    def balance(self) -> dict[str, str]:
        """`budget`, `spent` and `remaining` as text: exact guarantees, or of a best order its ε in few digits."""
        spent, remaining = self._total.in_words(self._read(lambda ledger: ledger.spent(self._total)))
        return {"budget": repr(self.budget), "spent": spent, "remaining": remaining}

    @property
    def total(self) -> Guarantee:
        """Return all guarantees charged so far, composed: an odometer, whose `epsilon(delta)` is tight.

        That holds for guarantees fixed in advance; where they were chosen after answers were seen, it is a display, and
        `spent` bounds the loss.
        """
        return compose((entry.guarantee, 1) for entry in self.entries() if entry.guarantee is not None)

    @property
    def table(self) -> str | None:
        """The name of the table, None until bound."""
        return self._read(LedgerTransaction.header).table

    @property
    def unit(self) -> PrivacyUnit | None:
        """Return the privacy unit, None until bound."""
        return self._read(LedgerTransaction.header).unit

    @property
    def tip(self) -> str:
        """The hash that stands for all entries so far: print it with a release, and `verify(tip)` later."""
        return self._read(lambda ledger: ledger.transaction.head().tip)

    def affords(self, *guarantees: Guarantee) -> bool:
        """Return whether a reservation of the first of `guarantees` that has a cost here would fit now."""
        _check_guarantees(guarantees)
        if self._total.first_chargeable(guarantees) is None:
            return False
        return self._total.admits(self._read(lambda ledger: ledger.spent(self._total)), self._total.charge(*guarantees))

    def reserve(
        self,
        guarantees: Sequence[Guarantee],
        *,
        table: str,
        unit: PrivacyUnit,
        request: Mapping[str, Any],
        key: str | None = None,
        resume: bool = False,
    ) -> Reservation | Stored:
        """Pay for one release before looking: charge the first of `guarantees` that has a cost here.

        On return the charge is durable and final. `request` says what is asked, never what was seen. A `key`
        that was settled for the same request and guarantee returns the stored release at no cost. With `resume`,
        one that was reserved for them and never settled returns its reservation, at no cost: it can still be
        settled, once. Refused, with nothing spent: what does not fit the budget; another table or unit; a key
        of another request, or, without `resume`, one that was reserved and never settled.
        """
        _check_guarantees(guarantees)
        if table is None or unit is None:
            raise InvalidRequest("The table or the unit is missing.", "Give both: a ledger accounts for one of each.")
        check_names(table, unit)
        event = self._reserving(guarantees, request, urandom(16).hex() if key is None else key)
        requested = LedgerHeader(self._total.total, table, unit)
        return self._write(lambda ledger: ledger.reserve(event, requested, resume))

    def settle(self, reservation: Reservation, released: bytes) -> str:
        """Store what will be shown for `reservation`, durably, and return the tip of the chain. Once only."""
        if not isinstance(reservation, Reservation):
            raise InvalidRequest("This is not a reservation.", "Settle with what reserve returned.", STAYS_SPENT)
        if not isinstance(released, bytes) or len(released) > MAX_RELEASED_BYTES:
            what = f"The release is not bytes, or more than {MAX_RELEASED_BYTES:,}."
            raise InvalidRequest(what, "Settle with bytes.", STAYS_SPENT)
        with _after_paying():
            return self._write(lambda ledger: ledger.settle(reservation, released))

    def stored(self, key: str) -> bytes:
        """Return what was stored under a key, at no cost. Refused: a key under which nothing was."""
        check_text("The key", key)
        return self._read(lambda ledger: ledger.stored(key))

    def account(self, reservation: Reservation) -> dict[str, Any]:
        """Return what is told of `reservation`: `balance`, what was charged, and the place in the chain.

        It is read before the look, so that nothing can fail after it but the storing.
        """
        with _after_paying():
            numbers = self.balance
        charged = {"charged": repr(reservation.guarantee), "entry": reservation.number, "tip": reservation.tip}
        return {**numbers, **charged, "durable": self.durable}

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first; the stored releases stay in the ledger."""
        return self._read(LedgerTransaction.entries)

    def verify(self, tip: str | None = None) -> Report:
        """Recompute chain, sums, budget and head from the entries; `tip` is one exported before.

        Edits of entries, head and releases are found without a tip; a restored older copy and a history that
        was rewritten to its end are found with one.
        """

        def verified(ledger: LedgerTransaction) -> Report:
            ledger.check_same(self._chain.seen)
            return verify(ledger.transaction, tip, self._chain.seen.tip)

        return self._run(verified, write=False)

    def save_html(self, path: str | PathLike[str], year: int | None = None) -> None:
        """Write the page of a `year`, by default that of the last entry: what was spent, by whom, and what is left.

        Needs the extra `report`.
        """
        check_ending(fspath(path), ".html")
        Path(path).write_text(drawing("ledger_page")(self, year), encoding="utf-8")

    def _reserving(self, guarantees: Sequence[Guarantee], request: Mapping[str, Any], key: str) -> LedgerEvent:
        check_text("The key", key)
        text = self._signature.sign(request_text(request))
        charge = units_text(self._total.charge(*guarantees))
        chargeable = self._total.first_chargeable(guarantees) or guarantees[0]
        return LedgerEvent("reserve", key, canonical(chargeable.to_dict()), charge, text)

    def _agree(self, budget: Guarantee | None, table: str | None, unit: PrivacyUnit | None) -> None:
        """Refuse another budget, table or unit than the ledger's; bind what is not yet bound."""
        header = self._read(LedgerTransaction.header)
        header.check_budget(self._store.name, budget)
        header.check(self._store.name, table, unit)
        if header.bind(table, unit) != header:
            self._write(lambda ledger: ledger.bind(LedgerHeader(header.budget, table, unit)))

    def _begins_with(self, opening: LedgerEvent) -> bool:
        """Return whether the first entry is `opening`: no two ledgers begin alike."""
        first = self._read(lambda ledger: ledger.transaction.row(1))
        return first is not None and first.event.request == opening.request

    def _read(self, act: Callable[[LedgerTransaction], T]) -> T:
        return self._follow(act, write=False)

    def _write(self, act: Callable[[LedgerTransaction], T]) -> T:
        return self._follow(act, write=True)

    def _follow(self, act: Callable[[LedgerTransaction], T], write: bool) -> T:
        """Run `act` on the chain that was seen before, and remember its last entry."""

        def following(ledger: LedgerTransaction) -> tuple[T, Seen]:
            return act(ledger.following(self._chain.seen)), ledger.seen(self._chain.seen)

        outcome, seen = self._run(following, write)
        self._chain.advance(seen)
        return outcome

    def _run(self, act: Callable[[LedgerTransaction], T], write: bool) -> T:
        return self._store.run(lambda transaction: act(LedgerTransaction(transaction, self._store.name)), write=write)

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: object) -> "Ledger":
        return self

    def __reduce__(self) -> tuple[type["Ledger"], tuple[Store, Signature, "_Chain"]]:
        return Ledger, (self._store, self._signature, self._chain)

    def __repr__(self) -> str:
        try:
            spent = self.balance["spent"]
        except LedgerRefused:
            spent = "unreadable"
        return rounded_up(f"Ledger({self._store.name}, budget={self._total.total!r}, spent={spent})")


class _Chain:
    """The last entry that was seen of a ledger, by all objects that `signed` makes of one."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def advance(self, seen: Seen) -> None:
        """Remember a later entry; another thread may have seen one after it."""
        if seen.number >= self.seen.number:
            self.seen = seen


def _open_store(path: str, timeout: float, opening: LedgerEvent | None) -> Store:
    """Return the store at `path`, created with the entry `opening` where there is none."""
    if is_address(path):
        from gaugedp.ledger.postgres import PostgresStore

        return PostgresStore.open(path, timeout, opening)
    from gaugedp.ledger.sqlite import MemoryStore, SqliteStore

    return MemoryStore(opening) if path == MEMORY else SqliteStore.open(path, timeout, opening)


@contextmanager
def _after_paying() -> Iterator[None]:
    """Context manager: a refusal inside says that the cost stays spent."""
    try:
        yield
    except LedgerRefused as refused:
        raise LedgerRefused(refused.what, refused.do, STAYS_SPENT) from None


def _check_guarantees(guarantees: Sequence[Guarantee]) -> None:
    if not isinstance(guarantees, Sequence) or not guarantees or not all(isinstance(p, Guarantee) for p in guarantees):
        raise InvalidRequest("The guarantees are not a list of guarantees.", "Give them like [gd.PureDP(0.5)].")
