"""Ellipsoids: linear images of the Euclidean ball."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._internal.validate import defect
from gaugedp.bodies.base import check_points, real_numbers, with_weights
from gaugedp.bodies.frame import Frame, FramedBody, equilibrated, independent
from gaugedp.bodies.lp import LpBall
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True, eq=False)
class Ellipsoid(FramedBody):
    """Ellipsoid: the image of a Euclidean ball.

    It is {A·u : ‖u‖₂ ≤ 1} for a matrix A (d, k), and it is flat if the rank of A is below d.
    """

    matrix: np.ndarray

    def __post_init__(self) -> None:
        matrix = real_numbers(self.matrix, "The entries of the ellipsoid's matrix")
        if matrix.ndim != 2 or 0 in matrix.shape or not np.isfinite(matrix).all() or not matrix.any():
            raise InvalidRequest(
                f"The matrix of the ellipsoid {defect(matrix)}, but must be a finite matrix that is not zero.",
                "Pass an array of shape (d, k), with at least one entry that is not 0.",
            )
        largest = float(np.abs(matrix).max())
        if not 1e-140 < largest < 1 / 1e-140:  # squares must not leave the floats
            raise InvalidRequest(
                f"The largest entry of the ellipsoid's matrix is {largest:g}, which is too large or too small for "
                "floating-point computations.",
                "Scale the matrix so that its largest entry is near 1.",
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @cached_property
    def frame(self) -> Frame:
        """Independent columns B with BBᵀ = AAᵀ.

        The body is {B·x : ‖x‖₂ ≤ 1}. The columns are A itself or, if A has more columns than its rank, Bᵀ of a QR
        decomposition Aᵀ = Q·Bᵀ with pivoting.
        """
        rank = len(independent(self.matrix))
        if rank == self.matrix.shape[1]:
            return Frame(self.matrix)
        import scipy.linalg

        rows = equilibrated(self.matrix)[1]
        largest_first = np.argsort(-np.abs(self.matrix * rows[:, None]).max(axis=0), kind="stable")
        scaled = self.matrix[:, largest_first] * rows[:, None]
        triangle, order = scipy.linalg.qr(scaled.T, mode="r", pivoting=True)
        columns = np.zeros((len(rows), rank))
        columns[order] = triangle[:rank].T
        return Frame(columns / rows[:, None])

    @property
    def ambient_dim(self) -> int:
        """The dimension d."""
        return self.matrix.shape[0]

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the norm of each point.

        It is the length of the shortest u with A·u = point.
        """
        answers, inside = self.frame.coordinates(check_points(points, self.ambient_dim))
        return np.where(inside, np.linalg.norm(answers, axis=1), np.inf)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return ‖Aᵀ·direction‖₂."""
        return np.linalg.norm(check_points(directions, self.ambient_dim) @ self.matrix, axis=1)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return A·u for the unit vector u along Aᵀ·direction."""
        rows = check_points(directions, self.ambient_dim) @ self.matrix
        return LpBall(rows.shape[1], 2).argmax(rows) @ self.matrix.T

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return the largest ℓ_p norm, or an upper bound.

        Use it to find the ℓ_p sensitivity of the answers, which determines the scale of noise such as Gaussian noise (p
        = 2).

        Parameters
        ----------
        p : float
            The exponent of the norm, from 1 to infinity.
        weights : array, shape (d,), optional
            Positive numbers by which the coordinates are divided before the norm is taken. By default they are 1.

        Returns
        -------
        float
            The largest norm if p is 2 or infinite, or if p = 1 and d ≤ 16. Otherwise the number is an upper bound on
            it.

        Notes
        -----
        The ellipsoid is the image of the unit ball under a matrix A. The bound is the smaller of two: the ℓ_p norm of
        the lengths of the rows of A, and the bound from Hölder's inequality between the norms for p = 1, 2 and ∞.
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
    """Return max over signs s of ‖matrixᵀs‖₂, or a bound for many rows.

    Rows are weighted by length: for positive c, ‖Aᵀs‖² = sᵀAAᵀs ≤ Σc_i · λ_max(C^−½ A Aᵀ C^−½): d·σ_max² for c = 1.
    """
    if len(matrix) <= 16:  # all 2^15 sign patterns up to a global sign
        return float(np.linalg.norm(sign_patterns(len(matrix)) @ matrix, axis=1).max())
    some = lengths > 0
    balanced = matrix[some] / np.sqrt(lengths[some])[:, None]
    weighted = np.sqrt(lengths.sum()) * np.linalg.norm(balanced, 2)
    return float(min(lengths.sum(), np.sqrt(len(matrix)) * longest, weighted))


def sign_patterns(size: int) -> np.ndarray:
    """Return the sign patterns with a leading 1, (2^(size−1), size)."""
    bits = np.arange(2 ** (size - 1))[:, None] >> np.arange(size)
    return 1.0 - 2 * (bits & 1)[:, ::-1]
