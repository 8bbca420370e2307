"""Exact privacy profile of finitely many losses."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.contour import Bracket, log_of
from gaugedp.accountant.loss import Array
from gaugedp.accountant.rounding import LEAST_SURE
from gaugedp.accountant.total import Total

LONGEST = 200  # releases of one kind: more lose too many digits


@dataclass(frozen=True)
class ExplicitDistribution:
    """Distribution of a sum of finitely many losses.

    `losses` descend and are rounded up by at most `raised`; `lost` bounds the relative rounding of `weights` in units.
    """

    losses: Array
    weights: Array
    lost: float
    raised: float

    def log_delta(self, epsilon: float) -> Bracket:
        """Return log δ at `epsilon`, with its rounding."""
        above = int(np.searchsorted(-self.losses, -epsilon))
        weights, losses = self.weights[:above], self.losses[:above]
        delta = float(weights @ -np.expm1(epsilon - losses))
        shifted = (self.largest + epsilon) * float(weights.sum())
        rounding = UNIT * self.lost * (delta + shifted)
        return Bracket(log_of(delta - rounding - self.raised * float(weights.sum())), log_of(delta + rounding))

    @property
    def largest(self) -> float:
        """The largest loss, above which δ is 0."""
        return float(self.losses[0])


def explicit_distribution(total: Total) -> ExplicitDistribution | None:
    """Return all sums of losses, or None if too many."""
    rows = total.atoms()
    if rows is None or any(count > LONGEST for _, _, count in rows):
        return None
    sizes = [n_sums(*row) for row in rows]
    if math.prod(sizes) > 2**20 or max(sizes, default=1) > 2**20 // 32:  # losses listed explicitly
        return None
    losses, weights = np.zeros(1), np.ones(1)
    for values, probabilities, count in rows:
        more, theirs = repeated(values, probabilities, count)
        losses = np.add.outer(losses, more).ravel()
        weights = np.multiply.outer(weights, theirs).ravel()
    order = np.argsort(-losses, kind="stable")
    releases = sum(count for _, _, count in rows)
    lost = 3.0 * (releases + 2)
    shift = UNIT * lost / 4 * float(np.abs(losses).max())
    return ExplicitDistribution(losses[order] + shift, weights[order], lost, 2 * shift)


def n_sums(values: Array, _: Array, count: int) -> int:
    """Return the number of sums of `count` values."""
    return math.comb(count + len(values) - 1, count)


def repeated(values: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return the losses and weights of `count` independent copies."""
    if count == 1:
        return values, weights
    times = np.array(list(_compositions(count, len(values))))
    logs = np.array([_log_ways(row) for row in times.tolist()]) + times @ np.log(np.maximum(weights, 1e-320))
    ways = np.array([_ways(row) for row in times.tolist()])
    powers = np.prod(weights**times, axis=1)
    return times @ values, np.where(powers > LEAST_SURE, ways * powers, np.exp(logs) * (1 + 1e-11))


def _compositions(count: int, n_values: int) -> list[tuple[int, ...]]:
    """Return all compositions of `count` into `n_values` parts ≥ 0."""
    bars = itertools.combinations(range(count + n_values - 1), n_values - 1)
    ends = ((-1, *places, count + n_values - 1) for places in bars)
    return [tuple(high - low - 1 for low, high in itertools.pairwise(row)) for row in ends]


def _log_ways(times: list[int]) -> float:
    return math.lgamma(sum(times) + 1) - math.fsum(math.lgamma(number + 1) for number in times)


def _ways(times: list[int]) -> float:
    ways, remaining = 1, sum(times)
    for number in times:
        ways *= math.comb(remaining, number)
        remaining -= number
    return float(ways)
