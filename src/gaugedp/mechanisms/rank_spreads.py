"""Errors of proposed values and noisy counts, for evenly spread values."""

import math
from collections.abc import Mapping

import numpy as np
import scipy

from gaugedp._internal.bisection import bisected

_PLACES = np.linspace(0.01, 0.99, 99)  # of a bound's exponent, in poles of the moment-generating function


def spread_of_draws(n_targets: int, level: float) -> float:
    """Return the level-quantile of U·G, U uniform in [0, 1], G ~ Gamma(n + 1).

    Times the rows per rate, one of n targets is so far off: the radius has N(T) ∝ T^n if many values are spread evenly.
    """

    def tail(x: float) -> float:
        upper, lower = scipy.special.gammaincc([n_targets + 1, n_targets], x)
        return float(upper - x / n_targets * lower)

    return bisected(0.0, 100.0 * n_targets, lambda x: tail(x) > 1 - level, apart=1e-9)[1]


def spread_with_noise(n_targets: int, gap: float, scales: Mapping[float, int], miss: float) -> float:
    """Return x with P(gap·V·G + Σ scale·η > x) ≤ `miss`, by Chernoff's bound.

    The η are Laplace variables, so many of each scale, V is uniform in [−1, 1], and G ~ Gamma(n + 1): E e^{s·V·G} = ((1
    − s)^{−n} − (1 + s)^{−n})/(2·s·n).
    """
    places = _PLACES / max(gap, *scales)
    s = gap * places
    logs = -n_targets * np.log1p(-s) + np.log(-np.expm1(n_targets * (np.log1p(-s) - np.log1p(s))) / (2 * s * n_targets))
    for scale, count in scales.items():
        logs = logs - count * np.log1p(-((scale * places) ** 2))
    return float(((logs - math.log(miss)) / places).min())
