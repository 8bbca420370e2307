"""What a promise answers: its Rényi curve, its privacy profile, its price in a ledger's currency."""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal

from gaugedp._validate import between, decimal, non_negative, whole

Currency = Literal["pure", "approx", "zcdp", "gaussian"]
Price = tuple[Fraction, ...]
LARGEST = Fraction(math.nextafter(math.inf, 0))
_ROOT_BITS = 1200  # roots of the least floats keep all their digits


class Guarantee(ABC):
    """An upper bound on what a release tells about one unit, whatever the data, the unit and the attacker.

    For neighbouring tables with output laws P and Q, in both orders:
    `renyi(order)` ≥ D_order(P‖Q); `delta(epsilon)` ≥ sup_S P(S) − e^epsilon·Q(S);
    `epsilon(delta)` is an ε with `delta(ε)` ≤ delta. Every number returned is rounded towards more privacy loss.
    `g + h` and `k * g` compose releases of the same rows, also when the later is chosen after seeing the earlier.
    """

    currency: ClassVar[Currency | None] = None

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Return an upper bound on the Rényi divergence of `order` > 1, in nats (infinity where there is none)."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return a δ such that the release is (`epsilon`, δ)-DP, for `epsilon` ≥ 0."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return an ε such that the release is (ε, `delta`)-DP, for 0 ≤ `delta` < 1; infinity where there is none."""

    @abstractmethod
    def price(self, currency: Currency) -> Price | None:
        """Return what a budget in `currency` is charged: numbers that add up under composition; None if it cannot be.

        The currencies: "pure" (ε); "approx" (ε, δ), basic composition; "zcdp" (ρ); "gaussian" (μ²). Each sum is valid
        also when parameters are chosen after earlier answers were seen; see docs/theory/budgets.md for the theorems.
        """

    @abstractmethod
    def group(self, size: int) -> "Guarantee":
        """Return the promise to a group of `size` units."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the promise as JSON can hold it; `gaugedp.guarantees.from_dict` reads it back equal."""

    def __add__(self, other: "Guarantee") -> "Guarantee":
        from gaugedp.guarantees.composed import compose

        return compose([(self, 1), (other, 1)])

    def __mul__(self, count: int) -> "Guarantee":
        from gaugedp.guarantees.composed import compose

        whole(minimum=0, count=count)
        return compose([(self, int(count))])

    __rmul__ = __mul__


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε for which a profile has no meaning."""
    non_negative(epsilon=epsilon)


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1)."""
    if delta != 0:
        between(0, 1, delta=delta)


def check_order(order: float) -> None:
    """Refuse an order at which the Rényi divergence is not defined here."""
    between(1, math.inf, order=order)


def up(value: float, relative: float = 2.0**-48) -> float:
    """Return `value` raised by a `relative` slack that covers the rounding of a few operations."""
    return value if value == 0 else math.nextafter(value * (1 + relative), math.inf)


def up_decimal(exact: Fraction) -> float:
    """Return the least float whose decimal is at least `exact` (a float means the decimal that prints as it)."""
    if exact > LARGEST:
        return math.inf
    value = float(exact)
    return value if decimal(value) >= exact else math.nextafter(value, math.inf)


def down_decimal(exact: Fraction) -> float:
    """Return the largest float whose decimal is at most `exact`."""
    value = float(min(exact, LARGEST))
    return value if decimal(value) <= exact else math.nextafter(value, -math.inf)


def root_decimal(square: Fraction, towards: float) -> float:
    """Return the float nearest to the root of `square` whose decimal lies on the side `towards`: 0 or infinity."""
    root = float(min(Fraction(math.isqrt(int(square * 4**_ROOT_BITS)), 2**_ROOT_BITS), LARGEST))
    while (decimal(root) ** 2 - square) * (1 if towards else -1) < 0:
        root = math.nextafter(root, towards)
    return root
