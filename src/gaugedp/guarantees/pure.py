"""Pure differential privacy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import scipy

from gaugedp._internal.validate import decimal, non_negative
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.response import ResponsePrivacyLoss


@dataclass(frozen=True, eq=True, repr=False)
class PureDP(Guarantee):
    """Pure differential privacy, ε-DP.

    It is the strongest and simplest guarantee: the data of one unit, such as a person, changes the probability of any
    output by at most a factor of e^ε. Use it as the guarantee of a release or as the budget of a ledger.

    Parameters
    ----------
    epsilon_value : float
        The privacy parameter ε, at least 0. A smaller ε protects more.

    Notes
    -----
    Of all mechanisms with ε-DP, randomized response reveals most (Kairouz, Oh and Viswanath 2015). Conversions to other
    guarantees are therefore computed for randomized response.

    Examples
    --------
    The ε of two releases add up, here to 1 + 2 = 3:

    >>> from gaugedp.guarantees import PureDP
    >>> round((PureDP(1) + PureDP(2)).epsilon(0), 6)
    3.0
    """

    epsilon_value: float
    accounting: ClassVar[Accounting | None] = "pure"

    def __post_init__(self) -> None:
        non_negative(epsilon=self.epsilon_value)
        self._set(epsilon_value=float(self.epsilon_value))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order `order`.

        With a = `order`, p = e^ε/(1+e^ε) and q = 1−p it is log(p^a·q^(1−a) + q^a·p^(1−a))/(a−1), and ε·tanh(ε/2) at
        order 1.
        """
        check_order(order)
        loss, largest = self.epsilon_value, above(decimal(self.epsilon_value))
        if order == 1:
            return min(largest, up(loss * math.tanh(loss / 2)) or math.ulp(0.0)) if loss else 0.0
        if math.isinf(order):
            return largest
        if loss < 1e-150:  # the parabola is the curve, and logarithms would underflow
            return min(largest, up(order * loss * loss / 2) or math.ulp(0.0)) if loss else 0.0
        # the sum is cosh((a − 1/2)ε)/cosh(ε/2) = 1 + 2·sinh(aε/2)·sinh((a − 1)ε/2)/cosh(ε/2): nothing cancels
        excess = _log_sinh(order * loss / 2) + _log_sinh((order - 1) * loss / 2) - _log_sinh(loss / 2)
        excess += math.log(2 * math.tanh(loss / 2))
        total = math.log1p(math.exp(excess)) if excess < 30 else excess + math.exp(-excess)
        return min(largest, up(order * loss * loss / 2), up(total / (order - 1), relative=2.0**-41))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return randomized response."""
        return response_pair(self.epsilon_value)

    def exact_delta(self, epsilon: float) -> float:
        """Return the exact δ: max(0, (e^ε − e^`epsilon`)/(1 + e^ε))."""
        if epsilon >= self.epsilon_value:
            return 0.0
        gap = self.epsilon_value - epsilon + 2.0**-52 * self.epsilon_value  # so that both may be read as decimals
        return min(1.0, up(-math.expm1(-gap) / (1 + math.exp(-self.epsilon_value))))

    def exact_epsilon(self, delta: float) -> float:
        """Return the exact ε at `delta`.

        It is log(e^ε − delta·(1 + e^ε)), or 0.
        """
        if delta == 0:
            return self.epsilon_value
        lost = delta * math.exp(-self.epsilon_value)
        ratio = (1 - delta) - lost + 2.0**-50 * lost  # 1 − δ·(1 + e^−ε), rounded up
        if ratio <= 0:
            return 0.0
        return min(self.epsilon_value, max(0.0, up(self.epsilon_value + math.log(ratio) + 2.0**-49)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge to a budget in `accounting`.

        It is ε in "pure"; (ε, 0) in "approx"; ε²/2 in "zcdp"; (2Φ⁻¹(e^ε/(1+e^ε)))² in "gaussian", where Φ is the normal
        distribution function. Proofs: docs/theory/budgets.md.
        """
        return pure_cost(decimal(self.epsilon_value), self.epsilon_value, accounting)

    def _group(self, size: int) -> "PureDP":
        """Return (size·ε)-DP."""
        return PureDP(up_decimal(size * decimal(self.epsilon_value)))


def pure_cost(exact: Fraction, epsilon: float, accounting: Accounting) -> Cost | None:
    """Return the cost of ε-DP, for the `exact` ε ≤ `epsilon`."""
    match accounting:
        case "pure":
            return (exact,)
        case "approx":
            return (exact, Fraction(0))
        case "zcdp":
            return (exact**2 / 2,)
        case "gaussian":
            return (_gaussian_square(epsilon),)
    return None


def _gaussian_square(epsilon: float) -> Fraction:
    """Return an upper bound on μ² with ε-DP ⇒ μ-GDP: the trade-off curve of μ passes through the vertex of ε's."""
    if epsilon < 1e-6:  # Φ⁻¹(1/2 + t) ≤ √(2π)·t·(1 + 2t²), t ≤ ε/4, so μ² ≤ (π/2)·ε²·(1 + ε²)
        exact = max(decimal(epsilon), Fraction(epsilon))
        return exact**2 * Fraction(15707963267948967, 10**16) * (1 + exact**2)  # π/2, rounded up
    log_vertex = -epsilon - math.log1p(math.exp(-epsilon))
    mu = abs(2 * float(scipy.special.ndtri_exp(log_vertex)))
    if epsilon < 1:  # digits cancel: a Newton step for 2·artanh(erf(μ/√8)) = ε restores them
        share = math.erf(mu / math.sqrt(8))
        slope = math.exp(-mu * mu / 8) / (math.sqrt(math.pi / 2) * (1 - share * share))
        mu -= (2 * math.atanh(share) - epsilon) / slope
    return decimal(up(mu, relative=2.0**-44 if epsilon < 500 else 1e-9)) ** 2


def response_pair(epsilon: float) -> Pair | None:
    """Return the pair of randomized response at `epsilon`."""
    return Pair(ResponsePrivacyLoss, (epsilon,)) if epsilon <= LARGEST_LOSS else None


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)
