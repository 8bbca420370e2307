"""The place where a monotone condition on numbers changes."""

from collections.abc import Callable


def bisected(
    low: float, high: float, is_low: Callable[[float], bool], apart: float = 0.0, relative: float = 0.0
) -> tuple[float, float]:
    """Return numbers around the place where the monotone `is_low` changes from True to False.

    They are at most `apart` + `relative`·high apart, or neighbouring floats. The ends are taken on trust: what is
    returned was asked, but for an end that no number replaced.
    """
    while high - low > apart + relative * high:
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high
