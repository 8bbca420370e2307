"""Spending of ledger entries by month, purpose and person. Amounts are exact and add up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import Budget, Guarantee, PureDP, RenyiDP
from gaugedp.ledger import Entry
from gaugedp.ledger.chain import Units, add
from gaugedp.ledger.entries import states
from gaugedp.queries import workload
from gaugedp.releases.planning import plan

Amounts = dict[str, Fraction]
_PLANNED = (1e-9, 1e9)  # parameters for which noise is planned


@dataclass(frozen=True)
class SpendingStep:
    """Charged `entry`, the spent `amounts`, and its state."""

    entry: Entry
    amounts: Amounts
    state: str

    @property
    def is_paid(self) -> bool:
        """True if it cost anything; periods of a stream are free."""
        return any(self.entry.charge)


@dataclass(frozen=True)
class Spending:
    """Charges of a ledger within its budget, and their sum `spent`."""

    budget: Budget
    payments: Sequence[SpendingStep]
    spent: Units

    @classmethod
    def of(cls, total: Guarantee, entries: Sequence[Entry]) -> "Spending":
        """Return the spending of ledger entries. Charges in another accounting than the budget are refused."""
        budget = Budget(total)
        if any(entry.charge and len(entry.charge) != len(budget.nothing) for entry in entries):
            what = "A charge in the ledger has another accounting than its budget: another program altered it."
            raise LedgerRefused(what, "Run its verify() to see where.")
        payments, spent = [], budget.nothing
        for entry, state in zip(entries, states(entries), strict=True):
            before, spent = spent, add(spent, entry.charge) if entry.charge else spent
            if entry.kind == "reserve":
                payments.append(SpendingStep(entry, _difference(budget.amounts(before), budget.amounts(spent)), state))
        return cls(budget, payments, spent)

    @property
    def total(self) -> Amounts:
        """Amount of the whole budget."""
        return self.budget.amounts(self.budget.capacity)

    @property
    def left(self) -> Amounts:
        """Remaining amount."""
        return _difference(self.budget.amounts(self.spent), self.total)

    def share(self, amounts: Amounts) -> float:
        """Return the share of the budget; for (ε, δ), of ε."""
        name = next(iter(self.total))
        return float(amounts[name] / self.total[name])

    def sum(self, payments: Sequence[SpendingStep]) -> Amounts:
        """Return the total of several charges."""
        zero = Fraction(0)
        return {name: sum((payment.amounts[name] for payment in payments), zero) for name in self.total}

    def in_year(self, year: str) -> list[SpendingStep]:
        """Return the charges of a year, such as "2026", in UTC."""
        return [payment for payment in self.payments if payment.entry.time[:4] == year]

    def before(self, year: str) -> list[SpendingStep]:
        """Return the charges of earlier years."""
        return [payment for payment in self.payments if payment.entry.time[:4] < year]

    def times(self, payment: SpendingStep) -> int:
        """Return how often a charge fits into the remaining budget."""
        return self.budget.times(self.spent, payment.entry.charge)


def grouped(payments: Sequence[SpendingStep], name: Callable[[SpendingStep], str]) -> dict[str, list[SpendingStep]]:
    """Return the charges by name, in order of first occurrence."""
    groups: dict[str, list[SpendingStep]] = {}
    for payment in payments:
        groups.setdefault(name(payment), []).append(payment)
    return groups


def months(year: str, payments: Sequence[SpendingStep]) -> Iterator[tuple[str, list[SpendingStep]]]:
    """Yield the twelve months of a year with their charges."""
    groups = grouped(payments, lambda payment: payment.entry.time[:7])
    for month in range(1, 13):
        name = f"{year}-{month:02}"
        yield name, groups.get(name, [])


def median(payments: Sequence[SpendingStep]) -> SpendingStep | None:
    """Return the charge of median cost, the lower of two."""
    by_cost = sorted(
        (payment for payment in payments if payment.is_paid), key=lambda payment: [*payment.amounts.values()]
    )
    return by_cost[(len(by_cost) - 1) // 2] if by_cost else None


def half_width_of_a_count(spending: Spending, unit: PrivacyUnit | None) -> float | None:
    """Return the half-width of a count for the remaining budget.

    It is that of the 95 % interval, or None if too little is left.
    """
    if spending.share(spending.left) < Fraction(1, 10**6):  # a smaller rest is due to rounding
        return None
    affordable = _numbers(spending.budget, spending.budget.left(spending.spent))
    if not all(_PLANNED[0] <= number <= _PLANNED[1] for name, number in affordable.items() if name != "delta"):
        return None
    count = workload(np.array([[1, 0]]), Domain.of(counted=["yes", "no"]))
    planned = plan(count, unit or PrivacyUnit(), **affordable)
    return float(next(row["interval_95"] for row in planned.table() if row["chosen"]))


def _numbers(budget: Budget, remaining: Guarantee) -> dict[str, float]:
    """Return the remaining budget as arguments of `plan`.

    For Rényi curves, it is the ε of a pure guarantee that fits.
    """
    if isinstance(remaining, RenyiDP):  # PureDP(ε) has a divergence of at most ε at every order
        remaining = PureDP((max if budget.accounting == "best_order" else min)(remaining.values))
    return {name: value for name, value in remaining.to_dict().items() if isinstance(value, float) and value > 0}


def _difference(before: Amounts, after: Amounts) -> Amounts:
    return {name: after[name] - before[name] for name in after}
