"""Exact magnitude of a Gaussian, on a lattice or rounded."""

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
class Proposals:
    """Proposed cells, fractions (62 bits) and acceptance.

    `further` maps an index to (all bits of the fraction drawn so far, how many): bits that were drawn to decide an
    acceptance belong to the number and must serve its rounding too.
    """

    cell: np.ndarray
    fraction: np.ndarray
    accepted: np.ndarray
    further: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class HalfGaussian:
    """Sampler of density or lattice weights ∝ e^(−rate·t²), t ≥ 0.

    t = cell + fraction in units of one cell. The cell k has the weight e^(−rate·k²) of its lower edge, the fraction f
    is uniform on [0, 1) and the pair is accepted with probability e^(−rate·f·(2k + f)): rejection sampling.
    `lattice_bits` = j: f is a multiple of 2^−j; None: f is a real number of which 62 bits are drawn, and further ones
    if a decision needs them.
    """

    rate: Fraction
    lattice_bits: int | None

    @classmethod
    def on_lattice(cls, variance: Fraction) -> "HalfGaussian":
        """Return the half of a discrete Gaussian in cells of 2^j integers."""
        cells_square = variance.numerator // (variance.denominator * _CELLS**2)
        bits = max(0, (cells_square.bit_length() - 1) // 2)
        return cls(Fraction(4**bits) / (2 * variance), bits)

    @classmethod
    @cache
    def continuous(cls) -> "HalfGaussian":
        """Return the half of a normal in cells of 1/256."""
        return cls(Fraction(1, 2 * _CELLS**2), None)

    def lattice(self, size: int, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return proposals as integers, and their acceptance."""
        proposals = self._propose(size, rng)
        bits = self.lattice_bits or 0
        return (proposals.cell << bits) + (proposals.fraction >> (_FRACTION_BITS - bits)), proposals.accepted

    def rounded(self, size: int, std: Fraction, rng: Entropy) -> np.ndarray:
        """Return `size` draws of round(std·|Z|), Z standard normal, dtype int64."""
        step = std / _CELLS
        result = np.empty(size, dtype=np.int64)
        done = 0
        while done < size:
            proposals = self._propose(size - done + (size - done) // 16 + 16, rng)
            values = _round(step, proposals, np.flatnonzero(proposals.accepted)[: size - done], rng)
            result[done : done + len(values)] = values
            done += len(values)
        return result

    @cached_property
    def _cells(self) -> InverseTable:
        return InverseTable(decaying_weights(self.rate, 2 * self.rate))

    def _propose(self, size: int, rng: Entropy) -> "Proposals":
        proposals = Proposals(
            self._cells.draw(size, rng), np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool), {}
        )
        if self.lattice_bits == 0:
            return proposals
        proposals.fraction[:] = rng.words(size) >> np.uint64(64 - _FRACTION_BITS)
        if self.lattice_bits is not None:
            unused = _FRACTION_BITS - self.lattice_bits
            proposals.fraction[:] = proposals.fraction >> unused << unused
        self._accept(proposals, rng)
        return proposals

    def _accept(self, proposals: "Proposals", rng: Entropy) -> None:
        """Accept with probability e^(−g), by a uniform v: surely if v ≥ g, surely not if v < g − g²/2."""
        uniform = (rng.words(len(proposals.cell)) >> np.uint64(2)).astype(np.int64)
        low, high = self._exponent(proposals.cell, proposals.fraction)
        square = ((high >> 31) + 1) ** 2  # at least g², in units of 2^−62
        proposals.accepted[:] = uniform >= high
        for index in np.flatnonzero(~proposals.accepted & (uniform >= low - (square >> 1) - 2)):
            self._decide(proposals, int(index), int(uniform[index]), rng)

    def _exponent(self, cell: np.ndarray, fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bracket g = rate·f·(2k + f), in units of 2^−62: 24 bits of f, 31 of f·(2k + f), 31 of the rate."""
        f = fraction >> (_FRACTION_BITS - 24)
        product_low = f * ((cell << 25) + f) >> 31
        product_high = ((f + 1) * ((cell << 25) + f + 1) >> 31) + 1
        scaled = self.rate * 2**47
        rate_low, rate_high = int(scaled), int(scaled) + 1
        # product·2^−17 and rate·2^−47 make units of 2^−64
        return product_low * rate_low >> 2, (product_high * rate_high >> 2) + 1

    def _decide(self, proposals: "Proposals", index: int, uniform: int, rng: Entropy) -> None:
        cell, fraction, n_bits = int(proposals.cell[index]), int(proposals.fraction[index]), _FRACTION_BITS
        while True:
            low, high = self._acceptance(cell, fraction, n_bits)
            # v ≥ 1 − e^(−g), with v in [uniform, uniform + 1)·2^−n_bits
            surely, hardly = uniform >= (1 << n_bits) - low, uniform + 1 <= (1 << n_bits) - high
            if surely or hardly:
                proposals.accepted[index] = surely
                proposals.further[index] = fraction, n_bits
                return
            exact = self.lattice_bits is not None
            fraction = fraction << _EXTRA_BITS | (0 if exact else rng.integer(_EXTRA_BITS))
            uniform = uniform << _EXTRA_BITS | rng.integer(_EXTRA_BITS)
            n_bits += _EXTRA_BITS

    def _acceptance(self, cell: int, fraction: int, n_bits: int) -> Bracket:
        """Bracket 2^n_bits·e^(−g) for all fractions with these first bits."""
        last = fraction if self.lattice_bits is not None else fraction + 1
        nearest, farthest = Fraction(fraction, 1 << n_bits), Fraction(last, 1 << n_bits)
        low, _ = exp_negative(self.rate * farthest * (2 * cell + farthest), n_bits)
        _, high = exp_negative(self.rate * nearest * (2 * cell + nearest), n_bits)
        return low, high


def _round(step: Fraction, proposals: Proposals, indices: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return floor(step·(cell + f) + 1/2) at `indices`, drawing bits of f as needed."""
    low, high = _round_bracket(step, proposals.cell[indices], proposals.fraction[indices])
    for place in np.flatnonzero(low != high):
        index = int(indices[place])
        bits = proposals.further.get(index, (int(proposals.fraction[index]), _FRACTION_BITS))
        low[place] = _round_one(step, int(proposals.cell[index]), bits, rng)
    return low


def _round_bracket(step: Fraction, cell: np.ndarray, fraction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round the ends of an interval around step·(cell + f), with 31 bits of f and step."""
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
    """Return floor(factor·place·2^−(shift + 31) + 1/2) without overflow."""
    upper, lower = place >> 22, place & (2**22 - 1)
    limb = factor * upper + (factor * lower >> 22)  # factor·place·2^−22, rounded down
    return (limb + (1 << (shift + 8))) >> (shift + 9)


def _round_one(step: Fraction, cell: int, bits: tuple[int, int], rng: Entropy) -> int:
    fraction, n_bits = bits
    while True:
        low = step * (cell + Fraction(fraction, 1 << n_bits)) + Fraction(1, 2)
        high = low + step / (1 << n_bits)
        # the number lies in [low, high)
        if low.__floor__() == high.__floor__() or (high.denominator == 1 and low.__floor__() == high - 1):
            return low.__floor__()
        fraction, n_bits = fraction << _EXTRA_BITS | rng.integer(_EXTRA_BITS), n_bits + _EXTRA_BITS
