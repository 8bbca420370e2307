"""Bounded range: the guarantee of the exponential mechanism."""

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import lru_cache

from gaugedp._validate import decimal, positive, whole
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.bounded_range import BoundedRangePrivacyLoss
from gaugedp.guarantees.pure import PureDP

_SMALL = 1e-16  # where ε, or 1/order, is below it the parabola and the plain ε are as good
_EXACT_ENOUGH, _TERMS = 2.0**-44, 13  # of the curve, for floats to do; of a series, for x below 2
_DIGITS = 30  # that stay, beside those that a small ε and an order near 1 cancel


@dataclass(frozen=True, eq=True, repr=False)
class ExponentialLoss(Guarantee):
    """ε-bounded range, ε = `epsilon_value`: losses of any two outputs differ by at most ε (Dong, Durfee, Rogers 2020).

    With Δ the sensitivity of the score, the exponential mechanism with weights e^{ε·score/(2Δ)} satisfies it. So does
    that with e^{ε·score/Δ} if all scores move the same way. It implies ε-DP and ε²/8-zCDP (Cesar and Rogers 2021, lemma
    3.2).
    """

    epsilon_value: float
    pair_has_curve = False

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon_value)
        object.__setattr__(self, "epsilon_value", float(self.epsilon_value))

    def renyi(self, order: float) -> float:
        """Return the largest over t in [0, ε] of the divergence of the pair with the losses t and t − ε.

        With l(x) = log(sinh(x)/x) it is (a·l(aε/2) − (a − 1)·l((a − 1)ε/2) − l(ε/2))/(a − 1), a = `order`
        (docs/theory/accountant.md); at order 1 the limit l(ε/2) + (ε/2)·coth(ε/2) − 1.
        """
        check_order(order)
        loss, largest = self.epsilon_value, _above(self.epsilon_value)
        parabola = up(order * loss * loss / 8) or math.ulp(0.0)
        if math.isinf(order) or loss < _SMALL or order > 1 / _SMALL:
            return min(largest, parabola)
        order = max(order, 1 + 1e-15)
        value, error = _curve_in_floats(order, loss)
        if error <= _EXACT_ENOUGH * value:
            return min(largest, parabola, up(value + error))
        with localcontext(Context(prec=_digits(order, loss), Emin=-(10**9), Emax=10**9)):
            exact = _curve(Decimal(order), Decimal(loss))
        return min(largest, parabola, up(float(exact)))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the pair with the profile of all mechanisms of range ε."""
        return Pair(BoundedRangePrivacyLoss, (self.epsilon_value,)) if self.epsilon_value <= LARGEST_LOSS else None

    def exact_delta(self, epsilon: float) -> float:
        """Return (1 − e^{(`epsilon` − ε)/2})²/(1 − e^{−ε}), or 0."""
        if epsilon >= self.epsilon_value:
            return 0.0
        gap = self.epsilon_value - epsilon + 2.0**-52 * self.epsilon_value  # so that both may be read as decimals
        root = math.expm1(-gap / 2)
        return min(1.0, up(root * (root / -math.expm1(-self.epsilon_value))))

    def exact_epsilon(self, delta: float) -> float:
        """Return ε + 2·log(1 − √(δ·(1 − e^{−ε}))), or 0."""
        root = math.sqrt(-delta * math.expm1(-self.epsilon_value))
        if root >= 1:
            return 0.0
        near_1 = (1 + delta * math.expm1(-self.epsilon_value)) / (1 + root)  # 1 − root, without cancelling
        lost = 2 * (math.log1p(-root) if root < 0.5 else math.log(near_1))
        return min(self.epsilon_value, max(0.0, up(self.epsilon_value + lost) + 2.0**-48 * (self.epsilon_value - lost)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return ε²/8 in "zcdp", else what ε-DP costs."""
        return (
            (decimal(self.epsilon_value) ** 2 / 8,)
            if accounting == "zcdp"
            else PureDP(self.epsilon_value).cost(accounting)
        )

    def group(self, size: int) -> "ExponentialLoss":
        """Return the range at `size` times the sensitivity."""
        whole(minimum=1, size=size)
        return ExponentialLoss(up_decimal(size * decimal(self.epsilon_value)))


@lru_cache
def _above(loss: float) -> float:
    return above(decimal(loss))


def _digits(order: float, loss: float) -> int:
    """Return what to reckon with: the result is a·h²/2 about, a = `order`, h = ε/2, and its terms are near 1 or a·h.

    1 − e^{−2x} loses the digits of x, of which (a − 1)·h is the least; the sum those of (a − 1)·h².
    """
    small = 3 * math.log10(min(1.0, loss / 2)) + 2 * math.log10(min(1.0, order - 1))
    return _DIGITS + math.ceil(math.log10(max(1.0, order * loss)) - small)


def _curve(order: Decimal, loss: Decimal) -> Decimal:
    half = loss / 2
    top = order * _log_sinhc(order * half) - (order - 1) * _log_sinhc((order - 1) * half) - _log_sinhc(half)
    return top / (order - 1)


def _curve_in_floats(order: float, loss: float) -> tuple[float, float]:
    """Return the same with a bound on its error: each of three terms is within 8 units in the last place, or within 16.

    The second is (a − 1)·(l(x) − l(y)), x = a·h, where y = (a − 1)·h is above 2: a·l(x) and (a − 1)·l(y) cancel there.
    """
    half, more = loss / 2, order - 1
    first, second, third = _log_sinhc_in_floats(order * half), more * half, _log_sinhc_in_floats(half)
    if second < 2:
        parts, units = (order * first, -more * _log_sinhc_in_floats(second), -third), 8
    else:
        rest = math.log1p(math.exp(-2 * second) * math.expm1(-loss) / math.expm1(-2 * second))
        parts, units = (first, more * (half - math.log1p(1 / more) + rest), -third), 16
    return math.fsum(parts) / more, units * 2.0**-53 * math.fsum(map(abs, parts)) / more


def _log_sinhc_in_floats(x: float) -> float:
    """Return log(sinh(x)/x): below 2 by the series, whose terms are above 0."""
    if x >= 2:
        return x + math.log(-math.expm1(-2 * x) / (2 * x))
    square, series = x * x, 1.0
    for k in range(_TERMS, 1, -1):
        series = 1 + series * square / (2 * k * (2 * k + 1))
    return math.log1p(series * square / 6)


def _log_sinhc(x: Decimal) -> Decimal:
    return x + ((1 - (-2 * x).exp()) / (2 * x)).ln() if x else Decimal(0)
