"""Gaussian differential privacy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above_either, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_epsilon
from gaugedp.guarantees.losses.gaussian import GaussianPrivacyLoss
from gaugedp.guarantees.pure import pure_cost


@dataclass(frozen=True, eq=True, repr=False)
class GaussianDP(Guarantee):
    """Gaussian differential privacy, μ-GDP.

    Use it to account for releases with Gaussian noise. It describes such noise exactly, so it usually allows more
    releases than adding up the ε and δ of each. The number μ ≥ 0 has a simple meaning: to tell from the output whether
    one unit's data was used is at least as hard as to tell the normal distributions N(0, 1) and N(μ, 1) apart by one
    draw.

    Parameters
    ----------
    mu : float
        The number μ, at least 0. A smaller μ protects more.

    Notes
    -----
    Let Δ be the largest ℓ₂ norm of a change of the answers by one unit. Gaussian noise with standard deviation σ
    satisfies μ-GDP with μ = Δ/σ, and with no smaller μ (Dong, Roth and Su 2022, theorem 2.7 and corollary 2.13).

    Examples
    --------
    A release with μ = 1 has ε = 4.89 at δ = 10⁻⁶:

    >>> from gaugedp.guarantees import GaussianDP
    >>> round(GaussianDP(1).epsilon(1e-6), 2)
    4.89
    """

    mu: float
    accounting: ClassVar[Accounting | None] = "gaussian"

    def __post_init__(self) -> None:
        non_negative(mu=self.mu)
        self._set(mu=float(self.mu))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence: order·μ²/2."""
        check_order(order)
        if math.isinf(order):
            return math.inf if self.mu else 0.0
        return above_either(*(read(order) * read(self.mu) ** 2 / 2 for read in (decimal, Fraction)))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the pair of N(μ, 1) and N(0, 1)."""
        return Pair(GaussianPrivacyLoss, (self.mu,)) if self.mu <= LARGEST_LOSS else None

    def exact_delta(self, epsilon: float) -> float:
        """Return the exact δ at `epsilon`, rounded up.

        It is Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), where Φ is the normal distribution function.
        """
        return gaussian_delta(self.mu, epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return the exact ε at `delta`.

        It is infinite at `delta` = 0, unless μ = 0.
        """
        if self.mu == 0:
            return 0.0
        return math.inf if delta == 0 else gaussian_epsilon(self.mu, delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge to a budget in `accounting`, or None.

        It is μ² in "gaussian" and μ²/2 in "zcdp". Other budgets cannot be charged if μ > 0.
        """
        square = decimal(self.mu) ** 2
        match accounting:
            case "gaussian":
                return (square,)
            case "zcdp":
                return (square / 2,)
        return None if self.mu > 0 else pure_cost(Fraction(0), 0.0, accounting)

    def _group(self, size: int) -> "GaussianDP":
        """Return (size·μ)-GDP (Dong, Roth and Su 2022, theorem 2.14)."""
        return GaussianDP(up_decimal(size * decimal(self.mu)))
