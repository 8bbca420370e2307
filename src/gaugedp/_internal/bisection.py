"""Bisection of monotone conditions and root finding."""

import math
from collections.abc import Callable


def bisected(
    low: float, high: float, is_low: Callable[[float], bool], apart: float = 0.0, relative: float = 0.0
) -> tuple[float, float]:
    """Return a bracket of the place where `is_low` turns False.

    `is_low` is monotone. The ends are at most `apart` + `relative`·high apart, or adjacent floats. The given ends are
    trusted: `is_low` is evaluated only at numbers between them.
    """
    while high - low > apart + relative * high:
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high


def root_of(
    function: Callable[[float], float], low: float, high: float, apart: float = 0.0, relative: float = 2.0**-50
) -> float:
    """Return about a zero of a function (Chandrupatla 1997).

    It has different signs at `low` and `high`. The sign changes within `apart` + `relative`·root of the result. Steps
    are by inverse quadratic interpolation where that is sure to be good, else halves.
    """
    x, value = high, function(high)
    other, opposite = low, function(low)
    if value == 0 or opposite == 0:
        return x if value == 0 else other
    if (value > 0) == (opposite > 0):
        raise ValueError(f"The function must change sign between {low!r} and {high!r}, but has the same sign at both.")
    share = 0.5
    while True:
        point = x + share * (other - x)
        found = function(point)
        before, earlier = x, value
        if (found > 0) != (value > 0):
            before, earlier, other, opposite = other, opposite, x, value
        x, value = point, found
        nearest = x if abs(value) < abs(opposite) else other
        least = (apart + relative * abs(nearest)) / abs(other - x)
        if value == 0 or least > 0.5 or math.nextafter(x, other) == other:
            return x if value == 0 else nearest
        share = min(max(_share(x, other, before, value, opposite, earlier), least), 1 - least)


def _share(x: float, other: float, before: float, value: float, opposite: float, earlier: float) -> float:
    """Return the relative zero of the quadratic interpolation, or ½."""
    if earlier in (value, opposite):
        return 0.5
    place, height = (x - other) / (before - other), (value - opposite) / (earlier - opposite)
    if not 1 - math.sqrt(max(0.0, 1 - place)) < height < math.sqrt(max(0.0, place)):
        return 0.5
    to_other = value / (opposite - value) * earlier / (opposite - earlier)
    return to_other + (before - x) / (other - x) * value / (earlier - value) * opposite / (earlier - opposite)
