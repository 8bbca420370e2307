"""Noise of a cube: R·U, R ~ Gamma(d + 1) and U uniform on [−1, 1]^d, with error bounds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.samplers.integer_exp import Bracket
from gaugedp.samplers.integer_log import log_bracket, logs_bracket
from gaugedp.samplers.reals import WORD, Ends, RealFunction, Reals

_ARTANH = [2 / (2 * k + 1) for k in range(11)]
_LOG_2 = 0.6931471805599453  # log 2 to half a unit
MANTISSA = 52  # the bits of a float below its exponent
_ROOT_BITS = np.array(0.7071067811865476).view(np.int64)[()]


@dataclass(frozen=True)
class BoxNoise(RealFunction):
    """Noise of density ∝ e^{−max|z_i|} on ℝ^d: R·U from 2d + 1 numbers.

    R = −log(V_1·…·V_{d+1}); the first bit of a number is the sign of U_i (docs/theory/reals.md, theorem 2).
    """

    size: int

    @property
    def d(self) -> int:
        """The dimension `size`."""
        return self.size

    @property
    def n_reals(self) -> int:
        """The number of real numbers per draw."""
        return 2 * self.d + 1

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return R·U and one bound for each draw."""
        radius, error, values = self._drawn(reals.words, n_bits)
        bounds = error + (np.abs(radius) + error) * (2.0 ** (1 - n_bits) + 6 * UNIT)
        return values, bounds[:, None]

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds per coordinate, by its share of the radius."""
        radius, error, values = self._drawn(reals.words, n_bits)
        is_known = np.isfinite(error) & (radius > 0)
        shares = np.divide(error, radius, out=np.zeros_like(radius), where=is_known) + 4.2 * UNIT
        bounds = np.abs(values) * shares[:, None] + ((np.abs(radius) + error) * 2.0 ** (1 - n_bits))[:, None]
        bounds *= 1 + 2.0**-40
        bounds[~is_known] = np.inf
        return values, bounds

    def _drawn(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return R, its bound, and the products R·U."""
        radius, error = minus_log_product(words[:, : self.d + 1], n_bits)
        sides = words[:, self.d + 1 :].view(np.int64)
        sides = sides if n_bits == WORD else sides >> (WORD - n_bits)
        return radius, error, (radius * 2.0 ** (1 - n_bits))[:, None] * sides  # a power of two: exact

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer products of the ends of R and U."""
        while 0 in (words := reals.many(draw, range(self.d + 1), n_bits)):
            n_bits += WORD  # R has no bound yet
        low, high = minus_log_bracket(words, n_bits)
        ends = []
        for word in reals.many(draw, [self.d + 1 + place for place in places], n_bits):
            side = _signed(word, n_bits)
            bottom, top = (low, high) if side >= 0 else (high, low)
            ends.append((Fraction(bottom * side, 1 << 2 * n_bits - 1), Fraction(top * (side + 1), 1 << 2 * n_bits - 1)))
        return ends


def _signed(word: int, n_bits: int) -> int:
    return word - (word >> (n_bits - 1) << n_bits)


def minus_log_product(words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return −log(V_1·…·V_k) and its error, both (m,).

    The first `n_bits` bits of V_i are those of `words` (m, k). Unknown bits move each log V by at most 1/word.
    """
    words = words if n_bits == WORD else words >> np.uint64(WORD - n_bits)
    least = together(words, np.minimum)[:, 0].astype(float)
    radius, error = logs_together(words * 2.0**-n_bits)
    unknown = np.full_like(radius, np.inf)
    np.divide(words.shape[1] * (1 + 2.0**-40), least, out=unknown, where=least > 0)
    return radius, error * (1 + 2.0**-40) + unknown


def logs_together(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return −log(x_1·…·x_k) and its error, both (m,).

    The error is up to a factor 1 + 2^−40, and `numbers` (m, k) are rounded x. Up to eight are multiplied: 8 conversions
    and 7 products move the logarithm by less than 16 units of 2^−53. The c logarithms are added with their errors.
    """
    # 3: up to eight numbers are multiplied before a logarithm is taken: at least 2^−512, no underflow
    parts = minus_log(_combined(numbers, np.multiply, 3))
    radius = _total(parts)
    return radius, UNIT * (5.2 * np.abs(radius) + 20 * parts.shape[1])


def minus_log_bracket(words: list[int], n_bits: int) -> Bracket:
    """Bracket −2^n_bits·log(V_1·…·V_k), V_i in [word_i, word_i + 1]·2^−n_bits and every word at least 1."""
    low, high, dropped = 1, 1, -n_bits * len(words)
    for start in range(0, len(words), 16):  # low·2^dropped ≤ V_1·…·V_i ≤ high·2^dropped, in 2·n_bits bits
        part = words[start : start + 16]
        low, high = low * math.prod(part), high * math.prod([word + 1 for word in part])
        excess = max(0, low.bit_length() - 2 * n_bits)
        low, high, dropped = low >> excess, -(-high >> excess), dropped + excess
    smallest, largest = logs_bracket(low, high, n_bits)
    two_low, two_high = log_bracket(1 << -dropped, n_bits)
    return max(0, two_low - largest), two_high - smallest


def together(numbers: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Return all columns combined in a tree, shape (m, 1)."""
    return _combined(numbers, combine, (numbers.shape[1] - 1).bit_length())


def _combined(numbers: np.ndarray, combine: np.ufunc, levels: int) -> np.ndarray:
    for _ in range(levels):
        half = numbers.shape[1] // 2
        pairs = combine(numbers[:, :half], numbers[:, half : 2 * half])
        numbers = np.hstack([pairs, numbers[:, 2 * half :]]) if numbers.shape[1] % 2 else pairs
    return numbers


def _total(numbers: np.ndarray) -> np.ndarray:
    if numbers.shape[1] == 1:
        return numbers[:, 0]
    sums = np.cumsum(numbers, axis=1)
    before, after, added = sums[:, :-1], sums[:, 1:], numbers[:, 1:]
    part = after - before
    off = added - part
    off += before - (after - part)
    return np.asarray(sums[:, -1] + off.sum(axis=1))


def minus_log(x: np.ndarray) -> np.ndarray:
    """Return −log x without any library function.

    The result y has |y + log x| ≤ 4·2^−53·(|y| + 1) for floats x from 2^−512 to 2^512. x = 2^e·m with m from √½ to √2,
    and −log m = s·Σ 2·s^{2k}/(2k + 1), s = (1 − m)/(1 + m). The proof is that of lemma 2 in docs/theory/reals.md.
    """
    bits = x.view(np.int64)
    exponent = bits - _ROOT_BITS
    exponent >>= MANTISSA
    mantissa = (bits - (exponent << MANTISSA)).view(float)
    share = 1 - mantissa
    mantissa += 1
    share /= mantissa
    square = share * share
    total = np.full_like(share, _ARTANH[-1])
    for factor in _ARTANH[-2::-1]:
        total *= square
        total += factor
    total *= share
    total -= exponent * _LOG_2
    return total
