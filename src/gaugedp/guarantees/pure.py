"""Pure differential privacy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gaugedp._validate import decimal, non_negative, whole
from gaugedp.guarantees.base import Currency, Guarantee, Price, check_delta, check_epsilon, check_order, up


@dataclass(frozen=True, eq=True)
class PureDP(Guarantee):
    """ε-DP: no output is more than e^ε times likelier under one neighbour than under the other.

    Its curves are those of randomized response with the same ε, which dominates every ε-DP mechanism
    (Kairouz, Oh and Viswanath 2015).
    """

    value: float
    currency: ClassVar[Currency | None] = "pure"

    def __post_init__(self) -> None:
        non_negative(epsilon=self.value)
        object.__setattr__(self, "value", float(self.value))

    def renyi(self, order: float) -> float:
        """Return log(p^a·q^(1−a) + q^a·p^(1−a))/(a−1), a = `order`, p = e^ε/(1+e^ε), q = 1−p."""
        check_order(order)
        loss = self.value
        # p^a q^(1-a) = q·e^{aε} and q^a p^(1-a) = q·e^{(1-a)ε}, with log q = −log(1+e^ε)
        log_q = -loss - math.log1p(math.exp(-loss))
        top = order * loss
        total = log_q + top + math.log1p(math.exp((1 - 2 * order) * loss))
        return min(loss, order * loss * loss / 2, up(max(total, 0.0) / (order - 1)))

    def delta(self, epsilon: float) -> float:
        """Return max(0, (e^ε − e^`epsilon`)/(1 + e^ε))."""
        check_epsilon(epsilon)
        if epsilon >= self.value:
            return 0.0
        return min(1.0, up(-math.expm1(epsilon - self.value) / (1 + math.exp(-self.value))))

    def epsilon(self, delta: float) -> float:
        """Return the least ε at `delta`: log(e^ε − delta·(1 + e^ε)), or 0."""
        check_delta(delta)
        if delta == 0:
            return self.value
        ratio = 1 - delta * (1 + math.exp(-self.value))
        return 0.0 if ratio <= 0 else min(self.value, max(0.0, up(self.value + math.log(ratio) + 2.0**-50)))

    def price(self, currency: Currency) -> Price | None:
        """Return ε; (ε, 0); ε²/2; (2Φ⁻¹(e^ε/(1+e^ε)))²; the proofs are in docs/theory/budgets.md."""
        exact = decimal(self.value)
        match currency:
            case "pure":
                return (exact,)
            case "approx":
                return (exact, Fraction(0))
            case "zcdp":
                return (exact**2 / 2,)
            case "gaussian":
                return (_gaussian_square(self.value),)

    def group(self, size: int) -> "PureDP":
        """Return (size·ε)-DP."""
        whole(minimum=1, size=size)
        return PureDP(float(size * decimal(self.value)))

    def to_dict(self) -> dict[str, Any]:
        """Return {"kind": "PureDP", "epsilon": ε}."""
        return {"kind": "PureDP", "epsilon": self.value}

    def __repr__(self) -> str:
        return f"PureDP({self.value:.12g})"


def _gaussian_square(epsilon: float) -> Fraction:
    """Return an upper bound on μ² with ε-DP ⇒ μ-GDP: the trade-off curve of μ passes through the vertex of ε's."""
    if epsilon == 0:
        return Fraction(0)
    import scipy.special

    log_vertex = -epsilon - math.log1p(math.exp(-epsilon))
    return decimal(up((2 * float(scipy.special.ndtri_exp(log_vertex))) ** 2, relative=1e-9))
