"""B·s, B a simplex drawn by its volume and s exponentials, as a function of real numbers with proved bounds."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.bodies.whole_basis import whole_basis
from gaugedp.samplers.box_noise import minus_log, minus_log_bracket
from gaugedp.samplers.combined import combined_ends, whole_numbers
from gaugedp.samplers.reals import UNIT, WORD, Ends, Law, Reals
from gaugedp.samplers.shares import Shares
from gaugedp.samplers.variables import first_bits, unknown
from gaugedp.samplers.whole_cones import Cones, proved_cones

_MOST_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class ConeNoise(Law):
    """M·B·s, M (d, r) whole numbers, B one of `cones` with a probability ∝ |det B|, s independent exponentials.

    That is the law of density ∝ e^{−‖z‖_K} (docs/theory/reals.md, theorem 9). A first number picks B.
    """

    left: np.ndarray
    cones: Cones

    @property
    def d(self) -> int:  # type: ignore[override]
        """The rows of M."""
        return len(self.left)

    @property
    def n_reals(self) -> int:
        """One for B and one for each exponential."""
        return 1 + self.left.shape[1]

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return M·B·s; nothing is known where the first number is too near to the end of a cone's share."""
        index, is_known = self._shares.picked(first_bits(reals.words[:, 0], n_bits), n_bits)
        parts = first_bits(reals.words[:, 1:], n_bits)
        weights, k = minus_log(parts * 2.0**-n_bits), self.left.shape[1]
        total = weights.sum(axis=1) + 8 * UNIT * k
        error = UNIT * (5 * total + 6 * k) + unknown(parts, k) + (k + 8) * UNIT * total
        error = np.where(is_known, error * (1 + 2.0**-30), np.inf)
        values = np.einsum("mij,mj->mi", self._matrices.take(index, axis=0), weights)
        return values, np.multiply.outer(error, self._row_sizes)

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the sums of the outer products of the ends."""
        k = self.left.shape[1]
        while (index := self._shares.index(reals.bits(draw, 0, n_bits), n_bits)) is None or 0 in (
            words := [reals.bits(draw, place, n_bits) for place in range(1, k + 1)]
        ):
            n_bits += WORD
        ends = [minus_log_bracket([word], n_bits) for word in words]
        matrix = self._matrices[index]
        return [combined_ends(*whole_numbers(matrix[place]), ends, n_bits) for place in places]

    def cube_gauge(self) -> Fraction:
        """Return Σ‖e_i‖_K over the unit vectors, M the identity: ‖z‖_K = max |normal·z|/size."""
        rows = zip(self.cones.normals, self.cones.sizes, strict=True)
        shares = [[Fraction(abs(int(value)), size) for value in row] for row, size in rows]
        return sum(map(max, zip(*shares, strict=True)), Fraction(0)) * 2**self.cones.exponent

    @cached_property
    def _matrices(self) -> np.ndarray:
        """M·B for each cone, exact: where M is not the identity, all are whole numbers below 2^52."""
        return np.asarray(self.left @ self.cones.columns)

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        """At least the largest entry of each row, shape (d,)."""
        return np.asarray(np.maximum(np.abs(self._matrices).max(axis=(0, 2)), 2.0**-500))

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.cones.sizes)


def cone_noise(points: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> ConeNoise | None:
    """Return noise of the hull of ±points, columns (d, k), by signed columns (m, r) of facets; None where unproved."""
    rows = whole_basis(points)
    if rows is None or len(basis) * len(points) * basis.shape[1] > _MOST_NUMBERS:
        return None
    left, kept = rows
    if len(kept) != basis.shape[1]:
        return None
    cones = proved_cones(points[kept], basis, signs)
    return None if cones is None else ConeNoise(left, cones)
