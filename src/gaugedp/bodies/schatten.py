"""Balls of Schatten norms, the ℓ_p norms of singular values."""

from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.bodies.base import Body, check_points
from gaugedp.bodies.lp import LpBall
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class SchattenBall(Body):
    """Ball of a Schatten norm of m × n matrices.

    Use it as the sensitivity body of an answer that is a matrix, such as a matrix of second moments. The Schatten norm
    of a matrix is the ℓ_p norm of its singular values. With p = 1 it is known as the nuclear norm, with p = 2 as the
    Frobenius norm, and with p = ∞ it is the largest singular value.

    Parameters
    ----------
    shape : (int, int)
        The numbers m and n of rows and columns. Points of the ball are vectors of length m·n, which list the rows of a
        matrix one after another.
    p : float
        The exponent of the norm, from 1 to infinity.
    size : float
        The radius of the ball, a positive number. Default 1.

    Examples
    --------
    The identity matrix has the singular values 1 and 1, so its nuclear norm is 2:

    >>> from gaugedp.bodies import SchattenBall
    >>> SchattenBall((2, 2), 1).gauge([[1.0, 0.0, 0.0, 1.0]]).round(6).tolist()
    [2.0]
    """

    shape: tuple[int, int]
    p: float
    size: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple | list) or len(self.shape) != 2:
            raise InvalidRequest(
                f"`shape` is {self.shape!r}, but must consist of two positive integers.",
                "Pass the numbers of rows and columns of the matrices, such as (3, 2).",
            )
        whole(minimum=1, rows=self.shape[0], columns=self.shape[1])
        object.__setattr__(self, "shape", (int(self.shape[0]), int(self.shape[1])))
        _ = self.spectrum  # refuses a bad p or radius

    @property
    def spectrum(self) -> LpBall:
        """The ball of the singular values."""
        return LpBall(min(self.shape), self.p, self.size)

    @property
    def ambient_dim(self) -> int:
        """The dimension m·n."""
        return self.shape[0] * self.shape[1]

    @property
    def rank(self) -> int:
        """The dimension m·n."""
        return self.ambient_dim

    @property
    def span(self) -> np.ndarray:
        """The coordinate axes."""
        return np.eye(self.ambient_dim)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return ‖σ(point)‖_p/radius."""
        return self.spectrum.gauge(self._values(check_points(points, self.ambient_dim)))

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return radius·‖σ(direction)‖_q, where 1/p + 1/q = 1.

        The equality is von Neumann's trace inequality.
        """
        return self.spectrum.support(self._values(check_points(directions, self.ambient_dim)))

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the points that attain the supports, shape (k, m·n).

        They have the singular vectors of the direction.
        """
        rows = check_points(directions, self.ambient_dim)
        left, values, right = np.linalg.svd(self._matrices(rows), full_matrices=False)
        return ((left * self.spectrum.argmax(values)[:, None, :]) @ right).reshape(rows.shape)

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return a bound on the ℓ_p norm of the points.

        Use it to find the ℓ_p sensitivity of an answer that is a matrix. Here the norm is that of the vector of all m·n
        entries, not of the singular values.

        Parameters
        ----------
        p : float
            The exponent of the norm, from 1 to infinity.
        weights : array, shape (m·n,), optional
            Positive numbers by which the entries are divided before the norm is taken. By default they are 1.

        Returns
        -------
        float
            An upper bound on the norm. Without weights it is attained if p is 2 or infinite, or if the ball's own
            exponent is at most 2. With weights it is attained if p is infinite, or if p ≥ 2 and the ball's own exponent
            is at most 2.

        Notes
        -----
        The ball lies in a Euclidean ball and in a cube, so the bound is at most the smaller of the bounds for these
        two.
        """
        euclidean = LpBall(self.ambient_dim, 2, self.spectrum.radius(2))
        cube = LpBall(self.ambient_dim, np.inf, self.size)
        between = np.inf if p <= 2 or np.isinf(p) else self._between(p, weights)
        return min(euclidean.radius(p, weights), cube.radius(p, weights), between)

    def _between(self, p: float, weights: np.ndarray | None) -> float:
        """Return Hölder's bound from the radii at 2 and ∞."""
        low, high = self.radius(2, weights), self.radius(np.inf, weights)
        return high * (low / high) ** (2 / p)

    def _matrices(self, rows: np.ndarray) -> np.ndarray:
        return rows.reshape(-1, *self.shape)

    def _values(self, rows: np.ndarray) -> np.ndarray:
        return np.linalg.svd(self._matrices(rows), compute_uv=False)

    def __repr__(self) -> str:
        return f"SchattenBall({self.shape}, p={self.p:g}, radius={self.size:g})"
