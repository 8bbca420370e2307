"""The Rényi curve of any mechanism on a Poisson sample, from the curve of the mechanism."""

import math
from functools import lru_cache

import numpy as np
import scipy

from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import up
from gaugedp.guarantees.base import Guarantee

_MOST = 256  # the largest order for which moments of all orders up to it are asked
_OVERFLOW = 700.0  # a power of e that is still a float
_STEP = 32  # orders that are asked together


def poisson_curve(guarantee: Guarantee, rate: float, order: float) -> float:
    """Return the bound of theorem 4 in docs/theory/sampling.md at a finite `order` above 1; infinity beyond `_MOST`."""
    second = guarantee.renyi(2.0)
    if order > _MOST or second > 500:
        return math.inf
    change = max(_removal(guarantee, rate, order), _addition(rate, order) * math.expm1(second) if second else 0.0)
    return up(math.log1p(change) / (order - 1), relative=2.0**-40) if change < math.inf else math.inf


def _addition(rate: float, order: float) -> float:
    """Return c with E_A (A/P)^{a − 1} ≤ 1 + c·(e^{D₂} − 1), P = (1 − q)·A + q·B, D₂ the larger of both directions."""
    if rate * (order + 1) <= 1:
        return order * (order - 1) / 2 * rate**2
    grown = (1 - order) * math.log1p(-rate)
    return math.expm1(grown) - (order - 1) * rate if grown < _OVERFLOW else math.inf


def _removal(guarantee: Guarantee, rate: float, order: float) -> float:
    """Return a bound on E_A (P/A)^a − 1."""
    if order <= 2:
        return order * (order - 1) / 2 * rate**2 * math.expm1(guarantee.renyi(2.0))
    whole = math.floor(order)
    if whole == order:
        return _binomial(guarantee, rate, whole)
    if order < 3:
        grown = _grown(guarantee, _STEP)[2:4]
        if grown[1] > _OVERFLOW:
            return math.inf
        second, third = map(math.expm1, grown)
        cube = order * (order - 1) * (order - 2) / 6 * rate**3
        return (order * (order - 1) / 2 * rate**2 - 3 * cube) * second + cube * third
    ends = [math.log1p(_binomial(guarantee, rate, whole + k)) for k in (0, 1)]
    between = ends[0] + (order - whole) * (ends[1] - ends[0])
    return math.expm1(between) if between < 700 else math.inf


def _binomial(guarantee: Guarantee, rate: float, order: int) -> float:
    """Return Σ_{k ≥ 2} C(a, k)·(1 − q)^{a − k}·q^k·(e^{(k − 1)·D_k} − 1)."""
    k, grown = np.arange(2, order + 1), _grown(guarantee, -(-order // _STEP) * _STEP)[2 : order + 1]
    ways = scipy.special.gammaln(order + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(order - k + 1)
    logs = ways + k * math.log(rate) + (order - k) * math.log1p(-rate)
    logs = logs + np.where(grown > 30, grown, np.log(np.maximum(np.expm1(np.minimum(grown, 30.0)), 1e-300)))
    return float(np.exp(np.minimum(logs, 709.0)).sum()) if logs.max() < 700 else math.inf


@lru_cache(maxsize=256)
def _grown(guarantee: Guarantee, most: int) -> Array:
    """Return (k − 1)·D_k for k = 0, 1, …, `most`."""
    return np.array([0.0, 0.0, *((k - 1) * guarantee.renyi(float(k)) for k in range(2, most + 1))])
