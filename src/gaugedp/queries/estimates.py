"""From released values to the answers that were asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """`n_answers` released values that are the answers, or, with `ratio` = (middle, half_range), means.

    A mean is released as n_answers centred sums followed by n_answers counts. It is middle + sum/count, kept in
    [middle − half_range, middle + half_range]; where the count is not positive, it is the middle.
    """

    n_answers: int
    ratio: tuple[float, float] | None = None

    @property
    def n_rows(self) -> int:
        """The number of released values."""
        return self.n_answers * (1 if self.ratio is None else 2)

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n_answers,)."""
        if self.ratio is None:
            return values
        middle, half_range = self.ratio
        sums, counts = values[: self.n_answers], values[self.n_answers :]
        distance = np.divide(sums, counts, out=np.zeros(self.n_answers), where=counts > 0)
        return middle + np.clip(distance, -half_range, half_range)

    def intervals(self, values: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest answers when each true value is within its width of the released one."""
        if self.ratio is None:
            return values - widths, values + widths
        middle, half_range = self.ratio
        n = self.n_answers
        fewest, most = values[n:] - widths[n:], values[n:] + widths[n:]
        known = fewest > 0
        ends = [
            np.divide(values[:n] + side * widths[:n], count, out=np.zeros(n), where=known)
            for side in (-1, 1)
            for count in (fewest, most)
        ]
        low = np.where(known, np.minimum.reduce(ends), -half_range)
        high = np.where(known, np.maximum.reduce(ends), half_range)
        return middle + np.clip(low, -half_range, half_range), middle + np.clip(high, -half_range, half_range)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON can hold it."""
        return {"answers": self.n_answers, "ratio": self.ratio and list(self.ratio)}

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Estimate":
        """Return the estimate that `to_dict` described."""
        ratio = facts["ratio"]
        return cls(int(facts["answers"]), None if ratio is None else (float(ratio[0]), float(ratio[1])))


def all_answers(estimates: Sequence[Estimate], values: np.ndarray) -> np.ndarray:
    """Return the answers of all terms."""
    return np.concatenate([one.answers(part) for one, part in zip(estimates, split(estimates, values), strict=True)])


def split(estimates: Sequence[Estimate], values: np.ndarray) -> list[np.ndarray]:
    """Cut what was released for all terms into the parts of each term."""
    return np.split(values, np.cumsum([one.n_rows for one in estimates])[:-1])
