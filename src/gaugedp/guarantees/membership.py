"""Membership inference under a guarantee."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gaugedp._internal.bisection import bisected
from gaugedp._internal.validate import between
from gaugedp.accountant.rounding import above, up
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_delta
from gaugedp.guarantees.membership_risk import MembershipRisk, MembershipTest


def membership_risk(guarantee: Guarantee, prior: float, false_positive_rates: Sequence[float]) -> MembershipRisk:
    """Return the bounds of `Guarantee.membership_risk`."""
    between(0, 1, prior=prior)
    odds = prior / (1 - prior)
    tests = tuple(_test(guarantee, odds, rate) for rate in false_positive_rates)
    gained = prior * float(guarantee.delta(-math.log(odds)))
    return MembershipRisk(
        guarantee,
        float(prior),
        float(guarantee.delta(0.0)),
        min(1.0, up(1 - prior + gained) if gained else 1 - prior),
        _posterior(odds, guarantee.renyi(math.inf)),
        gaussian_mu_of(guarantee),
        tests,
    )


Guarantee._membership_risk = staticmethod(membership_risk)  # the method of guarantees


def _test(guarantee: Guarantee, odds: float, rate: float) -> MembershipTest:
    between(0, 1, false_positive_rate=rate)
    hit = min(1.0, up(1 - guarantee.tradeoff(rate)))
    return MembershipTest(float(rate), hit, _posterior(odds, up(math.log(hit / rate))))


def _posterior(odds: float, log_ratio: float) -> float:
    if log_ratio + math.log(odds) > 700:
        return 1.0
    after = odds * math.exp(log_ratio)
    return min(1.0, up(after / (1 + after)))


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return a nearly minimal μ of implied μ-GDP, or None.

    If losses are bounded, lines between profile points, which are above the profile, are compared with tangents of the
    Gaussian profile, which are below it; else μ is the cost of the guarantee in GDP, if any.
    """
    cost = guarantee.cost("gaussian")
    plain = math.inf if cost is None else _root_up(cost[0])
    largest = guarantee.renyi(math.inf)
    if largest == 0 or not math.isfinite(largest) or largest > 600:
        return plain if math.isfinite(plain) else None
    places = largest * np.linspace(0, 1, 40 + 1)
    deltas = np.array([float(guarantee.delta(float(place))) for place in places[:-1]] + [0.0])
    high = min(plain, 2 * largest + 60)
    if not _is_below(places, deltas, high):
        return plain if math.isfinite(plain) else None
    return up(bisected(0.0, high, lambda mu: not _is_below(places, deltas, mu), apart=high * 2.0**-30)[1])


def _root_up(square: Fraction) -> float:
    root = math.sqrt(above(square))
    return root if Fraction(root) ** 2 >= square else up(root)


def _is_below(places: np.ndarray, deltas: np.ndarray, mu: float) -> bool:
    """Return True if lines between the points (e^ε, δ) are below all tangents of the profile of μ."""
    if mu == 0:
        return not deltas.any()
    values = np.array([gaussian_delta(mu, float(place)) for place in places]) * (1 - 1e-9)
    if (deltas > values).any():
        return False
    ratios = np.exp(places)
    slopes = np.array([-math.erfc((mu / 2 + float(place) / mu) / math.sqrt(2)) / 2 for place in places])  # in e^ε
    gaps = values[1:] - slopes[1:] * ratios[1:] - values[:-1] + slopes[:-1] * ratios[:-1]
    met = np.clip(gaps / np.minimum(slopes[:-1] - slopes[1:], -1e-300), ratios[:-1], ratios[1:])
    lines = deltas[:-1] + (deltas[1:] - deltas[:-1]) * (met - ratios[:-1]) / (ratios[1:] - ratios[:-1])
    tangents = np.minimum(values[:-1] + slopes[:-1] * (met - ratios[:-1]), values[1:] + slopes[1:] * (met - ratios[1:]))
    return bool((lines * (1 + 1e-9) <= tangents).all())
