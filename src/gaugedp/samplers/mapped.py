"""M·x of random x, and sums of these, with error bounds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.samplers.reals import Ends, RealFunction, Reals


@dataclass(frozen=True, eq=False)
class Mapped(RealFunction):
    """M·x for floats M (d, k) and random x.

    M is read as exact rational numbers, and x has a distribution on ℝ^k, k ≤ 2^20. If x has the density ∝ e^{−‖x‖_K}
    and M is one-to-one, M·x has the density ∝ e^{−‖z‖_{M·K}} on the image of M (docs/theory/reals.md, theorem 3).
    """

    matrix: np.ndarray
    law: RealFunction

    @property
    def d(self) -> int:
        """The number of rows of M."""
        return len(self.matrix)

    @property
    def n_reals(self) -> int:
        """The number of real numbers of x."""
        return self.law.n_reals

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products, with bounds from those of x."""
        return self._mapped(*self.law.floats(reals, n_bits))

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products, with the closer bounds of x."""
        return self._mapped(*self.law.closer(reals, n_bits))

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer sums of products of the ends."""
        rows = [self._exact_row(place) for place in places]
        columns = sorted(set().union(*rows))
        ends_at = dict(zip(columns, self.law.brackets(reals, draw, columns, n_bits), strict=True))
        return [
            (
                sum((factor * ends_at[at][factor < 0] for at, factor in row.items()), Fraction(0)),
                sum((factor * ends_at[at][factor > 0] for at, factor in row.items()), Fraction(0)),
            )
            for row in rows
        ]

    def _mapped(self, values: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mapped values and errors, infinite if a coordinate is unknown (∞·0 would be NaN).

        If x_j, with the float v_j, is off by b_j, coordinate i of M·x is off by at most Σ_j |M_ij|·(b_j + (k +
        8)·u·|v_j|), times 1 + 2^−30, with u = 2^−53 and M of shape (d, k).
        """
        is_known = np.isfinite(bounds).all(axis=1, keepdims=True)
        errors = np.where(is_known, bounds, 0.0) + (self.matrix.shape[1] + 8) * UNIT * np.abs(values)
        errors = errors @ self._sizes.T * (1 + 2.0**-30)
        return values @ self.matrix.T, np.where(is_known, errors, np.inf)

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.abs(self.matrix)

    def _exact_row(self, place: int) -> dict[int, Fraction]:
        row = self.matrix[place]
        return {int(at): Fraction(float(row[at])) for at in np.flatnonzero(row)}


@dataclass(frozen=True, eq=False)
class SummedVariables(RealFunction):
    """Sum of independent M·x, each from its own numbers."""

    parts: tuple[Mapped, ...]

    @property
    def d(self) -> int:
        """The dimension of each part."""
        return self.parts[0].d

    @cached_property
    def n_reals(self) -> int:
        """The number of real numbers of all parts."""
        return sum(part.n_reals for part in self.parts)

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums, with the sums of the bounds."""
        return self._summed([part.floats(numbers, n_bits) for part, numbers in self._with_numbers(reals)])

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums, with closer bounds."""
        return self._summed([part.closer(numbers, n_bits) for part, numbers in self._with_numbers(reals)])

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the sums of the ends."""
        rows = list(places)
        ends = [part.brackets(numbers, draw, rows, n_bits) for part, numbers in self._with_numbers(reals)]
        return [
            (sum((low for low, _ in pairs), Fraction(0)), sum((high for _, high in pairs), Fraction(0)))
            for pairs in zip(*ends, strict=True)
        ]

    def _summed(self, known: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        values, sizes = sum(value for value, _ in known), sum(np.abs(value) for value, _ in known)
        bounds = sum(bound for _, bound in known) + (len(known) + 8) * UNIT * sizes
        return np.asarray(values), np.asarray(bounds * (1 + 2.0**-30))

    def _with_numbers(self, reals: Reals) -> Iterator[tuple[Mapped, Reals]]:
        stop = 0
        for part in self.parts:
            start, stop = stop, stop + part.n_reals
            yield part, reals.columns(start, stop)
