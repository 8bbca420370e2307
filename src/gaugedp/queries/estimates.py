"""Estimates of the requested answers from released values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gaugedp.queries.comparison_estimates import (
    COMPARISONS,
    compared,
    comparison_intervals,
    comparisons,
    longest_half_comparison,
)
from gaugedp.queries.deviation_estimates import deviation_intervals, deviations, longest_half_deviation
from gaugedp.queries.fieller import within
from gaugedp.queries.share_estimates import longest_half, share_intervals, shares

ALONE, HALVED, AT_ONCE = "alone", "halved", "at once"  # which widths intervals follow from where there are no curves
QUOTIENTS, OF_SHARES, DEVIATIONS, COMPARED = KINDS = (
    "quotients",
    "shares",
    "deviations",
    "comparisons",
)  # of curves of widths
_PLACES = 65  # of a mean within its bounds, at which the length of its interval is computed
_TOGETHER = 2**16  # means at places, whose intervals are computed at once


class _Derived(NamedTuple):
    """Figures that are computed from counts, or from sums and counts: functions of these, and of widths and curves."""

    answers: Callable[..., np.ndarray]
    intervals: Callable[..., tuple[np.ndarray, np.ndarray]]
    half_length: Callable[..., float]

    def about(self, **facts: Any) -> "_Derived":
        """Return the functions of figures of which these facts hold."""
        return _Derived(
            partial(self.answers, **facts), partial(self.intervals, **facts), partial(self.half_length, **facts)
        )


_COMPARISONS = _Derived(comparisons, comparison_intervals, longest_half_comparison)
_SHARES = _Derived(shares, share_intervals, longest_half)
_DEVIATIONS = _Derived(deviations, deviation_intervals, longest_half_deviation)


@dataclass(frozen=True)
class Estimate:
    """`n_answers` released values that are the answers, or what answers follow from.

    With `ratio` = (middle, half_range) they are means, released as n_answers centred sums followed by n_answers counts:
    middle + sum/count, kept in [middle − half_range, middle + half_range]; the middle where the count is not positive.

    With `ends`, a level, the answers are followed by the n_answers lower and the n_answers upper ends of intervals,
    which all hold at once with at least that probability: no width says how far these answers may be off. With `alone`
    too, the lower and the upper ends of other intervals follow, each of which holds alone with that probability. A
    released end of `no_end` or more stands for an interval that has no end.

    With `parts` they are shares: the counts are a table (parts, groups), and each is divided by the total of its group.
    With `comparison` too, one of COMPARISONS, each part but the first is compared with another part.

    With `deviation`, half the range of a column, they are standard deviations, released as n_answers sums centred on
    the middle of the range, n_answers sums of 2·(distance)² − deviation², and n_answers counts.
    """

    n_answers: int
    ratio: tuple[float, float] | None = None
    ends: float | None = None
    alone: bool = False
    parts: int = 0
    deviation: float = 0.0
    comparison: str = ""
    no_end: float = math.inf

    @property
    def is_plain(self) -> bool:
        """Return whether each released value is an answer, and its interval as wide to both sides."""
        return self.n_released == self.n_answers and not self.kind

    @property
    def kind(self) -> str:
        """Return the curves of widths that the intervals follow from; empty where from none."""
        if self.comparison:
            return COMPARED
        return QUOTIENTS if self.ratio else OF_SHARES if self.parts else DEVIATIONS if self.deviation else ""

    @property
    def box(self) -> str:
        """Return the widths that the intervals follow from where there are no curves."""
        return HALVED if self.ratio else AT_ONCE if self.parts or self.deviation else ALONE

    @property
    def n_released(self) -> int:
        """The number of released values."""
        if self.comparison:
            return self.n_answers // (self.parts - 1) * self.parts
        return self.n_answers * (5 if self.alone else 3 if self.ends or self.deviation else 2 if self.ratio else 1)

    @property
    def n_widths(self) -> int:
        """The number of widths that a plan knows: one for each released value that is not an end."""
        return self.n_answers if self.ends else self.n_released

    @cached_property
    def _derived(self) -> _Derived | None:
        """Return the statistic of these, where they are neither plain answers nor means."""
        if self.comparison:
            return _COMPARISONS.about(kind=self.comparison, parts=self.parts)
        if self.parts:
            return _SHARES.about(parts=self.parts)
        return _DEVIATIONS.about(half_range=self.deviation) if self.deviation else None

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n_answers,)."""
        if self._derived:
            return self._derived.answers(values)
        if self.ratio is None:
            return values[: self.n_answers]
        middle, half_range = self.ratio
        sums, counts = values[: self.n_answers], values[self.n_answers :]
        distance = _divided(sums, counts, counts > 0)
        return middle + np.clip(distance, -half_range, half_range)

    def intervals(
        self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None, simultaneous: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest answers when each true value is within its width of the released one.

        Shares: see `share_intervals`; standard deviations: `deviation_intervals`; comparisons: `comparison_intervals`.
        Ends that were released are returned as they are. With `curves` (n_answers, k), for means: the least and the
        largest m in [−half_range, half_range] with |sum − m·count| ≤ q(m), and the estimate; q runs straight between
        its k values, at equal distances from −half_range to half_range.
        """
        if self.ends:
            _, *ends = np.split(values, self.n_released // self.n_answers)
            lower, upper = ends[:2] if simultaneous else ends[-2:]
            return lower, np.where(upper >= self.no_end, np.inf, upper)
        if self._derived:
            return self._derived.intervals(values, widths=widths, curves=curves)
        if self.ratio is None:
            return values - widths, values + widths
        middle, half_range = self.ratio
        n = self.n_answers
        if curves is not None:
            places = half_range * np.linspace(-1, 1, curves.shape[1])
            low, high = within(values[:n], values[n:], curves, places)
            answers = self.answers(values)
            return np.minimum(middle + low, answers), np.maximum(middle + high, answers)
        fewest, most = values[n:] - widths[n:], values[n:] + widths[n:]
        has_rows = fewest > 0
        ends = [
            _divided(values[:n] + side * widths[:n], count, has_rows) for side in (-1, 1) for count in (fewest, most)
        ]
        low = np.where(has_rows, np.minimum.reduce(ends), -half_range)
        high = np.where(has_rows, np.maximum.reduce(ends), half_range)
        return middle + np.clip(low, -half_range, half_range), middle + np.clip(high, -half_range, half_range)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:
        """Return half the longest interval of means, or shares, of `count` rows without noise, wherever they lie."""
        if self._derived:
            return self._derived.half_length(widths=widths, count=count, curves=curves)
        _, half_range = self.ratio or (0.0, 0.0)
        sums = count * half_range * np.linspace(-1, 1, _PLACES)
        widths, curves = self._apart(widths, curves)
        n_means = len(widths) // 2
        parts = np.array_split(sums, min(_PLACES, -(-_PLACES * n_means // _TOGETHER)))
        return max(self._longest(part, (widths, curves), count) for part in parts) / 2

    def _longest(self, sums: np.ndarray, noise: tuple[np.ndarray, np.ndarray | None], count: float) -> float:
        """Return the longest interval of means of `count` rows whose centred sums are one of `sums`."""
        widths, curves = noise
        sides = widths.reshape(2, 1, -1).repeat(len(sums), axis=1)
        few = Estimate(sides[0].size, self.ratio)
        values = np.concatenate([np.repeat(sums, sides.shape[2]), np.full(few.n_answers, count)])
        low, high = few.intervals(values, sides.ravel(), None if curves is None else np.tile(curves, (len(sums), 1)))
        return float((high - low).max())

    def _apart(self, widths: np.ndarray, curves: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the widths and curves of means, those of neighbours that have the same ones once."""
        pairs = widths.reshape(2, self.n_answers).T
        kinds = pairs if curves is None else np.hstack([pairs, curves])
        is_new = np.concatenate([[True], (kinds[1:] != kinds[:-1]).any(axis=1)])
        return pairs[is_new].T.ravel(), None if curves is None else curves[is_new]

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON can hold it."""
        facts: dict[str, Any] = {"answers": self.n_answers, "ratio": self.ratio and list(self.ratio)}
        if self.parts:
            return {**facts, "parts": self.parts} | ({"comparison": self.comparison} if self.comparison else {})
        if self.deviation:
            return {**facts, "deviation": self.deviation}
        released = {"ends": self.ends} | ({"alone": True} if self.alone else {})
        released |= {"no_end": self.no_end} if self.no_end < math.inf else {}
        return {**facts, **released} if self.ends else facts

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Estimate":
        """Return the estimate that `to_dict` described."""
        ratio, ends, parts = facts["ratio"], facts.get("ends"), int(facts.get("parts", 0))
        deviation = float(facts.get("deviation", 0))
        comparison = str(facts.get("comparison", ""))
        if comparison not in ("", *COMPARISONS) or (comparison and parts < 2):
            raise ValueError
        if parts < 0 or (parts and (ratio or ends or int(facts["answers"]) % (parts - bool(comparison)))):
            raise ValueError
        if not 0 <= deviation < math.inf or (deviation and (ratio or ends or parts)):
            raise ValueError
        return cls(
            int(facts["answers"]),
            None if ratio is None else (float(ratio[0]), float(ratio[1])),
            None if ends is None else float(ends),
            ends is not None and bool(facts.get("alone", False)),
            parts,
            deviation,
            comparison,
            float(facts.get("no_end", math.inf)),
        )


def all_answers(estimates: Sequence[Estimate], values: np.ndarray) -> np.ndarray:
    """Return the answers of all terms."""
    return np.concatenate(
        [estimate.answers(part) for estimate, part in zip(estimates, split(estimates, values), strict=True)]
    )


def split(estimates: Sequence[Estimate], values: np.ndarray) -> list[np.ndarray]:
    """Cut what was released for all terms into the parts of each term."""
    return np.split(values, np.cumsum([estimate.n_released for estimate in estimates])[:-1])


def for_released(estimates: Sequence[Estimate], widths: np.ndarray) -> np.ndarray:
    """Return the widths that a plan knows as one for each released value: 0 for those of terms with ends."""
    if not any(estimate.ends for estimate in estimates):
        return widths
    parts = np.split(widths, np.cumsum([estimate.n_widths for estimate in estimates])[:-1])
    pairs = zip(estimates, parts, strict=True)
    return np.concatenate([np.zeros(estimate.n_released) if estimate.ends else part for estimate, part in pairs])


def split_answers(estimates: Sequence[Estimate], answers: Sequence[float] | np.ndarray) -> list[np.ndarray]:
    """Cut a column of all answers into the answers of each term."""
    return np.split(np.asarray(answers), np.cumsum([estimate.n_answers for estimate in estimates])[:-1])


def quotient_terms(estimates: Sequence[Estimate]) -> list[tuple[int, int, float]]:
    """Return (where it starts among the released values, n_answers, half_range) for each mean."""
    return [(start, term.n_answers, term.ratio[1]) for start, term in _starts(estimates) if term.ratio is not None]


def share_terms(estimates: Sequence[Estimate]) -> list[tuple[int, int, int]]:
    """Return (where it starts among the released values, n_answers, parts) for each term of shares."""
    return [(start, term.n_answers, term.parts) for start, term in _starts(estimates) if term.kind == OF_SHARES]


def comparison_terms(estimates: Sequence[Estimate]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each term of comparisons the places, among the released values, of its answers and of the others."""
    terms = ((start, term) for start, term in _starts(estimates) if term.comparison)
    return [compared(np.arange(start, start + term.n_released), term.comparison, term.parts) for start, term in terms]


def deviation_terms(estimates: Sequence[Estimate]) -> list[tuple[int, int, float]]:
    """Return (where it starts among the released values, n_answers, half_range) for each standard deviation."""
    return [(start, term.n_answers, term.deviation) for start, term in _starts(estimates) if term.deviation]


def _starts(estimates: Sequence[Estimate]) -> list[tuple[int, Estimate]]:
    starts = np.cumsum([0, *(estimate.n_released for estimate in estimates)])[:-1].tolist()
    return list(zip(starts, estimates, strict=True))


def curves_of(estimates: Sequence[Estimate], curves: Mapping[str, np.ndarray]) -> list[np.ndarray | None]:
    """Cut curves (answers of all terms of a kind, k), by their kind, into those of each term; None where are none."""
    parts: list[np.ndarray | None] = []
    ends = dict.fromkeys(KINDS, 0)
    for estimate in estimates:
        kind = estimate.kind
        first = ends.get(kind, 0)
        ends[kind] = first + estimate.n_answers
        parts.append(curves[kind][first : ends[kind]] if kind in curves else None)
    return parts


def _divided(sums: np.ndarray, counts: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the quotients, 0 elsewhere; one beyond all numbers is infinite, and is clipped to a mean's bounds."""
    with np.errstate(over="ignore"):
        return np.divide(sums, counts, out=np.zeros(len(sums)), where=where)
