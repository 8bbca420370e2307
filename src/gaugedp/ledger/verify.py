"""Verification of a ledger from its entries."""

from dataclasses import dataclass

from gaugedp.guarantees import Budget
from gaugedp.ledger.approval import approval_fault
from gaugedp.ledger.chain import ORIGIN, Head, Row, add, link, units
from gaugedp.ledger.header import LedgerHeader, opened_by
from gaugedp.ledger.store import Transaction


@dataclass(frozen=True)
class Report:
    """Result of `Ledger.verify`, which is `ok` without `problems`.

    `unsettled` lists the keys of charges whose result was never stored. They stay spent, which is not a problem.
    """

    ok: bool
    entries: int
    problems: tuple[str, ...]
    tip: str
    unsettled: tuple[str, ...] = ()


def verify(transaction: Transaction, *tips: str | None) -> Report:
    """Recompute chain, sums, budget and head from the entries.

    It finds edited, missing, reordered and inserted entries, an edited head and an edited release. A history that was
    rewritten to its end, or an older copy, is found by `tips` exported before.
    """
    replay = _Replay()
    for row in transaction.rows():
        replay.take(row)
    replay.close(transaction.head())
    for tip in dict.fromkeys(tips):
        if tip is not None and tip not in replay.tips:
            replay.problems.append(f"The tip {tip} is not in this chain: this is an older copy, or another ledger.")
    problems = (*transaction.damage(), *replay.problems)
    return Report(not problems, replay.entries, problems, replay.tip, tuple(replay.unsettled))


class _Replay:
    """State after the entries read so far, and their `problems`. Each fault is reported once."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.entries = self.number = 0
        self.tip, self.tips = ORIGIN, {ORIGIN}
        self.spent = self.opening_tip = ""
        self.header: LedgerHeader | None = None
        self.unsettled: dict[str, None] = {}
        self.settled: set[str] = set()

    def take(self, row: Row) -> None:
        self._check_place(row)
        self.entries, self.number, self.tip = self.entries + 1, row.number, row.tip
        self.tips.add(row.tip)
        try:
            self._check_kind(row)
            self._check_sum(row)
        except (ValueError, TypeError, LookupError, RecursionError):
            self._note(row, "cannot be read")
        self.spent = row.spent

    def close(self, head: Head) -> None:
        if head.entries > self.number:
            self.problems.append(f"Entries {self.number + 1} to {head.entries} are missing.")
        if head != Head(self.number, self.spent, self.tip):
            self.problems.append("The head does not match the entries.")

    def _note(self, row: Row, what: str) -> None:
        self.problems.append(f"Entry {row.number} {what}.")

    def _check_place(self, row: Row) -> None:
        if row.number != self.number + 1:
            self.problems.append(f"Entries {self.number + 1} to {row.number - 1} are missing.")
        elif link(self.tip, row) != row.tip:
            self._note(row, "was altered, or does not follow the entry before it")

    def _check_kind(self, row: Row) -> None:
        event = row.event
        if (event.kind == "open") != (row.number == 1):
            wrong = "opens the ledger in the wrong position" if event.kind == "open" else "does not open the ledger"
            self._note(row, wrong)
        elif event.kind == "open":
            self.header, self.opening_tip = opened_by(event.request or ""), row.tip
        elif event.kind == "bind" and self.header is not None:
            self.header = self.header.bound_by(event.request or "")
        elif event.kind == "reserve" and self._is_new(event.key):
            self.unsettled[str(event.key)] = None
            if self.header is not None and (fault := approval_fault(self.opening_tip, self.header, event)):
                self._note(row, f"was charged although {fault}")
        elif event.kind == "settle" and event.key in self.unsettled and event.released is not None:
            del self.unsettled[event.key]
            self.settled.add(event.key)
        else:
            self._note(row, f"is out of order: {event.kind}")

    def _is_new(self, key: str | None) -> bool:
        return key is not None and key not in self.unsettled and key not in self.settled

    def _check_sum(self, row: Row) -> None:
        if self.header is None:
            return
        budget = Budget(self.header.budget)
        before, charge = (units(text) or budget.nothing for text in (self.spent, row.event.charge))
        if min(charge) < 0 or add(before, charge) != units(row.spent):
            self._note(row, "does not add up")
        if not budget.admits(units(row.spent), budget.nothing):
            self._note(row, "exceeds the budget")
