"""Fieller's intervals: the quotients that released numbers leave open."""

import numpy as np


def within(
    tops: np.ndarray, bottoms: np.ndarray, curves: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest m with |top − m·bottom| ≤ q(m), shapes (n,); ∞ and −∞ where there is none."""
    gaps = tops[:, None] - bottoms[:, None] * places
    start, end = np.zeros((len(tops), len(places) - 1)), np.ones((len(tops), len(places) - 1))
    for side in (-1, 1):
        excess = side * gaps - curves
        at, then = excess[:, :-1], excess[:, 1:]
        crossed = np.divide(at, at - then, out=np.zeros_like(at), where=(at > 0) != (then > 0))
        start = np.where(at > 0, np.where(then > 0, 2.0, np.maximum(start, crossed)), start)
        end = np.where((then > 0) & (at <= 0), np.minimum(end, crossed), end)
    inside, first, spans = start <= end, places[:-1], np.diff(places)
    low = np.where(inside, first + spans * start, np.inf).min(axis=1)
    high = np.where(inside, first + spans * end, -np.inf).max(axis=1)
    return low, high
