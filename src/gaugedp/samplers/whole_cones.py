"""Cones of simplices, pulled from facets and checked in whole numbers: volumes, hyperplanes, even cover of space."""

from dataclasses import dataclass

import numpy as np

from gaugedp.samplers.combined import whole_numbers

_MOST_WORK = 2**22  # products of whole numbers of any size
_MOST_PULLED = 2**24
_FAST = 2**30  # minors below this are multiplied in 64 bits


@dataclass(frozen=True, eq=False)
class Cones:
    """The simplices of points ±w_j with |det| = `sizes` (m,) > 0, all ends in the hyperplane normal·x = size.

    Whole numbers, in units of 2^−exponent of the points; `columns` (m, r, r) are floats.
    """

    columns: np.ndarray
    sizes: list[int]
    normals: np.ndarray
    exponent: int


def proved_cones(points: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> Cones | None:
    """Return the cones of signed columns (m, r) of `points` (r, k), where Σ 1_cone·e^{−‖z‖_K} ∝ e^{−‖z‖_K} is proved.

    K = conv{±w_j}. Proved (docs/theory/reals.md, theorem 9): every hyperplane supports K, and on each ridge as many
    cones end from the one side as from the other, so that almost all points lie in the same number of cones. None where
    that does not hold, as with a degenerate list, or where it would take long to see.
    """
    count, rank = points.shape[1], len(points)
    ends = np.sort(np.where(signs < 0, basis + count, basis), axis=1)
    numbers, exponent = whole_numbers(points.ravel())
    whole = np.array(numbers, dtype=object).reshape(points.shape)
    largest = max(map(abs, numbers))
    if 2 * rank ** (rank / 2) * float(largest) ** rank < _FAST:
        whole = whole.astype(np.int64)
    elif len(ends) * rank**2 * max(rank, count) > _MOST_WORK:
        return None
    both = np.hstack([whole, -whole])
    solved, determinants = _solved(both.T[ends])
    if not _is_even(ends, determinants):
        ends = pulled(_incidence(both, solved, determinants))
        if ends.ndim != 2 or ends.shape[1] != rank or len(ends) * rank**3 > _MOST_PULLED:
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
    """Return which points lie on each hyperplane solved·x = determinant, a row for each that differs."""
    is_on = solved @ both == determinants[:, None]
    return np.unique(is_on[determinants != 0].astype(bool), axis=0)


def _solved(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return adj(B)·1 (m, r) and det B (m,) for whole B (m, r, r), by elimination without fractions (Bareiss 1968).

    Every number on the way is a minor of (B, 1), so each quotient is exact. A singular B has the determinant 0.
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
    """Whether on each ridge as many cones end from the one side as from the other: det(ridge, end) has both signs."""
    orientation = np.where(determinants > 0, 1, -1)
    rank = ends.shape[1]
    ridges = np.concatenate([np.delete(ends, place, axis=1) for place in range(rank)])
    sides = np.concatenate([orientation * (-1) ** place for place in range(rank)])
    _, which = np.unique(ridges, axis=0, return_inverse=True)
    return not np.bincount(which.ravel(), weights=sides).any()


def pulled(incidence: np.ndarray) -> np.ndarray:
    """Return the simplices (m, r), places in order, of facets whose points `incidence` (n_facets, n_points) tells."""
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
    """Return the sets that lie in no other."""
    largest: list[int] = []
    for face in sorted(sets, key=int.bit_count, reverse=True):
        if all(face & other != face for other in largest):
            largest.append(face)
    return largest
