"""Linear images of the Euclidean ball."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.base import Body, check_directions, check_points, with_weights
from gaugedp.bodies.frame import Frame, equilibrated
from gaugedp.errors import InvalidRequest

_MOST_SIGNS = 16  # all 2^15 sign patterns up to a global sign


@dataclass(frozen=True, eq=False)
class Ellipsoid(Body):
    """{A·u : ‖u‖₂ ≤ 1} for a matrix A of shape (d, k), flat where A has a rank below d."""

    matrix: np.ndarray

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=float)
        if matrix.ndim != 2 or 0 in matrix.shape or not np.isfinite(matrix).all() or not matrix.any():
            raise InvalidRequest(
                f"The matrix of the ellipsoid has shape {matrix.shape}, or is zero or not finite.",
                "Give finite numbers, shape (d, k), not all zero.",
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @cached_property
    def frame(self) -> Frame:
        """Independent columns B with the body {B·x : ‖x‖₂ ≤ 1}: A·V, V the right singular vectors of rows of one size.

        Singular values below 8·(d + k)·2^−53 of the largest count as zero.
        """
        scaled = self.matrix * equilibrated(self.matrix)[1][:, None]
        _, values, rows = np.linalg.svd(scaled, full_matrices=False)
        rank = int((values > 8 * sum(self.matrix.shape) * 2.0**-53 * values[0]).sum())
        return Frame(self.matrix if rank == self.matrix.shape[1] else self.matrix @ rows[:rank].T)

    @property
    def ambient_dim(self) -> int:
        """d."""
        return self.matrix.shape[0]

    @property
    def rank(self) -> int:
        """The numerical rank of A."""
        return self.frame.rank

    @property
    def span(self) -> np.ndarray:
        """An orthonormal basis of the range of A."""
        return self.frame.span

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the length of the shortest u with A·u = point."""
        answers, inside = self.frame.coordinates(check_points(points, self.ambient_dim))
        return np.where(inside, np.linalg.norm(answers, axis=1), np.inf)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return ‖Aᵀ·direction‖₂."""
        return np.linalg.norm(check_directions(directions, self.ambient_dim) @ self.matrix, axis=1)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return A·u for the unit vector u along Aᵀ·direction (the origin where that is zero)."""
        rows = check_directions(directions, self.ambient_dim) @ self.matrix
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0) @ self.matrix.T

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return max ‖A·u/weights‖_p: exact at p = 2, p = ∞, and p = 1 with d ≤ 16; else an upper bound.

        The bound is the least of what Hölder's inequality gives between the radii at 1, 2 and ∞, and of the ℓ_p norm
        of the row lengths (each |z_i| is at most the length of row i).
        """
        matrix = self.matrix / with_weights(weights, self.ambient_dim)[:, None]
        lengths = np.linalg.norm(matrix, axis=1)
        widest = float(lengths.max())
        if np.isinf(p):
            return widest
        box = widest * float(np.linalg.norm(lengths / widest, p))
        longest = float(np.linalg.norm(matrix, 2))
        if p >= 2:
            return min(box, widest * (longest / widest) ** (2 / p))
        at_one = _largest_sum(matrix, lengths, longest)
        return min(box, longest * (at_one / longest) ** (2 / p - 1))

    def __repr__(self) -> str:
        return "Ellipsoid({} x {})".format(*self.matrix.shape)


def _largest_sum(matrix: np.ndarray, lengths: np.ndarray, longest: float) -> float:
    """Return max over signs s of ‖matrixᵀs‖₂ for few rows; else the bound that weights row i by its length.

    For positive c, ‖Aᵀs‖² = sᵀAAᵀs ≤ Σc_i · λ_max(C^−½ A Aᵀ C^−½): with c = 1 that is d·σ_max².
    """
    if len(matrix) <= _MOST_SIGNS:
        return float(np.linalg.norm(_signs(len(matrix)) @ matrix, axis=1).max())
    some = lengths > 0
    balanced = matrix[some] / np.sqrt(lengths[some])[:, None]
    weighted = np.sqrt(lengths.sum()) * np.linalg.norm(balanced, 2)
    return float(min(lengths.sum(), np.sqrt(len(matrix)) * longest, weighted))


def _signs(size: int) -> np.ndarray:
    """Return every pattern of ±1 with a leading 1, shape (2^(size−1), size)."""
    bits = np.arange(2 ** (size - 1))[:, None] >> np.arange(size)
    return 1.0 - 2 * (bits & 1)[:, ::-1]
