"""What is claimed: points (ε, δ) of a guarantee's curve at which runs can contradict it."""

import math

from gaugedp.audit.events import Point
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.pure import PureDP

_DELTAS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5)


def points(guarantee: Guarantee) -> list[Point]:
    """Return the pure point where there is one, and points from δ(0) down to 1e−5, all of them implied by the claim."""
    check_claim(guarantee)
    pure = float(guarantee.renyi(math.inf))
    curve = [Point(pure, 0.0)] if math.isfinite(pure) else []
    if isinstance(guarantee, PureDP):
        return curve  # at a smaller ε its curve says the same of a rule that always guesses, and less of others
    if isinstance(guarantee, ApproxDP):
        curve.append(Point(guarantee.epsilon_value, guarantee.delta_value))
    at_zero = float(guarantee.delta(0.0))
    curve.append(Point(0.0, at_zero))
    for delta in _DELTAS:
        epsilon = float(guarantee.epsilon(delta)) if delta < at_zero else 0.0
        if 0 < epsilon < math.inf:
            curve.append(Point(epsilon, float(guarantee.delta(epsilon))))
    return [point for point in curve if point.delta < 1]


def check_claim(guarantee: Guarantee) -> None:
    """Refuse a claim that is no guarantee."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidRequest(
            f"The claim is {guarantee!r}.", "Give guarantee= as one of gaugedp's, such as gd.PureDP(1.0)."
        )
