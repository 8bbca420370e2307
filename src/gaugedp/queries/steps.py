"""The value of one unit of each released integer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from typing import overload

import numpy as np

StepRuns = list[tuple[Fraction, int]]  # what one unit is worth, and for how many numbers in a row


@dataclass(frozen=True)
class Steps(Sequence[Fraction]):
    """Step sizes of the released integers, stored as runs of equal steps."""

    runs: StepRuns

    @property
    def sizes(self) -> np.ndarray:
        """The steps as floats, shape (n_released,)."""
        steps, counts = zip(*self.runs, strict=True)
        return np.repeat([float(step) for step in steps], counts)

    def __len__(self) -> int:
        return sum(count for _, count in self.runs)

    @overload
    def __getitem__(self, place: int) -> Fraction: ...
    @overload
    def __getitem__(self, place: slice) -> list[Fraction]: ...
    def __getitem__(self, place: int | slice) -> Fraction | list[Fraction]:
        return list(self)[place]

    def __iter__(self) -> Iterator[Fraction]:
        return chain.from_iterable(repeat(step, count) for step, count in self.runs)
