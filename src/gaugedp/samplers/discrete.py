"""Exact noise on the integers, vectorised, in integer arithmetic only."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.half_gaussian import HalfGaussian
from gaugedp.samplers.inverse import InverseTable, decaying_weights

MAX_SCALE = 2**54  # wider noise would not fit 64-bit integers
_LAPLACE_TABLE = 64  # scales up to this have one table; larger ones are written in digits
_DIGIT_BITS = 8

Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]


def discrete_laplace(size: int, scale: Fraction, rng: Entropy) -> np.ndarray:
    """Return `size` draws with P(k) ∝ e^(−|k|/scale) on the integers, shape (size,), dtype int64.

    |k| is written in digits of base 2^8 below a leading digit without bound; given the sign, the digits of a
    geometric variable are independent, so each is drawn from a table of its own. (−, 0) is rejected, which leaves
    the two-sided law (Canonne, Kamath and Steinke 2020, section 5).
    """
    check_scale(scale)
    digits = _laplace_digits(scale)

    def propose(count: int) -> tuple[np.ndarray, np.ndarray]:
        magnitude = np.zeros(count, dtype=np.int64)
        for shift, table in digits:
            magnitude += table.draw(count, rng) << shift
        return magnitude, np.ones(count, dtype=bool)

    return _signed(size, propose, rng)


def discrete_gaussian(size: int, variance: Fraction, rng: Entropy) -> np.ndarray:
    """Return `size` draws with P(k) ∝ e^(−k²/(2·variance)) on the integers, shape (size,), dtype int64."""
    if variance > MAX_SCALE**2:
        check_scale(Fraction(MAX_SCALE + 1))
    half = _half_gaussian(variance)
    return _signed(size, lambda count: half.lattice(count, rng), rng)


def rounded_gaussian(size: int, std: Fraction, rng: Entropy) -> np.ndarray:
    """Return `size` draws of a normal variable N(0, std²) rounded to the nearest integer, dtype int64, exactly.

    The normal variable is drawn lazily, bit by bit as the rounding needs them (in the spirit of Karney 2016).
    """
    check_scale(std)
    magnitude = HalfGaussian.continuous().rounded(size, std, rng)
    return np.where(rng.bits(size), -magnitude, magnitude)


def check_scale(scale: Fraction) -> None:
    """Refuse noise that would not fit 64-bit integers."""
    if scale > MAX_SCALE:
        raise InvalidRequest(
            "The noise would be wider than 2^54 lattice steps.",
            "Give a larger epsilon, rho or mu, or a coarser step.",
        )


def _signed(size: int, propose: Draw, rng: Entropy) -> np.ndarray:
    """Give magnitudes a fair sign; reject what `propose` rejects and (−, 0)."""
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
def _laplace_digits(scale: Fraction) -> list[tuple[int, InverseTable]]:
    """Return pairs (shift, table): the magnitude is Σ digit·2^shift."""
    shift = max(0, (scale.numerator // (scale.denominator * _LAPLACE_TABLE)).bit_length())
    digits = [(shift, InverseTable(decaying_weights(2**shift / scale)))]
    for low in range(0, shift, _DIGIT_BITS):
        base = 2 ** min(_DIGIT_BITS, shift - low)
        digits.append((low, InverseTable(decaying_weights(2**low / scale, length=base))))
    return digits


@lru_cache(maxsize=64)
def _half_gaussian(variance: Fraction) -> HalfGaussian:
    return HalfGaussian.on_lattice(variance)
