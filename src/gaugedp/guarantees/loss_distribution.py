"""Guarantees as discretised privacy loss distributions."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gaugedp._internal.rounding import PARAMETERS
from gaugedp._internal.validate import decimal, non_negative, positive
from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss
from gaugedp.guarantees.profile_points import FIRST, NO_LOSS, curve_of
from gaugedp.guarantees.pure import PureDP


class Losses(NamedTuple):
    """P(loss = k·span) for k = `first`, `first` + 1, …, and P(loss = ∞)."""

    first: int
    probabilities: tuple[float, ...]
    infinite: float = 0.0

    @classmethod
    def checked(cls, first: int, probabilities: Sequence[float], infinite: float = 0.0) -> "Losses":
        """Return the losses without zeros at the ends; missing probability counts as infinite loss."""
        chances = [float(chance) for chance in probabilities]
        if isinstance(first, bool) or int(first) != first:
            raise InvalidRequest(f"`first` is {first!r}, but must be an integer.", "Pass an integer number of steps.")
        if not all(chance >= 0 for chance in chances):
            raise InvalidRequest("At least one probability is negative or NaN.", "Pass probabilities of at least 0.")
        non_negative(infinite=infinite)
        missing = 1 - math.fsum([*chances, infinite])
        if not abs(missing) <= 1e-6:  # missing probability up to this size counts as an infinite loss
            raise InvalidRequest("The probabilities of the losses do not sum to 1.", "Include every possible loss.")
        places = np.flatnonzero(chances)
        start, end = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
        infinite = min(1.0, float(infinite) + missing) if missing > 2.0**-50 else float(infinite)
        return cls(int(first) + start, tuple(chances[start:end]), infinite)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers in a form for JSON."""
        return {**self._asdict(), "probabilities": list(self.probabilities)}


@dataclass(frozen=True, eq=True)
class LossDistribution(Guarantee):
    """Guarantee given by a discretised privacy loss distribution.

    Use it to import the result of another accountant that rounds the privacy loss to multiples of a fixed length.

    Parameters
    ----------
    span : float
        The fixed length, of which all privacy losses are multiples.
    removed : (first, probabilities, infinite)
        The losses if a unit is removed: the probabilities of the losses first·span, (first + 1)·span, … and that of an
        infinite loss, by default 0.
    added : (first, probabilities, infinite), optional
        The losses if a unit is added. By default they are the same.

    Notes
    -----
    The distribution must be "pessimistic". This means that in each direction, E[(1 − e^{ε−L})₊] + P(L = ∞), for the
    loss L, is an upper bound on the privacy profile. What rounding and truncation left out is not restored, with two
    exceptions: sums below 1, and small losses that no pair of distributions can have (E[e^{−L}] > 1).

    Examples
    --------
    The loss is −1 with probability 0.27 and 1 with probability 0.73, so ε is 1 at δ = 0:

    >>> from gaugedp.guarantees import LossDistribution
    >>> LossDistribution(1.0, (-1, (0.27, 0.0, 0.73))).epsilon(0)
    1.0
    """

    span: float
    removed: Losses
    added: Losses

    def __init__(self, span: float, removed: Sequence[Any], added: Sequence[Any] | None = None) -> None:
        positive(span=span)
        laws = [Losses.checked(*law) for law in (removed, removed if added is None else added)]
        self._set(span=float(span), removed=laws[0], added=laws[1])

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence, the larger of both directions.

        It is log E[e^{(a − 1)L}]/(a − 1) for the loss L and a = `order` (at least 1 + 10⁻⁶), and infinite if a loss is.
        """
        check_order(order)
        if math.isinf(order):
            return math.inf if self.removed.infinite or self.added.infinite else above(self._largest_finite)
        return max(curve_of(self.dominating_pair(removed), max(float(order) - 1, FIRST)) for removed in (1, 0))

    @property
    def _largest_finite(self) -> Fraction:
        ends = [law.first + len(law.probabilities) - 1 for law in (self.removed, self.added)]
        return max(*ends, 0) * decimal(self.span)

    def dominating_pair(self, removed: int) -> Pair:
        """Return the losses in the requested direction."""
        return _pair(self.span, self.removed if removed else self.added)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge of (ε, δ)-DP.

        Here ε is the largest finite loss, and δ the larger probability of an infinite loss.
        """
        infinite = max(decimal(self.removed.infinite), decimal(self.added.infinite))
        if accounting == "approx":
            return (self._largest_finite, infinite)
        return None if infinite else PureDP(above(self._largest_finite)).cost(accounting)

    def to_dict(self) -> dict[str, Any]:
        """Return the span and the losses of both directions."""
        laws = {"removed": self.removed.to_dict(), "added": self.added.to_dict()}
        return {"kind": self.kind, "span": self.span, **laws}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "LossDistribution":
        """Return the guarantee."""
        laws = [[numbers[name][field] for field in Losses._fields] for name in ("removed", "added")]
        return cls(numbers["span"], *laws)

    def __repr__(self) -> str:
        sizes = [len(law.probabilities) for law in (self.removed, self.added)]
        return f"LossDistribution({sizes[0]} and {sizes[1]} multiples of {self.span:g})"


@lru_cache(maxsize=16)
def _pair(span: float, losses: Losses) -> Pair:
    infinite = decimal(losses.infinite)
    if not losses.probabilities or infinite >= 1:
        return Pair(FinitePrivacyLoss, (NO_LOSS,), min(infinite, Fraction(1)))
    weights = _of_mass_one(np.array(losses.probabilities) / float(1 - infinite) * (1 + PARAMETERS))
    places = np.append(losses.first + np.flatnonzero(weights), max(0, losses.first + len(weights)))
    values, weights = places * span, np.append(weights[weights > 0], 0.0)
    weights = _raised(values, weights, float(1 / (1 - infinite)))
    values, weights, lattice = values[weights > 0], weights[weights > 0], (Fraction(0), Fraction(span))
    return Pair(FinitePrivacyLoss, (Atoms(tuple(values.tolist()), tuple(weights.tolist()), lattice),), infinite)


def _of_mass_one(weights: np.ndarray) -> np.ndarray:
    """Return the weights of the largest losses, with sum ≤ 1.

    No distribution whose weights are at most these has more mass above. The accountant assumes a sum of 1: it would
    subtract the excess at a loss of 0, and also from the losses below.
    """
    last = bisect_left(range(len(weights)), True, key=lambda place: math.fsum(weights[place + 1 :]) < 1)
    least = min(float(weights[last]), 1 - math.fsum(weights[last + 1 :]))
    return np.concatenate([np.zeros(last), [least], weights[last + 1 :]])


def _raised(values: np.ndarray, weights: np.ndarray, most: float) -> np.ndarray:
    """Return weights with small losses raised until E[e^{−L}] ≤ `most`.

    E[e^{−L}], the mass of the second distribution, is at most 1 for a pair; else compositions would be too low.
    """
    with np.errstate(over="ignore", under="ignore"):
        others = np.exp(-values)
        rest = np.append(np.cumsum((weights * others)[::-1])[::-1], 0.0)
        sums = np.cumsum(weights)
        masses = sums * others + rest[1:]  # all up to a value being raised to it
    last = int(np.argmax(np.append(masses[:-1] <= most, True)))  # at 0 it is 1
    if last == 0:
        return weights
    stays = (most - masses[last]) / (sums[last - 1] * (others[last - 1] - others[last]))
    low = sums[last - 1] * min(1.0, max(0.0, stays))
    raised = np.array([low, sums[last - 1] - low + weights[last]])
    return np.concatenate([np.zeros(last - 1), raised, weights[last + 1 :]])
