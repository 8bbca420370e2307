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


def nearest(bounds: RenyiDP, epsilon: float, delta: float) -> mpmath.mpf:
    """Return the least excess of the bounds on the line p = δ + e^ε·q, below 0 where some coins there keep all.

    By golden sections, as each divergence is convex along a line: in 40 digits, and with nothing of the library.
    """
    ratio = (mpmath.sqrt(5) - 1) / 2
    low, high = mpmath.mpf(-720), mpmath.mpf(720)
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [_excess(bounds, epsilon, delta, at) for at in inner]
    for _ in range(60):
        if min(values) < 0:
            break
        side = 0 if values[0] < values[1] else 1
        low, high = (low, inner[1]) if side == 0 else (inner[0], high)
        new = high - ratio * (high - low) if side == 0 else low + ratio * (high - low)
        inner = [new, inner[0]] if side == 0 else [inner[1], new]
        value = _excess(bounds, epsilon, delta, new)
        values = [value, values[0]] if side == 0 else [values[1], value]
    return min(values)


def _excess(bounds: RenyiDP, epsilon: float, delta: float, odds: mpmath.mpf) -> mpmath.mpf:
    """Return the largest log of a divergence over its bound where the log odds of (p − δ)/(1 − δ) are `odds`."""
    spare = 1 - mpmath.mpf(delta)
    above, not_p = (spare / (1 + mpmath.exp(-sign * odds)) for sign in (1, -1))
    p, q = delta + above, above * mpmath.exp(-mpmath.mpf(epsilon))
    rest = not_p + above * -mpmath.expm1(-mpmath.mpf(epsilon)) + delta  # 1 − q
    logs = [(mpmath.log(x), mpmath.log(y)) for x, y in ((p, q), (not_p, rest))]
    return max(
        _of_order(mpmath.mpf(a), mpmath.mpf(value), coins)
        for a, value in zip(bounds.orders, bounds.values, strict=True)
        for coins in (logs, [pair[::-1] for pair in logs])
    )


def _of_order(a: mpmath.mpf, value: mpmath.mpf, logs: list) -> mpmath.mpf:
    if a == 1:
        shown, bound = sum(mpmath.exp(x) * (x - y) for x, y in logs), value
    else:
        shown, bound = sum(mpmath.exp(a * x + (1 - a) * y) for x, y in logs) - 1, mpmath.expm1((a - 1) * value)
    return mpmath.log(max(shown, mpmath.mpf("1e-60")) / bound)
