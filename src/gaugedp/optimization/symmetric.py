"""Isometric vectors of symmetric matrices, and their noisy release."""

import math

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import released


def coordinates(square: np.ndarray) -> np.ndarray:
    """Return the upper triangle, off-diagonal entries times √2."""
    upper = np.triu_indices(len(square))
    return square[upper] * stretch(upper)


def square_of(coords: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with these `coordinates`."""
    d = (math.isqrt(8 * len(coords) + 1) - 1) // 2
    upper, square = np.triu_indices(d), np.zeros((d, d))
    square[upper] = coords / stretch(upper)
    return square + np.triu(square, 1).T


def released_square(square: np.ndarray, noise: AdditiveNoise, rng: Entropy) -> np.ndarray:
    """Return a symmetric matrix (d, d) with fresh noise."""
    return square_of(released(coordinates(square), noise, rng))


def repulsion(values: np.ndarray, variance: float, blur: float) -> np.ndarray:
    """Return about how far noise pushes eigenvalues (d,) apart.

    The noise has this `variance` off the diagonal: variance·Σ_j 1/(λ_i − λ_j) (Benaych-Georges and Nadakuditi 2011,
    theorem 2.1, with the noisy spectrum's own Stieltjes transform), with gaps bounded away from 0 by the square root of
    `blur`. Post-processing.
    """
    gaps = values[:, None] - values
    return np.asarray((gaps / (gaps**2 + blur)).sum(axis=1) * variance)


def stretch(upper: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return 1 for diagonal entries and √2 for others, at indices `upper` of a triangle."""
    return np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
