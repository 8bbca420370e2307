"""Bounds on the probability of an event."""

from gaugedp.accountant.testing import highest_probability
from gaugedp.guarantees.base import Guarantee, check_delta


def probability_range(guarantee: Guarantee, q: float) -> tuple[float, float]:
    """Bound how much a release can change an event's probability.

    Use it to explain a guarantee: an event is anything that may happen because of a release, such as a decision about a
    person. Under a strong guarantee, its probability depends little on whether the person is in the table.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of the release.
    q : float
        The probability of the event, in [0, 1], under one of two neighbouring tables: one with the person, one without.

    Returns
    -------
    low, high : float
        The least and the largest probability that the event can have under the other table, rounded outwards. For a
        `RenyiDP` both are attained, up to rounding (docs/theory/membership.md); otherwise they need not be.

    Examples
    --------
    If an event has probability 0.1 under one table, its probability under a neighbouring table is in this range:

    >>> from gaugedp.guarantees import PureDP, probability_range
    >>> low, high = probability_range(PureDP(1.0), 0.1)
    >>> round(low, 3), round(high, 3)
    (0.037, 0.272)
    """
    check_delta(q)
    q = float(q)
    return max(0.0, 1 - highest_probability(guarantee, 1 - q) - 2**-53), highest_probability(guarantee, q)
