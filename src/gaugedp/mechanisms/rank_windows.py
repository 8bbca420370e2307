"""The values of a histogram in runs of equal ranks, and uniform draws among those near a quantile."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp.entropy import Entropy


@dataclass(frozen=True)
class Window:
    """How many values are within a radius of a quantile: they are neighbours, from the first such run on.

    `distances` (runs,) are those of the runs; `radii` their different values, rising, and `counts` the values within.
    """

    runs: "Runs"
    distances: np.ndarray
    radii: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, runs: "Runs", distances: np.ndarray) -> "Window":
        """Return the windows of distances that fall and then rise along the lattice."""
        radii, places = np.unique(distances, return_inverse=True)
        per_radius = np.zeros(len(radii), dtype=np.int64)
        np.add.at(per_radius, places, runs.lengths)
        return cls(runs, distances, radii, np.cumsum(per_radius))

    def counts_within(self, radii: np.ndarray) -> np.ndarray:
        """Return how many values are at most each radius off, as Python's whole numbers: their products are large."""
        places = np.searchsorted(self.radii, radii, side="right")
        return np.concatenate([[0], self.counts])[places].astype(object)

    def draw(self, radius: int, rng: Entropy) -> int:
        """Return a uniform value within the radius."""
        inside = self.distances <= radius
        return int(self.runs.starts[inside.argmax()]) + _below(int(self.runs.lengths[inside].sum()), rng)


@dataclass(frozen=True)
class Runs:
    """The values of a histogram in runs of equal ranks: each value that occurs, and each gap between two of these.

    `starts` and `lengths` say where; `below` are the rows below each run, `up_to` those below or in it.
    """

    starts: np.ndarray
    lengths: np.ndarray
    below: np.ndarray
    up_to: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> "Runs":
        """Return the runs of a histogram (n_values,); the first and the last value stand alone."""
        running = np.concatenate([[0], np.cumsum(table)])
        occurring = np.flatnonzero(table)
        starts = np.unique(np.concatenate([[0, 1, len(table) - 1], occurring, occurring + 1]))
        starts = starts[starts < len(table)]
        return cls(starts, np.diff(starts, append=len(table)), running[starts], running[starts + 1])

    def gaps(self, quantile: Fraction, shift: Fraction) -> np.ndarray:
        """Return the rank distances from q·n + shift, in units of 1/b rows, b the denominator of q."""
        b = quantile.denominator
        target = quantile.numerator * int(self.up_to[-1]) + int(shift * b)
        above, beneath = b * self.below - target, target - b * self.up_to
        if shift < 0:
            above[0] = 0  # no row is below the first value
        if shift > 0:
            beneath[-1] = 0  # nor above the last
        return np.maximum(np.maximum(above, beneath), 0)


def _below(count: int, rng: Entropy) -> int:
    """Return a uniform whole number below `count`: a number of as many bits, drawn again until it is below."""
    n_bits = (count - 1).bit_length()
    while n_bits:
        word = rng.integer(n_bits)
        if word < count:
            return word
    return 0
