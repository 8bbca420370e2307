"""The Toeplitz square root for many Gaussian prefix sums."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import TRANSFORMS
from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.base import PrefixStrategy, Strategy
from gaugedp.mechanisms.strategies.ranges import RangeStrategy

_UP = 1 + TRANSFORMS  # covers the rounding of products and of the transform


@dataclass(frozen=True, eq=False)
class Toeplitz(PrefixStrategy):
    """The square root of the triangular matrix of ones.

    L = R is the lower triangular Toeplitz matrix of r_k = C(2k, k)/4^k. The generating function of r is (1 − x)^(−1/2),
    whose square is that of the ones (Fichtenberger, Henzinger and Upadhyay 2023, theorem 1). FFT takes O(n log n).
    """

    n_cells: int
    radius: float
    least: float

    @property
    def n_noise(self) -> int:
        """The number of cells."""
        return self.n_cells

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the first n entries of the convolution with r."""
        length = 2 ** math.ceil(math.log2(2 * self.n_cells))
        product = np.fft.rfft(unit, length) * np.fft.rfft(self._roots, length)
        return np.fft.irfft(product, length)[:, : self.n_cells]

    @cached_property
    def squares(self) -> np.ndarray:
        """Σ_{k ≤ t} r_k²."""
        return np.cumsum(self._roots**2)

    def covariance(self) -> np.ndarray:
        """Return Σ_{k ≤ s} r_k·r_{k + t − s}, by diagonals."""
        n, roots = self.n_cells, self._roots
        table = np.empty((n, n))
        for lag in range(n):
            line = np.cumsum(roots[: n - lag] * roots[lag:])
            table.ravel()[lag : (n - lag) * n : n + 1] = line
            table.ravel()[lag * n :: n + 1] = line
        return table

    def describe(self) -> str:
        """Return its description."""
        return "the Toeplitz square root"

    @cached_property
    def _roots(self) -> np.ndarray:
        return square_root(self.n_cells)


def square_root(n_cells: int) -> np.ndarray:
    """Return r_k = r_{k−1}·(2k − 1)/(2k), r_0 = 1."""
    place = np.arange(1, n_cells)
    return np.concatenate([[1.0], np.cumprod((2 * place - 1) / (2 * place))])


def toeplitz(body: Polytope) -> Toeplitz:
    """Return the strategy for prefix sums (or ranges) of cells.

    A column of R has the norm of a beginning of r, the first the largest. Two columns i < j differ most at i = 0, where
    all rows of any other pair of the same distance occur: Σ_{k<n} r_k² + Σ_{k<n−j} (r_k² − 2·r_k·r_{k+j}).
    """
    n = body.generators.n_generators
    roots = square_root(n)
    lengths = np.cumsum(roots**2)
    squared = lengths[-1]
    if body.differences and n > 1:
        padded = 2 ** math.ceil(math.log2(2 * n))
        overlap = np.fft.irfft(np.abs(np.fft.rfft(roots, padded)) ** 2, padded)[1:n]
        apart = float((lengths[-1] + lengths[-2::-1] - 2 * overlap).max())
        squared = max(apart, squared if body.with_zero else 0.0)
    least = 0.0 if body.differences and not body.with_zero else body.factor * _least(n)  # that of conv{±v} in the body
    return Toeplitz(n, body.factor * math.sqrt(squared) * _UP, least)


def rooted(n_cells: int, ranges: bool) -> Strategy:
    """Return the strategy for one added row per person."""
    radius = float(np.linalg.norm(square_root(n_cells))) * _UP
    prefixes = Toeplitz(n_cells, radius, _least(n_cells))
    return RangeStrategy(prefixes, n_cells) if ranges else prefixes


def _least(n_cells: int) -> float:
    """Return ‖F‖_*/√n, the dual at equal probabilities, in closed form."""
    angles = (2 * np.arange(1, n_cells + 1) - 1) * math.pi / (4 * n_cells + 2)
    return float((1 / (2 * np.sin(angles))).sum()) / math.sqrt(n_cells) / _UP
