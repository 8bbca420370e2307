"""The least radial moment of a profile that falls by at most e^ε a step: sums without a tail, a certified minimum."""

import math

import numpy as np

_LEAST_EPSILON = 1e-290  # below it waves are as small
_MOST_EPSILON = 700.0  # e^ε is still a float
_NEGLIGIBLE = 1e-6  # waves that are not searched
_SMALL = 50  # exponents up to which a fine search is quick
_WAVES = 64  # terms of a series that are added one by one
_FIRST_CELLS = 8
_MOST_NUMBERS = 2 * 10**5  # sums held at a time, a sixth of them
_MOST_ROUNDS = 200  # the minimum may lie as near to 0 as e^{−ε}


def log_least_ratio(exponent: int, epsilon: float, power: int) -> float:
    """Return at most log min over 0 ≤ u ≤ 1 of S_{m+p}(u)/S_m(u), S_m(u) = Σ_{k≥0} (u + k)^m e^{−εk}.

    m = `exponent` ≥ 0 and p = `power` ≥ 1 are whole numbers. Rounded down: within 1e−5 for ε ≤ 50 and m ≤ 100; −∞
    above ε = 700.

    By Poisson's summation S_m(u) = e^{εu}·m!/ε^{m+1}·(1 + waves), so that S_{m+p}/S_m = (m + 1)…(m + p)/ε^p up to the
    waves. Where those are not negligible the minimum is searched for: on a cell [a, b] with middle c, the convex
    numerator lies above its tangent at c and the convex denominator below its chord; the ratio of two affine
    functions is least at an end. Cells that this does not settle are halved (docs/theory/lower-bound.md).
    """
    if epsilon > _MOST_EPSILON:
        return -math.inf
    scale = math.fsum(math.log((exponent + i) / epsilon) for i in range(1, power + 1))
    waves = _waves(exponent, epsilon)
    share = 1 - 2 * waves if waves < _NEGLIGIBLE else _least_share((exponent, epsilon, power))
    return math.log(share) + scale - 2.0**-48 * (1 + abs(scale)) if share > 0 else -math.inf


def _waves(exponent: int, epsilon: float) -> float:
    """Return at least 2·Σ_{n≥1} |1 + 2πin/ε|^{−m−1}, m = `exponent`: at most 1; it falls as m grows."""
    if exponent == 0:
        return 1.0
    log_first = (exponent + 1) * math.log(epsilon / (2 * math.pi))
    log_tail = log_first - exponent * math.log(_WAVES) - math.log(exponent)
    if log_tail > 0:
        return 1.0
    slopes = 2 * math.pi / max(epsilon, _LEAST_EPSILON) * np.arange(1, _WAVES + 1)
    terms = np.hypot(1, slopes) ** -(exponent + 1.0)
    return min(1.0, 2.01 * (float(terms.sum()) + math.exp(log_tail)))


def _least_share(sums: tuple[int, float, int]) -> float:
    """Return the minimum as a part of (m + 1)…(m + p)/ε^p, rounded down."""
    precision = 1 - (1e-7 if sums[0] <= _SMALL else 1e-5)
    edges = np.linspace(0, 1, _FIRST_CELLS + 1)
    low, high, settled, best = edges[:-1], edges[1:], math.inf, math.inf
    for _ in range(_MOST_ROUNDS):
        lower, value = _on_cells(low, high, sums)
        best = min(best, value)
        still_open = lower < precision * best
        settled = min(settled, float(lower[~still_open].min(initial=math.inf)))
        low, high, lower = low[still_open], high[still_open], lower[still_open]
        if not 0 < len(low) * (sums[0] + sums[2]) < _MOST_NUMBERS:
            break
        low, high = _halved(low, high)
    return min(settled, float(lower.min(initial=math.inf)))


def _halved(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    middle = (low + high) / 2
    return np.concatenate([low, middle]), np.concatenate([middle, high])


def _on_cells(low: np.ndarray, high: np.ndarray, sums: tuple[int, float, int]) -> tuple[np.ndarray, float]:
    """Return a lower bound of the ratio on each cell, and the least value at a middle; without the factor of m and p.

    S_{m+p}/S_m is m!⁻¹(m + p)!/ε^p times the ratio of scaled sums, and S_{m+p}′ = (m + p)·S_{m+p−1}.
    """
    exponent, epsilon, power = sums
    last = exponent + power
    middle = (low + high) / 2
    table = scaled_sums(np.concatenate([low, high, middle]), epsilon, last)
    at_low, at_high, at_middle = np.split(table, 3, axis=1)
    error = 2.0**-50 * (last + 2) ** 2
    value, change = at_middle[last], at_middle[last - 1] * (epsilon * (high - low) / 2) * (1 + 2 * error)
    start = (value * (1 - error) - change) / (at_low[exponent] * (1 + error))
    end = (value * (1 - error) + change * (1 - 4 * error)) / (at_high[exponent] * (1 + error))
    return np.minimum(start, end) * (1 - error), float((value / at_middle[exponent]).min())


def scaled_sums(offsets: np.ndarray, epsilon: float, last: int) -> np.ndarray:
    """Return T_m(u) = (1 − e^{−ε})·ε^m/m!·Σ_{k≥0} (u + k)^m e^{−εk} for m = 0 … last, shape (last + 1, len(offsets)).

    S_m(u) = u^m + e^{−ε}·S_m(u + 1) and the binomial theorem give T_m = (uε)^m/m! + Σ_{i=1}^m c_i·T_{m−i} with
    c_i = ε^i/i!/(e^ε − 1): no infinite sum is left. Nothing is subtracted, so the relative error is at most
    3(last + 2)²·2^−53; and as Σ c_i = 1, nothing overflows.
    """
    steps = np.arange(1, last + 1)
    weights = np.cumprod(np.concatenate([[epsilon / math.expm1(epsilon)], epsilon / steps[1:]]))
    table = np.ones((last + 1, len(offsets)))  # the last row first: products then run over rows that are adjacent
    alone = np.ones(len(offsets))
    for m in steps:
        alone = alone * (offsets * epsilon / m)
        table[last - m] = alone + weights[:m] @ table[last - m + 1 :]
    return table[::-1]
