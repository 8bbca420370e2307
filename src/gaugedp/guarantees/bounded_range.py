"""Bounded range: the guarantee of the exponential mechanism.

Proof of the largest Rényi curve, that of `ExponentialLoss.renyi`. x^a is convex, so two atoms with losses t and t − ε
are the worst (Dong, Durfee and Rogers 2020). With z = a − 1 and S(x) = sinh(x)/x, M(z) = (A·e^{zt} − B·e^{at})/(1 −
e^−ε), A = 1 − e^{−aε} = aε·e^{−aε/2}·S(aε/2), B = e^−ε·(1 − e^{−zε}) = zε·e^{−ε − zε/2}·S(zε/2). This is largest at e^t
= zA/(aB) = e^{ε/2}·S(aε/2)/S(zε/2), which lies between e^{ε/2} and e^ε because 0 ≤ l′ < 1 for l = log S. There M(z) =
(A/a)·(zA/(aB))^z/(1 − e^−ε). With 1 − e^−ε = ε·e^{−ε/2}·S(ε/2), everything except the l's cancels.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from gaugedp._internal.validate import decimal, positive
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up, up_decimal
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.bounded_range import BoundedRangePrivacyLoss
from gaugedp.guarantees.pure import PureDP

_FACTORIALS = tuple(float(math.factorial(2 * k + 1)) for k in range(1, 14))  # of a series: enough for x below 2


@dataclass(frozen=True, eq=True, repr=False)
class ExponentialLoss(Guarantee):
    """Guarantee of the exponential mechanism, known as ε-bounded range.

    Use it to account for choices that the exponential mechanism makes among candidates. Several choices then cost less
    than if you knew only that each is ε-DP.

    Notes
    -----
    ε-bounded range means that the privacy losses of any two outputs differ by at most ε = `epsilon_value` (Dong, Durfee
    and Rogers 2020). It implies ε-DP and ε²/8-zCDP (Cesar and Rogers 2021, lemma 3.2).

    Two forms of the exponential mechanism satisfy it. Let Δ be the sensitivity of the score. In general, a candidate is
    drawn with probability proportional to e^{ε·score/(2Δ)}. If one unit can only raise all scores, or only lower them,
    as for counts, the probability may be proportional to e^{ε·score/Δ}.

    Examples
    --------
    100 selections at ε = 0.1 cost half as much as 100 releases that are only known to be ε-DP:

    >>> from gaugedp.guarantees import ExponentialLoss, PureDP
    >>> [round((100 * guarantee).epsilon(1e-6), 2) for guarantee in (ExponentialLoss(0.1), PureDP(0.1))]
    [2.4, 4.77]
    """

    epsilon_value: float
    pair_has_curve = False

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon_value)
        self._set(epsilon_value=float(self.epsilon_value))

    def renyi(self, order: float) -> float:
        """Return the largest Rényi divergence of order `order`.

        It is the maximum over the pairs of distributions with two privacy losses, t and t − ε, for t in [0, ε]. Let
        l(x) = log(sinh(x)/x), c = `order` − 1 and h = ε/2. The maximum is (l(ch + h) − l(ch)) + (l(h + ch) − l(h))/c,
        and l(h) + h·coth(h) − 1 at order 1.
        """
        check_order(order)
        loss, largest = self.epsilon_value, _above(self.epsilon_value)
        parabola = up(order * loss * loss / 8) or math.ulp(0.0)
        # below 1e-16 of ε or 1/order, the parabola and the plain ε are as good
        if math.isinf(parabola) or loss < 1e-16 or order > 1e16:
            return min(largest, parabola)
        more, half = max(order - 1, 1e-15), loss / 2
        curve = _growth(more * half, half) + _growth(half, more * half) / more
        return min(largest, parabola, up(curve, relative=2.0**-44))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the pair that dominates every mechanism of range ε."""
        return Pair(BoundedRangePrivacyLoss, (self.epsilon_value,)) if self.epsilon_value <= LARGEST_LOSS else None

    def exact_delta(self, epsilon: float) -> float:
        """Return the exact δ at `epsilon`.

        It is (1 − e^{(`epsilon` − ε)/2})²/(1 − e^{−ε}), or 0.
        """
        if epsilon >= self.epsilon_value:
            return 0.0
        gap = self.epsilon_value - epsilon + 2.0**-52 * self.epsilon_value  # so that both may be read as decimals
        root = math.expm1(-gap / 2)
        return min(1.0, up(root * (root / -math.expm1(-self.epsilon_value))))

    def exact_epsilon(self, delta: float) -> float:
        """Return the exact ε at `delta`.

        With δ = `delta` it is ε + 2·log(1 − √(δ·(1 − e^{−ε}))), or 0.
        """
        root = math.sqrt(-delta * math.expm1(-self.epsilon_value))
        if root >= 1:
            return 0.0
        near_1 = (1 + delta * math.expm1(-self.epsilon_value)) / (1 + root)  # 1 − root, without cancelling
        lost = 2 * (math.log1p(-root) if root < 0.5 else math.log(near_1))
        return min(self.epsilon_value, max(0.0, up(self.epsilon_value + lost) + 2.0**-48 * (self.epsilon_value - lost)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return ε²/8 in "zcdp", else the cost of ε-DP."""
        if accounting == "zcdp":
            return (decimal(self.epsilon_value) ** 2 / 8,)
        return PureDP(self.epsilon_value).cost(accounting)

    def _group(self, size: int) -> "ExponentialLoss":
        """Return the range at `size` times the sensitivity."""
        return ExponentialLoss(up_decimal(size * decimal(self.epsilon_value)))


@lru_cache
def _above(loss: float) -> float:
    return above(decimal(loss))


def _growth(x: float, gap: float) -> float:
    """Return l(x + gap) − l(x) without cancellation.

    `gap` > 0. It is a sum of parts that are at most 10 times as large, each within 16 roundings. With last = x + gap
    below 2 it is log1p of Σ (last^{2k} − x^{2k})/(2k + 1)! over Σ x^{2k}/(2k + 1)!.
    """
    last = x + gap
    if last >= 2:
        if x < 1:
            return last + math.log(-math.expm1(-2 * last) / (2 * last)) - _growth(0.0, x)
        return gap + math.log1p(math.exp(-2 * x) * math.expm1(-2 * gap) / math.expm1(-2 * x)) - math.log1p(gap / x)
    square, difference = x * x, gap * (x + last)
    grown, power, top, bottom = 0.0, 1.0, 0.0, 1.0
    for factorial in _FACTORIALS:
        grown, power = last * last * grown + difference * power, square * power
        top, bottom = top + grown / factorial, bottom + power / factorial
    return math.log1p(top / bottom)
