"""Zero-concentrated differential privacy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above_either, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.pure import pure_cost


@dataclass(frozen=True, eq=True, repr=False)
class ZCDP(Guarantee):
    """Zero-concentrated differential privacy, ρ-zCDP.

    It is the usual guarantee for many releases with Gaussian noise, because the ρ of all releases simply add up. Use it
    as the budget of a ledger, or convert it to ε for a given δ with `epsilon(delta)`.

    Parameters
    ----------
    rho : float
        The number ρ, at least 0. A smaller ρ protects more.

    Notes
    -----
    The Rényi divergence of every order a > 1 between the outputs for two neighbouring tables is at most ρ·a (Bun and
    Steinke 2016, definition 1.1). Let Δ be the largest ℓ₂ norm of a change of the answers by one unit. Gaussian noise
    with standard deviation σ then satisfies the guarantee with ρ = Δ²/(2σ²).

    Examples
    --------
    Five releases with ρ = 0.1 together have ρ = 0.5, so both give ε = 5.22 at δ = 10⁻⁶:

    >>> from gaugedp.guarantees import ZCDP
    >>> round((5 * ZCDP(0.1)).epsilon(1e-6), 2), round(ZCDP(0.5).epsilon(1e-6), 2)
    (5.22, 5.22)
    """

    rho: float
    accounting: ClassVar[Accounting | None] = "zcdp"

    def __post_init__(self) -> None:
        non_negative(rho=self.rho)
        self._set(rho=float(self.rho))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence: ρ·order."""
        check_order(order)
        if math.isinf(order):
            return math.inf if self.rho else 0.0
        return above_either(decimal(self.rho) * decimal(order), Fraction(self.rho) * Fraction(order))

    def exact_epsilon(self, delta: float) -> float | None:  # noqa: ARG002
        """Return 0 if ρ = 0, else None."""
        return None if self.rho else 0.0

    def exact_delta(self, epsilon: float) -> float | None:  # noqa: ARG002
        """Return 0 if ρ = 0, else None."""
        return None if self.rho else 0.0

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return ρ in "zcdp", else None if ρ > 0."""
        if accounting == "zcdp":
            return (decimal(self.rho),)
        return None if self.rho > 0 else pure_cost(Fraction(0), 0.0, accounting)

    def _group(self, size: int) -> "ZCDP":
        """Return (size²·ρ)-zCDP (Bun and Steinke 2016, proposition 1.9)."""
        return ZCDP(up_decimal(size * size * decimal(self.rho)))
