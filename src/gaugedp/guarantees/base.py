"""What a guarantee answers: its Rényi curve, its privacy profile, its cost in a ledger's accounting."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Literal

from gaugedp._validate import between, non_negative, one_of, whole
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.bound import Bound
from gaugedp.guarantees.losses.base import Pair

Accounting = Literal["pure", "approx", "zcdp", "gaussian", "renyi", "best_order"]
Cost = tuple[Fraction, ...]
Method = Literal["basic", "advanced", "rdp", "tight"]
METHODS = ("basic", "advanced", "rdp", "tight")


class Guarantee(ABC):
    """An upper bound on what a release tells about one unit, whatever the data, the unit and the attacker.

    For neighbouring tables with output laws P and Q, in both orders:
    `renyi(order)` ≥ D_order(P‖Q); `delta(epsilon)` ≥ sup_S P(S) − e^epsilon·Q(S);
    `epsilon(delta)` is an ε with `delta(ε)` ≤ delta. Every number returned is rounded towards more privacy loss.
    `g + h` and `k * g` compose releases of the same rows, also when the later is chosen after seeing the earlier.
    """

    accounting: ClassVar[Accounting | None] = None
    pair_has_curve: ClassVar[bool] = True  # the pair's Rényi curve is the guarantee's own

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence of `order` in [1, ∞], in nats; infinity where there is none."""

    @abstractmethod
    def pair(self, remove: bool) -> Pair | None:
        """Return the pair of laws that dominates the mechanism; None where only the Rényi curve is known.

        `remove`: P is the law with the unit, Q without; else the reverse. Where neighbours are symmetric both are
        the same pair.
        """

    @abstractmethod
    def cost(self, accounting: Accounting) -> Cost | None:
        """Return what a budget in `accounting` is charged: numbers that add up under composition; None if it cannot be.

        Accounting is "pure" (ε); "approx" (ε, δ), basic composition; "zcdp" (ρ); "gaussian" (μ²). Each sum is valid
        also when parameters are chosen after earlier answers were seen; see docs/theory/budgets.md for the theorems.
        """

    @abstractmethod
    def group(self, size: int) -> "Guarantee":
        """Return the guarantee to a group of `size` units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as JSON can hold it; `gaugedp.guarantees.from_dict` reads it back equal."""

    def follows_from(self, other: "Guarantee") -> bool:
        """Whether all that keeps `other` keeps this guarantee too; False where no rule here shows it.

        A cost is itself a guarantee in its accounting, so the costs of both are compared.
        """
        if self == other or self.accounting is None:
            return self == other
        own, others = self.cost(self.accounting), other.cost(self.accounting)
        return own is not None and others is not None and all(a <= b for a, b in zip(others, own, strict=True))

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return the profile of a single release where it has a closed form, rounded up."""
        return None

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return the inverse of `exact_delta` where it has a closed form, rounded up."""
        return None

    def components(self) -> "Iterable[tuple[Guarantee, int]]":
        """Return the single guarantees and how often each is made."""
        return ((self, 1),)

    def delta(self, epsilon: float, method: Method | None = None) -> Bound:
        """Return the least provable δ such that the release is (`epsilon`, δ)-DP, for `epsilon` ≥ 0.

        `method` is "basic", "advanced", "rdp" or "tight"; None takes the least. The answer names the method that won.
        """
        from gaugedp.guarantees.accountant.rules import least_delta

        check_epsilon(epsilon)
        check_method(method)
        return least_delta(self, float(epsilon), method)

    def epsilon(self, delta: float, method: Method | None = None) -> Bound:
        """Return the least provable ε such that the release is (ε, `delta`)-DP, for 0 ≤ `delta` ≤ 1.

        Infinity where there is none. `method` as for `delta`; "tight" falls back to "rdp" where a part has a Rényi
        curve only, and says so.
        """
        from gaugedp.guarantees.accountant.rules import least_epsilon

        check_delta(delta)
        check_method(method)
        return least_epsilon(self, float(delta), method)

    def __add__(self, other: "Guarantee") -> "Guarantee":
        from gaugedp.guarantees.composed import compose

        if not isinstance(other, Guarantee):
            return NotImplemented
        return compose([(self, 1), (other, 1)])

    def __radd__(self, other: object) -> "Guarantee":
        if other == 0 and not isinstance(other, Guarantee):  # the start of sum()
            return self
        return NotImplemented

    def __mul__(self, count: int) -> "Guarantee":
        from gaugedp.guarantees.composed import compose

        whole(minimum=0, count=count)
        return compose([(self, int(count))])

    __rmul__ = __mul__


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε for which a profile has no meaning."""
    non_negative(epsilon=epsilon)


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1]."""
    if delta not in (0, 1) or isinstance(delta, bool):
        between(0, 1, delta=delta)


def check_order(order: float) -> None:
    """Refuse an order at which the Rényi divergence is not defined here."""
    if isinstance(order, bool) or not isinstance(order, Real) or not order >= 1:
        raise InvalidRequest(f"order is {order!r}.", "Give order as a number of at least 1, or infinity.")


def check_method(method: str | None) -> None:
    """Refuse a method that does not exist."""
    if method is not None:
        one_of(METHODS, method=method)


def at_order(order: float, first: float, last: float, between_them: float | None = None) -> float:
    """Return what stands at order 1, at infinity, or in between."""
    if order == 1:
        return first
    if math.isinf(order):
        return last
    assert between_them is not None
    return between_them
