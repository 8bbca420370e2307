"""Rules that guess the answer from a score, chosen on some runs and tested on others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp.audit.clopper_pearson import Guesses, estimated_shares
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP

_IN_MIDDLE = 18  # of them, at equal distances; the others are at both ends
_DELTAS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5)


@dataclass(frozen=True)
class ProfilePoint:
    """Point (ε, δ) on the claimed curve."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Rule:
    """Rule that guesses one side by a score.

    It guesses one side if the score is at least `high`, and the other if it is at most `low` (below `high` if
    `always`); `upper_is_a` gives the side. `bound` is the bound that the rule would prove at `point` on the runs it was
    chosen on, by normal approximation; `surprise` the excess of right guesses over those that the point allows, in
    deviations; `evidence` the exponent of Chernoff's bound for so many right of so few guesses (0 for a rule that is
    not rare).
    """

    point: ProfilePoint
    high: float
    low: float
    upper_is_a: bool
    always: bool
    bound: float
    surprise: float
    evidence: float

    def guesses(self, values: np.ndarray, is_a: np.ndarray) -> Guesses:
        """Return how often the rule is right."""
        upper = values >= self.high
        lower = ~upper if self.always else (values <= self.low) & ~upper
        right = (is_a[upper] == self.upper_is_a).sum() + (is_a[lower] != self.upper_is_a).sum()
        sides = int(np.isfinite(self.high)) + int(self.always or np.isfinite(self.low))
        return Guesses(int(right), int(upper.sum() + lower.sum()), len(values), sides, self.always)


def best_rules(
    values: np.ndarray, is_a: np.ndarray, points: Sequence[ProfilePoint], deviations: float
) -> tuple[Rule, Rule | None]:
    """Return the best rule on these runs, and a rare one or None."""
    tails = _Tails(values, is_a)
    rules = [rule for point in points for rule in tails.best(point, deviations)]
    return best_of(rules, len(points)), rarest_of(rules)


def rarest_of(rules: Sequence[Rule]) -> Rule | None:
    """Return the rare rule with most evidence, or None."""
    return max((rule for rule in rules if rule.evidence > 0), key=lambda rule: rule.evidence, default=None)


def best_of(rules: Sequence[Rule], n_points: int) -> Rule:
    """Return the rule with the largest bound for one point.

    For several points: the rule with the largest surprise if that is 2.5 deviations or more, else with the largest
    share bound/ε of the claim, and among equal shares with the largest surprise.
    """
    if n_points == 1:
        return max(rules, key=lambda rule: rule.bound)
    boldest = max(rules, key=lambda rule: rule.surprise)
    if boldest.surprise >= 2.5:
        return boldest
    return max(rules, key=lambda rule: (max(rule.bound, 0.0) / max(rule.point.epsilon, 0.1), rule.surprise))


class _Tails:
    """Counts of both sides beyond pairs of thresholds."""

    def __init__(self, values: np.ndarray, is_a: np.ndarray) -> None:
        order = np.argsort(values, kind="stable")
        self.values, self.n = values[order], len(values)
        self.of_a = np.concatenate([[0], np.cumsum(is_a[order])])  # among the k smallest
        distinct = np.flatnonzero(np.concatenate([[True], self.values[1:] != self.values[:-1]]))
        places = np.union1d(_ends(len(distinct)), _gaps(self.values[distinct]))
        self.starts = distinct[places]  # of groups of equal values
        self.stops = np.append(distinct[1:], self.n)[np.searchsorted(distinct, self.starts)]

    def best(self, point: ProfilePoint, deviations: float) -> list[Rule]:
        counts = self._pairs()
        measured = self._measured(point, deviations, *counts[:4])
        places = dict.fromkeys(int(np.argmax(measure)) for measure in measured)
        return [self._rule(place, point, counts, measured) for place in places]

    def _pairs(self) -> tuple[np.ndarray, ...]:
        """Return right, guessed, sides, always, start of the upper tail, stop of the lower, upper_is_a; all (m,)."""
        start = np.append(self.starts, self.n)
        stop = np.append(self.stops, 0)
        start, stop = (grid.ravel() for grid in np.meshgrid(start, stop, indexing="ij"))
        disjoint = stop <= start
        always = np.concatenate([np.zeros(disjoint.sum(), dtype=bool), np.ones(len(self.starts), dtype=bool)])
        start, stop = np.append(start[disjoint], self.starts), np.append(stop[disjoint], self.starts)
        upper_a, lower_a = self.of_a[-1] - self.of_a[start], self.of_a[stop]
        guessed = self.n - start + stop
        right = upper_a + stop - lower_a
        sides = np.where(always, 2, (start < self.n).astype(int) + (stop > 0))
        twice = [np.concatenate([column, column]) for column in (guessed, sides, always, start, stop)]
        is_upper = np.repeat([True, False], len(right))
        return np.concatenate([right, guessed - right]), *twice, is_upper

    def _measured(
        self, point: ProfilePoint, deviations: float, right: np.ndarray, guessed: np.ndarray, *kind: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        share = estimated_shares(right, guessed, deviations)
        extra = self._extra(point, deviations + 1, guessed, *kind)
        bound = np.log(np.maximum(share - extra, 1e-300) / (1 - share))
        allowed = _allowed(point, extra)
        surprise = (right - guessed * allowed) / np.sqrt(np.maximum(guessed * allowed * (1 - allowed), 1.0))
        enough = guessed >= min(40, 0.02 * self.n)
        surprise = np.where(enough & np.isfinite(extra), surprise, -np.inf)
        exponents = evidence(right, guessed, _allowed(point, self._extra(point, 1.0, guessed, *kind)))
        # 1 / 4: of the runs: a rule that guesses on no more of them is a rare one
        return bound, surprise, np.where(guessed <= (1 / 4) * self.n, exponents, 0.0)

    def _extra(self, point: ProfilePoint, deviations: float, guessed: np.ndarray, *kind: np.ndarray) -> np.ndarray:
        """Return δ·sides/(2g), g the rate of guessing by Wilson's bound; infinity without guesses."""
        sides, always = kind
        if point.delta == 0:
            return np.zeros(len(guessed))
        rate = np.where(always, 1.0, estimated_shares(guessed, np.array(self.n), deviations))
        return np.asarray(np.divide(point.delta * sides / 2, rate, out=np.full(len(rate), np.inf), where=rate > 0))

    def _rule(
        self, place: int, point: ProfilePoint, counts: tuple[np.ndarray, ...], measured: tuple[np.ndarray, ...]
    ) -> Rule:
        always, start, stop, upper_is_a = (column[place] for column in counts[3:])
        high = float(self.values[start]) if start < self.n else np.inf
        low = float(self.values[stop - 1]) if stop > 0 and not always else -np.inf
        return Rule(point, high, low, bool(upper_is_a), bool(always), *(float(measure[place]) for measure in measured))


def evidence(right: np.ndarray, guessed: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return m·KL(right/m ‖ allowed) of m guesses: Chernoff's exponent, or 0."""
    share = np.divide(right, guessed, out=np.zeros(len(guessed)), where=guessed > 0)
    apart = scipy.special.rel_entr(share, allowed) + scipy.special.rel_entr(1 - share, 1 - allowed)
    return np.asarray(np.where(share > allowed, guessed * apart, 0.0))


def _allowed(point: ProfilePoint, extra: np.ndarray) -> np.ndarray:
    """Return the largest share of right guesses, `extra` = δ·sides/(2g)."""
    shrunk = np.exp(-point.epsilon)
    return np.asarray(np.minimum((1 + extra * shrunk) / (1 + shrunk), 1 - 1e-9))


def _ends(n: int, *, most_ends: int = 46) -> np.ndarray:  # thresholds for each end
    if n <= most_ends:
        return np.arange(n)
    middle = np.linspace(0, n - 1, _IN_MIDDLE).astype(int)
    edge = np.geomspace(1, n / _IN_MIDDLE, (most_ends - _IN_MIDDLE) // 2).astype(int)
    return np.concatenate([middle, edge, n - 1 - edge])


def _gaps(distinct: np.ndarray) -> np.ndarray:
    # 4: between values, on both sides of which a threshold is tried
    below = np.argsort(-np.diff(distinct), kind="stable")[:4]
    return np.concatenate([below, below + 1])


def points(guarantee: Guarantee) -> list[ProfilePoint]:
    """Return points of the claimed curve: the pure one, and others from δ(0) to 1e−5."""
    check_claim(guarantee)
    pure = float(guarantee.renyi(math.inf))
    curve = [ProfilePoint(pure, 0.0)] if math.isfinite(pure) else []
    if isinstance(guarantee, PureDP):
        return curve  # at a smaller ε its curve bounds a rule that always guesses equally, and others less
    if isinstance(guarantee, ApproxDP):
        curve.append(ProfilePoint(guarantee.epsilon_value, guarantee.delta_value))
    at_zero = float(guarantee.delta(0.0))
    curve.append(ProfilePoint(0.0, at_zero))
    for delta in _DELTAS:
        epsilon = float(guarantee.epsilon(delta)) if delta < at_zero else 0.0
        if 0 < epsilon < math.inf:
            curve.append(ProfilePoint(epsilon, float(guarantee.delta(epsilon))))
    return [point for point in curve if point.delta < 1]


def check_claim(guarantee: Guarantee) -> None:
    """Raise InvalidRequest if the claim is not a Guarantee."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidRequest(
            f"`guarantee` is {guarantee!r}, but must be one of the classes of gaugedp.guarantees.",
            "Pass the guarantee to test, such as gd.PureDP(1.0).",
        )
