"""Budgets and the charges of guarantees to them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from gaugedp._internal.numbers import digits_down, digits_up, exact
from gaugedp._internal.validate import between, decimal, positive
from gaugedp.accountant.part import Accounting
from gaugedp.accountant.rounding import down_decimal, root_decimal, up_decimal
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.composed import compose
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.renyi import RenyiDP
from gaugedp.guarantees.same_as import SameAs
from gaugedp.guarantees.zcdp import ZCDP

ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0)
UNITS = 10**30  # costs are integers in units of 1e-30, always rounded against the spender

_ASK = {
    "pure": "Specify only epsilon",
    "approx": "Specify epsilon, or epsilon and delta",
    "zcdp": "Specify rho, or only epsilon",
    "gaussian": "Specify mu, or only epsilon",
    "renyi": "Specify rho or mu, or only epsilon",
    "best_order": "Specify rho or mu, or only epsilon",
}
_AMOUNTS = {"pure": ("ε",), "approx": ("ε", "δ"), "zcdp": ("ρ",), "gaussian": ("μ²",)}
_OF_AMOUNTS: dict[str, Callable[..., Guarantee]] = {"pure": PureDP, "approx": ApproxDP, "zcdp": ZCDP}
_ENDLESS = 10**12 * UNITS  # stands for an infinite divergence; no capacity reaches it


@dataclass(frozen=True, eq=True)
class RenyiBudget(SameAs, Guarantee, kind="BestOrder"):
    """Budget of (ε, δ)-DP that adds up Rényi curves.

    Use it as the budget of a ledger for many releases, because it usually allows more of them than adding up ε and δ.
    You may choose a release, and its guarantee, after seeing earlier answers.

    Notes
    -----
    Each release adds its Rényi divergence at each of the `orders`. The budget lasts as long as the sum stays within its
    bound (`capacity`) at one order at least. The bound at each of the m orders converts to (ε, δ/m), and a union bound
    over the orders gives δ. The proof is in docs/theory/budgets.md.
    """

    epsilon_value: float
    delta_value: float
    orders: tuple[float, ...]
    accounting: ClassVar[Accounting | None] = "best_order"

    def __init__(self, epsilon: float, delta: float, orders: Sequence[float] = ORDERS) -> None:
        positive(epsilon=epsilon)
        between(0, 1, delta=delta)
        if epsilon > 1e9:
            raise InvalidRequest(f"`epsilon` is {epsilon!r}, which is too large for a budget.", "Use at most 1e9.")
        ascending = tuple(sorted(float(order) for order in orders))
        has_repeats = len(set(ascending)) < len(ascending)
        if not ascending or has_repeats or not all(1 < order < math.inf for order in ascending):
            raise InvalidRequest(
                "The orders of a Rényi curve must be distinct finite numbers above 1.", "Pass, for example, [2, 8, 32]."
            )
        self._set(epsilon_value=float(epsilon), delta_value=float(delta), orders=ascending)

    @property
    def capacity(self) -> tuple[float, ...]:
        """The largest divergence at each order, rounded down.

        It is the largest that implies (ε, δ/m)-DP for m orders; negative if there is none.
        """
        share = math.log(self.delta_value / len(self.orders))
        return tuple(
            (self.epsilon_value - math.log1p(-1 / a) + (share + math.log(a)) / (a - 1)) - 1e-12 * (1 - share / (a - 1))
            for a in self.orders
        )

    @property
    def equivalent(self) -> ApproxDP:
        """The (ε, δ)-DP guarantee of this budget."""
        return ApproxDP(self.epsilon_value, self.delta_value)

    def follows_from(self, premise: Guarantee) -> bool:
        """Return True if (ε, δ)-DP follows from `premise`."""
        return self.equivalent.follows_from(premise)

    def __repr__(self) -> str:
        return f"RenyiBudget({exact(self.epsilon_value)}, {exact(self.delta_value)})"


class Budget:
    """Arithmetic of a budget and its charges, in integer units.

    It decides whether releases fit a budget. Charges are rounded up and the capacity is rounded down, so charges that
    fit never exceed the budget, even if they are chosen adaptively. To store charges durably, use a `Ledger`.
    """

    def __init__(self, total: Guarantee) -> None:
        if not isinstance(total, Guarantee) or total.accounting is None:
            raise InvalidRequest(
                f"{total!r} cannot be the budget of a ledger.",
                "Use PureDP, ApproxDP, ZCDP, GaussianDP, RenyiDP or RenyiBudget, such as gd.PureDP(3).",
            )
        self.total = total
        self.accounting: Accounting = total.accounting
        self.orders = total.orders if isinstance(total, RenyiDP | RenyiBudget) else ()
        self.capacity = tuple(math.floor(number * UNITS) for number in self._numbers())
        if (max if self.accounting == "best_order" else min)(self.capacity) <= 0:
            raise InvalidRequest(
                f"The budget {total!r} is too small to be spent.", "Use amounts above 1e-30, or PureDP if delta is 0."
            )

    def _numbers(self) -> tuple[Fraction, ...]:
        if isinstance(self.total, RenyiDP):
            return tuple(decimal(value) for value in self.total.values)
        if isinstance(self.total, RenyiBudget):
            return tuple(Fraction(max(number, -1.0)) for number in self.total.capacity)
        return self.total.cost(self.accounting) or ()

    @property
    def nothing(self) -> tuple[int, ...]:
        """The charge of no release."""
        return (0,) * len(self.capacity)

    def first_chargeable(self, guarantees: Sequence[Guarantee]) -> Guarantee | None:
        """Return the first guarantee that can be charged, or None."""
        return next((guarantee for guarantee in guarantees if self._charge(guarantee) is not None), None)

    def charge(self, *guarantees: Guarantee) -> tuple[int, ...]:
        """Return the charge of the first chargeable guarantee."""
        for guarantee in guarantees:
            charge = self._charge(guarantee)
            if charge is not None:
                return charge
        raise LedgerRefused(
            f"The guarantee {guarantees[0]!r} cannot be charged to a budget of {self.total!r}, which is of another "
            "kind.",
            f"{_ASK[self.accounting]}, or use a ledger with a budget of that kind.",
        )

    def _charge(self, guarantee: Guarantee) -> tuple[int, ...] | None:
        if not self.orders:
            cost = guarantee.cost(self.accounting)
            return None if cost is None else tuple(math.ceil(number * UNITS) for number in cost)
        curve = [guarantee.renyi(order) for order in self.orders]
        if (min if self.accounting == "best_order" else max)(curve) == math.inf:
            return None
        return tuple(_ENDLESS if number == math.inf else math.ceil(decimal(number) * UNITS) for number in curve)

    def admits(self, spent: tuple[int, ...], charge: tuple[int, ...]) -> bool:
        """Return True if the budget allows `charge` after `spent`."""
        fits = (a + b <= c for a, b, c in zip(spent, charge, self.capacity, strict=True))
        return any(fits) if self.accounting == "best_order" else all(fits)

    def times(self, spent: tuple[int, ...], charge: tuple[int, ...]) -> int:
        """Return how often a nonzero `charge` fits after `spent`."""
        room = ((max(c - s, 0), a) for s, a, c in zip(spent, charge, self.capacity, strict=True))
        return (max if self.accounting == "best_order" else min)(left // a for left, a in room if a > 0)

    def amounts(self, spent: tuple[int, ...]) -> dict[str, Fraction]:
        """Return the amounts of a sum of charges, by name.

        The names are ε, ε and δ, ρ, or μ², all of which add up. A `RenyiBudget` states the ε that is spent at its δ. A
        `RenyiDP` budget states the share of the budget that is spent at the order where this share is largest.
        """
        exact = [Fraction(number, UNITS) for number in spent]
        if isinstance(self.total, RenyiBudget):
            return {"ε": self._used(self.total, spent) if any(spent) else Fraction(0)}
        if self.orders:
            return {"share": max(Fraction(s, c) for s, c in zip(spent, self.capacity, strict=True))}
        return dict(zip(_AMOUNTS[self.accounting], exact, strict=True))

    def guarantee(self, units: tuple[int, ...]) -> Guarantee:
        """Return the guarantee of a sum of charges, rounded up."""
        return self._guarantee(units, up_decimal, math.inf)

    def left(self, spent: tuple[int, ...]) -> Guarantee:
        """Return the remaining budget after `spent`, rounded down."""
        units = tuple(max(0, c - s) for c, s in zip(self.capacity, spent, strict=True))
        return self._guarantee(units, down_decimal, 0.0)

    def room(self, spent: tuple[int, ...]) -> Guarantee:
        """Return the remaining budget, rounded down.

        Orders at which no budget is left are omitted.
        """
        remaining = self.left(spent)
        if not isinstance(self.total, RenyiBudget) or not isinstance(remaining, RenyiDP) or not any(remaining.values):
            return remaining
        pairs = [pair for pair in zip(remaining.orders, remaining.values, strict=True) if pair[1]]
        return RenyiDP(*zip(*pairs, strict=True))

    def in_words(self, spent: tuple[int, ...]) -> tuple[str, str]:
        """Return the spent and the remaining budget as text.

        Both parts are exact guarantees, except for a `RenyiBudget`. There they are values of ε with few digits: the
        spent ε is what the sums of the Rényi divergences convert to at the budget's δ. A release with `PureDP` of the
        remaining ε still fits. Several smaller guarantees may fit even if their sum is larger.
        """
        if not isinstance(self.total, RenyiBudget):
            return repr(self.guarantee(spent)), repr(self.left(spent))
        used = digits_up(up_decimal(self._used(self.total, spent)))
        remaining = digits_down(down_decimal(max(decimal(self.total.epsilon_value) - Fraction(used), Fraction(0))))
        return f"epsilon {used if any(spent) else 0}", f"epsilon {remaining}"

    def _used(self, total: RenyiBudget, spent: tuple[int, ...]) -> Fraction:
        """Return the ε spent by a nonzero best order."""
        room = max(c - s for s, c in zip(spent, self.capacity, strict=True))
        return max(decimal(total.epsilon_value) - Fraction(room, UNITS), Fraction(0))

    def _guarantee(self, units: tuple[int, ...], rounded: Callable[[Fraction], float], towards: float) -> Guarantee:
        exact = [Fraction(number, UNITS) for number in units]
        if self.orders:
            sums = {order: n for order, n in zip(self.orders, exact, strict=True) if n < _ENDLESS / UNITS}
            return RenyiDP(list(sums), [rounded(number) for number in sums.values()])
        if self.accounting == "gaussian":
            return GaussianDP(root_decimal(exact[0], towards))
        return _OF_AMOUNTS[self.accounting](*map(rounded, exact))


class Filter:
    """Privacy filter, which refuses releases that would exceed a budget.

    Use it if you choose each release after seeing the answers of all earlier ones. The filter admits only guarantees
    that together satisfy the `budget`. A filter is lost when the process ends. For a durable budget that several
    processes share, use a `Ledger`.

    Notes
    -----
    For PureDP, ApproxDP, ZCDP and GaussianDP, the sum of the costs is bounded. A RenyiDP budget sums Rényi curves and
    bounds them at every order. A RenyiBudget admits releases until its last order is spent (docs/theory/budgets.md).

    Examples
    --------
    `spend` returns the budget that is left, here 0.75. A release that costs 1 no longer fits:

    >>> from gaugedp.guarantees import Filter, PureDP
    >>> budget = Filter(PureDP(1.0))
    >>> budget.spend(PureDP(0.25))
    PureDP(0.75)
    >>> budget.admits(PureDP(1.0))
    False
    """

    def __init__(self, budget: Guarantee) -> None:
        self._budget = Budget(budget)
        self._units = self._budget.nothing
        self._guarantees: list[Guarantee] = []

    @property
    def budget(self) -> Guarantee:
        """The total budget."""
        return self._budget.total

    @property
    def spent(self) -> Guarantee:
        """The sum of the charges, rounded up."""
        return self._budget.guarantee(self._units)

    @property
    def remaining(self) -> Guarantee:
        """The remaining budget, rounded down.

        A Rényi order at which the budget is exhausted has the value 0.
        """
        return self._budget.left(self._units)

    @property
    def total(self) -> Guarantee:
        """Composition of all charges, if they were fixed in advance."""
        return compose((guarantee, 1) for guarantee in self._guarantees)

    def admits(self, guarantee: Guarantee) -> bool:
        """Return True if the remaining budget allows `guarantee`."""
        try:
            charge = self._budget.charge(guarantee)
        except LedgerRefused:
            return False
        return self._budget.admits(self._units, charge)

    def spend(self, guarantee: Guarantee) -> Guarantee:
        """Charge `guarantee` and return the remaining budget.

        If the budget does not suffice, the method raises LedgerRefused and charges nothing.
        """
        charge = self._budget.charge(guarantee)
        if not self._budget.admits(self._units, charge):
            remaining = rounded_left(self._budget.in_words(self._units)[1], self.budget)
            raise LedgerRefused(
                f"{rounded_up(guarantee)} exceeds the budget: {remaining} of {rounded_up(self.budget)} is left.",
                "Request a smaller guarantee.",
            )
        self._units = tuple(a + b for a, b in zip(self._units, charge, strict=True))
        self._guarantees.append(guarantee)
        return self.remaining
