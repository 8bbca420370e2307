"""A privacy filter in memory."""

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.budget import Budget
from gaugedp.guarantees.composed import compose
from gaugedp.guarantees.printed import rounded_left, rounded_up


class Filter:
    """A privacy filter: guarantees may be chosen after all earlier answers, and together satisfy the `budget`.

    Sums of costs bound PureDP, ApproxDP, ZCDP and GaussianDP; RenyiDP adds up Rényi curves at every order, RenyiBudget
    until the last order is spent (docs/theory/budgets.md). It is neither durable nor shared: a `Ledger` is both.
    """

    def __init__(self, budget: Guarantee) -> None:
        self._budget = Budget(budget)
        self._units = self._budget.nothing
        self._guarantees: list[Guarantee] = []

    @property
    def budget(self) -> Guarantee:
        """Return the budget."""
        return self._budget.total

    @property
    def spent(self) -> Guarantee:
        """Return what was charged, in the budget's own kind, rounded up."""
        return self._budget.guarantee(self._units)

    @property
    def remaining(self) -> Guarantee:
        """Return what is left, rounded down; of a best order at all its orders, with 0 where there is no room."""
        return self._budget.left(self._units)

    @property
    def total(self) -> Guarantee:
        """Return the composition of all: an odometer, whose `epsilon(delta)` is tight for parts fixed in advance."""
        return compose((guarantee, 1) for guarantee in self._guarantees)

    def admits(self, guarantee: Guarantee) -> bool:
        """Whether `guarantee` can be charged and still fits. Nothing is spent."""
        try:
            charge = self._budget.charge(guarantee)
        except LedgerRefused:
            return False
        return self._budget.admits(self._units, charge)

    def spend(self, guarantee: Guarantee) -> Guarantee:
        """Charge `guarantee` and return what is left; LedgerRefused, and nothing spent, where it does not fit."""
        charge = self._budget.charge(guarantee)
        if not self._budget.admits(self._units, charge):
            remaining = rounded_left(self._budget.in_words(self._units)[1], self.budget)
            raise LedgerRefused(
                f"{rounded_up(guarantee)} does not fit: {remaining} of {rounded_up(self.budget)} is left.",
                "Ask for less.",
            )
        self._units = tuple(a + b for a, b in zip(self._units, charge, strict=True))
        self._guarantees.append(guarantee)
        return self.remaining
