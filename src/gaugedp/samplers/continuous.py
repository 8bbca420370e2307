"""Continuous random variables in floating point, fine near zero and with unbounded tails."""

import math

import numpy as np

from gaugedp.entropy import Entropy


def uniforms(size: int, rng: Entropy) -> np.ndarray:
    """Return `size` uniform multiples of 2^−53 in [0, 1)."""
    return (rng.words(size) >> np.uint64(11)) * 2.0**-53


def exponentials(size: int, rng: Entropy) -> np.ndarray:
    """Return `size` draws of density e^{−t}, t > 0, with unbounded tails.

    k·log 2 − log V with V in (1/2, 1]; k counts the zeros before the first one in an unbounded string of bits.
    """
    whole = _leading_zeros(size, rng)
    fraction = 1.0 - uniforms(size, rng) / 2
    return whole * math.log(2) - np.log(fraction)


def _leading_zeros(size: int, rng: Entropy) -> np.ndarray:
    words = rng.words(size)
    zeros = 64 - _bit_lengths(words)
    for index in np.flatnonzero(words == 0):  # once in 2^64
        while (word := rng.integer(64)) == 0:
            zeros[index] += 64
        zeros[index] += 64 - word.bit_length()
    return zeros


def _bit_lengths(words: np.ndarray) -> np.ndarray:
    lengths = 32 + np.frexp((words >> np.uint64(32)).astype(float))[1].astype(np.int64)  # 32 bits: exact in a float
    short = np.flatnonzero(lengths == 32)  # once in 2^32
    lengths[short] = np.frexp(words[short].astype(float))[1]
    return lengths


def normals(size: int, rng: Entropy) -> np.ndarray:
    """Return `size` standard normal draws (Box and Muller 1958)."""
    half = (size + 1) // 2
    lengths = np.sqrt(2 * exponentials(half, rng))
    angles = 2 * math.pi * uniforms(half, rng)
    return np.concatenate([lengths * np.cos(angles), lengths * np.sin(angles)])[:size]


def gammas(shape: int, size: int, rng: Entropy) -> np.ndarray:
    """Return `size` Gamma draws of an integer `shape` ≥ 1."""
    return exponentials(size * shape, rng).reshape(size, shape).sum(axis=1)


def signs(size: int, rng: Entropy) -> np.ndarray:
    """Return `size` fair signs ±1, as floats."""
    return np.where(rng.bits(size), 1.0, -1.0)


def exponential_weights(size: int, rank: int, rng: Entropy) -> np.ndarray:
    """Return exponentials s (size, rank); B·s of a facet B has density ∝ e^{−‖z‖} in its cone."""
    return exponentials(size * rank, rng).reshape(size, rank)


def simplex_weights(size: int, rank: int, rng: Entropy) -> np.ndarray:
    """Return uniform points on {s ≥ 0, Σs ≤ 1}, (size, rank)."""
    weights = exponential_weights(size, rank + 1, rng)
    return weights[:, :rank] / weights.sum(axis=1, keepdims=True)


def rounded(noise: np.ndarray, deviations: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return noise of known `deviations` rounded to integers.

    Noise is (n, d) and deviations (d,). If it is wide, finer normal noise is added first. Floats near wide noise are at
    least as far apart as integers: by themselves they would favour some last digits of the sum of noise and answer, and
    so reveal those of the answer. The added noise is independent of all data.
    """
    if float(np.max(deviations)) <= 2.0**20:  # integers; below, floats are 2^−30 apart or nearer
        return np.rint(noise).astype(np.int64)
    floors = np.floor(noise)
    # 2.0**-45: of a deviation; floats that make up such noise are at most an eighth of that apart
    fine = 2.0**-45 * deviations * normals(noise.size, rng).reshape(noise.shape)
    return floors.astype(np.int64) + np.rint(noise - floors + fine).astype(np.int64)
