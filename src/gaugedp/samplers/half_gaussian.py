"""The magnitude of a Gaussian variable, on a lattice or rounded from the real line, in integers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.integer_exp import Bracket, exp_negative
from gaugedp.samplers.inverse import InverseTable, decaying_weights

_CELLS = 256  # cells in a standard deviation, at least; so few are rejected and two terms decide
_FRACTION_BITS = 62
_EXTRA_BITS = 64


@dataclass(frozen=True)
class HalfGaussian:
    """Draws with density (or lattice weights) ∝ e^(−rate·t²), t ≥ 0, t = cell + fraction in units of one cell.

    The cell k has the weight e^(−rate·k²) of its lower edge, the fraction f is uniform on [0, 1) and the pair is
    accepted with probability e^(−rate·f·(2k + f)): rejection sampling. `lattice_bits` = j: f is a multiple of
    2^−j; None: f is a real number of which 62 bits are drawn, and further ones where a decision needs them.
    """

    rate: Fraction
    lattice_bits: int | None

    @classmethod
    def on_lattice(cls, variance: Fraction) -> "HalfGaussian":
        """Return the half of the discrete Gaussian with this `variance` parameter, in cells of 2^j integers."""
        cells_square = variance.numerator // (variance.denominator * _CELLS**2)
        bits = max(0, (cells_square.bit_length() - 1) // 2)
        return cls(Fraction(4**bits) / (2 * variance), bits)

    @classmethod
    @cache
    def continuous(cls) -> "HalfGaussian":
        """Return the half of the standard normal variable, in cells of 1/256."""
        return cls(Fraction(1, 2 * _CELLS**2), None)

    def lattice(self, size: int, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return proposals as integers cell·2^j + fraction·2^j, and which of them are accepted."""
        cell, fraction, accepted = self._propose(size, rng)
        bits = self.lattice_bits or 0
        return (cell << bits) + (fraction >> (_FRACTION_BITS - bits)), accepted

    def rounded(self, size: int, std: Fraction, rng: Entropy) -> np.ndarray:
        """Return `size` draws of round(std·|Z|), Z standard normal, dtype int64."""
        step = std / _CELLS
        result = np.empty(size, dtype=np.int64)
        done = 0
        while done < size:
            cell, fraction, accepted = self._propose(size - done + (size - done) // 16 + 16, rng)
            values = _round(step, cell[accepted][: size - done], fraction[accepted][: size - done], rng)
            result[done : done + len(values)] = values
            done += len(values)
        return result

    @cached_property
    def _cells(self) -> InverseTable:
        return InverseTable(decaying_weights(self.rate, 2 * self.rate))

    def _propose(self, size: int, rng: Entropy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cell = self._cells.draw(size, rng)
        if self.lattice_bits == 0:
            return cell, np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool)
        fraction = (rng.words(size) >> np.uint64(64 - _FRACTION_BITS)).astype(np.int64)
        if self.lattice_bits is not None:
            unused = _FRACTION_BITS - self.lattice_bits
            fraction = fraction >> unused << unused
        return cell, fraction, self._accept(cell, fraction, rng)

    def _accept(self, cell: np.ndarray, fraction: np.ndarray, rng: Entropy) -> np.ndarray:
        """Accept with probability e^(−g): a uniform v ≥ g is surely accepted, v < g − g²/2 surely rejected."""
        uniform = (rng.words(len(cell)) >> np.uint64(2)).astype(np.int64)
        low, high = self._exponent(cell, fraction)
        square = ((high >> 31) + 1) ** 2  # at least g², in units of 2^−62
        accepted = uniform >= high
        unsure = ~accepted & (uniform >= low - (square >> 1) - 2)
        for index in np.flatnonzero(unsure):
            accepted[index] = self._decide(int(cell[index]), int(fraction[index]), int(uniform[index]), rng)
        return accepted

    def _exponent(self, cell: np.ndarray, fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bracket g = rate·f·(2k + f), in units of 2^−62: 24 bits of f, 31 of f·(2k + f), 31 of the rate."""
        f = fraction >> (_FRACTION_BITS - 24)
        product_low = f * ((cell << 25) + f) >> 31
        product_high = ((f + 1) * ((cell << 25) + f + 1) >> 31) + 1
        scaled = self.rate * 2**47
        rate_low, rate_high = int(scaled), int(scaled) + 1
        # product·2^−17 and rate·2^−47 make units of 2^−64
        return product_low * rate_low >> 2, (product_high * rate_high >> 2) + 1

    def _decide(self, cell: int, fraction: int, uniform: int, rng: Entropy) -> bool:
        """Decide one acceptance exactly, with as many more bits of both uniform numbers as it takes."""
        n_bits = _FRACTION_BITS
        while True:
            low, high = self._acceptance(cell, fraction, n_bits)
            # v ≥ 1 − e^(−g), with v in [uniform, uniform + 1)·2^−n_bits
            if uniform >= (1 << n_bits) - low:
                return True
            if uniform + 1 <= (1 << n_bits) - high:
                return False
            exact = self.lattice_bits is not None
            fraction = fraction << _EXTRA_BITS | (0 if exact else rng.integer(_EXTRA_BITS))
            uniform = uniform << _EXTRA_BITS | rng.integer(_EXTRA_BITS)
            n_bits += _EXTRA_BITS

    def _acceptance(self, cell: int, fraction: int, n_bits: int) -> Bracket:
        """Bracket 2^n_bits·e^(−g) for all fractions that begin with these bits."""
        last = fraction if self.lattice_bits is not None else fraction + 1
        nearest, farthest = Fraction(fraction, 1 << n_bits), Fraction(last, 1 << n_bits)
        low, _ = exp_negative(self.rate * farthest * (2 * cell + farthest), n_bits)
        _, high = exp_negative(self.rate * nearest * (2 * cell + nearest), n_bits)
        return low, high


def _round(step: Fraction, cell: np.ndarray, fraction: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return floor(step·(cell + f) + 1/2), f a real number beginning with the bits of `fraction`."""
    low, high = _round_bracket(step, cell, fraction)
    for index in np.flatnonzero(low != high):
        low[index] = _round_one(step, int(cell[index]), int(fraction[index]), rng)
    return low


def _round_bracket(step: Fraction, cell: np.ndarray, fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round both ends of an interval that holds step·(cell + f): 31 bits of f and 31 of the step."""
    shift = 31 - (step.numerator // step.denominator).bit_length()
    scaled = step * 2**shift  # below 2^31
    if shift < 8:  # a step of 2^23 lattice units and more: every draw is decided one by one
        return np.zeros_like(cell), np.ones_like(cell)
    place = (cell << 31) + (fraction >> (_FRACTION_BITS - 31))
    return (
        _scaled_floor(int(scaled), place, shift),
        _scaled_floor(int(scaled) + 1, place + 1, shift),
    )


def _scaled_floor(factor: int, place: np.ndarray, shift: int) -> np.ndarray:
    """Return floor(factor·place·2^−(shift + 31) + 1/2) in two limbs, so that no product exceeds 63 bits."""
    upper, lower = place >> 22, place & (2**22 - 1)
    limb = factor * upper + (factor * lower >> 22)  # factor·place·2^−22, rounded down
    return (limb + (1 << (shift + 8))) >> (shift + 9)


def _round_one(step: Fraction, cell: int, fraction: int, rng: Entropy) -> int:
    n_bits = _FRACTION_BITS
    while True:
        low = step * (cell + Fraction(fraction, 1 << n_bits)) + Fraction(1, 2)
        high = low + step / (1 << n_bits)
        if low.__floor__() == high.__floor__() or high.denominator == 1:
            return low.__floor__()
        fraction, n_bits = fraction << _EXTRA_BITS | rng.integer(_EXTRA_BITS), n_bits + _EXTRA_BITS
