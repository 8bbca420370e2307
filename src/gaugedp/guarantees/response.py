"""The exact curve of randomized response."""

from dataclasses import dataclass
from typing import Any

from gaugedp._validate import non_negative
from gaugedp.guarantees.base import Accounting, Cost, Guarantee
from gaugedp.guarantees.losses.base import Pair
from gaugedp.guarantees.pure import PureDP


@dataclass(frozen=True, eq=True)
class RandomizedResponseLoss(Guarantee):
    """Randomized response: a yes or no, told truly with probability e^ε/(1 + e^ε), ε = `epsilon_value`.

    It has the largest curves of all ε-DP mechanisms (Kairouz, Oh and Viswanath 2015), so they are those of PureDP.
    """

    epsilon_value: float

    def __post_init__(self) -> None:
        non_negative(epsilon=self.epsilon_value)
        object.__setattr__(self, "epsilon_value", float(self.epsilon_value))

    def renyi(self, order: float) -> float:
        """Return the curve of `PureDP`."""
        return PureDP(self.epsilon_value).renyi(order)

    def pair(self, remove: bool) -> Pair | None:
        """Return the pair of `PureDP`."""
        return PureDP(self.epsilon_value).pair(remove)

    def exact_delta(self, epsilon: float) -> float:
        """Return the profile of `PureDP`."""
        return PureDP(self.epsilon_value).exact_delta(epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return its inverse."""
        return PureDP(self.epsilon_value).exact_epsilon(delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return what ε-DP costs."""
        return PureDP(self.epsilon_value).cost(accounting)

    def group(self, size: int) -> PureDP:
        """Return (size·ε)-DP, whether one bit is told of the group or one of each unit."""
        return PureDP(self.epsilon_value).group(size)

    def to_dict(self) -> dict[str, Any]:
        """Return {"kind": "RandomizedResponseLoss", "epsilon": ε}."""
        return {"kind": "RandomizedResponseLoss", "epsilon": self.epsilon_value}

    def __repr__(self) -> str:
        return f"RandomizedResponseLoss({self.epsilon_value:.12g})"
