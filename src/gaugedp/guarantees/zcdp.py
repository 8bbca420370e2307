"""Zero-concentrated differential privacy."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gaugedp._validate import decimal, non_negative, whole
from gaugedp.guarantees.base import Currency, Guarantee, Price, check_delta, check_epsilon, check_order, up, up_decimal
from gaugedp.guarantees.convert import renyi_to_delta, renyi_to_epsilon


@dataclass(frozen=True, eq=True)
class ZCDP(Guarantee):
    """ρ-zCDP: D_a(P‖Q) ≤ ρ·a for every order a > 1 (Bun and Steinke 2016, definition 1.1)."""

    rho: float
    currency: ClassVar[Currency | None] = "zcdp"

    def __post_init__(self) -> None:
        non_negative(rho=self.rho)
        object.__setattr__(self, "rho", float(self.rho))

    def renyi(self, order: float) -> float:
        """Return ρ·order."""
        check_order(order)
        return up(self.rho * order)

    def delta(self, epsilon: float) -> float:
        """Return the best δ over all real orders."""
        check_epsilon(epsilon)
        return 0.0 if self.rho == 0 else renyi_to_delta(self.renyi, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the best ε over all real orders."""
        check_delta(delta)
        return 0.0 if self.rho == 0 else renyi_to_epsilon(self.renyi, delta)

    def price(self, currency: Currency) -> Price | None:
        """Return ρ in "zcdp"; nothing else is implied for ρ > 0."""
        if currency == "zcdp":
            return (decimal(self.rho),)
        if self.rho > 0:
            return None
        return (Fraction(0), Fraction(0)) if currency == "approx" else (Fraction(0),)

    def group(self, size: int) -> "ZCDP":
        """Return (size²·ρ)-zCDP (Bun and Steinke 2016, proposition 1.9)."""
        whole(minimum=1, size=size)
        return ZCDP(up_decimal(size * size * decimal(self.rho)))

    def to_dict(self) -> dict[str, Any]:
        """Return {"kind": "ZCDP", "rho": ρ}."""
        return {"kind": "ZCDP", "rho": self.rho}

    def __repr__(self) -> str:
        return f"ZCDP({self.rho:.12g})"
