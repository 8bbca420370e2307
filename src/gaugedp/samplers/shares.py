"""A place drawn by its share of whole numbers, known from as many bits of a number as it takes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np


@dataclass(frozen=True, eq=False)
class Shares:
    """Place i has the probability sizes[i]/Σ sizes, whole numbers above 0: V·Σ sizes lies between two partial sums."""

    sizes: Sequence[int]

    def picked(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places that numbers lie in, and where that is known from these first `n_bits` ≤ 64 bits."""
        if n_bits not in self._thresholds:
            total = self._ends[-1]
            scaled = [end << n_bits for end in self._ends[:-1]]
            outside = np.array([-(-end // total) - 1 for end in scaled], dtype=np.uint64)
            self._thresholds[n_bits] = outside, np.array([end // total for end in scaled], dtype=np.uint64)
        outside, reached = self._thresholds[n_bits]  # the last word that begins before an end, the first beyond it
        index = np.searchsorted(outside, words, side="left")
        return index, index == np.searchsorted(reached, words, side="right")

    def index(self, word: int, n_bits: int) -> int | None:
        """Return the place of one number, or None where more bits decide."""
        total = self._ends[-1]
        index = bisect_right(self._ends, word * total >> n_bits)
        return index if (word + 1) * total <= self._ends[index] << n_bits else None

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(self.sizes))

    @cached_property
    def _thresholds(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}
