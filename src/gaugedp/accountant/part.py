"""Protocol between the accountant and a guarantee."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Literal

from gaugedp.accountant.loss import Pair

Accounting = Literal["pure", "approx", "zcdp", "gaussian", "renyi", "best_order"]
Cost = tuple[Fraction, ...]


class Part(ABC):
    """Guarantee as seen by the accountant."""

    is_chain: ClassVar[bool] = False  # True for a group guarantee along a chain of neighbours

    @property
    def pair_has_curve(self) -> bool:
        """True if the pair has the guarantee's own Rényi curve."""
        return True

    @property
    def pair_is_least(self) -> bool:
        """True if the pair has exactly the guarantee's own profile."""
        return True

    @property
    def n_units(self) -> int:
        """Number of units in which neighbouring tables differ."""
        return 1

    @abstractmethod
    def components(self) -> "Iterable[tuple[Part, int]]":
        """Return the single guarantees with their multiplicities."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence, in nats.

        `order` is in [1, ∞].
        """

    @abstractmethod
    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge to a budget in `accounting`, or None.

        Charges add up under composition. They are ε in "pure"; (ε, δ) in "approx", by basic composition; ρ in "zcdp";
        and μ² in "gaussian". Each sum is also valid if parameters depend on earlier answers: docs/theory/budgets.md.
        """

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the dominating pair of distributions P and Q.

        It is None if the pair is unknown. P has `removed` of the `n_units`, which Q lacks, and Q has the others. If
        neighbours are symmetric, there is only one pair.
        """
        return None

    def knots(self) -> tuple[float, ...]:
        """Return orders at which the Rényi curve bends."""
        return ()

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return the profile of one release, rounded up, or None."""
        return None

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return the inverse of `exact_delta`, rounded up, or None."""
        return None

    def chain_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return a δ along a chain of neighbours, for groups."""
        return None

    def chain_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return an ε along a chain of neighbours, for groups."""
        return None
