"""Hypothesis tests of membership under a guarantee.

From δ(ε): P(E) ≤ e^ε·Q(E) + δ, and for the complement of E, 1 − Q(E) ≤ e^ε·(1 − P(E)) + δ, for every ε ≥ 0. All bounds
on P(E) that follow from a δ(ε) for both directions follow from these lines, as the pairs (P(E), Q(E)) of all events
form a convex set (Wasserman and Zhou 2010; Dong, Roth and Su 2022, proposition 2.12). If the two directions of a pair
differ, as under sampling, δ(ε) is the larger of both, and the bound may be loose.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from gaugedp.accountant.part import Part
from gaugedp.accountant.rounding import up
from gaugedp.accountant.rules import curve_region, least_delta
from gaugedp.accountant.total import directions

_ORDERS = np.geomspace(1e-3, 1e4, 57)  # orders minus 1 at which a curve is evaluated
_LARGEST_EPSILON, _FIRST = 60.0, 25  # the largest ε; values of the coarse search


def highest_probability(guarantee: Part, q: float) -> float:
    """Return an upper bound on P(E), given Q(E) = `q`.

    It holds for every such event, and `q` is in [0, 1]. It is the least bound that δ(ε) proves, to some 1e-8. Every ε
    gives a valid line, so the search cannot err unsafely. If a part has only a Rényi curve and no loss is infinite, the
    region of the whole curve is used instead.
    """
    if q == 1:
        return 1.0
    if q == 0:
        return min(1.0, _delta(guarantee, _LARGEST_EPSILON))
    totals = directions(guarantee.components())
    if any(total.others for total in totals) and not any(total.impossible for total in totals):
        return max(region.highest(q) for region in curve_region(guarantee, _ORDERS))
    return min(1.0, _by_lines(guarantee, q))


def _by_lines(guarantee: Part, q: float) -> float:

    def steep(epsilon: float) -> float:
        return up(math.exp(epsilon) * q + _delta(guarantee, epsilon))

    def flat(epsilon: float) -> float:
        left = 1 - q - _delta(guarantee, epsilon)
        return up(1 - left * math.exp(-epsilon) * (1 - 1e-15)) if left > 0 else 1.0

    return min(_least(steep), _least(flat))


@lru_cache(maxsize=4096)  # the coarse scale is the same for every q
def _delta(guarantee: Part, epsilon: float) -> float:
    return float(least_delta(guarantee, epsilon, None))


def _least(function: Callable[[float], float]) -> float:
    places = [0.0, *np.geomspace(1e-3, _LARGEST_EPSILON, _FIRST).tolist()]
    values = [function(place) for place in places]
    best = min(values)
    at = values.index(best)
    bounds = places[max(at - 1, 0)], places[min(at + 1, _FIRST)]
    options = {"maxiter": 40, "xatol": 1e-9 * bounds[1]}
    return min(
        best, float(scipy.optimize.minimize_scalar(function, bounds=bounds, method="bounded", options=options).fun)
    )
