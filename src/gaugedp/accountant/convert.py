"""Conversion of a Rényi curve to (ε, δ) (Canonne, Kamath and Steinke 2020, proposition 12)."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.contour import log_chernoff
from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import up

LogMoment = Callable[[Array], Array]  # at c = order − 1: c·D_order
_RANGE = (-25.0, 45.0)  # of log c


class Converted(NamedTuple):
    """An ε or δ with its order minus 1."""

    value: float
    order: float


def renyi_to_epsilon(log_moment: LogMoment, delta: float, knots: Sequence[float] = ()) -> Converted:
    """Return the least ε of a Rényi curve at `delta`.

    It is min over orders a of R(a) + log(1 − 1/a) − (log δ + log a)/(a − 1), at least 0; infinity at δ = 0 (Canonne,
    Kamath and Steinke 2020, proposition 12, with c = a − 1 and c·R(a) = `log_moment`(c)). Every order gives a valid ε,
    so the search cannot err unsafely. `knots` are orders minus 1 that are tried as well.
    """
    if delta == 0:
        return Converted(math.inf, 1.0)

    def at(orders: Array) -> Array:
        return _sum(log_moment(orders), log_chernoff(orders), -math.log(delta)) / orders

    least = _minimum(at, knots)
    return Converted(max(0.0, up(least.value, relative=2e-13)), least.order)


def renyi_to_delta(log_moment: LogMoment, epsilon: float, knots: Sequence[float] = ()) -> Converted:
    """Return min over orders a of exp((a − 1)(R(a) − ε) + (a − 1) log(1 − 1/a) − log a), at most 1."""

    def at(orders: Array) -> Array:
        return _sum(log_moment(orders), log_chernoff(orders), -orders * epsilon)

    least = _minimum(at, knots)
    exponent = min(0.0, least.value)
    best = up(math.exp(exponent), relative=2.0**-48 * (8 - 4 * exponent))
    return Converted(min(1.0, max(best, math.ulp(0.0))), least.order)  # an underflow is not a guarantee of pure privacy


def _sum(*terms: Array | float) -> Array:
    total = sum(terms) + 8 * UNIT * sum(map(np.abs, terms))
    return np.nan_to_num(total, nan=math.inf, posinf=math.inf)


def _minimum(objective: Callable[[Array], Array], knots: Sequence[float]) -> Converted:
    low, high = _RANGE
    best, points = Converted(math.inf, 1.0), np.linspace(low, high, 71)
    if len(knots):
        of_knots = _quietly(objective, np.array(knots))
        best = Converted(float(of_knots.min()), float(knots[int(of_knots.argmin())]))
    while high - low > 1e-8:
        values = _quietly(objective, np.exp(points))
        at = int(np.argmin(values))
        best = min(best, Converted(float(values[at]), math.exp(points[at])))
        low, high = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
        points = np.linspace(low, high, 17)
    return best


def _quietly(objective: Callable[[Array], Array], points: Array) -> Array:
    with np.errstate(all="ignore"):
        return objective(points)
