"""Guarantee of a mechanism on a random sample."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from gaugedp._internal.numbers import exact
from gaugedp._internal.rounding import OVERFLOW
from gaugedp._internal.validate import decimal, non_negative, one_of, written
from gaugedp.accountant.loss import Array, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.profile_points import FIRST, START, Points, curve_of, pair_of, points_above_one, reversed_points
from gaugedp.guarantees.pure import pure_cost
from gaugedp.guarantees.sampling import amplified, sampled_delta, solved

PROVED = {"poisson": "add_remove", "without_replacement": "replace"}  # sampling, and the neighbours of its proof
_ORDERS = 32  # that are evaluated together


@dataclass(frozen=True, eq=True)
class Sampled(Guarantee):
    """Guarantee of a mechanism on a secret random sample.

    Use it if you draw a random sample of the units and run a mechanism on the sample only. Sampling makes the guarantee
    stronger, because a unit that is not in the sample cannot affect the output. `guarantee` is that of the mechanism on
    the sample.

    Notes
    -----
    With `sampling` "poisson", each unit is in the sample with probability `rate`, independently, and neighbouring
    tables differ by one unit added or removed. With "without_replacement", the sample is uniform over m of n units,
    `rate` is m/n, and neighbouring tables differ by one unit replaced. The guarantee of the mechanism on the sample
    must be for the same kind of neighbours. The proof is in docs/theory/sampling.md.

    Examples
    --------
    A mechanism with ε = 1 on a sample of 10 % of the units has ε = 0.159:

    >>> from gaugedp.guarantees import PureDP, Sampled
    >>> round(Sampled(PureDP(1), rate=0.1).epsilon(0), 3)
    0.159
    """

    guarantee: Guarantee
    rate: float
    sampling: str = "poisson"
    neighbours: str = "add_remove"
    pair_has_curve = False
    pair_is_least = False  # its profile joins points above the sampled one

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidRequest(
                f"`guarantee` is {written(self.guarantee)}, but must be one of the classes of gaugedp.guarantees.",
                "Pass the guarantee of the mechanism that reads the sample, such as PureDP(1).",
            )
        non_negative(rate=self.rate)
        if self.rate > 1 or 0 < self.rate < 1e-12:
            raise InvalidRequest(
                f"`rate` is {self.rate!r}, but must be 0 or a probability of at least 1e-12.",
                "Pass the probability with which each row is sampled.",
            )
        one_of(tuple(PROVED), sampling=self.sampling)
        one_of(tuple(PROVED.values()), neighbours=self.neighbours)
        if self.neighbours != PROVED[self.sampling]:
            raise InvalidRequest(
                f"With sampling={self.sampling!r}, no guarantee is proved for neighbours={self.neighbours!r}.",
                f"Use neighbours={PROVED[self.sampling]!r}, and pass the guarantee of the mechanism for these "
                "neighbours.",
            )
        if not self.guarantee.stated_neighbours <= {self.neighbours}:
            raise InvalidRequest(
                f"The sample protects neighbours={self.neighbours!r}, but {self.guarantee!r} does not hold for "
                "such neighbours.",
                "Use one kind of sampling throughout, or pass the guarantee of the mechanism for these neighbours.",
            )
        self._set(rate=float(self.rate))

    def components(self) -> Iterable[tuple[Guarantee, int]]:
        """Return this guarantee, or that of rates 0 and 1."""
        if self.rate in (0, 1):
            return self.guarantee.components() if self.rate else ()
        return ((self, 1),)

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """The set of `neighbours`."""
        return frozenset({self.neighbours})

    def renyi(self, order: float) -> float:
        """Return the least of several bounds on the Rényi curve.

        For a = `order`, q = `rate` and the divergences D of the mechanism they are log(1 + q·(e^{(a−1)·D_a} − 1))/(a −
        1), log(1 + q·(e^{D_∞} − 1)), the curve of the dominating pair, and for Poisson samples the bound from moments
        of all orders: docs/theory/sampling.md, theorem 4.
        """
        check_order(order)
        whole_curve, largest = self.guarantee.renyi(order), self.guarantee.renyi(math.inf)
        if self.rate in (0, 1):
            return whole_curve if self.rate else 0.0
        bounds = [whole_curve, amplified(largest, self.rate)]
        if 1 < order < math.inf:
            grown = (order - 1) * whole_curve
            bounds.append(up(amplified(grown, self.rate) / (order - 1)) if grown < math.inf else math.inf)
            if self.sampling == "poisson":
                bounds.append(poisson_curve(self.guarantee, self.rate, order))
        elif order == 1:
            bounds.append(up(self.rate * whole_curve))
        if order < math.inf:
            bounds += [max(curve_of(self.dominating_pair(removed), max(order - 1, FIRST)) for removed in (1, 0))]
        return min(bounds)

    def dominating_pair(self, removed: int) -> Pair:
        """Return the pair whose profile joins points by lines.

        The points lie on or above the privacy profile.
        """
        return _pair(self, removed)

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the exact δ, or None without a closed form.

        It is q·δ(ε′), where q = `rate` and e^{ε′} = 1 + (e^ε − 1)/q, for both samplings and both directions.
        """
        if self.rate == 0:
            return 0.0
        if self.guarantee.exact_delta(epsilon) is None:
            return None
        return sampled_delta(lambda inner: float(self.guarantee.delta(inner)), self.rate, epsilon)

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the least ε of a closed profile, rounded up."""
        first = self.exact_delta(0.0)
        if first is None or delta >= first:
            return None if first is None else 0.0
        inner = float(self.guarantee.epsilon(min(1.0, delta / self.rate)))
        start = amplified(inner, self.rate)
        return start if math.isinf(start) else solved(lambda at: self.exact_delta(at) or 0.0, start, delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge to a budget in `accounting`.

        In "approx" it is (log(1 + q·(e^ε − 1)), q·δ) for q = `rate`, otherwise the least known charge.
        """
        if self.rate == 0:
            return pure_cost(Fraction(0), 0.0, accounting)
        cost = self.guarantee.cost("approx")
        whole_cost = self.guarantee.cost(accounting)
        if cost is None or (accounting != "approx" and cost[1] > 0):
            return whole_cost
        loss = amplified(above(min(cost[0], Fraction(10) ** 300)), self.rate)
        if accounting == "approx":
            return (min(cost[0], decimal(loss)), decimal(self.rate) * cost[1])
        costs = [each for each in (whole_cost, pure_cost(decimal(loss), loss, accounting)) if each]
        return min(costs, default=None)

    def __repr__(self) -> str:
        words = "" if self.sampling == "poisson" else f", {self.sampling!r}, {self.neighbours!r}"
        return f"Sampled({self.guarantee!r}, {exact(self.rate)}{words})"


@lru_cache(maxsize=256)
def _pair(sampled: Sampled, removed: int) -> Pair:
    upper, rate = points_above_one(sampled.guarantee), decimal(sampled.rate)
    if sampled.sampling == "without_replacement":
        upper = _thinned(upper, rate)
        return pair_of((*reversed_points(upper), *upper))
    points = _thinned((START, *reversed_points(upper), *upper), rate)
    return pair_of(points if removed else reversed_points(points))


def _thinned(points: Points, rate: Fraction) -> Points:
    """Return points of the profile with P replaced by (1 − q)·Q + q·P."""
    return tuple((1 - rate + rate * ratio, rate * value) for ratio, value in points)


def poisson_curve(guarantee: Guarantee, rate: float, order: float) -> float:
    """Return the bound of theorem 4, docs/theory/sampling.md; infinity above order 256."""
    second = guarantee.renyi(2.0)
    if order > 256 or second > 500:  # the largest order for which moments of all lower orders are evaluated
        return math.inf
    change = max(_removal(guarantee, rate, order), _addition(rate, order) * math.expm1(second) if second else 0.0)
    return up(math.log1p(change) / (order - 1), relative=2.0**-40) if change < math.inf else math.inf


def _addition(rate: float, order: float) -> float:
    """Return c with E_A (A/P)^{a − 1} ≤ 1 + c·(e^{D₂} − 1), P = (1 − q)·A + q·B, D₂ the larger of both directions."""
    if rate * (order + 1) <= 1:
        return order * (order - 1) / 2 * rate**2
    grown = (1 - order) * math.log1p(-rate)
    return math.expm1(grown) - (order - 1) * rate if grown < OVERFLOW else math.inf


def _removal(guarantee: Guarantee, rate: float, order: float) -> float:
    """Return a bound on E_A (P/A)^a − 1."""
    if order <= 2:
        return order * (order - 1) / 2 * rate**2 * math.expm1(guarantee.renyi(2.0))
    whole = math.floor(order)
    if whole == order:
        return _binomial(guarantee, rate, whole)
    if order < 3:
        grown = _grown(guarantee, _ORDERS)[2:4]
        if grown[1] > OVERFLOW:
            return math.inf
        second, third = map(math.expm1, grown)
        cube = order * (order - 1) * (order - 2) / 6 * rate**3
        return (order * (order - 1) / 2 * rate**2 - 3 * cube) * second + cube * third
    ends = [math.log1p(_binomial(guarantee, rate, whole + k)) for k in (0, 1)]
    between = ends[0] + (order - whole) * (ends[1] - ends[0])
    return math.expm1(between) if between < 700 else math.inf


def _binomial(guarantee: Guarantee, rate: float, order: int) -> float:
    """Return Σ_{k ≥ 2} C(a, k)·(1 − q)^{a − k}·q^k·(e^{(k − 1)·D_k} − 1)."""
    k, grown = np.arange(2, order + 1), _grown(guarantee, -(-order // _ORDERS) * _ORDERS)[2 : order + 1]
    ways = scipy.special.gammaln(order + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(order - k + 1)
    logs = ways + k * math.log(rate) + (order - k) * math.log1p(-rate)
    logs = logs + np.where(grown > 30, grown, np.log(np.maximum(np.expm1(np.minimum(grown, 30.0)), 1e-300)))
    return float(np.exp(np.minimum(logs, 709.0)).sum()) if logs.max() < 700 else math.inf


@lru_cache(maxsize=256)
def _grown(guarantee: Guarantee, most: int) -> Array:
    """Return (k − 1)·D_k for k = 0, 1, …, `most`."""
    return np.array([0.0, 0.0, *((k - 1) * guarantee.renyi(float(k)) for k in range(2, most + 1))])
