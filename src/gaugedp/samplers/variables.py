"""Laplace, normal and spherical variables with error bounds (docs/theory/reals.md)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import PARAMETERS, UNIT
from gaugedp.samplers.box_noise import minus_log, minus_log_bracket, minus_log_product, together
from gaugedp.samplers.integer_exp import Bracket
from gaugedp.samplers.integer_sine import pi_bracket, sine_and_cosine
from gaugedp.samplers.reals import WORD, Reals

_SIGN = np.uint64(2**63)
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]

Floats = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Variables(ABC):
    """Random point x of ℝ^k."""

    k: int

    @property
    @abstractmethod
    def n_reals(self) -> int:
        """The number of real numbers per point."""

    @abstractmethod
    def floats(self, reals: Reals, n_bits: int) -> Floats:
        """Return v (m, k), and bounds on Σ|x_j − v_j| and Σ|v_j| per draw (m,), from `n_bits` ≤ 64 bits."""

    @abstractmethod
    def apart(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return v and bounds on |x_j − v_j| of each variable, both (m, k), from the words (m, n_reals)."""

    @abstractmethod
    def brackets(self, reals: Reals, draw: int, places: list[int], n_bits: int) -> tuple[list[Bracket], int]:
        """Return brackets of 2^p·x_j for these j, and p; more bits are used if needed."""


class LaplaceVariables(Variables):
    """Independent Laplace variables: the first bit of a number is the sign, −log of the rest the size."""

    @property
    def n_reals(self) -> int:
        """One for each variable."""
        return self.k

    def floats(self, reals: Reals, n_bits: int) -> Floats:
        """Return error bounds by lemma 2, also for absolute values."""
        parts = first_bits(reals.words, n_bits) & np.uint64(2 ** (n_bits - 1) - 1)
        sizes = minus_log(parts * 2.0 ** (1 - n_bits))
        total = sizes.sum(axis=1)
        error = UNIT * (5 * total + 6 * self.k) + unknown(parts, self.k)
        return np.copysign(sizes, reals.words.view(np.int64)), error, total + 8 * UNIT * self.k

    def apart(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return error bounds by lemma 2."""
        parts = first_bits(words, n_bits) & np.uint64(2 ** (n_bits - 1) - 1)
        sizes = minus_log(parts * 2.0 ** (1 - n_bits))
        return np.copysign(sizes, words.view(np.int64)), UNIT * (5 * sizes + 6) + _inverse(parts)

    def brackets(self, reals: Reals, draw: int, places: list[int], n_bits: int) -> tuple[list[Bracket], int]:
        """Return the ends of the sizes with their signs."""
        while 0 in (parts := [word & (1 << n_bits - 1) - 1 for word in reals.many(draw, places, n_bits)]):
            n_bits += WORD  # a variable has no bound yet
        signs = [word >> n_bits - 1 for word in reals.many(draw, places, n_bits)]
        sizes = [minus_log_bracket([part], n_bits - 1) for part in parts]
        return [_signed(size, sign) for size, sign in zip(sizes, signs, strict=True)], n_bits - 1


class Normal(Variables):
    """Independent standard normal variables.

    They are √(−2·log V) times cosine and sine of an angle (Box and Muller 1958). The first two bits of a further number
    are the signs of both, the rest the angle in a quarter of the circle.
    """

    @property
    def n_pairs(self) -> int:
        """The number of pairs of variables."""
        return (self.k + 1) // 2

    @property
    def n_reals(self) -> int:
        """Two for each pair."""
        return 2 * self.n_pairs

    def floats(self, reals: Reals, n_bits: int) -> Floats:
        """Return error bounds by lemmas 2 and 3.

        The float of half the angle φ is off by 2.4u, u = 2^−53, and by π/4·2^{2−n} for unknown bits, its sine by 4.4u,
        and cos φ and sin φ by 14u each. The float y of −log V is off by δ = 4u·(y + 1) + 1/w for the word w of V, so r
        = √2·√y is off by 2δ/r + 3u·r, and each variable by less than r·(24u + 6.3·2^−n) + (8u + 2/w)/r. The sums over
        all variables are twice those over pairs.
        """
        parts, lengths = self._lengths(reals.words, n_bits)
        total, off = lengths.sum(axis=1), unknown(parts, 1)
        with np.errstate(divide="ignore"):
            inverse = self.n_pairs / lengths.min(axis=1)
        error = 2 * (1 + PARAMETERS) * (total * _turning(n_bits) + inverse * (8 * UNIT + 2 * off))
        return self._points(lengths, reals.words, n_bits), error, 2 * total

    def apart(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return error bounds by lemmas 2 and 3."""
        parts, lengths = self._lengths(words, n_bits)
        with np.errstate(divide="ignore"):
            errors = (1 + PARAMETERS) * (lengths * _turning(n_bits) + (8 * UNIT + 2 * _inverse(parts)) / lengths)
        return self._points(lengths, words, n_bits), np.hstack([errors, errors])[:, : self.k]

    def _lengths(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bits of V and √(−2·log V), (m, n_pairs)."""
        parts = first_bits(words[:, : self.n_pairs], n_bits)
        lengths = minus_log(parts * 2.0**-n_bits)
        lengths = np.sqrt(np.abs(lengths, out=lengths), out=lengths)
        lengths *= 1.4142135623730951  # √2 to half a unit
        return parts, lengths

    def _points(self, lengths: np.ndarray, words: np.ndarray, n_bits: int) -> np.ndarray:
        values = np.empty((2 * self.n_pairs, len(words))).T
        _turned(lengths, words[:, self.n_pairs :], n_bits, values)
        return values[:, : self.k]

    def brackets(self, reals: Reals, draw: int, places: list[int], n_bits: int) -> tuple[list[Bracket], int]:
        """Return the products of lengths, sines and cosines of these pairs."""
        return self.from_places(reals, draw, 0, places, n_bits)

    def from_places(
        self, reals: Reals, draw: int, start: int, places: list[int], n_bits: int
    ) -> tuple[list[Bracket], int]:
        """Return the same for numbers from `start` on."""
        half = self.n_pairs
        which = sorted({place % half for place in places})
        while 0 in (words := reals.many(draw, [start + pair for pair in which], n_bits)):
            n_bits += WORD
        angles = reals.many(draw, [start + half + pair for pair in which], n_bits)
        brackets = {pair: _pair(word, angle, n_bits) for pair, word, angle in zip(which, words, angles, strict=True)}
        return [brackets[place % half][place // half] for place in places], n_bits


class Spherical(Variables):
    """R·g/‖g‖₂ of density ∝ e^{−‖x‖₂} on ℝ^k, R ~ Gamma(k) and g standard normal."""

    @property
    def _normal(self) -> Normal:
        return Normal(self.k)

    @property
    def n_reals(self) -> int:
        """One for each variable, and those of g."""
        return self.k + self._normal.n_reals

    def floats(self, reals: Reals, n_bits: int) -> Floats:
        """Return the sums of the bounds and of the sizes."""
        values, errors = self.apart(reals.words, n_bits)
        return values, errors.sum(axis=1), np.abs(values).sum(axis=1)

    def apart(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return error bounds by lemmas 1 to 3; `off` is relative.

        Let p_i be the float of g_i, off by e_i, and N that of ‖p‖₂, whose squares are added in a tree of L levels. Then
        ‖g‖₂ = N·(1 + θ) with |θ| ≤ ‖e‖₂/N + (L + 8)·u, u = 2^−53. Let r be the float of R, off by δ. If |θ| < 1/2, v_i
        = p_i·(r/N) differs from R·g_i/‖g‖₂ by at most e_i·(r/N)·(1 + |η|) + |v_i|·|η|, |η| ≤ (|θ| + δ/r)/(1 − |θ|).
        """
        radius, radius_error = minus_log_product(words[:, : self.k], n_bits)
        points, errors = self._normal.apart(words[:, self.k :], n_bits)
        levels = (self.k - 1).bit_length()
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.sqrt(together(points * points, np.add)[:, 0])
            off = np.sqrt(together(errors * errors, np.add)[:, 0]) / lengths * (1 + PARAMETERS) + (levels + 8) * UNIT
            is_known = off < 0.5
            factor = radius / lengths
            off = (off + radius_error / np.abs(radius)) / (1 - off) * (1 + PARAMETERS)
            errors *= (np.abs(factor) * (1 + off) * (1 + PARAMETERS))[:, None]
            values = points * factor[:, None]
            errors += np.abs(values) * off[:, None]
        bad = ~(is_known & np.isfinite(off))
        values[bad], errors[bad] = 0.0, np.inf
        return values, errors

    def brackets(self, reals: Reals, draw: int, places: list[int], n_bits: int) -> tuple[list[Bracket], int]:
        """Return the quotients of the outer ends."""
        n_words = self.k + self._normal.n_pairs
        while (
            0 in (words := reals.many(draw, range(n_words), n_bits))
            or not (squares := self._square(reals, draw, words[self.k :], n_bits))[0]
        ):
            n_bits += WORD
        radius = minus_log_bracket(words[: self.k], n_bits)
        lengths = math.isqrt(squares[0]), math.isqrt(squares[1]) + 1
        points, _ = self._normal.from_places(reals, draw, self.k, places, n_bits)
        return [_scaled(point, radius, lengths) for point in points], n_bits

    def _square(self, reals: Reals, draw: int, words: list[int], n_bits: int) -> Bracket:
        """Bracket 4^n_bits·‖g‖₂²: −2·log V per pair, and the square of an unpaired variable."""
        n_whole, is_odd = divmod(self.k, 2)
        pairs = minus_log_bracket(words[:n_whole], n_bits)
        alone, _ = self._normal.from_places(reals, draw, self.k, [n_whole] * is_odd, n_bits)
        low = sum(min(abs(low), abs(high)) ** 2 * (low * high > 0) for low, high in alone)
        high = sum(max(low**2, high**2) for low, high in alone)
        return (pairs[0] << n_bits + 1) + low, (pairs[1] << n_bits + 1) + high


def first_bits(words: np.ndarray, n_bits: int) -> np.ndarray:
    """Return the first `n_bits` bits of 64-bit words."""
    return words if n_bits == WORD else words >> np.uint64(WORD - n_bits)


def unknown(parts: np.ndarray, count: int) -> np.ndarray:
    """Bound the joint error of `count` logarithms from unknown bits."""
    least = parts.min(axis=1).astype(float)
    off = np.full_like(least, np.inf)
    np.divide(count, least, out=off, where=least > 0)
    return off


def _inverse(parts: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / parts.astype(float)


def _turning(n_bits: int) -> float:
    return 24 * UNIT + 6.3 * 2.0**-n_bits


def _signed(size: Bracket, is_negative: int) -> Bracket:
    return (-size[1], -size[0]) if is_negative else size


def _turned(lengths: np.ndarray, words: np.ndarray, n_bits: int, out: np.ndarray) -> None:
    half = lengths.shape[1]
    parts = first_bits(words, n_bits) & np.uint64(2 ** (n_bits - 2) - 1)
    sines = _sine(parts * (0.7853981633974483 * 2.0 ** (2 - n_bits)))  # of half the angle; π/4 to half a unit
    squares = sines * sines
    first, second = out[:, :half], out[:, half:]
    np.multiply(1 - 2 * squares, lengths, out=first)
    sines *= np.sqrt(np.subtract(1, squares, out=squares), out=squares)
    np.multiply(2 * sines, lengths, out=second)
    first.view(np.uint64)[...] ^= words & _SIGN
    second.view(np.uint64)[...] ^= words << np.uint64(1) & _SIGN


def _sine(x: np.ndarray) -> np.ndarray:
    """Return sin x to 2 units of 2^−53 in [0, π/4] (lemma 3)."""
    square = x * x
    total = np.full_like(x, _SINE[-1])
    for factor in _SINE[-2::-1]:
        total *= square
        total += factor
    total *= x
    return total


def _pair(word: int, angle: int, n_bits: int) -> tuple[Bracket, Bracket]:
    """Bracket 2^n_bits·x for a pair of normals, word ≥ 1."""
    low, high = minus_log_bracket([word], n_bits)
    lengths = math.isqrt(low << n_bits + 1), math.isqrt(high << n_bits + 1) + 1
    part, (pi_low, pi_high) = angle & (1 << n_bits - 2) - 1, pi_bracket(n_bits)
    (first_high, second_low) = _doubled(part * pi_low >> n_bits, n_bits, 0)
    (first_low, second_high) = _doubled(-(-(part + 1) * pi_high >> n_bits), n_bits, 1)
    first, second = (
        (lengths[a < 0] * a >> n_bits, -(-lengths[b >= 0] * b >> n_bits))
        for a, b in ((first_low, first_high), (second_low, second_high))
    )
    return _signed(first, angle >> n_bits - 1), _signed(second, angle >> n_bits - 2 & 1)


def _doubled(x: int, n_bits: int, upper: int) -> tuple[int, int]:
    """Return cosine and sine of 2x: the `upper` or lower end of the sine, the other of the cosine."""
    sine, cosine = sine_and_cosine(x, n_bits)
    square, product = sine[upper] ** 2, sine[upper] * cosine[upper]
    whole = 1 << n_bits
    if upper:
        return whole - (-(-square >> n_bits - 1)), -(-product >> n_bits - 1)
    return whole - (square >> n_bits - 1), product >> n_bits - 1


def _scaled(point: Bracket, radius: Bracket, lengths: tuple[int, int]) -> Bracket:
    """Bracket radius·point/length from the brackets of all three."""
    low, high = point
    bottom = low * radius[low < 0] // lengths[low >= 0]
    top = -(-high * radius[high >= 0] // lengths[high < 0])
    return bottom, top
