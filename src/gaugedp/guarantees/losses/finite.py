"""Losses with finitely many values."""

import math
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.loss import Array, Lattice, Line, PrivacyLoss, line_of

_Lattice = tuple[Fraction, Fraction]  # offset, span
_DIRECT_ATOMS = 8  # number of atoms up to which sums are faster than a Fourier transform


class Atoms(NamedTuple):
    """Ascending values of a loss and their weights under P.

    If known, the lattice is (offset, span): every value is offset + an integer multiple of span.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    lattice: _Lattice | None = None


class FinitePrivacyLoss(PrivacyLoss):
    """Rows (atoms,) with M(z) = Σ_j w_j·e^{z·x_j}."""

    symmetric: ClassVar[bool] = False

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        self._lattices = [row[0].lattice for row in rows]
        self._atoms = [(np.array(row[0].values), np.array(row[0].weights)) for row in rows]

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M, if small by M − 1."""
        moments = [n * _log_moment(orders, *atoms) for atoms, n in zip(self._atoms, self.counts, strict=True)]
        return np.sum(moments, axis=0)

    def line(self, order: float, heights: Array) -> Line:
        """Return the line of the tilted atoms."""
        rows = zip(self._atoms, self._lattices, self.counts, strict=True)
        lines = (_line(order, heights, *atoms, lattice).times(n) for atoms, lattice, n in rows)
        return Line.sum(lines, heights)

    def rounding(self, orders: Array) -> Array:
        """Return a bound that also covers cancelling first-order moments."""
        sizes = [float(np.abs(values).max()) for values, _ in self._atoms]
        return 16 * UNIT * float(self.counts @ np.array(sizes)) * orders

    def atoms(self) -> list[tuple[Array, Array, int]]:
        """Return the atoms of each row."""
        return [(values, weights, n) for (values, weights), n in zip(self._atoms, self.times, strict=True)]

    def lattices(self) -> list[Lattice] | None:
        """Return the lattices of the rows, if known."""
        if None in self._lattices:
            return None
        return [Lattice(offset, span, n) for (offset, span), n in zip(self._lattices, self.times, strict=True)]

    @property
    def largest(self) -> float:
        """The sum of the largest values."""
        largest = [max(float(values.max()), 0.0) for values, _ in self._atoms]
        return float(self.counts @ np.array(largest)) * (1 + 1e-12)

    def log_tail(self, order: float, height: float, until: float = math.inf) -> float:  # noqa: ARG002
        """Return 0: the modulus returns arbitrarily close to 1."""
        return 0.0

    @property
    def work(self) -> int:
        """One unit per atom."""
        return sum(len(values) for values, _ in self._atoms)

    @property
    def period_work(self) -> int:
        """One unit per atom, or the cost of a Fourier transform."""
        return sum(min(len(values), _DIRECT_ATOMS) for values, _ in self._atoms)


def _log_moment(orders: Array, values: Array, weights: Array) -> Array:
    exponents = orders[:, None] * values
    largest = exponents.max(axis=1)
    large = np.log(np.exp(exponents - largest[:, None]) @ weights) + largest
    small = np.abs(exponents).max(axis=1) < 1
    near = np.expm1(np.where(small[:, None], exponents, 0.0)) @ weights
    return np.where(small, np.log1p(near), large)


def _line(order: float, heights: Array, values: Array, weights: Array, lattice: _Lattice | None) -> Line:
    tilted = weights * np.exp(order * values - _log_moment(np.array([order]), values, weights))
    lost = 8 + 2 * order * float(np.abs(values).max())
    turns = 0 if lattice is None or len(values) <= _DIRECT_ATOMS else _turns(heights, float(lattice[1]))
    if lattice is None or turns == 0:
        return tilted_line(values, tilted, heights, lost)
    return _turned_line(values, tilted, heights, lost, lattice, turns)


def _turns(heights: Array, span: float) -> int:
    """Return how often a step turns by π on equidistant heights; 0 if not an integer."""
    turns = float(heights[-1]) * span / math.pi
    is_whole = turns > 0.5 and abs(turns - round(turns)) < 1e-9
    return round(turns) if is_whole and np.array_equal(heights, heights[1] * np.arange(len(heights))) else 0


def _turned_line(values: Array, tilted: Array, heights: Array, lost: float, lattice: _Lattice, turns: int) -> Line:
    offset, span = map(float, lattice)
    places = np.rint((values - offset) / span).astype(np.int64) * turns
    n_places = 2 * (len(heights) - 1)
    folded = np.bincount(places % n_places, weights=tilted, minlength=n_places)
    moments = np.conj(np.fft.rfft(folded)) * np.exp(1j * offset * heights)
    spread = float(tilted @ np.abs(values)) * heights
    relative = 8 * math.log2(2 * n_places) + 8 * abs(offset) * heights + lost * np.minimum(spread, 2.0)
    return line_of((moments.real - 1)[None], moments.imag[None], relative[None], np.ones(1))


def tilted_line(values: Array, tilted: Array, heights: Array, lost: float) -> Line:
    """Return the line Σ w·(e^{itx} − 1) of tilted weights.

    The weights sum to 1; `lost` bounds their relative error, in units of rounding.
    """
    phase = heights * values[:, None]
    imaginary = tilted @ np.sin(phase)
    np.multiply(phase, 0.5, out=phase)
    real = -2 * (tilted @ np.sin(phase) ** 2)
    spread = float(tilted @ np.abs(values)) * heights
    return line_of(real[None], imaginary[None], (8 * spread + lost * np.minimum(spread, 2.0))[None], np.ones(1))


def log_ratio(ratio: Fraction) -> float:
    """Return the log of any positive fraction, accurately."""
    if abs(ratio - 1) < Fraction(1, 2):
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator) if not 1e-300 < ratio < 1e300 else math.log(ratio)
