"""Inversion of pivots: values θ with |h(x, θ)| ≤ q.

x are released numbers, and h(x, θ) is pure noise at the true θ, as h(x, θ) = top − θ·bottom of Fieller's intervals.
docs/theory/derived.md
"""

from bisect import bisect
from collections.abc import Callable

import numpy as np

_LADDER = np.concatenate([[0.0], np.geomspace(1e-6, 1, 25)])  # from the estimate to the end of the range


def quotients_within(
    tops: np.ndarray, bottoms: np.ndarray, curves: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of m with |top − m·bottom| ≤ q(m).

    The shapes are (n,); (∞, −∞) if there is none. q is linear between its values `curves` (n, k) at the `places` (k,).
    """
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


def values_within(
    is_within: Callable[[float], bool], estimate: float, bounds: tuple[float, float], is_inside: bool = True
) -> tuple[float, float]:
    """Return the interval of a set, with the `estimate`.

    The set in `bounds` is searched from the estimate outwards; if not `is_inside`, from the outermost of some places.
    """
    low, high = bounds
    first, last = (estimate, estimate) if is_inside else _outermost(is_within, low, high)
    return min(estimate, _end(is_within, first, low)), max(estimate, _end(is_within, last, high))


def _end(is_within: Callable[[float], bool], start: float, end: float) -> float:
    rungs = [_rung(start, end, float(step)) for step in _LADDER]
    if is_within(rungs[-1]):
        return end
    last = bisect(range(1, len(rungs)), False, key=lambda i: not is_within(rungs[i]))
    near, far = rungs[last], rungs[last + 1]
    for _ in range(9):  # halvings
        middle = (near + far) / 2
        near, far = (middle, far) if is_within(middle) else (near, middle)
    return far


def _outermost(is_within: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    # 33: of values that are tried, where the estimate itself may not be in the set
    places = [_rung(low, high, float(step)) for step in np.linspace(0, 1, 33)]
    some = [place for place in places if is_within(place)] or [low, high]
    return some[0], some[-1]


def _rung(start: float, end: float, step: float) -> float:
    """Return the point at share `step` from start to end; towards infinity, linear in θ/(1 + θ)."""
    if np.isfinite(end):
        return start + step * (end - start)
    along = min(step, 1 - 1e-9)
    return (start + along) / (1 - along)
