"""M·x, x noise of a law that is known, as a function of real numbers with proved bounds."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.samplers.reals import UNIT, Ends, Law, Reals


@dataclass(frozen=True, eq=False)
class Mapped(Law):
    """M·x for floats M (d, k), taken as the rational numbers that they are, and x of a law on ℝ^k, k ≤ 2^20.

    Where x has the density ∝ e^{−‖x‖_K} and M is one-to-one, M·x has the density ∝ e^{−‖z‖_{M·K}} on the image of M
    (docs/theory/reals.md, theorem 13).
    """

    matrix: np.ndarray
    law: Law

    @property
    def d(self) -> int:  # type: ignore[override]
        """The rows of M."""
        return len(self.matrix)

    @property
    def n_reals(self) -> int:
        """Those of x."""
        return self.law.n_reals

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products, with bounds from those of x."""
        return self._mapped(*self.law.floats(reals, n_bits))

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, with the nearer bounds of x."""
        return self._mapped(*self.law.closer(reals, n_bits))

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the sums of the outer products of the ends of those coordinates that the rows have."""
        rows = [self._exact_row(place) for place in places]
        columns = sorted(set().union(*rows))
        known = dict(zip(columns, self.law.brackets(reals, draw, columns, n_bits), strict=True))
        return [
            (
                sum((factor * known[at][factor < 0] for at, factor in row.items()), Fraction(0)),
                sum((factor * known[at][factor > 0] for at, factor in row.items()), Fraction(0)),
            )
            for row in rows
        ]

    def _mapped(self, values: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nothing is known of a draw in which nothing is known of a coordinate: ∞·0 would be no number."""
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
