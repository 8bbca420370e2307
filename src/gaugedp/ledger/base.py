"""Ledger: reserve before reading data, settle before showing results."""

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
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import STAYS_SPENT, InvalidRequest, LedgerRefused, NotDurable
from gaugedp.guarantees import Budget, Guarantee, compose
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger.approval import Approval
from gaugedp.ledger.chain import LedgerEvent, canonical, request_text, units_text
from gaugedp.ledger.entries import Entry, Reservation, Stored
from gaugedp.ledger.header import LedgerHeader, check_names, check_text, opening_event
from gaugedp.ledger.signature import NOBODY, Signature
from gaugedp.ledger.store import MEMORY, Store
from gaugedp.ledger.transaction import LedgerTransaction, Seen
from gaugedp.ledger.verify import Report, verify

T = TypeVar("T")
MAX_RELEASED_BYTES = 900_000_000
_FORGETS = (
    "is not durable: a restart or a power cut may lose what was spent. Use it only for trials, or move it to a disk."
)


class Ledger:
    """Durable account of the privacy budget of one table.

    Open one ledger for each table with `Ledger.open`, and pass it to every release of the table. A ledger has a budget
    for one privacy unit, such as a person, and refuses any charge that would exceed the budget. Threads and processes
    can share a ledger: even if they race or are killed, all charges together stay within the budget.

    A charge is recorded durably before the data is read, and it stays spent even if the release fails afterwards. A
    crash may therefore cost budget, but it never costs privacy. Entries never change, and a chain of hashes reveals
    edits by other programs. `is_new` is True if `open` created the ledger.
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
        approval: bool = False,
    ) -> "Ledger":
        """Open the ledger at `path`, or create it.

        Call it first in every program that publishes from the table, and pass the ledger to `gd.release`.

        Parameters
        ----------
        path : path or str
            A file, ":memory:", or "postgresql://user@host:port/database?ledger=people", where `ledger` names a schema
            of the database (default "gaugedp"). Do not write a password here: use PGPASSWORD or a password file.
        budget : Guarantee, optional
            The budget, such as `gd.PureDP(2)`. A new ledger needs it. The budget of an existing ledger never changes,
            so a different one is refused.
        table, unit : str and PrivacyUnit, optional
            The table and the unit that the ledger is for. By default the first charge sets them. Those of an existing
            ledger must match.
        timeout : float
            The seconds to wait while another process has locked the ledger. Default 30.
        approval : bool
            Whether a second person must approve each charge to a new ledger. Default False.

        Raises
        ------
        LedgerRefused
            If the ledger exists with another budget, table or unit, or cannot be read.

        Warns
        -----
        NotDurable
            If a power cut may lose entries, as on a file system in memory.

        Examples
        --------
        A new ledger has its whole budget left:

        >>> import gaugedp as gd
        >>> ledger = gd.Ledger.open(":memory:", gd.PureDP(2))
        >>> ledger.remaining, ledger.is_new
        (PureDP(2), True)
        """
        check_names(table, unit)
        non_negative(timeout=timeout)
        opening = None if budget is None else opening_event(budget, approval)
        ledger = cls(_open_store(fspath(path), timeout, opening))
        ledger.is_new = opening is not None and ledger._begins_with(opening)
        ledger._agree(budget, table, unit)
        if approval:
            ledger._read(LedgerTransaction.header).check_requires_approval(ledger._store.name)
        if ledger.shared and not ledger.durable:
            warnings.warn(f"The ledger {ledger._store.name} {_FORGETS}", NotDurable, stacklevel=2)
        return ledger

    @classmethod
    def in_memory(cls, budget: Guarantee, *, table: str | None = None, unit: PrivacyUnit | None = None) -> "Ledger":
        """Return a ledger in memory, which disappears with the process."""
        return cls.open(MEMORY, budget, table=table, unit=unit)

    def signed(
        self, *, by: str | None = None, purpose: str | None = None, approval: Approval | None = None
    ) -> "Ledger":
        """Return this ledger with a signature for later charges.

        Use it to record who is charged (`by`) and for what `purpose`. Both become public parts of the entry and its
        hash chain, are one line of at most 200 characters each, and do not change what a charge costs. An `approval` is
        valid for one charge only.
        """
        second = () if approval is None else (approval.by, approval.charge)
        ledger = Ledger(self._store, Signature.checked(by, purpose, *second), self._chain)
        ledger.is_new = self.is_new
        return ledger

    @property
    def durable(self) -> bool:
        """True if entries are known to survive a power cut."""
        return self._store.durable

    @property
    def shared(self) -> bool:
        """True if other processes can open the ledger."""
        return self._store.shared

    @property
    def budget(self) -> Guarantee:
        """Guarantee that all releases together satisfy."""
        return self._read(LedgerTransaction.header).budget

    @property
    def spent(self) -> Guarantee:
        """Total of all charges so far, in the budget's accounting."""
        return self._total.guarantee(self._read(lambda ledger: ledger.spent(self._total)))

    @property
    def remaining(self) -> Guarantee:
        """Budget that is left.

        For a `RenyiBudget`, it is stated at the orders that have budget left.
        """
        return self._total.room(self._read(lambda ledger: ledger.spent(self._total)))

    @property
    def balance(self) -> dict[str, str]:
        """`budget`, `spent` and `remaining` as text."""
        spent, remaining = self._total.in_words(self._read(lambda ledger: ledger.spent(self._total)))
        return {"budget": repr(self.budget), "spent": spent, "remaining": remaining}

    @property
    def total(self) -> Guarantee:
        """Composition of all charged guarantees, whose `epsilon(delta)` is tight.

        It bounds the privacy loss if all guarantees were fixed in advance. If you chose some of them after you had seen
        answers, use `spent` as the bound.
        """
        return compose((entry.guarantee, 1) for entry in self.entries() if entry.guarantee is not None)

    @property
    def table(self) -> str | None:
        """Name of the table; None until the ledger is bound."""
        return self._read(LedgerTransaction.header).table

    @property
    def unit(self) -> PrivacyUnit | None:
        """Privacy unit, or None until the ledger is bound."""
        return self._read(LedgerTransaction.header).unit

    @property
    def requires_approval(self) -> bool:
        """True if a second person must approve each charge."""
        return self._read(LedgerTransaction.header).approval

    @property
    def tip(self) -> str:
        """Hash of all entries so far, for a later `verify`."""
        return self._read(lambda ledger: ledger.transaction.head().tip)

    def affords(self, *guarantees: Guarantee) -> bool:
        """Return True if the remaining budget allows a charge now.

        The ledger would charge the first of `guarantees` that its budget can express.
        """
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
        """Charge the privacy budget for a release, before any data is read.

        Use it if you publish results of a mechanism of your own; `gd.release` calls it for you. When it returns, the
        charge is recorded durably and is final. Afterwards, store the result with `settle`.

        Parameters
        ----------
        guarantees : sequence of Guarantee
            The guarantees that the release satisfies. The ledger charges the first one that its budget can express.
        table, unit : str and PrivacyUnit
            The name of the table and the privacy unit, which must be those that the ledger was opened for.
        request : mapping
            A description of the query, never of the data.
        key : str, optional
            A name for the request. If a release with this key, request and guarantee is stored, it is returned at no
            cost.
        resume : bool
            If an earlier charge with this key was never settled, for example because the program was stopped, True
            returns its reservation, and False, the default, refuses the key.

        Returns
        -------
        Reservation or Stored
            The charge, which you pass to `settle`, or the release that is stored under the key.

        Raises
        ------
        LedgerRefused
            If the charge exceeds the budget, the table or the unit is another one, or the key belongs to another
            request or, without `resume`, to an unsettled charge. Nothing is spent then.
        """
        _check_guarantees(guarantees)
        if table is None or unit is None:
            what = "A ledger accounts for one table and one unit, but the table or the unit is missing."
            raise InvalidRequest(what, "Pass both.")
        check_names(table, unit)
        event = self._reserving(guarantees, request, urandom(16).hex() if key is None else key)
        requested = LedgerHeader(self._total.total, table, unit)
        return self._write(lambda ledger: ledger.reserve(event, requested, resume))

    def charge_digest(
        self, guarantees: Sequence[Guarantee], *, table: str, unit: PrivacyUnit, request: Mapping[str, Any], key: str
    ) -> str:
        """Return the digest that an approval of the charge names."""
        _check_guarantees(guarantees)
        event = self._reserving(guarantees, request, key)
        return self._read(lambda ledger: ledger.charge_digest(event, LedgerHeader(self._total.total, table, unit)))

    def settle(self, reservation: Reservation, released: bytes) -> str:
        """Store the result of a charge durably; return the tip."""
        if not isinstance(reservation, Reservation):
            what = "The first argument of `settle` is not a reservation."
            raise InvalidRequest(what, "Pass the result of `reserve`.", STAYS_SPENT)
        if not isinstance(released, bytes) or len(released) > MAX_RELEASED_BYTES:
            what = f"The release must consist of bytes, at most {MAX_RELEASED_BYTES:,} of them."
            raise InvalidRequest(what, "Pass a shorter release, as bytes.", STAYS_SPENT)
        with _after_paying():
            return self._write(lambda ledger: ledger.settle(reservation, released))

    def stored(self, key: str) -> bytes:
        """Return the release stored under a key, at no cost."""
        check_text("The key", key)
        return self._read(lambda ledger: ledger.stored(key))

    def account(self, reservation: Reservation) -> dict[str, Any]:
        """Return public facts about a charge and the balance."""
        with _after_paying():
            numbers = self.balance
        charged = {"charged": repr(reservation.guarantee), "entry": reservation.number, "tip": reservation.tip}
        return {**numbers, **charged, "durable": self.durable}

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first, without stored releases."""
        return self._read(LedgerTransaction.entries)

    def verify(self, tip: str | None = None) -> Report:
        """Check the ledger's hash chain, sums, budget and head.

        All of them are recomputed, which finds edited entries, heads and releases. A `tip` that was published before
        also reveals a restored older copy and a history that was rewritten to its end.
        """

        def verified(ledger: LedgerTransaction) -> Report:
            ledger.check_same(self._chain.seen)
            return verify(ledger.transaction, tip, self._chain.seen.tip)

        return self._run(verified, write=False)

    def save_html(self, path: str | PathLike[str], year: int | None = None) -> None:
        """Write a page about the charges of a year.

        It shows what was spent, by whom, and what is left. It needs the extra `report`.
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
        """Check budget, table and unit; bind what is not bound. A ledger that requires approvals waits for a charge."""
        header = self._read(LedgerTransaction.header)
        header.check_budget(self._store.name, budget)
        header.check(self._store.name, table, unit)
        if (self.is_new or not header.approval) and header.bind(table, unit) != header:
            self._write(lambda ledger: ledger.bind(LedgerHeader(header.budget, table, unit)))

    def _begins_with(self, opening: LedgerEvent) -> bool:
        first = self._read(lambda ledger: ledger.transaction.row(1))
        return first is not None and first.event.request == opening.request

    def _read(self, act: Callable[[LedgerTransaction], T]) -> T:
        return self._follow(act, write=False)

    def _write(self, act: Callable[[LedgerTransaction], T]) -> T:
        return self._follow(act, write=True)

    def _follow(self, act: Callable[[LedgerTransaction], T], write: bool) -> T:

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
    """Last known entry of a ledger, shared by `signed` copies."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def advance(self, seen: Seen) -> None:
        if seen.number >= self.seen.number:
            self.seen = seen


def _open_store(path: str, timeout: float, opening: LedgerEvent | None) -> Store:
    if is_address(path):
        from gaugedp.ledger.postgres import PostgresStore

        return PostgresStore.open(path, timeout, opening)
    from gaugedp.ledger.sqlite import MemoryStore, SqliteStore

    return MemoryStore(opening) if path == MEMORY else SqliteStore.open(path, timeout, opening)


@contextmanager
def _after_paying() -> Iterator[None]:
    """State in a refusal inside that the cost stays spent."""
    try:
        yield
    except LedgerRefused as refused:
        raise LedgerRefused(refused.what, refused.do, STAYS_SPENT) from None


def _check_guarantees(guarantees: Sequence[Guarantee]) -> None:
    if not isinstance(guarantees, Sequence) or not guarantees or not all(isinstance(p, Guarantee) for p in guarantees):
        raise InvalidRequest("The guarantees must be given as a list.", "Pass a list, such as [gd.PureDP(0.5)].")
