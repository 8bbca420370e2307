"""The protocol between the accountant and a guarantee."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Literal

from gaugedp.accountant.loss import Pair

Accounting = Literal["pure", "approx", "zcdp", "gaussian", "renyi", "best_order"]
Cost = tuple[Fraction, ...]


class Part(ABC):
    """A guarantee as the accountant sees it: its Rényi curve, its dominating pair, its costs and closed forms."""

    is_chain: ClassVar[bool] = False  # a guarantee to a group, along a chain of neighbours

    @property
    def pair_has_curve(self) -> bool:
        """Return whether the pair's Rényi curve is the guarantee's own."""
        return True

    @property
    def pair_is_least(self) -> bool:
        """Return whether the pair's profile is the guarantee's own, not one above it."""
        return True

    @property
    def n_units(self) -> int:
        """The number of units, added or removed, in which the tables of a pair differ."""
        return 1

    @abstractmethod
    def components(self) -> "Iterable[tuple[Part, int]]":
        """Return the single guarantees and how often each is made."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence of `order` in [1, ∞], in nats; infinity where there is none."""

    @abstractmethod
    def cost(self, accounting: Accounting) -> Cost | None:
        """Return what a budget in `accounting` is charged: numbers that add up under composition; None if it cannot be.

        Accounting is "pure" (ε); "approx" (ε, δ), basic composition; "zcdp" (ρ); "gaussian" (μ²). Each sum is valid
        also when parameters are chosen after earlier answers were seen; see docs/theory/budgets.md for the theorems.
        """

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the pair of laws that dominates the mechanism; None where only the Rényi curve is known.

        P is the law with `removed` of the `n_units`, which Q is without, and Q that with the others. Symmetric
        neighbours have one pair for all.
        """
        return None

    def knots(self) -> tuple[float, ...]:
        """Return orders at which the Rényi curve bends."""
        return ()

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return the profile of a single release where it has a closed form, rounded up."""
        return None

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return the inverse of `exact_delta` where it has a closed form, rounded up."""
        return None

    def chain_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return a δ at `epsilon` along a chain of neighbours; None where the guarantee is not to a group."""
        return None

    def chain_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return an ε at `delta` along a chain of neighbours; None where the guarantee is not to a group."""
        return None
