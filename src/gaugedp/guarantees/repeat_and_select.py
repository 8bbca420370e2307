"""Guarantee of the best of several runs.

Proof of the Poisson bound (theorem 3 of docs/theory/private_search.md), with q and q′ as in theorem 1 there.

1. The best of K has the density f′(q)·dq with f′(x) = m·e^{m(x − 1)}. Nothing is released with probability e^−m for
   both tables. So e^{(a−1)·D_a} = e^−m + ∫ g·(dq)^a·(dq′)^{1−a} with g = f′(q)^a·f′(q′)^{1−a} = m·e^{m(u − 1)}, u = aq
   − (a − 1)q′.
2. As 1 − q′ ≤ e^ε·(1 − q) + δ, u − 1 = (a − 1)(1 − q′) − a(1 − q) ≤ (a − 1)δ. So g ≤ G.
3. By convexity (dq)^a·(dq′)^{1−a} ≥ a·dq − (a − 1)·dq′ = du, and u goes from 0 to 1. So ∫ (G − g)·(dq)^a·(dq′)^{1−a} ≥
   ∫ (G − g)·du = G − (1 − e^−m).
4. Subtract this from G·∫ (dq)^a·(dq′)^{1−a} ≤ G·e^{(a−1)·ζ(a)} and add e^−m.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.bisection import root_of
from gaugedp._internal.rounding import OVERFLOW
from gaugedp._internal.validate import positive
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order, from_dict
from gaugedp.guarantees.pure import PureDP

_SHIFTS = np.geomspace(1e-6, 1e6, 73)  # orders minus 1 among which the best is sought


@dataclass(frozen=True, eq=True)
class RepeatAndSelect(Guarantee):
    """Guarantee of publishing the best of several runs.

    Use it to choose hyperparameters: a mechanism runs several times, and only its best output is published. Each run
    satisfies `guarantee`. The number K of runs is drawn from a public distribution with mean `mean` and is not
    published; if it is 0, nothing is released. Which run is best may depend only on the outputs.

    Notes
    -----
    K has a truncated negative binomial distribution with the `shape` η > −1 (K ≥ 1; η = 1 is geometric, η = 0
    logarithmic), or a Poisson distribution if `shape` is infinite. γ is the parameter of the former.

    Theorem (Papernot and Steinke 2022, theorem 2; docs/theory/private_search.md). Let D_a be the Rényi divergence of
    order a of the result, and ζ the Rényi curve of one run. Then D_a ≤ ζ(a) + (1 + η)·((1 − 1/b)·ζ(b) − log(γ)/b) +
    log(E K)/(a − 1) for every b ≥ 1. For Poisson distributions, e^{(a − 1)·D_a} ≤ 1 + G·(e^{(a − 1)·ζ(a)} − 1), where G
    = E K·e^{(a − 1)·E K·δ(ε)} and e^ε = a/(a − 1).

    Examples
    --------
    With ten runs on average, each with ε = 0.1, the choice of the best costs about three times as much as one run:

    >>> from gaugedp.guarantees import PureDP, RepeatAndSelect
    >>> round(RepeatAndSelect(PureDP(0.1), mean=10).epsilon(1e-6), 2)
    0.3
    """

    guarantee: Guarantee
    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        positive(mean=self.mean)
        if not isinstance(self.shape, int | float) or isinstance(self.shape, bool) or not self.shape > -1:
            raise InvalidRequest(
                f"`shape` is {self.shape!r}, but must be above -1.", "Pass a number above -1, or math.inf."
            )
        if self.mean > 1e12 or (self.mean < 1 and not self._is_poisson):  # runs at most
            raise InvalidRequest(
                f"`mean` is {self.mean!r}, but the expected number of repetitions must be at least 1.",
                "Pass a larger `mean`, or use the Poisson distribution, which permits less.",
            )
        self._set(mean=float(self.mean), shape=float(self.shape))

    @property
    def _is_poisson(self) -> bool:
        return math.isinf(self.shape)

    @property
    def _is_single(self) -> bool:
        return self.mean == 1 and not self._is_poisson

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """The neighbouring relations of `guarantee`."""
        return self.guarantee.stated_neighbours

    def renyi(self, order: float) -> float:
        """Return the least bound that orders from `order` upwards imply."""
        check_order(order)
        if self._is_single:
            return self.guarantee.renyi(order)
        if math.isinf(order):
            return up(self._at(math.inf))
        shift = order - 1
        best, values = _least_orders(self)
        largest = up(self._at(math.inf))
        last = PureDP(largest).renyi(order) if largest < math.inf else largest
        if shift <= best[0]:
            return min(best[1], last)
        above = [value for at, value in zip(_SHIFTS, values, strict=True) if at > shift]
        return min(up(self._at(shift), relative=2.0**-44), *above, last)

    def knots(self) -> tuple[float, ...]:
        """Return the order up to which the curve is constant."""
        return () if self._is_single else (1 + _least_orders(self)[0][0],)

    def _at(self, shift: float) -> float:
        """Return the theorem's bound at the order 1 + `shift`."""
        whole_curve = self.guarantee.renyi(1 + shift)
        if not self._is_poisson:
            return whole_curve + _selection(self) + math.log(self.mean) / shift
        spent = self.mean * float(self.guarantee.delta(math.log1p(1 / shift)))
        if math.isinf(shift) or math.isinf(whole_curve) or whole_curve == 0:
            return whole_curve + (spent if whole_curve else 0.0)
        grown = shift * whole_curve
        log_change = grown if grown > 30 else math.log(math.expm1(grown))
        moment = float(np.logaddexp(0.0, math.log(self.mean) + shift * spent + log_change))
        return max(moment / shift, math.ulp(0.0))  # an underflow is not a guarantee of pure privacy

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge of (2 + η)·ε-DP for ε-DP runs.

        It is None for other runs.
        """
        cost = self.guarantee.cost("pure")
        if self._is_single:
            return self.guarantee.cost(accounting)
        if cost is None or self._is_poisson:
            return None
        return PureDP(up((2 + self.shape) * up_decimal(cost[0]))).cost(accounting)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; the shape is null for Poisson."""
        return super().to_dict() | {"shape": None if self._is_poisson else self.shape}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "RepeatAndSelect":
        """Return the guarantee."""
        shape = math.inf if numbers["shape"] is None else numbers["shape"]
        return cls(from_dict(numbers["guarantee"]), numbers["mean"], shape)

    def __repr__(self) -> str:
        return f"RepeatAndSelect({self.guarantee!r}, {self.mean:.12g}, {self.shape:.12g})"


@lru_cache(maxsize=64)
def _least_orders(repeated: RepeatAndSelect) -> tuple[tuple[float, float], list[float]]:
    """Return (order minus 1, value) of the least bound, and the bounds at `_SHIFTS`, rounded up."""
    values = [up(repeated._at(float(shift)), relative=2.0**-44) for shift in _SHIFTS]
    return _least_near(repeated._at, values), values


@lru_cache(maxsize=64)
def _selection(repeated: RepeatAndSelect) -> float:
    """Return the least of (1 + η)·((1 − 1/b)·ζ(b) + log(1/γ)/b) over orders b, rounded up."""
    log_gamma = log_stopping(repeated.mean, repeated.shape)

    def bound(shift: float) -> float:
        return shift / (1 + shift) * repeated.guarantee.renyi(1 + shift) + log_gamma / (1 + shift)

    least = _least_near(bound, [bound(float(shift)) for shift in _SHIFTS])[1]
    return up((1 + repeated.shape) * min(least, repeated.guarantee.renyi(math.inf), log_gamma), relative=2.0**-44)


def _least_near(bound: Callable[[float], float], values: list[float]) -> tuple[float, float]:
    at = int(np.argmin(values))
    ends = np.log(_SHIFTS[[max(at - 1, 0), min(at + 1, len(_SHIFTS) - 1)]])
    place = scipy.optimize.minimize_scalar(lambda log: bound(math.exp(log)), bounds=tuple(ends), method="bounded").x
    near = min(float(_SHIFTS[at]), math.exp(place), key=bound)
    return near, up(bound(near), relative=2.0**-44)


def log_stopping(mean: float, shape: float) -> float:
    """Return log(1/γ) of a truncated negative binomial distribution, rounded up.

    E K = `mean` is η·(1/γ − 1)/(1 − γ^η), η = `shape`, or (1/γ − 1)/log(1/γ) at η = 0, and increases with 1/γ.
    """

    def excess(x: float) -> float:
        grown = x if abs(shape * x) < 1e-300 else -math.expm1(-shape * x) / shape if shape * x > -OVERFLOW else 0.0
        if x < OVERFLOW:
            return math.log(math.expm1(x) / grown) - math.log(mean)
        log_grown = math.log(grown) if grown else -shape * x - math.log(-shape)
        return x - log_grown - math.log(mean)

    high = 1.0
    while excess(high) < 0:
        high *= 2
    root = root_of(excess, 1e-12, high, 1e-26, 1e-14) if excess(1e-12) < 0 else 1e-12
    lost, gap = 2.0**-50 * (1 + high + math.log(mean)), 1e-14 * root  # 2^−50: of the logarithms
    while excess(root) < lost:
        root, gap = root + gap, 2 * gap
    return up(root, relative=1e-12)
