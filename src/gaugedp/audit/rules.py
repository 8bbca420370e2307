"""Rules that guess a side from a score: chosen on some runs by what they would prove, tested on others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.audit.binomial import Guesses, estimated_shares

_MOST_ENDS = 36  # thresholds that are tried for each end


@dataclass(frozen=True)
class Point:
    """(ε, δ) on the claimed curve."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Rule:
    """Guess one side where a score is at least `high`, the other where it is at most `low` (below `high` if `always`).

    `upper_is_a` says which. `bound` is what the rule would prove at `point` on the runs it was chosen on, by normal
    approximation; `surprise` by how many deviations the right guesses exceed what the point allows.
    """

    point: Point
    high: float
    low: float
    upper_is_a: bool
    always: bool
    bound: float
    surprise: float

    def guesses(self, values: np.ndarray, is_a: np.ndarray) -> Guesses:
        """Return how often the rule is right."""
        upper = values >= self.high
        lower = ~upper if self.always else (values <= self.low) & ~upper
        right = (is_a[upper] == self.upper_is_a).sum() + (is_a[lower] != self.upper_is_a).sum()
        sides = int(np.isfinite(self.high)) + int(self.always or np.isfinite(self.low))
        return Guesses(int(right), int(upper.sum() + lower.sum()), len(values), sides, self.always)


def best_rule(values: np.ndarray, is_a: np.ndarray, points: Sequence[Point], deviations: float) -> Rule:
    """Return the rule and point that would prove most, by Wilson bounds at so many deviations on these runs.

    With one point: the largest bound. With several: the largest surprise where that is 2.5 deviations or more, else
    the largest share bound/ε of what is claimed.
    """
    tails = _Tails(values, is_a)
    found = [rule for point in points for rule in tails.best(point, deviations)]
    return best_of(found, len(points))


def best_of(found: Sequence[Rule], n_points: int) -> Rule:
    """Return the best of rules by the criterion of `best_rule`; the first of equals."""
    if n_points == 1:
        return max(found, key=lambda rule: rule.bound)
    boldest = max(found, key=lambda rule: rule.surprise)
    if boldest.surprise >= 2.5:
        return boldest
    return max(found, key=lambda rule: max(rule.bound, 0.0) / max(rule.point.epsilon, 0.1))


class _Tails:
    """Counts of both sides above and below some thresholds, and over all pairs of them."""

    def __init__(self, values: np.ndarray, is_a: np.ndarray) -> None:
        order = np.argsort(values, kind="stable")
        self.values, self.n = values[order], len(values)
        self.of_a = np.concatenate([[0], np.cumsum(is_a[order])])  # among the k smallest
        distinct = np.flatnonzero(np.concatenate([[True], self.values[1:] != self.values[:-1]]))
        self.starts = distinct[np.unique(_ends(len(distinct)))]  # of groups of equal values
        self.stops = np.append(distinct[1:], self.n)[np.searchsorted(distinct, self.starts)]

    def best(self, point: Point, deviations: float) -> list[Rule]:
        """Return the best rules by bound and by surprise among those with two tails, one tail, and none left out."""
        counts = self._pairs()
        measured = self._measured(point, deviations, *counts[:4])
        places = {int(np.argmax(measure)) for measure in measured}
        return [self._rule(place, point, counts, measured) for place in places]

    def _pairs(self) -> tuple[np.ndarray, ...]:
        """Return right, guessed, sides, always, start of the upper tail, stop of the lower, upper_is_a; all (m,)."""
        start = np.append(self.starts, self.n)
        stop = np.append(self.stops, 0)
        start, stop = (grid.ravel() for grid in np.meshgrid(start, stop, indexing="ij"))
        kept = stop <= start
        always = np.concatenate([np.zeros(kept.sum(), dtype=bool), np.ones(len(self.starts), dtype=bool)])
        start, stop = np.append(start[kept], self.starts), np.append(stop[kept], self.starts)
        upper_a, lower_a = self.of_a[-1] - self.of_a[start], self.of_a[stop]
        guessed = self.n - start + stop
        right = upper_a + stop - lower_a
        sides = np.where(always, 2, (start < self.n).astype(int) + (stop > 0))
        twice = [np.concatenate([one, one]) for one in (guessed, sides, always, start, stop)]
        is_upper = np.repeat([True, False], len(right))
        return np.concatenate([right, guessed - right]), twice[0], twice[1], twice[2], twice[3], twice[4], is_upper

    def _measured(
        self, point: Point, deviations: float, right: np.ndarray, guessed: np.ndarray, *kind: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bound and the surprise of each rule."""
        sides, always = kind
        share = estimated_shares(right, guessed, deviations)
        rate = np.where(always, 1.0, estimated_shares(guessed, np.array(self.n), deviations + 1))
        extra = np.divide(point.delta * sides / 2, rate, out=np.full(len(rate), np.inf), where=rate > 0)
        extra = extra if point.delta > 0 else np.zeros(len(rate))
        spare = share - extra
        bound = np.log(np.maximum(spare, 1e-300) / (1 - share))
        allowed = np.minimum((1 + extra * np.exp(-point.epsilon)) / (1 + np.exp(-point.epsilon)), 1 - 1e-9)
        surprise = (right - guessed * allowed) / np.sqrt(np.maximum(guessed * allowed * (1 - allowed), 1.0))
        enough = guessed >= min(40, 0.02 * self.n)
        return bound, np.where(enough & np.isfinite(extra), surprise, -np.inf)

    def _rule(
        self, place: int, point: Point, counts: tuple[np.ndarray, ...], measured: tuple[np.ndarray, np.ndarray]
    ) -> Rule:
        always, start, stop, upper_is_a = (one[place] for one in counts[3:])
        high = float(self.values[start]) if start < self.n else np.inf
        low = float(self.values[stop - 1]) if stop > 0 and not always else -np.inf
        return Rule(point, high, low, bool(upper_is_a), bool(always), *(float(measure[place]) for measure in measured))


def _ends(n: int) -> np.ndarray:
    """Return some places among n distinct values: all where they are few, dense at both ends."""
    if n <= _MOST_ENDS:
        return np.arange(n)
    middle = np.linspace(0, n - 1, _MOST_ENDS // 2).astype(int)
    edge = np.geomspace(1, n / 4, _MOST_ENDS // 4).astype(int)
    return np.concatenate([middle, edge, n - 1 - edge])
