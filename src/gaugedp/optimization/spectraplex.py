"""Sets of matrices of small nuclear norm."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import positive, whole
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.symmetric import coordinates, square_of


@dataclass(frozen=True, eq=False)
class Vertex:
    """An extreme point weight·left·rightᵀ, 0 if `weight` is 0.

    `value` is the inner product with the matrix that it minimises.
    """

    value: float
    weight: float
    left: np.ndarray
    right: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """The dense matrix."""
        return np.multiply.outer(self.weight * self.left, self.right)


@dataclass(frozen=True)
class Spectraplex:
    """Positive semidefinite (d, d) matrices with trace at most radius.

    Use it as the region of a trace regression over symmetric matrices of low rank, such as a covariance matrix.

    Notes
    -----
    Theorem. The extreme points are 0 and radius·vvᵀ with ‖v‖₂ = 1, so min ⟨A, X⟩ = radius·min(0, λ_min(A)). The nearest
    point to a matrix has the eigenvectors of its symmetric part, and its eigenvalues are projected onto {w ≥ 0, Σw ≤
    radius}.
    """

    n_columns: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        whole(minimum=1, n_columns=self.n_columns)
        positive(radius=self.radius)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (d, d)."""
        return self.n_columns, self.n_columns

    @property
    def n_coordinates(self) -> int:
        """The number d(d + 1)/2 of coordinates."""
        return self.n_columns * (self.n_columns + 1) // 2

    @property
    def edge(self) -> float:
        """√(2d), above the mean largest eigenvalue of noise.

        The noise has deviations 1 on the diagonal, and otherwise 1/√2.
        """
        return math.sqrt(2 * self.n_columns)

    @property
    def middle(self) -> np.ndarray:
        """radius·I/d: the mean of extreme points in uniform directions."""
        return self.radius / self.n_columns * np.eye(self.n_columns)

    def vertex(self, slope: Any) -> Vertex:
        """Return radius·vvᵀ for the lowest eigenvector, or 0."""
        value, vector = lowest(slope)
        weight = self.radius if value < 0 else 0.0
        return Vertex(weight * value, weight, vector, vector)

    def projection(self, matrix: np.ndarray) -> np.ndarray:
        """Return the nearest point."""
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        nearest = Geometry((self.n_columns,), 1, self.radius).projection(np.maximum(values, 0)[None])[0]
        return (vectors * nearest) @ vectors.T

    @property
    def n_directions(self) -> int:
        """d + 1, with one coordinate for the point 0."""
        return self.n_columns + 1

    def square(self, slope: np.ndarray) -> np.ndarray:
        """Return the matrix padded with zeros."""
        return np.pad(slope, (0, 1))

    def at(self, place: np.ndarray) -> np.ndarray:
        """Return radius·yyᵀ for x = (y, y_0).

        Its trace is at most the radius. It is 0 if |y_0| = 1.
        """
        return self.radius * np.multiply.outer(place[:-1], place[:-1])

    def coordinates(self, matrix: np.ndarray) -> np.ndarray:
        """Return the upper triangle, off-diagonal entries times √2."""
        return coordinates(matrix)

    def matrix_of(self, coords: np.ndarray) -> np.ndarray:
        """Return the symmetric matrix."""
        return square_of(coords)


@dataclass(frozen=True)
class NuclearBall:
    """Matrices (m, k) with nuclear norm at most radius.

    Use it as the region of a trace regression over rectangular matrices of low rank. The nuclear norm is the sum of the
    singular values.

    Notes
    -----
    Theorem. The extreme points are radius·uvᵀ with unit vectors u and v, so min ⟨A, X⟩ = −radius·σ_max(A). The dilation
    [[0, A], [Aᵀ, 0]], whose eigenvalues are ±σ_i(A) and zeros, has the lowest eigenvector (u, −v)/√2.
    """

    shape_of: tuple[int, int]
    radius: float = 1.0

    def __post_init__(self) -> None:
        whole(minimum=1, rows=self.shape_of[0], columns=self.shape_of[1])
        positive(radius=self.radius)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (m, k)."""
        return self.shape_of

    @property
    def n_coordinates(self) -> int:
        """The number m·k of coordinates."""
        return math.prod(self.shape_of)

    @property
    def edge(self) -> float:
        """√m + √k ≥ the mean σ_max of standard noise."""
        return math.sqrt(self.shape_of[0]) + math.sqrt(self.shape_of[1])

    @property
    def middle(self) -> np.ndarray:
        """The zero matrix: uvᵀ and −uvᵀ are extreme."""
        return np.zeros(self.shape_of)

    def vertex(self, slope: Any) -> Vertex:
        """Return −radius·uvᵀ for the largest singular value."""
        n_rows = self.shape_of[0]
        if isinstance(slope, np.ndarray):
            left, values, right = np.linalg.svd(slope, full_matrices=False)
            return Vertex(-self.radius * float(values[0]), -self.radius, left[:, 0], right[0])
        value, both = lowest(dilation(slope))
        left, right = (unit(part) for part in (both[:n_rows], both[n_rows:]))
        return Vertex(self.radius * value, self.radius, left, right)

    def projection(self, matrix: np.ndarray) -> np.ndarray:
        """Return the nearest point."""
        ball = Geometry(self.shape_of, 1, self.radius)
        return ball.projection(matrix.reshape(1, -1)).reshape(self.shape_of)

    @property
    def n_directions(self) -> int:
        """The number m + k."""
        return sum(self.shape_of)

    def square(self, slope: np.ndarray) -> np.ndarray:
        """Return the dense dilation."""
        n_rows = self.shape_of[0]
        dilated = np.zeros((self.n_directions, self.n_directions))
        dilated[:n_rows, n_rows:], dilated[n_rows:, :n_rows] = slope, slope.T
        return dilated

    def at(self, place: np.ndarray) -> np.ndarray:
        """Return 2·radius·uwᵀ for x = (u, w)."""
        n_rows = self.shape_of[0]
        return 2 * self.radius * np.multiply.outer(place[:n_rows], place[n_rows:])

    def coordinates(self, matrix: np.ndarray) -> np.ndarray:
        """Return the entries, row after row."""
        return matrix.ravel()

    def matrix_of(self, coords: np.ndarray) -> np.ndarray:
        """Return the matrix."""
        return coords.reshape(self.shape_of)


# A convex set of matrices of nuclear norm at most `radius`, in a space whose noise has `n_coordinates` numbers, read
# by `coordinates` so that their ℓ₂ norm is the Frobenius norm. `vertex` has the least ⟨slope, X⟩. For unit vectors x
# of `n_directions` numbers ⟨slope, at(x)⟩ = radius·xᵀSx, S = `square(slope)`, and some x is such a vertex.
Region = Spectraplex | NuclearBall


def lowest(symmetric: Any) -> tuple[float, np.ndarray]:
    """Return the least eigenvalue and a unit eigenvector.

    An array (d, d) is decomposed; an implicit symmetric operator (a sparse matrix, a `LinearOperator`, low rank plus
    sparse) goes through Lanczos' iteration from a fixed start, to the precision of floats.
    """
    import scipy.linalg

    if not isinstance(symmetric, np.ndarray):
        if symmetric.shape[0] > 48:  # up to this size an implicit matrix is made dense
            return _lanczos(symmetric)
        symmetric = symmetric @ np.eye(symmetric.shape[0])
    values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[0, 0], check_finite=False)
    return float(values[0]), vectors[:, 0]


def _lanczos(operator: Any) -> tuple[float, np.ndarray]:
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    d = operator.shape[0]
    start = np.cos(np.arange(d) ** 2 * 0.7) + 1.5  # the same in every run; hardly orthogonal to anything
    try:
        values, vectors = eigsh(operator, k=1, which="SA", v0=start, maxiter=100 * d)
    except ArpackNoConvergence:
        raise InvalidRequest("The Lanczos iteration did not converge.", "Pass a dense array.", "") from None
    return float(values[0]), unit(vectors[:, 0])


def dilation(rectangular: Any) -> Any:
    """Return [[0, A], [Aᵀ, 0]] as a `LinearOperator` for A (m, k), an array or implicit."""
    from scipy.sparse.linalg import LinearOperator, aslinearoperator

    operator = aslinearoperator(rectangular)
    n_rows, n_columns = operator.shape

    def times(vector: np.ndarray) -> np.ndarray:
        upper, lower = vector.ravel()[:n_rows], vector.ravel()[n_rows:]
        return np.concatenate([operator.matvec(lower), operator.rmatvec(upper)])

    size = n_rows + n_columns
    return LinearOperator((size, size), matvec=times, rmatvec=times, dtype=float)


def unit(vector: np.ndarray) -> np.ndarray:
    """Return the normalised vector; the first axis for 0."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else np.eye(1, len(vector))[0]
