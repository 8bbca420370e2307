"""Integer coordinates in which a polytope fills much of a box."""

from dataclasses import dataclass

import numpy as np

from gaugedp.bodies.whole_basis import whole_basis


@dataclass(frozen=True, eq=False)
class BoxCoordinates:
    """Coordinates y = A·x of the span of integer generators v_j = M·x_j, x_j the rows `kept` of v_j.

    `left` is M (d, r), `matrix` A (r, r) and `columns` W = A·x_j (r, n), integers; `adjoint` C is an integer matrix
    with C·A = `divisor`·I. So all sums of generators are M·x with integers x, and y is an integer vector there.
    """

    left: np.ndarray
    kept: np.ndarray
    matrix: np.ndarray
    columns: np.ndarray
    adjoint: np.ndarray
    divisor: int

    @property
    def half(self) -> np.ndarray:
        """The half sides of the box, max |W_ij| over j, shape (r,)."""
        return np.abs(self.columns).max(axis=1)


def box_coordinates(generators: np.ndarray) -> BoxCoordinates | None:
    """Return coordinates with a box of small volume, or None if no exact ones are found.

    Rows of A are functionals: answers, their sums and differences, less the middle of their range if the constant is a
    functional. Those with the largest determinant are picked, by exchanges.
    """
    basis = _first_basis(generators) or whole_basis(generators)
    if basis is None:
        return None
    left, kept = basis
    rows = generators[kept]
    functionals, sizes = _functionals(left, rows)
    matrix = functionals[_picked(functionals / sizes[:, None] @ np.linalg.cholesky(rows @ rows.T))]
    divisor, adjoint = _adjoint(matrix)
    largest = max((np.abs(a) @ np.abs(b)).max() for a, b in ((left, rows), (matrix, rows), (adjoint, matrix)))
    if not largest < 2.0**52 or not np.array_equal(adjoint @ matrix, divisor * np.eye(len(matrix))):
        return None
    return BoxCoordinates(left, kept, matrix, matrix @ rows, adjoint, divisor)


def _adjoint(matrix: np.ndarray) -> tuple[int, np.ndarray]:
    """Return an integer c and c·A⁻¹ in integers, if floats find them."""
    inverse, size = np.linalg.inv(matrix), abs(float(np.linalg.det(matrix)))
    divisor = round(min(size, 2.0**52))  # floats are exact up to 2^52
    numbers = np.rint(inverse * divisor)
    common = int(np.gcd.reduce(numbers.astype(np.int64).ravel(), initial=divisor)) or 1
    return divisor // common, numbers / common


def _functionals(left: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct = np.unique(left, axis=0)
    single = distinct[:: -(-len(distinct) // 60)]  # at most 60 rows: their sums and differences are tried
    first, second = np.triu_indices(len(single), 1)
    found = np.vstack([left, single[first] + single[second], single[first] - single[second]])
    values, ones = found @ rows, np.ones(rows.shape[1])
    constant = np.rint(np.linalg.lstsq(rows.T, ones, rcond=None)[0])
    if np.array_equal(constant @ rows, ones):
        middle = values.max(axis=1) + values.min(axis=1)
        found = np.vstack([2 * found - np.outer(middle, constant), constant])
        values = np.vstack([2 * values - middle[:, None], ones])
    is_some = values.any(axis=1)
    found, sizes = found[is_some], np.abs(values[is_some]).max(axis=1)
    common = np.gcd.reduce(found.astype(np.int64), axis=1)
    return found / common[:, None], sizes / common


def _first_basis(generators: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return integers M and the first r independent rows of F, the same on every machine, or None."""
    rows: list[int] = []
    left = np.array(generators, dtype=float)
    lengths = (left**2).sum(axis=1)
    for place in range(len(left)):
        size = float(left[place] @ left[place])
        if size > 1e-9 * lengths[place]:
            rows.append(place)
            left -= np.outer(left @ left[place] / size, left[place])
    kept = np.array(rows)
    whole = np.rint(generators @ np.linalg.pinv(generators[kept]))
    return (whole, kept) if np.array_equal(whole @ generators[kept], generators) else None


def _picked(vectors: np.ndarray) -> np.ndarray:
    """Return places of r rows with a large determinant, up to exchanges of one; the first of equal ones."""
    places, left = np.empty(vectors.shape[1], dtype=int), vectors.copy()
    for row in range(len(places)):
        places[row] = np.rint(2.0**30 * (left**2).sum(axis=1)).argmax()  # differences below 2^−30 are ties
        unit = left[places[row]] / np.linalg.norm(left[places[row]])
        left -= np.outer(left @ unit, unit)
    shares = np.linalg.solve(vectors[places].T, vectors.T)
    for _ in range(200):
        out, enter = np.unravel_index(np.rint(2.0**30 * np.abs(shares)).argmax(), shares.shape)
        if abs(shares[out, enter]) < 1 + 1e-6:
            break
        row_of = shares[out] / shares[out, enter]
        shares -= np.outer(shares[:, enter], row_of)
        shares[out], places[out] = row_of, enter
    return places
