"""Budget comparison: the one place that says whether a promise still fits."""

import math
from collections.abc import Callable
from fractions import Fraction

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Currency, Guarantee, down_decimal, root_decimal, up_decimal
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP

UNITS = 10**30  # prices are counted in whole units of 1e-30, always rounded against the spender

_ASK = {
    "pure": "Ask with epsilon alone",
    "approx": "Ask with epsilon, or epsilon and delta",
    "zcdp": "Ask with rho, or with epsilon alone",
    "gaussian": "Ask with mu, or with epsilon alone",
}


class Budget:
    """A budget and how promises are charged to it, in whole units.

    Charges are rounded up and the capacity down, so the sum of the charges never exceeds the promise made by the
    budget, also when each promise is chosen after seeing the earlier answers.
    """

    def __init__(self, total: Guarantee) -> None:
        price = None if total.currency is None else total.price(total.currency)
        if total.currency is None or price is None:
            raise InvalidRequest(f"{total!r} is not a budget.", "Use PureDP, ApproxDP, ZCDP or GaussianDP.")
        self.total = total
        self.currency: Currency = total.currency
        self.capacity = tuple(math.floor(number * UNITS) for number in price)
        if min(self.capacity) == 0:
            raise InvalidRequest(
                f"The budget {total!r} is empty.", "Give numbers of at least 1e-30 (PureDP where delta is 0)."
            )

    @property
    def nothing(self) -> tuple[int, ...]:
        """The charge of having spent nothing."""
        return (0,) * len(self.capacity)

    def charge(self, *promises: Guarantee) -> tuple[int, ...]:
        """Return the charge of the first of `promises` that has a price in this budget's currency."""
        for promise in promises:
            price = promise.price(self.currency)
            if price is not None and min(price) >= 0:
                return tuple(math.ceil(number * UNITS) for number in price)
        raise LedgerRefused(
            f"A budget of {self.total!r} cannot be charged for {promises[0]!r}.", f"{_ASK[self.currency]}."
        )

    def admits(self, spent: tuple[int, ...], charge: tuple[int, ...]) -> bool:
        """Whether `charge` still fits after `spent`."""
        return all(a + b <= c for a, b, c in zip(spent, charge, self.capacity, strict=True))

    def promise(self, units: tuple[int, ...]) -> Guarantee:
        """Return the promise that a sum of charges amounts to, in the budget's own kind, rounded up."""
        return self._promise(units, up_decimal, math.inf)

    def left(self, spent: tuple[int, ...]) -> Guarantee:
        """Return what is left after `spent`, rounded down."""
        units = tuple(max(0, c - s) for c, s in zip(self.capacity, spent, strict=True))
        return self._promise(units, down_decimal, 0.0)

    def _promise(self, units: tuple[int, ...], rounded: Callable[[Fraction], float], towards: float) -> Guarantee:
        exact = [Fraction(number, UNITS) for number in units]
        numbers = [rounded(number) for number in exact]
        match self.currency:
            case "pure":
                return PureDP(numbers[0])
            case "approx":
                return ApproxDP(numbers[0], numbers[1])
            case "zcdp":
                return ZCDP(numbers[0])
            case "gaussian":
                return GaussianDP(root_decimal(exact[0], towards))
