"""Exact guarantee of randomized response."""

from dataclasses import dataclass
from typing import ClassVar

from gaugedp._internal.validate import non_negative
from gaugedp.accountant.loss import Pair
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.pure import PureDP, response_pair
from gaugedp.guarantees.same_as import SameAs


@dataclass(frozen=True, eq=True, repr=False)
class RandomizedResponseLoss(SameAs, Guarantee):
    """Guarantee of randomized response on one bit.

    In randomized response, each person reports a bit, which is true with probability e^ε/(1 + e^ε). Its curves are the
    largest of all ε-DP mechanisms, so they equal those of `PureDP` (Kairouz, Oh and Viswanath 2015).
    """

    epsilon_value: float
    n_units: ClassVar[int] = 1
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        non_negative(epsilon=self.epsilon_value)
        self._set(epsilon_value=float(self.epsilon_value))

    @property
    def equivalent(self) -> PureDP:
        """The equivalent ε-DP guarantee.

        It also holds for groups, with one bit or one bit per unit.
        """
        return PureDP(self.epsilon_value)

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return randomized response, directly for speed."""
        return response_pair(self.epsilon_value)
