"""Pairs of coins that keep Rényi bounds, in 50 digits: what no answer may be below."""

import math

import mpmath
import numpy as np

from gaugedp.guarantees import RenyiDP


def divergence(order: float, p: mpmath.mpf, q: mpmath.mpf) -> mpmath.mpf:
    """Rényi's divergence of two coins, in 50 digits."""
    if order == 1:
        return p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q))
    if math.isinf(order):
        return max(mpmath.log(p / q), mpmath.log((1 - p) / (1 - q)))
    a = mpmath.mpf(order)
    return mpmath.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)


def keeps(bounds: RenyiDP, p: mpmath.mpf, q: mpmath.mpf) -> bool:
    """Whether two coins keep the bounds in both orders."""
    pairs = list(zip(bounds.orders, bounds.values, strict=True))
    return all(divergence(a, *coins) <= value for a, value in pairs for coins in ((p, q), (q, p)))


def largest_coin(bounds: RenyiDP, q: mpmath.mpf) -> mpmath.mpf:
    """About the largest p such that (p, q) keeps the bounds, surely from inside.

    Halving in 20 digits comes near; then p moves towards q until the coins keep the bounds in all digits.
    """
    with mpmath.workdps(20):
        low, high = q, mpmath.mpf(1)
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if keeps(bounds, middle, q) else (low, middle)
    back = mpmath.mpf(10) ** -12
    while not keeps(bounds, low, q):
        low, back = low - back * (low - q), 10 * back
    return low


def assert_no_coins_show_more(bounds: RenyiDP, epsilon: float, delta: float) -> None:
    """No coins on the edge of the region, for a few chances of the second, are beyond (ε, δ)."""
    with mpmath.workdps(50):
        for log_q in np.linspace(math.log(delta) - min(epsilon, 300) - 3, -0.05, 12):
            q = mpmath.exp(log_q)
            assert largest_coin(bounds, q) - mpmath.exp(mpmath.mpf(float(epsilon))) * q <= delta
