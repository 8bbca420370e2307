"""Rényi differential privacy at some orders."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gaugedp._internal.numbers import exact
from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.groups import doublings, group_factor
from gaugedp.guarantees.pure import PureDP


@dataclass(frozen=True, eq=True)
class RenyiDP(Guarantee):
    """Rényi differential privacy at one or several orders.

    Use it to account for a mechanism whose privacy you know as bounds on Rényi divergences, which many other
    accountants report. The Rényi divergence of order a measures how much the output distributions for two neighbouring
    tables differ. Larger orders give more weight to outputs that reveal a lot.

    Parameters
    ----------
    orders : float or sequence of float
        The orders a, each from 1 to infinity.
    values : float or sequence of float
        The upper bound on the divergence for each order, at least 0.

    Notes
    -----
    The guarantee is (a, value)-Rényi differential privacy for each order a (Mironov 2017, definition 4). Bounds at
    other orders are interpolated. This is correct because the divergence D_a increases with a and (a − 1)·D_a is convex
    in a (van Erven and Harremoës 2014, corollary 2).

    Examples
    --------
    A divergence of at most 0.5 at order 16 implies ε = 1.17 at δ = 10⁻⁶:

    >>> from gaugedp.guarantees import RenyiDP
    >>> round(RenyiDP(16, 0.5).epsilon(1e-6), 2)
    1.17
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]
    accounting: ClassVar[Accounting | None] = "renyi"

    def __init__(self, orders: Sequence[float] | float, values: Sequence[float] | float) -> None:
        listed = _listed(orders), _listed(values)
        if len(listed[0]) != len(listed[1]) or not listed[0]:
            raise InvalidRequest("The numbers of orders and values differ.", "Pass one value for each order.")
        for order, value in zip(*listed, strict=True):
            check_order(order)
            non_negative(value=value)
        if len(set(listed[0])) < len(listed[0]):
            raise InvalidRequest("An order is given twice.", "Pass each order once.")
        pairs = sorted((float(order), float(value)) for order, value in zip(*listed, strict=True))
        self._set(orders=tuple(order for order, _ in pairs), values=tuple(value for _, value in pairs))

    def renyi(self, order: float) -> float:
        """Return the least bound at `order`; infinity beyond all orders."""
        check_order(order)
        if 0 in self.values:  # the distributions are equal
            return 0.0
        above = [value for at, value in zip(self.orders, self.values, strict=True) if at >= order]
        if order in self.orders:
            return min(above)
        below = len(self.orders) - len(above)
        if not above or not below or math.isinf(self.orders[below]):
            return min(above, default=math.inf)
        return min(*above, self._chord(order, below - 1, below)) if above else math.inf

    def _chord(self, order: float, below: int, above: int) -> float:
        (a, b), (low, high) = ((row[below], row[above]) for row in (self.orders, self.values))
        line = ((b - order) * (a - 1) * low + (order - a) * (b - 1) * high) / (b - a)
        return up(line / (order - 1))

    def knots(self) -> tuple[float, ...]:
        """Return the orders."""
        return self.orders

    def follows_from(self, premise: Guarantee) -> bool:
        """Return True if `premise` satisfies every known order."""
        return all(premise.renyi(order) <= value for order, value in zip(self.orders, self.values, strict=True))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the cost of ε-DP at order ∞, or None."""
        largest = self.renyi(math.inf)
        return None if math.isinf(largest) else PureDP(largest).cost(accounting)

    def _group(self, size: int) -> "RenyiDP":
        """Return (a/2^c, f·value), 2^c ≥ `size`, with the sharp factor f, for all orders a > 2^c."""
        if size == 1 or 0 in self.values:
            return self
        steps = doublings(size)
        usable = [(a, value) for a, value in zip(self.orders, self.values, strict=True) if a > 2**steps or steps == 0]
        if not usable:
            what = f"A group of {size} needs bounds at orders above {2**steps}, and {self!r} has none."
            raise InvalidRequest(what, "Pass bounds at larger orders, or a smaller group.")
        factors = [size if math.isinf(a) else group_factor(a, steps) for a, _ in usable]
        values = [up_decimal(decimal(value) * Fraction(f)) for f, (_, value) in zip(factors, usable, strict=True)]
        return RenyiDP([a / 2**steps for a, _ in usable], values)

    def to_dict(self) -> dict[str, Any]:
        """Return the orders and values; an infinite order is "inf"."""
        orders = ["inf" if math.isinf(order) else order for order in self.orders]
        return {"kind": self.kind, "orders": orders, "values": list(self.values)}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "RenyiDP":
        """Return the guarantee; "inf" is the infinite order."""
        return cls([math.inf if order == "inf" else order for order in numbers["orders"]], numbers["values"])

    def __repr__(self) -> str:
        first = next((at for at, value in enumerate(self.values) if value > 0), 0)  # before it, all are 0
        pairs = zip(self.orders[first : first + 3], self.values[first:], strict=False)
        shown = [f"{exact(order)}: {exact(value)}" for order, value in pairs]
        return f"RenyiDP({{{', '.join(['…'] * (first > 0) + shown + ['…'] * (len(self.orders) > first + 3))}}})"


def _listed(numbers: Any) -> list[float]:
    if isinstance(numbers, str):
        raise InvalidRequest(f"{numbers!r} is not a sequence of numbers.", "Pass a list of numbers.")
    try:
        return list(numbers)
    except TypeError:
        return [numbers]
