"""An (ε, δ) budget spent through Rényi curves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gaugedp._numbers import exact
from gaugedp._validate import between, positive
from gaugedp.accountant.part import Accounting
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.same_as import SameAs

ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0)


@dataclass(frozen=True, eq=True)
class RenyiBudget(SameAs, Guarantee, kind="BestOrder"):
    """An (ε, δ)-DP budget: Rényi curves are added at m `orders`, and one sum at least must stay within its bound.

    The bound at order a (`capacity`) converts to (ε, δ/m), and a union bound over the orders gives δ:
    docs/theory/budgets.md. Guarantees may be chosen after earlier answers were seen.
    """

    epsilon_value: float
    delta_value: float
    orders: tuple[float, ...]
    accounting: ClassVar[Accounting | None] = "best_order"

    def __init__(self, epsilon: float, delta: float, orders: Sequence[float] = ORDERS) -> None:
        positive(epsilon=epsilon)
        between(0, 1, delta=delta)
        if epsilon > 1e9:
            raise InvalidRequest(f"epsilon is {epsilon!r}.", "Give an epsilon of at most 1e9.")
        ascending = tuple(sorted(float(order) for order in orders))
        if (
            not ascending
            or len(set(ascending)) < len(ascending)
            or not all(1 < order < math.inf for order in ascending)
        ):
            raise InvalidRequest("The orders are not distinct finite numbers above 1.", "Give them like [2, 8, 32].")
        object.__setattr__(self, "epsilon_value", float(epsilon))
        object.__setattr__(self, "delta_value", float(delta))
        object.__setattr__(self, "orders", ascending)

    @property
    def capacity(self) -> tuple[float, ...]:
        """Return the largest divergence at each order that is (ε, δ/m)-DP, rounded down; below 0 where none is."""
        share = math.log(self.delta_value / len(self.orders))
        return tuple(
            (self.epsilon_value - math.log1p(-1 / a) + (share + math.log(a)) / (a - 1)) - 1e-12 * (1 - share / (a - 1))
            for a in self.orders
        )

    @property
    def equivalent(self) -> ApproxDP:
        """(ε, δ)-DP."""
        return ApproxDP(self.epsilon_value, self.delta_value)

    def follows_from(self, premise: Guarantee) -> bool:
        """Whether (ε, δ) follows."""
        return self.equivalent.follows_from(premise)

    def __repr__(self) -> str:
        return f"RenyiBudget({exact(self.epsilon_value)}, {exact(self.delta_value)})"
