"""A norm as a convex body."""

import contextlib
from abc import ABC, abstractmethod

import numpy as np

from gaugedp.errors import InvalidRequest


class Body(ABC):
    """Symmetric convex set of possible changes of an answer.

    When one protected unit, such as a person, joins or leaves a table, the d numbers that answer a query change. A
    *sensitivity body* is a set in ℝ^d that contains all these changes. Mechanisms derive the size and the shape of
    their noise from this set. `query.sensitivity(unit)` returns the body of a query, so you rarely need to make one
    yourself.

    Every body defines a norm, called its gauge, which is at most 1 exactly for the points of the body. Points and
    directions are arrays of shape (k, d) with one point per row, or of shape (d,) for a single point.

    Examples
    --------
    One person adds 1 to one of two counts. The changes (±1, 0) and (0, ±1) lie on the boundary of the body, and a
    change of both counts by 1 lies outside:

    >>> from gaugedp.bodies import LpBall
    >>> LpBall(2, 1).gauge([[1, 0], [1, 1]]).tolist()
    [1.0, 2.0]
    """

    @property
    @abstractmethod
    def ambient_dim(self) -> int:
        """The dimension d of the ambient space."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """The dimension of the body's span."""

    @property
    @abstractmethod
    def span(self) -> np.ndarray:
        """An orthonormal basis of the span, shape (d, rank)."""

    @property
    def has_closed_form(self) -> bool:
        """True if the methods need no list of generators."""
        return False

    @abstractmethod
    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return an upper bound on ‖z/weights‖_p over the body.

        The maximum is over all points z of the body; it is attained where a subclass states so. p is between 1 and ∞.
        `weights`, of shape (d,), are positive, and 1 by default.
        """

    @abstractmethod
    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the norm of each point, shape (k,).

        It is the smallest r ≥ 0 such that the point lies in r times the body.
        """

    @abstractmethod
    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return how far the body reaches in each direction.

        It is the maximum of ⟨direction, z⟩ over the points z of the body, shape (k,).
        """

    @abstractmethod
    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the points that attain the supports, shape (k, d)."""


def check_points(points: np.ndarray, ambient_dim: int) -> np.ndarray:
    """Return finite points, or directions, as rows (k, d)."""
    rows = np.atleast_2d(real_numbers(points, "The points"))
    if rows.ndim != 2 or rows.shape[1] != ambient_dim or not np.isfinite(rows).all():
        raise InvalidRequest(
            f"The points, of shape {np.shape(points)}, must have {ambient_dim} finite numbers each.",
            f"Pass an array of shape (k, {ambient_dim}), with one point per row.",
        )
    return rows


def real_numbers(values: object, what: str) -> np.ndarray:
    """Return a new array of floats; refuse everything else."""
    with contextlib.suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind in "biufO":
            return array.astype(float)
    raise InvalidRequest(f"{what} are not real numbers in rows of equal length.", "Pass an array of real numbers.")


def with_weights(weights: np.ndarray | None, ambient_dim: int) -> np.ndarray:
    """Return the weights, or ones, shape (d,)."""
    return np.ones(ambient_dim) if weights is None else np.asarray(weights, dtype=float)


def check_body(body: object) -> None:
    """Refuse what is not a `Body`, such as a matrix."""
    if not isinstance(body, Body):
        raise InvalidRequest(
            f"`body` is of type {type(body).__name__}, which is not a body.",
            "Pass a body, such as gd.bodies.LpBall(2, 1, 1.0) or gd.bodies.Polytope.symmetric_hull(matrix).",
        )
