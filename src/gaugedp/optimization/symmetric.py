"""Symmetric matrices as vectors of the same length, released with noise."""

import math

import numpy as np

from gaugedp.entropy import Entropy
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
