"""Noise from cones of simplices, which are verified in integers and drawn by volume."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies.whole_basis import whole_basis
from gaugedp.samplers.box_noise import minus_log, minus_log_bracket
from gaugedp.samplers.combined import combined_ends, whole_numbers
from gaugedp.samplers.reals import WORD, Ends, RealFunction, Reals
from gaugedp.samplers.swept_noise import Shares
from gaugedp.samplers.variables import first_bits, unknown


@dataclass(frozen=True, eq=False)
class Cones:
    """Simplices of points ±w_j with determinants `sizes` > 0.

    The vertices of each lie in the hyperplane normal·x = size. Integers, in units of 2^−exponent of the points;
    `columns` (m, r, r) are floats, and sizes (m,) are |det|.
    """

    columns: np.ndarray
    sizes: list[int]
    normals: np.ndarray
    exponent: int


def proved_cones(points: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> Cones | None:
    """Return certified cones of signed columns of points.

    The signed columns are (m, r) and `points` (r, k). Certified is Σ 1_cone·e^{−‖z‖_K} ∝ e^{−‖z‖_K}, K = conv{±w_j}
    (docs/theory/reals.md, theorem 9): every hyperplane supports K, and on each ridge equally many cones end from both
    sides, so that almost all points lie in the same number of cones. None if that fails, as with a degenerate list, or
    if the check would take long.
    """
    count, rank = points.shape[1], len(points)
    ends = np.sort(np.where(signs < 0, basis + count, basis), axis=1)
    numbers, exponent = whole_numbers(points.ravel())
    whole = np.array(numbers, dtype=object).reshape(points.shape)
    largest = max(map(abs, numbers))
    if 2 * rank ** (rank / 2) * float(largest) ** rank < 2**30:  # minors below this are multiplied in 64 bits
        whole = whole.astype(np.int64)
    elif len(ends) * rank**2 * max(rank, count) > 2**22:  # products of integers of any size
        return None
    both = np.hstack([whole, -whole])
    solved, determinants = _solved(both.T[ends])
    if not _is_even(ends, determinants):
        ends = pulled(_incidence(both, solved, determinants))
        if ends.ndim != 2 or ends.shape[1] != rank or len(ends) * rank**3 > 2**24:
            return None
        solved, determinants = _solved(both.T[ends])
    sizes = abs(determinants)
    normals = solved * np.where(determinants < 0, -1, 1)[:, None]
    is_proved = sizes.all() and (abs(normals @ whole) <= sizes[:, None]).all() and _is_even(ends, determinants)
    if not is_proved:
        return None
    floats = np.hstack([points, -points]).T[ends].swapaxes(1, 2)
    return Cones(floats, [int(size) for size in sizes], normals, exponent)


def _incidence(both: np.ndarray, solved: np.ndarray, determinants: np.ndarray) -> np.ndarray:
    is_on = solved @ both == determinants[:, None]
    return np.unique(is_on[determinants != 0].astype(bool), axis=0)


def _solved(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return adj(B)·1 and det B without fractions (Bareiss 1968).

    For integer B (m, r, r), every intermediate number is a minor of (B, 1): all quotients are exact, and singular B
    give 0.
    """
    count, rank = rows.shape[:2]
    table = np.concatenate([rows, np.ones((count, rank, 1), dtype=rows.dtype)], axis=2)
    before, every, sign = np.ones(count, dtype=rows.dtype), np.arange(count), np.ones(count, dtype=np.int64)
    for step in range(rank):
        pivots = step + (table[:, step:, step] != 0).argmax(axis=1)
        sign = np.where(pivots != step, -sign, sign)
        table[every, pivots], table[every, step] = table[every, step].copy(), table[every, pivots].copy()
        pivot, row = table[:, step, step].copy(), table[:, step].copy()
        product = pivot[:, None, None] * table - table[:, :, step, None] * row[:, None, :]
        table = product // np.where(before == 0, 1, before)[:, None, None]
        table[:, step] = row
        before = pivot
    return table[:, :, rank] * sign[:, None], before * sign


def _is_even(ends: np.ndarray, determinants: np.ndarray) -> bool:
    """Return True if equally many cones end on both sides of all ridges."""
    orientation = np.where(determinants > 0, 1, -1)
    rank = ends.shape[1]
    ridges = np.concatenate([np.delete(ends, place, axis=1) for place in range(rank)])
    sides = np.concatenate([orientation * (-1) ** place for place in range(rank)])
    _, which = np.unique(ridges, axis=0, return_inverse=True)
    return not np.bincount(which.ravel(), weights=sides).any()


def pulled(incidence: np.ndarray) -> np.ndarray:
    """Return the simplices (m, r) of facets with this `incidence`."""
    facets = [sum(1 << int(place) for place in np.flatnonzero(row)) for row in incidence]
    known: dict[int, list[tuple[int, ...]]] = {}
    simplices = [simplex for facet in facets for simplex in _of_face(facet, facets, known)]
    return np.array(simplices if len(set(map(len, simplices))) == 1 else [])


def _of_face(face: int, others: list[int], known: dict[int, list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    if face not in known:
        first = face & -face
        place = first.bit_length() - 1
        facets = _largest({face & other for other in others} - {0, face})
        rests = [rest for facet in facets if not facet & first for rest in _of_face(facet, facets, known)]
        known[face] = [(place, *rest) for rest in rests] if face != first else [(place,)]
    return known[face]


def _largest(sets: set[int]) -> list[int]:
    largest: list[int] = []
    for face in sorted(sets, key=int.bit_count, reverse=True):
        if all(face & other != face for other in largest):
            largest.append(face)
    return largest


@dataclass(frozen=True, eq=False)
class ConeNoise(RealFunction):
    """M·B·s, of density ∝ e^{−‖z‖_K}.

    M (d, r) are integers, B is one of `cones` with probability ∝ |det B|, picked by the first number, and s are
    independent exponentials (docs/theory/reals.md, theorem 9).
    """

    left: np.ndarray
    cones: Cones

    @property
    def d(self) -> int:
        """The number of rows of M."""
        return len(self.left)

    @property
    def n_reals(self) -> int:
        """One for B and one for each exponential."""
        return 1 + self.left.shape[1]

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return M·B·s; bounds are infinite if the cone is undecided."""
        index, is_known = self._shares.picked(first_bits(reals.words[:, 0], n_bits), n_bits)
        parts = first_bits(reals.words[:, 1:], n_bits)
        weights, k = minus_log(parts * 2.0**-n_bits), self.left.shape[1]
        total = weights.sum(axis=1) + 8 * UNIT * k
        error = UNIT * (5 * total + 6 * k) + unknown(parts, k) + (k + 8) * UNIT * total
        error = np.where(is_known, error * (1 + 2.0**-30), np.inf)
        values = np.einsum("mij,mj->mi", self._matrices.take(index, axis=0), weights)
        return values, np.multiply.outer(error, self._row_sizes)

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer sums of products of the ends."""
        k = self.left.shape[1]
        while (index := self._shares.index(reals.bits(draw, 0, n_bits), n_bits)) is None or 0 in (
            words := [reals.bits(draw, place, n_bits) for place in range(1, k + 1)]
        ):
            n_bits += WORD
        ends = [minus_log_bracket([word], n_bits) for word in words]
        matrix = self._matrices[index]
        return [combined_ends(*whole_numbers(matrix[place]), ends, n_bits) for place in places]

    def cube_gauge(self) -> Fraction:
        """Return Σ‖e_i‖_K for the identity M: ‖z‖_K = max |normal·z|/size."""
        rows = zip(self.cones.normals, self.cones.sizes, strict=True)
        shares = [[Fraction(abs(int(value)), size) for value in row] for row, size in rows]
        return sum(map(max, zip(*shares, strict=True)), Fraction(0)) * 2**self.cones.exponent

    @cached_property
    def _matrices(self) -> np.ndarray:
        """M·B for each cone, exact: integers below 2^52 unless M is the identity."""
        return np.asarray(self.left @ self.cones.columns)

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        return np.asarray(np.maximum(np.abs(self._matrices).max(axis=(0, 2)), 2.0**-500))

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.cones.sizes)


def cone_noise(points: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> ConeNoise | None:
    """Return certified noise of conv{±points} by signed facet columns, or None."""
    rows = whole_basis(points)
    if rows is None or len(basis) * len(points) * basis.shape[1] > 2**24:  # numbers at most
        return None
    left, kept = rows
    if len(kept) != basis.shape[1]:
        return None
    cones = proved_cones(points[kept], basis, signs)
    return None if cones is None else ConeNoise(left, cones)
