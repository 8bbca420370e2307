"""Prepared generators: distinct up to sign, with the best basis."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gaugedp.bodies.frame import Frame, independent
from gaugedp.errors import InvalidRequest

CACHED_SIZE = 2**17  # size in numbers up to which a prepared matrix is cached


@dataclass(frozen=True, eq=False)
class PreparedGenerators:
    """Distinct generators of a body, expressed in a basis.

    Generators are the changes of the d answers that single rows can cause. Volumes and norms of their convex hull are
    computed from this object, which `prepared` returns.

    - `columns`, of shape (d, k), holds the k generators that are not zero, without those that equal another one or its
      negative.
    - `kept` holds the index of each of these generators in the original matrix.
    - `basis` holds the indices of the r columns that form a basis B of the span, where r is the rank.
    - `frame` computes coordinates in this basis.
    - `coordinates`, of shape (r, k), holds the coordinates of each generator in this basis.

    Notes
    -----
    Every coordinate is at most 1 + 1e−5 in absolute value, so the exchange of one column of B for another generator
    increases |det B| by at most this factor. In these coordinates, the hull of the generators and their negatives
    therefore lies between a cross-polytope (an ℓ₁ ball) and a cube.
    """

    columns: np.ndarray
    kept: np.ndarray
    basis: np.ndarray
    frame: Frame
    coordinates: np.ndarray

    @property
    def rank(self) -> int:
        """The dimension r of the span."""
        return self.frame.rank


def prepared(generators: np.ndarray) -> PreparedGenerators:
    """Return the distinct columns of `generators` with a basis.

    Zeros, and repetitions up to sign, are dropped. The rank is numerical (`independent`). If all columns are zero, they
    are refused.
    """
    matrix = np.asarray(generators, dtype=float)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise InvalidRequest("The generators are not a matrix of finite numbers.", "Pass an array of shape (d, n).")
    return _known(matrix.tobytes(), matrix.shape) if matrix.size <= CACHED_SIZE else _prepared(matrix)


@lru_cache(maxsize=16)
def _known(numbers: bytes, shape: tuple[int, int]) -> PreparedGenerators:
    return _prepared(np.frombuffer(numbers).reshape(shape))


def _prepared(matrix: np.ndarray) -> PreparedGenerators:
    indices = distinct(matrix)
    if not len(indices):
        raise InvalidRequest("Every generator is zero.", "Pass at least one generator that is not zero.")
    columns = matrix[:, indices]
    basis, frame, coordinates = _largest_basis(columns, independent(columns))
    return PreparedGenerators(columns, indices, basis, frame, coordinates)


def distinct(matrix: np.ndarray) -> np.ndarray:
    """Return the indices of non-zero columns, distinct up to sign."""
    nonzero = np.flatnonzero(matrix.any(axis=0))
    if not len(nonzero):
        return nonzero
    columns = matrix[:, nonzero]
    first = (columns != 0).argmax(axis=0)
    signs = np.sign(columns[first, np.arange(len(nonzero))])
    rows = np.ascontiguousarray((columns * signs).T + 0.0)  # + 0.0 turns −0.0 into 0.0: equal rows have equal bytes
    _, index = np.unique(rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel(), return_index=True)
    return nonzero[np.sort(index)]


def _largest_basis(columns: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, Frame, np.ndarray]:
    """Exchange columns while |det B| grows, the largest first."""
    basis = start.copy()
    for _ in range(5):  # rounds at most
        frame = Frame(columns[:, basis])
        coordinates = frame.coordinates(columns.T)[0].T
        coordinates[:, basis] = np.eye(len(basis))
        if not _exchange(coordinates.copy(), basis):
            break
    return basis, frame, coordinates


def _exchange(coordinates: np.ndarray, basis: np.ndarray) -> bool:
    """Exchange columns in place while |det B| grows; return whether any was exchanged."""
    for count in range(20 * len(basis) + 20):
        i, j = np.unravel_index(np.abs(coordinates).argmax(), coordinates.shape)
        pivot = coordinates[i, j]
        if abs(pivot) <= 1 + 1e-6:  # an exchange must enlarge the determinant by this factor
            return count > 0
        row = coordinates[i] / pivot
        coordinates -= np.outer(coordinates[:, j], row)
        coordinates[i] = row
        basis[i] = j
    return True
