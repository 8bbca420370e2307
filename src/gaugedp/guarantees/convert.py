"""From a Rényi curve to (ε, δ). The one place where this conversion stands."""

import math
from collections.abc import Callable

from gaugedp.guarantees.base import up

RenyiCurve = Callable[[float], float]


def renyi_to_epsilon(curve: RenyiCurve, delta: float) -> float:
    """Return min over orders a of R(a) + log(1 − 1/a) − (log δ + log a)/(a − 1), at least 0; infinity at δ = 0.

    Canonne, Kamath and Steinke 2020, proposition 12. Every order gives a valid ε, so the search cannot err unsafely.
    """
    if delta == 0:
        return math.inf

    def at(order: float) -> float:
        return curve(order) + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)

    return max(0.0, up(_minimum_over_orders(at), relative=1e-12))


def renyi_to_delta(curve: RenyiCurve, epsilon: float) -> float:
    """Return min over orders a of exp((a − 1)(R(a) − ε) + (a − 1) log(1 − 1/a) − log a), at most 1."""

    def at(order: float) -> float:
        return (order - 1) * (curve(order) - epsilon + math.log1p(-1 / order)) - math.log(order)

    best = up(math.exp(min(0.0, _minimum_over_orders(at))), relative=1e-9)
    return min(1.0, max(best, math.ulp(0.0)))  # an underflow is not a promise of pure privacy


def _minimum_over_orders(objective: Callable[[float], float]) -> float:
    """Return the least value met by a search on a logarithmic scale of order − 1, refined around the best."""
    low, high = -7.0, 14.0
    best = math.inf
    for _ in range(6):
        points = [low + (high - low) * i / 40 for i in range(41)]
        values = [objective(1 + math.exp(point)) for point in points]
        best = min(best, *values)
        centre, width = points[values.index(min(values))], (high - low) / 20
        low, high = centre - width, centre + width
    return best
