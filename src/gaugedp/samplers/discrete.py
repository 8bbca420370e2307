"""Exact vectorised noise on the integers, in integer arithmetic."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.half_gaussian import HalfGaussian
from gaugedp.samplers.inverse import InverseTable, decaying_weights

MAX_SCALE = 2**54  # wider noise would not fit 64-bit integers
_LAST_WORD = np.uint64(2**64 - 1)

Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]


def discrete_laplace(size: int, scale: Fraction, rng: Entropy) -> np.ndarray:
    """Return exact draws with P(k) ∝ e^(−|k|/scale), int64.

    A geometric magnitude with a fair sign, (−, 0) rejected (Canonne, Kamath and Steinke 2020, section 5).
    """
    check_scale(scale)
    return symmetric(size, lambda count: (geometric(count, scale, rng), np.ones(count, dtype=bool)), rng)


def geometric(size: int, scale: Fraction, rng: Entropy) -> np.ndarray:
    """Return exact draws with P(k) ∝ e^(−k/scale), k ≥ 0, int64.

    k is written in digits of base 2^8 below an unbounded leading digit: the digits of a geometric variable are
    independent, so each is drawn from its own table (Canonne, Kamath and Steinke 2020, section 5).
    """
    total = np.zeros(size, dtype=np.int64)
    for shift, table in _geometric_digits(scale):
        total += table.draw(size, rng) << shift
    return total


def uniform_below(bounds: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return a uniform integer from 0 below each of `bounds` (n,), 1 … 2^62."""
    limits = bounds.astype(np.uint64)
    values, undecided = np.zeros(len(limits), dtype=np.int64), np.arange(len(limits))
    while len(undecided):
        words, limit = rng.words(len(undecided)), limits[undecided]
        values[undecided] = words % limit
        undecided = undecided[words - words % limit > _LAST_WORD - (limit - np.uint64(1))]
    return values


def discrete_gaussian(size: int, variance: Fraction, rng: Entropy) -> np.ndarray:
    """Return `size` exact draws with P(k) ∝ e^(−k²/(2·variance)), int64."""
    if variance > MAX_SCALE**2:
        check_scale(Fraction(MAX_SCALE + 1))
    half = _half_gaussian(variance)
    return symmetric(size, lambda count: half.lattice(count, rng), rng)


def rounded_gaussian(size: int, std: Fraction, rng: Entropy) -> np.ndarray:
    """Return `size` exact draws of N(0, std²) rounded to integers."""
    check_scale(std)
    magnitude = HalfGaussian.continuous().rounded(size, std, rng)
    return np.where(rng.bits(size), -magnitude, magnitude)


def check_scale(scale: Fraction) -> None:
    """Refuse noise that does not fit 64-bit integers."""
    if scale > MAX_SCALE:
        raise InvalidRequest(
            "The noise would be wider than 2^54 lattice steps, the most that can be drawn.",
            "Use a larger epsilon, rho or mu, or a coarser step.",
        )


def symmetric(size: int, propose: Draw, rng: Entropy) -> np.ndarray:
    """Return `size` magnitudes with fair signs; (−, 0) is rejected."""
    result = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        count = size - done + (size - done) // 16 + 16
        magnitude, accepted = propose(count)
        negative = rng.bits(count)
        values = np.where(negative, -magnitude, magnitude)[accepted & ~(negative & (magnitude == 0))]
        n_new = min(len(values), size - done)
        result[done : done + n_new] = values[:n_new]
        done += n_new
    return result


@lru_cache(maxsize=64)
def _geometric_digits(scale: Fraction) -> list[tuple[int, InverseTable]]:
    """Return pairs (shift, table): the magnitude is Σ digit·2^shift."""
    # 64: scales up to this have one table; larger ones are written in digits
    shift = max(0, (scale.numerator // (scale.denominator * 64)).bit_length())
    digits = [(shift, InverseTable(decaying_weights(2**shift / scale)))]
    for low in range(0, shift, 8):  # digits of 8 bits
        base = 2 ** min(8, shift - low)
        digits.append((low, InverseTable(decaying_weights(2**low / scale, length=base))))
    return digits


@lru_cache(maxsize=64)
def _half_gaussian(variance: Fraction) -> HalfGaussian:
    return HalfGaussian.on_lattice(variance)
