"""Noise for partition selection, which shows keys with noisy counts from a cut on.

docs/theory/partition_selection.md has the theorems and their proofs.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from gaugedp._internal.validate import decimal
from gaugedp.entropy import Entropy
from gaugedp.samplers.discrete import rounded_gaussian
from gaugedp.samplers.integer_exp import Bracket, exp_negative
from gaugedp.samplers.inverse import InverseTable

_LARGEST_EPSILON = 50  # a larger ε is replaced by this one, whose guarantee is stronger


@dataclass(frozen=True)
class OptimalNoise:
    """Noise with the largest (ε, δ)-DP selection probabilities.

    N = −J with P(J < n) = π(n): for a key and one person more or less, π(0) = 0 and π(n + 1) = min(e^ε·π(n) + δ, 1 −
    e^−ε·(1 − π(n) − δ), 1) (Desfontaines, Voss, Gipson and Mandayam 2022). They are integers over 2^n_bits, each
    rounded down, for a δ that is smaller by 2^−64 of itself.

    With b = `n_bits` = 192 + 2·log₂(1/δ) + 5ε, e^−ε rounded up, and at most 2^20 counts, roundings change the
    distribution of J by less than η = 2^60·e^{2ε}·2^−b/δ in total variation, and δ·(1 − 2^−64) + (1 + e^ε)·η ≤ δ. So
    the theorem of docs/theory/partition_selection.md holds for δ. An ε above 50 is taken as 50.
    """

    epsilon: Fraction
    delta: Fraction
    cut: int = 1

    @cached_property
    def n_bits(self) -> int:
        """The bits of a probability; all rounding is below 2^−64 of δ."""
        small = math.ceil(1 / self.delta).bit_length()
        return 192 + 2 * small + 5 * math.ceil(self._exponent)

    @cached_property
    def in_units(self) -> tuple[int, ...]:
        """The probabilities of counts 0, 1, …, over 2^n_bits."""
        unit = 1 << self.n_bits
        shrink = exp_negative(self._exponent, self.n_bits)[1]
        spare = math.floor(self.delta * (1 - Fraction(1, 2**64)) * unit)
        chances = [0]
        while chances[-1] < unit:
            rising = chances[-1] * unit // shrink + spare
            falling = unit + -shrink * (unit - chances[-1] - spare) // unit  # rounded down
            chances.append(min(rising, falling, unit))
        return tuple(chances)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` exact independent draws of N."""
        return -self._table.draw(size, rng)

    def chances(self, counts: np.ndarray) -> np.ndarray:
        """Return P(n + N ≥ cut) for counts n ≥ 0; 0 for n = 0, a key that is not in the table."""
        return np.asarray(self._floats[np.minimum(counts, len(self._floats) - 1)])

    @cached_property
    def shift(self) -> int:
        """E N, rounded: −E J = −Σ_n (1 − π(n)), n ≥ 1."""
        unit = 1 << self.n_bits
        return -round(Fraction(sum(unit - chance for chance in self.in_units[1:]), unit))

    def describe(self) -> str:
        """Return a description of the noise with its scale."""
        return f"truncated geometric noise, epsilon {float(self.epsilon):.6g}, delta {float(self.delta):.6g} a key"

    @cached_property
    def _floats(self) -> np.ndarray:
        unit = 1 << self.n_bits
        return np.array([chance / unit for chance in self.in_units])

    @property
    def _exponent(self) -> Fraction:
        return min(self.epsilon, Fraction(_LARGEST_EPSILON))

    @cached_property
    def _table(self) -> InverseTable:
        return InverseTable(self._weights)

    def _weights(self, n_bits: int) -> tuple[list[Bracket], Bracket]:
        """Return brackets of 2^n_bits·P(J = j) for every j."""
        steps = (high - low for low, high in pairwise(self.in_units))
        more = n_bits - self.n_bits
        if more >= 0:
            return [(step << more, step << more) for step in steps], (0, 0)
        return [(step >> -more, -(-step >> -more)) for step in steps], (0, 0)


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise of deviation `std`, rounded to integers."""

    std: Fraction
    cut: int

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` exact independent draws of N."""
        return rounded_gaussian(size, self.std, rng)

    def chances(self, counts: np.ndarray) -> np.ndarray:
        """Return P(N ≥ cut − n) = Φ((n − cut + 1/2)/std) for counts n ≥ 0; 0 for n = 0."""
        numbers = np.asarray(counts, dtype=float)
        shown = scipy.special.ndtr((numbers - self.cut + 0.5) / float(self.std))
        return np.where(numbers > 0, shown, 0.0)

    @property
    def shift(self) -> int:
        """E N."""
        return 0

    def describe(self) -> str:
        """Return a description of the noise with its scale."""
        return f"rounded Gaussian noise of deviation {float(self.std):.6g}, shown from {self.cut} on"


# noise N on the integers: a key of count n ≥ 1 is shown where n + N ≥ `cut`, and then n + N with it
KeyNoise = OptimalNoise | GaussianNoise


def n_chances(epsilon: float, delta: float) -> float:
    """Return about how many counts have a probability inside (0, 1)."""
    exponent = min(epsilon, float(_LARGEST_EPSILON))
    return 2 * math.log1p(math.expm1(exponent) / (2 * delta)) / exponent + 2


def optimal_noise(epsilon: float, delta: float, n_changed: int) -> OptimalNoise:
    """Return noise for `n_changed` counts that are jointly (ε, δ)-DP, by basic composition."""
    return OptimalNoise(decimal(epsilon) / n_changed, decimal(delta) / n_changed)
