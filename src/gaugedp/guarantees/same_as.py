"""Guarantees with the curves of another guarantee."""

from abc import abstractmethod

from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost, Part
from gaugedp.guarantees.base import Guarantee


class SameAs(Part):
    """Mixin that takes curves, costs and group guarantees from `equivalent`."""

    @property
    @abstractmethod
    def equivalent(self) -> Guarantee:
        """The guarantee with the same curves."""

    def renyi(self, order: float) -> float:
        """Return the Rényi curve of `equivalent`."""
        return self.equivalent.renyi(order)

    def dominating_pair(self, removed: int) -> Pair | None:
        """Return the pair of `equivalent`."""
        return self.equivalent.dominating_pair(removed)

    @property
    def n_units(self) -> int:
        """The units of `equivalent`."""
        return self.equivalent.n_units

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the profile of `equivalent`."""
        return self.equivalent.exact_delta(epsilon)

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the inverse of the profile of `equivalent`."""
        return self.equivalent.exact_epsilon(delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the cost of `equivalent`."""
        return self.equivalent.cost(accounting)

    def group(self, size: int) -> Guarantee:
        """Return the group guarantee of `equivalent`."""
        return self.equivalent.group(size)
