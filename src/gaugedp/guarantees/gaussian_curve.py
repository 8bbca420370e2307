"""Privacy profile of Gaussian noise, accurate in the tail."""

import math
from functools import lru_cache

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected
from gaugedp._internal.validate import between, non_negative
from gaugedp.accountant.rounding import up

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP, rounded up.

    With x = ε/μ − μ/2, e^ε·φ(x + μ) = φ(x), so δ = φ(x)·(m(x) − m(x + μ)) with Mills' ratio m, accurate far into the
    tail, where the usual difference of normal tails cancels. x is known to some 2^−52·ε/μ, and |(log δ)′| ≤ |x| + 3.
    """
    if mu == 0:
        return 0.0
    x = epsilon / mu - mu / 2
    if x > 1e3:  # below every float
        return math.ulp(0.0)
    height = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if x < -5:
        lost = height * _mills(x + mu)
        return min(1.0, up(float(scipy.special.ndtr(-x)) - lost + 2.0**-50 * (1 + height * epsilon / mu)))
    delta = up(height * _mills_drop(x, mu), relative=2.0**-50 * (8 + 2 * x * x + 2 * (1 + abs(x)) * epsilon / mu))
    return min(1.0, max(delta, math.ulp(0.0)))  # an underflow is not a guarantee of pure privacy


def _mills_drop(x: float, width: float) -> float:
    """Return m(x) − m(x + width), rounded up, for small widths as an integral."""
    if width >= 0.5:  # below this width the difference of Mills' ratio is an integral
        near, far = _mills(x), _mills(x + width)
        return near - far + 2.0**-51 * near
    t = x + width * (_NODES + 1) / 2
    slopes = 1 - t * math.sqrt(math.pi / 2) * scipy.special.erfcx(t / math.sqrt(2))
    return width / 2 * float(_WEIGHTS @ slopes) * (1 + 2.0**-50 * (4 + x * x))


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(scipy.special.erfcx(x / math.sqrt(2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the ε of μ-GDP at `delta` > 0, rounded up."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    return bisected(low, high, lambda epsilon: gaussian_delta(mu, epsilon) > delta)[1]


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ at (`epsilon`, `delta`), rounded down.

    This calibrates Gaussian noise exactly for every ε ≥ 0 and 0 < δ < 1 (Balle and Wang 2018, theorem 8).
    """
    non_negative(epsilon=epsilon)
    between(0, 1, delta=delta)
    return _gaussian_mu(float(epsilon), float(delta))  # short floats, which equal others, would round coarsely


@lru_cache(maxsize=256)  # a fit asks for few, each many times
def _gaussian_mu(epsilon: float, delta: float) -> float:
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    return bisected(0.0, high, lambda mu: gaussian_delta(mu, epsilon) <= delta)[0]
