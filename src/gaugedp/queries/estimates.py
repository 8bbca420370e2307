"""From released values to the answers that were asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PLACES = 65  # of a mean within its bounds, at which the length of its interval is computed


@dataclass(frozen=True)
class Estimate:
    """`n_answers` released values that are the answers, or what answers follow from.

    With `ratio` = (middle, half_range) they are means, released as n_answers centred sums followed by n_answers counts:
    middle + sum/count, kept in [middle − half_range, middle + half_range]; the middle where the count is not positive.

    With `ends`, a level, the answers are followed by the n_answers lower and the n_answers upper ends of intervals,
    which all hold at once with at least that probability: no width says how far these answers may be off.
    """

    n_answers: int
    ratio: tuple[float, float] | None = None
    ends: float | None = None

    @property
    def n_rows(self) -> int:
        """The number of released values."""
        return self.n_answers * (3 if self.ends else 2 if self.ratio else 1)

    @property
    def n_widths(self) -> int:
        """The number of widths that a plan knows: one for each released value that is not an end."""
        return self.n_answers if self.ends else self.n_rows

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n_answers,)."""
        if self.ratio is None:
            return values[: self.n_answers]
        middle, half_range = self.ratio
        sums, counts = values[: self.n_answers], values[self.n_answers :]
        distance = _divided(sums, counts, counts > 0)
        return middle + np.clip(distance, -half_range, half_range)

    def intervals(self, values: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest answers when each true value is within its width of the released one.

        Ends that were released are returned as they are.
        """
        if self.ends:
            return values[self.n_answers : 2 * self.n_answers], values[2 * self.n_answers :]
        if self.ratio is None:
            return values - widths, values + widths
        middle, half_range = self.ratio
        n = self.n_answers
        fewest, most = values[n:] - widths[n:], values[n:] + widths[n:]
        known = fewest > 0
        ends = [_divided(values[:n] + side * widths[:n], count, known) for side in (-1, 1) for count in (fewest, most)]
        low = np.where(known, np.minimum.reduce(ends), -half_range)
        high = np.where(known, np.maximum.reduce(ends), half_range)
        return middle + np.clip(low, -half_range, half_range), middle + np.clip(high, -half_range, half_range)

    def half_length(self, widths: np.ndarray, count: float) -> float:
        """Return half the longest interval of means of `count` rows without noise, wherever in the bounds they lie."""
        _, half_range = self.ratio or (0.0, 0.0)
        sums = count * half_range * np.linspace(-1, 1, _PLACES)
        counts = np.full(self.n_answers, count)
        ends = [self.intervals(np.concatenate([np.full(self.n_answers, one), counts]), widths) for one in sums]
        return max(float((high - low).max()) for low, high in ends) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON can hold it."""
        facts = {"answers": self.n_answers, "ratio": self.ratio and list(self.ratio)}
        return {**facts, "ends": self.ends} if self.ends else facts

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Estimate":
        """Return the estimate that `to_dict` described."""
        ratio, ends = facts["ratio"], facts.get("ends")
        return cls(
            int(facts["answers"]),
            None if ratio is None else (float(ratio[0]), float(ratio[1])),
            None if ends is None else float(ends),
        )


def all_answers(estimates: Sequence[Estimate], values: np.ndarray) -> np.ndarray:
    """Return the answers of all terms."""
    return np.concatenate([one.answers(part) for one, part in zip(estimates, split(estimates, values), strict=True)])


def split(estimates: Sequence[Estimate], values: np.ndarray) -> list[np.ndarray]:
    """Cut what was released for all terms into the parts of each term."""
    return np.split(values, np.cumsum([one.n_rows for one in estimates])[:-1])


def _divided(sums: np.ndarray, counts: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the quotients, 0 elsewhere; one beyond all numbers is infinite, and is clipped to a mean's bounds."""
    with np.errstate(over="ignore"):
        return np.divide(sums, counts, out=np.zeros(len(sums)), where=where)
