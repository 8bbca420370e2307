"""x^−α as a sum of simple poles, with a bound on its relative error: powers of matrices by linear systems."""

import math
from dataclasses import dataclass

import numpy as np

_TOLERANCE = 2.0**-30


@dataclass(frozen=True)
class Poles:
    """Σ_k weight_k/(x + shift_k) = x^−α·(1 + ε) with |ε| ≤ error for low ≤ x ≤ high; all weights and shifts > 0."""

    shifts: np.ndarray
    weights: np.ndarray
    error: float


def negative_power(alpha: float, low: float, high: float) -> Poles:
    """Return poles for x^−α, 0 < α < 1, on [low, high].

    Theorem (docs/theory/matrix.md, theorem 5). x^−α = c·∫ e^((1−α)u)/(e^u + x) du, c = sin(πα)/π. The trapezoidal rule
    of step h = 2π²/y errs by at most 5·e^−y, relative to x^−α. Its nodes below some shift become one pole that matches
    two of their moments, and so do those above another: each errs by at most a third moment.
    """
    exponent = math.log(20 / _TOLERANCE)
    step = 2 * math.pi**2 / exponent
    height = math.sin(math.pi * alpha) / math.pi * step
    first = low * (_TOLERANCE / 4 / _tail(height, step, 3 - alpha)) ** (1 / (3 - alpha))
    last = high / (_TOLERANCE / 4 / _tail(height, step, 2 + alpha)) ** (1 / (2 + alpha))
    count = math.ceil(math.log(last / first) / step)
    last = first * math.exp(count * step)
    below = [_tail(height, step, 1 - alpha + j) * first ** (1 - alpha + j) for j in range(3)]
    above = [_tail(height, step, alpha + j) * last ** (-alpha - j) for j in range(3)]
    between = first * np.exp(step * np.arange(1, count))
    shifts = np.concatenate([[below[1] / below[0]], between, [above[0] / above[1]]])
    weights = np.concatenate([[below[0]], height * between ** (1 - alpha), [above[0] ** 2 / above[1]]])
    error = 5 * math.exp(-exponent) + below[2] * low ** (alpha - 3) + above[2] * high ** (alpha + 2)
    return Poles(shifts, weights, error)


def _tail(height: float, step: float, power: float) -> float:
    """Return height·Σ_{i ≥ 0} e^(−power·step·i)."""
    return height / (1 - math.exp(-power * step))
