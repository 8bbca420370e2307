"""Symmetric matrices as vectors of the same length, and the noise that is natural among them."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._rounding import TABLES
from gaugedp._validate import positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import GaussianDP
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Gaussian
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import released


def coordinates(square: np.ndarray) -> np.ndarray:
    """Return the upper triangle of a symmetric (d, d), row after row, entries beside the diagonal times √2."""
    upper = np.triu_indices(len(square))
    return square[upper] * stretch(upper)


def square_of(coords: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix that `coordinates` read."""
    d = (math.isqrt(8 * len(coords) + 1) - 1) // 2
    upper, square = np.triu_indices(d), np.zeros((d, d))
    square[upper] = coords / stretch(upper)
    return square + np.triu(square, 1).T


def released_square(square: np.ndarray, noise: AdditiveNoise, rng: Entropy) -> np.ndarray:
    """Return a symmetric matrix (d, d) with noise on its coordinates, drawn now."""
    return square_of(released(coordinates(square), noise, rng))


def repulsion(values: np.ndarray, variance: float, blur: float) -> np.ndarray:
    """Return about how far noise off the diagonal, of this `variance`, pushes each of the eigenvalues (d,) apart.

    variance·Σ_j 1/(λ_i − λ_j) (Benaych-Georges and Nadakuditi 2011, theorem 2.1, with the noisy spectrum's own
    Stieltjes transform), gaps kept from 0 by the square root of `blur`. Post-processing.
    """
    gaps = values[:, None] - values
    return np.asarray((gaps / (gaps**2 + blur)).sum(axis=1) * variance)


def stretch(upper: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return 1 for entries of the diagonal and √2 for the others, at the places `upper` of a triangle."""
    return np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class SymmetricNoise:
    """Gaussian noise for a symmetric matrix that moves by at most `moved` in the Frobenius norm, on a lattice.

    Entries are at most 2^28: sums over so many rows of norm 1. With s = moved/μ the noise's deviation is s on the
    diagonal and s/√2 beside it: the Gaussian orthogonal ensemble, whose law does not depend on the basis.

    Theorem. The matrix with noise is μ-GDP: `coordinates` is an isometry, and among them the noise is the Gaussian
    mechanism's. docs/theory/eigenvectors.md
    """

    gaussian: Gaussian

    @classmethod
    def calibrate(cls, n_columns: int, sensitivity: float, guarantee: GaussianDP) -> "SymmetricNoise":
        """Return the noise for (d, d) matrices, d = `n_columns`."""
        whole(minimum=1, n_columns=n_columns)
        positive(sensitivity=sensitivity)
        size = n_columns * (n_columns + 1) // 2
        gaussian = of_kind(guarantee, GaussianDP, purpose="Noise on second moments")
        return cls(Gaussian.calibrate(LpBall(size, 2, sensitivity + TABLES * math.sqrt(size)), gaussian))

    @property
    def guarantee(self) -> GaussianDP:
        """μ-GDP."""
        assert isinstance(self.gaussian.guarantee, GaussianDP)
        return self.gaussian.guarantee

    @property
    def std(self) -> float:
        """s: the deviation of an entry of the diagonal."""
        return math.sqrt(float(self.gaussian.variances.max()))

    def release(self, square: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return the symmetric (d, d) with noise drawn now."""
        return released_square(square, self.gaussian, rng)
