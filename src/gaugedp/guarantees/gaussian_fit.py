"""The least μ of Gaussian differential privacy that follows from a profile."""

import math
from fractions import Fraction

import numpy as np

from gaugedp.accountant.rounding import above, up
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_delta

_CELLS, _ROUNDS = 40, 30  # places of the profile, and halvings of μ


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return a μ for which the guarantee implies μ-GDP, nearly the least; None where none is known.

    Where losses are bounded, the profile at some ε is joined by lines, which are above it, and compared with tangents
    of the Gaussian profile, which are below that; else μ is what the guarantee costs in GDP.
    """
    cost = guarantee.cost("gaussian")
    plain = math.inf if cost is None else _root_up(cost[0])
    largest = guarantee.renyi(math.inf)
    if largest == 0 or not math.isfinite(largest) or largest > 600:
        return plain if math.isfinite(plain) else None
    places = largest * np.linspace(0, 1, _CELLS + 1)
    deltas = np.array([float(guarantee.delta(float(place))) for place in places[:-1]] + [0.0])
    low, high = 0.0, min(plain, 2 * largest + 60)
    if not _is_below(places, deltas, high):
        return plain if math.isfinite(plain) else None
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (low, middle) if _is_below(places, deltas, middle) else (middle, high)
    return up(high)


def _root_up(square: Fraction) -> float:
    root = math.sqrt(above(square))
    return root if Fraction(root) ** 2 >= square else up(root)


def _is_below(places: np.ndarray, deltas: np.ndarray, mu: float) -> bool:
    """Whether lines between the points (e^ε, δ) are nowhere above the tangents of the profile of μ there."""
    if mu == 0:
        return not deltas.any()
    values = np.array([gaussian_delta(mu, float(place)) for place in places]) * (1 - 1e-9)
    if (deltas > values).any():
        return False
    ratios = np.exp(places)
    slopes = np.array([-_beyond(mu, float(place)) for place in places])
    gaps = values[1:] - slopes[1:] * ratios[1:] - values[:-1] + slopes[:-1] * ratios[:-1]
    met = np.clip(gaps / np.minimum(slopes[:-1] - slopes[1:], -1e-300), ratios[:-1], ratios[1:])
    lines = deltas[:-1] + (deltas[1:] - deltas[:-1]) * (met - ratios[:-1]) / (ratios[1:] - ratios[:-1])
    tangents = np.minimum(values[:-1] + slopes[:-1] * (met - ratios[:-1]), values[1:] + slopes[1:] * (met - ratios[1:]))
    return bool((lines * (1 + 1e-9) <= tangents).all())


def _beyond(mu: float, epsilon: float) -> float:
    """Return Φ(−μ/2 − ε/μ): how fast the profile falls in e^ε."""
    return math.erfc((mu / 2 + epsilon / mu) / math.sqrt(2)) / 2
