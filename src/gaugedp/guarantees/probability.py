"""Bounds of a guarantee on the probability of one event."""

from gaugedp.accountant.testing import highest_probability
from gaugedp.guarantees.base import Guarantee, check_delta


def probability_range(guarantee: Guarantee, q: float) -> tuple[float, float]:
    """Return (low, high) such that low ≤ P(E) ≤ high for every event E with Q(E) = `q`, for neighbouring tables.

    P and Q are the laws of what was released, in either order, and `q` is in [0, 1]. The ends are rounded outwards.
    For a `RenyiDP` some P, Q and E satisfy the bounds and attain the ends up to rounding
    (docs/theory/renyi_region.md). Other guarantees may be known by less than what they satisfy.
    """
    check_delta(q)
    q = float(q)
    return max(0.0, 1 - highest_probability(guarantee, 1 - q) - 2**-53), highest_probability(guarantee, q)
