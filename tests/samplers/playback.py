"""A stand-in for the stream of randomness that plays back what a test wants to be drawn."""

from collections.abc import Iterable

import numpy as np

ALL_ONES = 2**64 - 1


class Playback:
    """Answers `words` from a list of arrays and `integer` from a list of numbers; past its end, each list repeats."""

    def __init__(self, words: Iterable[Iterable[int]] = (), integers: Iterable[int] = ()) -> None:
        self._words = [np.array(list(each), dtype=np.uint64) for each in words]
        self._integers = list(integers)
        self.drawn: list[int] = []

    def words(self, count: int) -> np.ndarray:
        actual = self._words.pop(0)
        return np.resize(actual, count)

    def integer(self, n_bits: int) -> int:
        assert n_bits == 64
        self.drawn.append(self._integers[len(self.drawn) % len(self._integers)])
        return self.drawn[-1]


def extended(first: int, drawn: Iterable[int]) -> int:
    """Return the bits of `first` followed by 64 bits for each number in `drawn`."""
    for more in drawn:
        first = first << 64 | more
    return first
