"""Zero-concentrated differential privacy with an offset."""

import math
from dataclasses import dataclass
from fractions import Fraction

from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above_either, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.pure import PureDP


@dataclass(frozen=True, eq=True, repr=False)
class OffsetZCDP(Guarantee):
    """Zero-concentrated differential privacy with an offset.

    Use it to account for a mechanism of another library that states two parameters, such as a `ZCDpEvent` of
    dp-accounting with xi above 0. The mechanisms of gaugedp need no offset: see `ZCDP`.

    Notes
    -----
    (ξ, ρ)-zCDP means that the Rényi divergence of every order a > 1 is at most ξ + ρ·a (Bun and Steinke 2016,
    definition 1.1).
    """

    rho: float
    xi: float

    def __post_init__(self) -> None:
        non_negative(rho=self.rho, xi=self.xi)
        self._set(rho=float(self.rho), xi=float(self.xi))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence: ξ + ρ·order."""
        check_order(order)
        if math.isinf(order):
            return math.inf if self.rho else self.xi
        return above_either(*(read(self.xi) + read(self.rho) * read(order) for read in (decimal, Fraction)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return ξ + ρ in "zcdp", else None.

        At ρ = 0 it is the charge of ξ-DP.
        """
        if not self.rho:
            return PureDP(self.xi).cost(accounting)
        return (decimal(self.xi) + decimal(self.rho),) if accounting == "zcdp" else None

    def _group(self, size: int) -> "OffsetZCDP":
        """Return (k·(1 + 1/2 + … + 1/k)·ξ, k²·ρ)-zCDP, k = `size` (Bun and Steinke 2016, proposition 1.9)."""
        harmonic = sum((Fraction(1, k) for k in range(1, size + 1)), Fraction(0))
        return OffsetZCDP(up_decimal(size * size * decimal(self.rho)), up_decimal(size * harmonic * decimal(self.xi)))
