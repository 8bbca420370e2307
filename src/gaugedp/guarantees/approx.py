"""Approximate differential privacy."""

import math
from dataclasses import dataclass
from typing import ClassVar

from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.response import ResponsePrivacyLoss
from gaugedp.guarantees.pure import PureDP


@dataclass(frozen=True, eq=True, repr=False)
class ApproxDP(Guarantee):
    """Approximate differential privacy, (ε, δ)-DP.

    It relaxes pure differential privacy by a small number δ, by which a probability may exceed the bound that ε sets.
    This permits Gaussian noise, which is smaller than Laplace noise for many answers. The guarantee holds for one pair
    of ε and δ only. If you know more, prefer `GaussianDP` or `ZCDP`, which give a value of ε for every δ.

    Parameters
    ----------
    epsilon_value : float
        The privacy parameter ε, at least 0. A smaller ε protects more.
    delta_value : float
        The number δ, at least 0 and below 1. Choose it far below 1 divided by the number of people.

    Notes
    -----
    Neighbouring tables differ in the data of one unit, such as a person. An event that has probability P on one table
    has at most the probability e^ε·P + δ on any neighbouring table.

    Examples
    --------
    The guarantee states ε = 1 at its own δ, and nothing at a smaller δ:

    >>> from gaugedp.guarantees import ApproxDP
    >>> ApproxDP(1, 1e-6).epsilon(1e-6), ApproxDP(1, 1e-6).epsilon(1e-7)
    (1.0, inf)
    """

    epsilon_value: float
    delta_value: float
    accounting: ClassVar[Accounting | None] = "approx"

    def __post_init__(self) -> None:
        non_negative(epsilon=self.epsilon_value, delta=self.delta_value)
        if not self.delta_value < 1:
            raise InvalidRequest(f"`delta` is {self.delta_value!r}, but must be below 1.", "Pass a smaller number.")
        self._set(epsilon_value=float(self.epsilon_value), delta_value=float(self.delta_value))

    def renyi(self, order: float) -> float:
        """Return infinity if δ > 0, else the ε-DP curve."""
        check_order(order)
        return math.inf if self.delta_value > 0 else PureDP(self.epsilon_value).renyi(order)

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the pair of distributions that dominates (ε, δ)-DP.

        It is the pair of Kairouz, Oh and Viswanath (2015).
        """
        is_small = self.epsilon_value <= LARGEST_LOSS
        return Pair(ResponsePrivacyLoss, (self.epsilon_value,), decimal(self.delta_value)) if is_small else None

    def exact_delta(self, epsilon: float) -> float:
        """Return the profile of the dominating pair."""
        pure = PureDP(self.epsilon_value).exact_delta(epsilon)
        return self.delta_value if pure == 0 else min(1.0, up(self.delta_value + (1 - self.delta_value) * pure))

    def exact_epsilon(self, delta: float) -> float:
        """Return the least ε of the dominating pair."""
        if delta < self.delta_value:
            return math.inf
        exact_delta = decimal(self.delta_value)
        spare = float((decimal(delta) - exact_delta) / (1 - exact_delta))
        return PureDP(self.epsilon_value).exact_epsilon(max(0.0, spare * (1 - 2.0**-48)))

    def follows_from(self, premise: Guarantee) -> bool:
        """Return True if `premise` implies this guarantee.

        This is the case if the privacy profile of `premise` is at most δ at ε.
        """
        epsilon, delta = self.epsilon_value, self.delta_value
        return self == premise or premise.delta(epsilon) <= delta or premise.epsilon(delta) <= epsilon

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return (ε, δ) in "approx", else the cost of ε-DP."""
        if accounting == "approx":
            return (decimal(self.epsilon_value), decimal(self.delta_value))
        return None if self.delta_value > 0 else PureDP(self.epsilon_value).cost(accounting)

    def _group(self, size: int) -> "ApproxDP":
        """Return (kε, δ·Σ e^{jε} over j < k), k = `size`."""
        if size == 1:
            return self
        grown_epsilon = up_decimal(size * decimal(self.epsilon_value))
        if self.delta_value == 0:
            return ApproxDP(grown_epsilon, 0.0)
        growth = _geometric_sum(self.epsilon_value, size)
        grown = up(math.exp(min(0.0, math.log(self.delta_value) + growth)), relative=2.0**-40)
        if grown >= 1:
            raise InvalidRequest(
                f"The guarantee {self!r} for a group of {size} units would have a δ above 1, which protects nothing.",
                "Use a smaller group.",
            )
        return ApproxDP(grown_epsilon, grown)


def _geometric_sum(epsilon: float, size: int) -> float:
    """Return log of Σ_{j < size} e^{jε}."""
    if epsilon * size < 1e-9:
        return math.log(size) + epsilon * size
    return (size - 1) * epsilon + math.log(-math.expm1(-size * epsilon)) - math.log(-math.expm1(-epsilon))
