"""Privacy profiles as points joined by lines.

The points are upper bounds on δ at some e^ε. A profile is convex and falls as a function of γ = e^ε > 0, from 1 at γ =
0. So the lower hull of points above it lies above it too, and a hull is the profile of a pair of distributions with
finitely many losses: docs/theory/sampling.md.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.accountant.atoms import explicit_distribution
from gaugedp.accountant.loss import Pair
from gaugedp.accountant.rounding import above, up
from gaugedp.accountant.total import directions
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss, log_ratio

Points = tuple[tuple[Fraction, Fraction], ...]  # (γ, upper bound on the profile), γ ascending

FIRST = 1e-6  # an order minus 1 that stands for the order 1: divergences increase with the order
START = (Fraction(0), Fraction(1))
_CELLS = 512  # between points
_EPSILON = 600.0  # the largest
NO_LOSS = Atoms((0.0,), (1.0,))


@lru_cache(maxsize=64)
def points_above_one(guarantee: Guarantee) -> Points:
    """Return points of the profile for γ ≥ 1.

    Beyond the last point the profile counts as level. If all losses have finitely many values, the points are all
    places where the profile bends.
    """
    places = _bends(guarantee) or _grid(guarantee)
    return points_at(places, [float(guarantee.delta(place)) for place in places])


def points_at(places: Iterable[float], deltas: Iterable[float]) -> Points:
    """Return points (e^ε, δ) with ε in `places`, rounded up."""
    pairs = zip(places, deltas, strict=True)
    return tuple((1 + Fraction(up(math.expm1(place))), decimal(float(delta))) for place, delta in pairs)


def _bends(guarantee: Guarantee) -> list[float]:
    """Return 0 and the sizes of all losses, ascending.

    The list is empty if the losses are too many, or not finitely many.
    """
    totals = directions(guarantee.components())
    if any(total.others or not total.families for total in totals):
        return []
    listed = [explicit_distribution(total) for total in totals]
    places = {0.0, *(abs(float(loss)) for sums in listed if sums for loss in sums.losses)}
    return sorted(places) if None not in listed and len(places) <= _CELLS and max(places) <= _EPSILON else []


def _grid(guarantee: Guarantee, *, unseen: float = 1e-30) -> list[float]:  # δ beyond which a profile counts as level
    cost = guarantee.cost("approx")
    largest = [] if cost is None else [above(min(cost[0], Fraction(_EPSILON)))]
    least = min(float(guarantee.epsilon(unseen)), *largest, _EPSILON + 1)
    end = least if least <= _EPSILON else 60.0  # if that δ is never reached
    n_cells = _n_cells(guarantee)
    # 1.5: of the places of the points: they are nearer to each other at small losses
    return [end * (k / n_cells) ** 1.5 for k in range(n_cells + 1)]


def _n_cells(guarantee: Guarantee) -> int:
    if guarantee.exact_delta(0.0) is not None:
        return _CELLS
    # A point takes 0.1 s, or 10 ms; that of a closed form takes 1 µs.
    return 40 if any(total.others for total in directions(guarantee.components())) else 128


def reversed_points(points: Iterable[tuple[Fraction, Fraction]]) -> Points:
    """Return points of the reversed pair: h(γ) becomes 1 − γ + γ·h(1/γ)."""
    return tuple(reversed([(1 / ratio, 1 + (value - 1) / ratio) for ratio, value in points if ratio]))


def pair_of(points: Points) -> Pair:
    """Return a pair whose profile joins the points by lines.

    The lines start at (0, 1), and points above other lines are dropped. Under Q the ratio dP/dQ is γ where the profile
    bends, with the increase of its slope as probability.
    """
    hull = _lower_hull((START, *points))
    slopes = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(hull)]
    impossible = hull[-1][1]
    masses = [(hull[at][0], end - start) for at, (start, end) in enumerate(pairwise([*slopes, Fraction(0)]), 1)]
    losses = [
        # times 1 + 2^−44 for the rounding of sums of a thousand weights
        (_raised(log_ratio(ratio)), float(ratio * mass / (1 - impossible)) * (1 + 2.0**-44))
        for ratio, mass in masses
        if mass
    ]
    return Pair(FinitePrivacyLoss, (_on_a_lattice(*zip(*losses, strict=True)) if losses else NO_LOSS,), impossible)


def _on_a_lattice(values: tuple[float, ...], weights: tuple[float, ...]) -> Atoms:
    """Return atoms on a lattice with the same mean of dP/dQ.

    Each loss is split between the two nearest multiples of a span. Such a split can only raise a profile, which is the
    mean of a convex function of dP/dQ under Q. Two losses form a lattice of their own.
    """
    if len(values) <= 2:
        span = Fraction(values[-1]) - Fraction(values[0]) or Fraction(1)
        return Atoms(values, weights, (Fraction(values[0]), span))
    losses, masses = np.array(values), np.array(weights)
    size = float(np.abs(losses) @ masses)
    span = Fraction(2) ** (math.floor(math.log2(size)) - 6)  # binary digits of a lattice below the mean size of a loss
    below = np.floor(losses / float(span))
    upper = np.expm1(below * float(span) - losses) / math.expm1(-float(span))
    places, at = np.unique(np.concatenate([below, below + 1]), return_inverse=True)
    split = np.bincount(at, weights=np.concatenate([masses * (1 - upper), masses * upper]))
    positive = split > 0
    return Atoms(tuple(places[positive] * float(span)), tuple(split[positive]), (Fraction(0), span))


def _lower_hull(points: Points) -> Points:
    hull: list[tuple[Fraction, Fraction]] = []
    for ratio, value in points:
        if hull and (value >= hull[-1][1] or ratio == hull[-1][0]):
            continue
        while len(hull) > 1 and _is_above(hull[-1], hull[-2], (ratio, value)):
            hull.pop()
        hull.append((ratio, value))
    return tuple(hull)


def _is_above(
    point: tuple[Fraction, Fraction], before: tuple[Fraction, Fraction], after: tuple[Fraction, Fraction]
) -> bool:
    rise, run = after[1] - before[1], after[0] - before[0]
    return (point[1] - before[1]) * run >= rise * (point[0] - before[0])


def _raised(loss: float) -> float:
    return loss + abs(loss) * 2.0**-48


def curve_of(pair: Pair, shift: float) -> float:
    """Return the Rényi curve of a pair at `shift` + 1, rounded up."""
    if pair.impossible:
        return math.inf
    losses, at = pair.family([pair.row], [1]), np.array([shift])
    return max(0.0, up(float(losses.log_moment(at)[0] + losses.rounding(at)[0]) / shift))
