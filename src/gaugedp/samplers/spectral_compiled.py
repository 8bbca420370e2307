"""Proposals of the spectral oracle for square matrices in a nuclear ball, compiled; the extra `fast`."""

import math
from typing import Any

import numba
import numpy as np

_FLOOR = 16.0  # deviations of an entry: what is added to singular values that may be near 0; any is exact
_compiled = numba.njit(cache=True, error_model="numpy")


def proposals(half: Any, rows: np.ndarray, depths: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what `HalfGaussian.propose` makes of these, up to rounding, and lower bounds on nuclear norms.

    `words` (3, n) are those of the exponentials and of the angles of 2n normal draws.
    """
    points = _normals(words, len(rows) * half.means.shape[1]).reshape(len(rows), -1)
    logs = np.empty(len(rows))
    deviation = 1 / math.sqrt(half.precision)
    _propose(deviation, (half.means, half.walls, half.heights), rows, depths, points, logs)
    return points, logs, _nuclear(points, half.bases, rows, _FLOOR * deviation)


@_compiled
def _normals(words, size):
    drawn, half = np.empty(size), words.shape[1]
    for i in range(half):
        fraction = 1.0 - (words[1, i] >> np.uint64(11)) * 2.0**-53 / 2
        length = math.sqrt(2 * (_zeros(words[0, i], words[1, i]) * math.log(2.0) - math.log(fraction)))
        angle = 2 * math.pi * ((words[2, i] >> np.uint64(11)) * 2.0**-53)
        drawn[i] = length * math.cos(angle)
        if half + i < size:
            drawn[half + i] = length * math.sin(angle)
    return drawn


@_compiled
def _zeros(word, other):
    """Return how many bits come before the first one, of `word` and then of the 11 that a fraction leaves."""
    zeros = 0
    if word == 0:
        zeros, word = 64, (other << np.uint64(53)) | np.uint64(1)
    while word >> np.uint64(63) == 0:
        word <<= np.uint64(1)
        zeros += 1
    return zeros


@_compiled
def _propose(deviation, laws, rows, depths, noise, logs):
    """Put the proposals in the place of the noise."""
    means, walls, heights = laws
    for k in range(len(rows)):
        row, along, spread = rows[k], depths[k], 0.0
        for i in range(noise.shape[1]):
            along += noise[k, i] * walls[row, i]
        for i in range(noise.shape[1]):
            move = noise[k, i] - along * walls[row, i]
            spread += move * move
            noise[k, i] = means[row, i] + move * deviation
        logs[k] = heights[row] + spread / 2


@_compiled
def _nuclear(points, bases, rows, floor):
    """Return at most tr(QᵀM)/‖Q‖, M = UᵀXV, Q = I + K + K²/2, K skew: QᵀQ = I + K⁴/4, and ‖K‖⁴ ≤ ‖K²‖_F²/2."""
    left, values, right = bases
    least, n_values = np.empty(len(points)), values.shape[1]
    skew = np.zeros((n_values, n_values))
    for k in range(len(points)):
        row, size = rows[k], values[rows[k]]
        turned = left[row].T @ (points[k].reshape(n_values, n_values) @ right[row].T)
        for i in range(n_values):
            for j in range(i):
                skew[i, j] = (turned[i, j] - turned[j, i]) / (size[i] + size[j] + floor)
                skew[j, i] = -skew[i, j]
        square = skew @ skew
        total = fourth = 0.0
        for i in range(n_values):
            total += turned[i, i]
            for j in range(n_values):
                total += (skew[i, j] + square[i, j] / 2) * turned[i, j]
                fourth += square[i, j] * square[i, j]
        least[k] = total / math.sqrt(1 + fourth / 8) * (1 - 1e-12)
    return least
