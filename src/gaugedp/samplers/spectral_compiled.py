"""Compiled spectral proposals for nuclear balls (extra `fast`).

The singular vectors U and V of the centre do not change the distribution of the noise, so M = UᵀXV is drawn for a
proposal X. The part of M's symmetric noise along I is the depth below the plane. The rest has trace 0 and is
independent of the skew part, which determines K of `_least`. Only its component along K² enters the bound, so the
others are drawn only if the bound leaves open whether X is in the ball.
"""

import math
from typing import Any

import numba
import numpy as np

_FLOOR = 16.0  # deviations of an entry, added to singular values that may be near 0; any value is exact
_compiled = numba.njit(cache=True, error_model="numpy")


def proposals(
    law: Any, rows: np.ndarray, depths: np.ndarray, waits: np.ndarray, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return proposals that bounds do not already reject.

    The values are: the indices into `rows`; UᵀXV for each such proposal X; the negative log of the envelope there, plus
    ∞ if bounds accept X. If all rows are of one chain, only the first such proposal is returned.
    """
    half, ball, size = law.half, law.oracle.ball, law.values.shape[1]
    deviation, is_alone = 1 / math.sqrt(half.precision), bool(rows[0] == rows[-1])
    laws = (half.mean_values, half.bases[1] + _FLOOR * deviation / 2, half.heights, law.values)
    numbers = (deviation, ball.radius, law.oracle.weight, law.oracle.exponent, 1 / (2 * law.step))
    piece = 4 if is_alone else len(rows)  # proposals per batch of a single chain
    for start in range(0, len(rows), piece):
        part = slice(start, start + piece)
        first, second = (rng.words(3 * len(rows[part]) * n).reshape(-1, 3, n) for n in _pairs(size))
        draws = (depths[part], waits[part])
        near, matrices, logs = _propose((first, second), rows[part], draws, laws, numbers, is_alone)
        if len(near):
            break
    return near + start, matrices, logs


def _pairs(size: int) -> tuple[int, int]:
    """Return the pairs of normal draws for the skew part and one more number, and for the rest."""
    return (size * (size - 1) // 2 + 2) // 2, (size * (size + 1) // 2 + 1) // 2


@_compiled
def _normals(words):
    half = words.shape[1]
    draws = np.empty(2 * half)
    for i in range(half):
        fraction = 1.0 - (words[1, i] >> np.uint64(11)) * 2.0**-53 / 2
        length = math.sqrt(2 * (_zeros(words[0, i], words[1, i]) * math.log(2.0) - math.log(fraction)))
        near, far = _direction(words[2, i])
        draws[i], draws[half + i] = length * near, length * far
    return draws


@_compiled
def _direction(word):
    angle = (word >> np.uint64(11)) * 2.0**-53 * (math.pi / 4)
    square, cosine, sine = angle * angle, 0.0, 0.0
    for k in range(8, 0, -1):
        cosine = (1 + cosine) * (-square / (2 * k * (2 * k - 1)))
        sine = (1 + sine) * (-square / (2 * k * (2 * k + 1)))
    near, far = 1 + cosine, angle * (1 + sine)
    if word & np.uint64(1):
        near, far = far, near
    return (-near if word & np.uint64(2) else near), (-far if word & np.uint64(4) else far)


@_compiled
def _zeros(word, other):
    zeros = 0
    if word == 0:
        zeros, word = 64, (other << np.uint64(53)) | np.uint64(1)
    while word >> np.uint64(63) == 0:
        word <<= np.uint64(1)
        zeros += 1
    return zeros


@_compiled
def _propose(words, rows, draws, laws, numbers, is_alone):
    (first, second), (depths, waits), (means, sizes, heights, values) = words, draws, laws
    deviation, radius = numbers[0], numbers[1]
    count, n = len(rows), means.shape[1]
    which, matrices, logs, near = np.empty(count, np.int64), np.empty((count, n, n)), np.empty(count), 0
    for k in range(count):
        row, depth, matrix = rows[k], depths[k], matrices[near]
        middle = means[row] - deviation * depth / math.sqrt(n)
        noise = _normals(first[k])
        along = noise[n * (n - 1) // 2]
        skew, spread = _skew(noise, sizes[row], deviation, matrix)
        least, aside = _least(matrix, skew, skew @ skew, middle, deviation * along)
        if least > radius:
            continue
        spread += depth * depth + _symmetric(_normals(second[k]), along, aside, middle, deviation, matrix)
        which[near], logs[near] = k, heights[row] + spread / 2
        may_be, must_be = _kept(matrix, values[row], logs[near] + waits[k], numbers)
        if may_be:
            logs[near] += np.inf if must_be else 0.0
            near += 1
            if is_alone:
                break
    return which[:near], matrices[:near], logs[:near]


@_compiled
def _kept(matrix, values, most, numbers):
    """Return whether the matrix may be, and must be, accepted for exponents up to `most`, by its Gram matrix."""
    gram, far, weight = matrix @ matrix.T, 0.0, numbers[2]
    square, n = np.trace(gram), len(values)
    for i in range(n):
        far += values[i] * (values[i] - 2 * matrix[i, i])
    far = numbers[4] * (far + square)
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0))
    error = math.sqrt(4 * n * 2.0**-52 * square)  # n·2^−52·tr is more than the eigenvalues are off
    slack = 1e-9 * (1 + abs(most))
    totals, powers = np.zeros(2), np.zeros(2)
    for i in range(n):
        for k in range(2):
            size = max(0.0, roots[i] + (2 * k - 1) * error)
            totals[k] += size
            powers[k] += size ** numbers[3]
    exponents = weight / 2 * powers ** (2 / numbers[3]) + far
    may_be = totals[0] <= numbers[1] and exponents[0] <= most + slack
    return may_be, totals[1] <= numbers[1] and exponents[1] <= most - slack


@_compiled
def _skew(noise, sizes, deviation, matrix):
    n, at, spread = len(sizes), 0, 0.0
    skew = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            part = deviation * noise[at] / math.sqrt(2.0)
            matrix[i, j], matrix[j, i] = part, -part
            skew[i, j] = 2 * part / (sizes[i] + sizes[j])
            skew[j, i] = -skew[i, j]
            spread += noise[at] * noise[at]
            at += 1
    return skew, spread


@_compiled
def _least(matrix, skew, square, middle, along):
    """Return a bound below the nuclear norm, and a direction.

    The bound is tr(QᵀM)/‖Q‖, Q = I + K + K²/2 for a skew K, by M's diagonal, skew part and symmetric noise along K² ⊥
    I. QᵀQ = (I + K²/2)² − K² = I + K⁴/4, and ‖K‖⁴ ≤ ‖K²‖_F²/2, as eigenvalues come in pairs. The direction overwrites
    K².
    """
    n, trace, fourth, total = len(middle), 0.0, 0.0, 0.0
    for i in range(n):
        trace += square[i, i]
        total += middle[i] + square[i, i] * middle[i] / 2
        for j in range(n):
            fourth += square[i, j] * square[i, j]
        for j in range(i):
            total += 2 * skew[i, j] * matrix[i, j]
    for i in range(n):
        square[i, i] -= trace / n
    length = math.sqrt((square * square).sum())
    if length > 0:
        square /= length
    return (total + length * along / 2) / math.sqrt(1 + fourth / 8) * (1 - 1e-12), square


@_compiled
def _symmetric(noise, along, aside, middle, deviation, matrix):
    n, mean, square = len(middle), noise[: len(middle)].mean(), 0.0
    sym = np.empty((n, n))
    for i in range(n):
        sym[i, i] = noise[i] - mean
    at = n
    for i in range(n):
        for j in range(i):
            sym[i, j] = sym[j, i] = noise[at] / math.sqrt(2.0)
            at += 1
    part = along - (sym * aside).sum()
    for i in range(n):
        for j in range(n):
            move = sym[i, j] + part * aside[i, j]
            square += move * move
            matrix[i, j] = (middle[i] if i == j else matrix[i, j]) + deviation * move
    return square
