"""Fieller's intervals: the quotients that released numbers leave open."""

import numpy as np


def within(
    tops: np.ndarray, bottoms: np.ndarray, curves: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest m with |top − m·bottom| ≤ q(m), shapes (n,); ∞ and −∞ where there is none.

    q runs straight between its values `curves` (n, k) at the `places` (k,) of m, which grow. Between two of them both
    sides are straight, so that what is within is an interval.
    """
    gaps = tops[:, None] - bottoms[:, None] * places
    low, high = np.full(len(tops), np.inf), np.full(len(tops), -np.inf)
    for i in range(len(places) - 1):
        start, end = np.zeros(len(tops)), np.ones(len(tops))
        for side in (-1, 1):
            at, then = side * gaps[:, i] - curves[:, i], side * gaps[:, i + 1] - curves[:, i + 1]
            crossed = np.divide(at, at - then, out=np.zeros(len(tops)), where=(at > 0) != (then > 0))
            start = np.where(at > 0, np.where(then > 0, 2.0, np.maximum(start, crossed)), start)
            end = np.where((then > 0) & (at <= 0), np.minimum(end, crossed), end)
        inside = start <= end
        span = places[i + 1] - places[i]
        low = np.where(inside, np.minimum(low, places[i] + span * start), low)
        high = np.where(inside, np.maximum(high, places[i] + span * end), high)
    return low, high
