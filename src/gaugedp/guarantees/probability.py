"""Bounds on the probability of an event."""

from gaugedp.accountant.testing import highest_probability
from gaugedp.guarantees.base import Guarantee, check_delta


def probability_range(guarantee: Guarantee, q: float) -> tuple[float, float]:
    """Return bounds on P(E), given Q(E) = `q`.

    low ≤ P(E) ≤ high for every such event E. P and Q are the output distributions of neighbouring tables, in either
    order, and `q` is in [0, 1]. The ends are rounded outwards. For a `RenyiDP` some P, Q and E satisfy the bounds and
    attain the ends up to rounding (docs/theory/renyi_region.md). For other guarantees the bounds need not be attained.

    Examples
    --------
    >>> from gaugedp.guarantees import PureDP, probability_range
    >>> low, high = probability_range(PureDP(1.0), 0.1)
    >>> round(low, 3), round(high, 3)
    (0.037, 0.272)
    """
    check_delta(q)
    q = float(q)
    return max(0.0, 1 - highest_probability(guarantee, 1 - q) - 2**-53), highest_probability(guarantee, q)
