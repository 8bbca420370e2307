"""Gaussian differential privacy: the exact curve of Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import scipy

from gaugedp._validate import between, decimal, non_negative, positive, whole
from gaugedp.guarantees.base import Currency, Guarantee, Price, check_delta, check_epsilon, check_order, up, up_decimal


@dataclass(frozen=True, eq=True)
class GaussianDP(Guarantee):
    """μ-GDP: the neighbours are no easier to tell apart than N(0, 1) and N(μ, 1).

    Gaussian noise of standard deviation σ on an answer of ℓ₂ sensitivity Δ has μ = Δ/σ, and this is exact
    (Dong, Roth and Su 2022, theorem 2.7; the profile is theirs in corollary 2.13).
    """

    mu: float
    currency: ClassVar[Currency | None] = "gaussian"

    def __post_init__(self) -> None:
        non_negative(mu=self.mu)
        object.__setattr__(self, "mu", float(self.mu))

    def renyi(self, order: float) -> float:
        """Return order·μ²/2."""
        check_order(order)
        return up(order * self.mu * self.mu / 2)

    def delta(self, epsilon: float) -> float:
        """Return Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), ε = `epsilon`, rounded up."""
        check_epsilon(epsilon)
        return gaussian_delta(self.mu, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the least ε with profile at most `delta`, rounded up; infinity at `delta` = 0 and μ > 0."""
        check_delta(delta)
        if self.mu == 0:
            return 0.0
        return math.inf if delta == 0 else _least_epsilon(self.mu, delta)

    def price(self, currency: Currency) -> Price | None:
        """Return μ² in "gaussian" and μ²/2 in "zcdp"; nothing in the others for μ > 0."""
        square = decimal(self.mu) ** 2
        match currency:
            case "gaussian":
                return (square,)
            case "zcdp":
                return (square / 2,)
        if self.mu > 0:
            return None
        return (Fraction(0), Fraction(0)) if currency == "approx" else (Fraction(0),)

    def group(self, size: int) -> "GaussianDP":
        """Return (size·μ)-GDP (Dong, Roth and Su 2022, theorem 2.14)."""
        whole(minimum=1, size=size)
        return GaussianDP(up_decimal(size * decimal(self.mu)))

    def to_dict(self) -> dict[str, Any]:
        """Return {"kind": "GaussianDP", "mu": μ}."""
        return {"kind": "GaussianDP", "mu": self.mu}

    def __repr__(self) -> str:
        return f"GaussianDP({self.mu:g})"


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP, rounded up.

    With x = ε/μ − μ/2, e^ε·φ(x + μ) = φ(x), so δ = φ(x)·(m(x) − m(x + μ)) with Mills' ratio m; this keeps its
    relative accuracy far into the tail, where the printed difference of normal tails cancels.
    """
    if mu == 0:
        return 0.0
    x = epsilon / mu - mu / 2
    if x < -5:
        lost = math.exp(epsilon + float(scipy.special.log_ndtr(-x - mu)))
        return min(1.0, up(float(scipy.special.ndtr(-x)) - lost + 2.0**-50))
    height = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    delta = up(height * _mills_drop(x, mu), relative=2.0**-45 * (1 + x * x))
    return min(1.0, max(delta, math.ulp(0.0)))  # an underflow is not a promise of pure privacy


def _mills_drop(x: float, width: float) -> float:
    """Return an upper bound on m(x) − m(x + width): the rounded difference, or width·|m′(x)| where it cancels.

    m is convex and |m′(x)| = 1 − x·m(x), which is at most 1/(1 + x²) for x > 0.
    """
    near, far = _mills(x), _mills(x + width)
    slope = 1 - x * near + 2.0**-48 * (1 + abs(x) * near)
    if x > 0:
        slope = min(slope, 1 / (1 + x * x))
    return min(near - far + 2.0**-48 * near, width * slope)


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(scipy.special.erfcx(x / math.sqrt(2)))


def _least_epsilon(mu: float, delta: float) -> float:
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    return _bisect(low, high, lambda epsilon: gaussian_delta(mu, epsilon) > delta)[1]


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ, rounded down, whose profile is at most `delta` at `epsilon`.

    This calibrates Gaussian noise exactly for every ε ≥ 0 and 0 < δ < 1 (Balle and Wang 2018, theorem 8).
    """
    non_negative(epsilon=epsilon)
    between(0, 1, delta=delta)
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    return _bisect(0.0, high, lambda mu: gaussian_delta(mu, epsilon) <= delta)[0]


def gaussian_std(epsilon: float, delta: float, sensitivity: float = 1.0, count: int = 1) -> float:
    """Return the least σ, rounded up, with which `count` Gaussian answers together are (`epsilon`, `delta`)-DP.

    `sensitivity` is the ℓ₂ sensitivity of each answer; together they are (√count·Δ/σ)-GDP.
    """
    positive(sensitivity=sensitivity)
    whole(minimum=1, count=count)
    return up(sensitivity * math.sqrt(count) / gaussian_mu(epsilon, delta))


def _bisect(low: float, high: float, is_low: Any) -> tuple[float, float]:
    """Return neighbouring floats around the place where the monotone `is_low` changes from True to False."""
    while True:
        middle = low + (high - low) / 2
        if middle in (low, high):
            return low, high
        low, high = (middle, high) if is_low(middle) else (low, middle)
