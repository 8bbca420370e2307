"""A norm as a convex body."""

import contextlib
from abc import ABC, abstractmethod

import numpy as np

from gaugedp.errors import InvalidRequest


class Body(ABC):
    """A symmetric convex body K in ℝ^d, possibly flat: the unit ball of a norm on its span.

    A sensitivity body holds every difference f(D) − f(D′) of the answers to neighbouring tables. Points and
    directions are rows: shape (k, d), or (d,) for one.
    """

    @property
    @abstractmethod
    def ambient_dim(self) -> int:
        """The dimension d of the space that the body lies in."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """The dimension of the body's span."""

    @property
    @abstractmethod
    def span(self) -> np.ndarray:
        """An orthonormal basis of the body's span, as columns: shape (d, rank)."""

    @property
    def has_closed_form(self) -> bool:
        """Return whether gauge, volume, second moment and draws need no list of generators, though there may be one."""
        return False

    @abstractmethod
    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return a number that is at least max over z in K of ‖z/weights‖_p, 1 ≤ p ≤ ∞, equal where documented.

        `weights` has shape (d,) and is positive (ones where None).
        """

    @abstractmethod
    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return inf{r ≥ 0 : point in r·K} for each point, infinity off the span; shape (k,), (1,) for one point."""

    @abstractmethod
    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return max over z in K of ⟨direction, z⟩ for each direction; shape (k,), (1,) for one direction."""

    @abstractmethod
    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return a point of K at which the support of each direction is attained; shape (k, d)."""


def check_points(points: np.ndarray, ambient_dim: int) -> np.ndarray:
    """Return points, or directions, as rows (k, d), refusing another dimension and what is not finite."""
    rows = np.atleast_2d(real_numbers(points, "The points"))
    if rows.ndim != 2 or rows.shape[1] != ambient_dim or not np.isfinite(rows).all():
        raise InvalidRequest(
            f"The points have shape {np.shape(points)}.", f"Give finite numbers, {ambient_dim} to a point."
        )
    return rows


def real_numbers(values: object, what: str) -> np.ndarray:
    """Return a new array of floats; refuse complex numbers, texts, and rows of unlike lengths."""
    with contextlib.suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind in "biufO":
            return array.astype(float)
    raise InvalidRequest(f"{what} are not real numbers in rows of one length.", "Give an array of real numbers.")


def with_weights(weights: np.ndarray | None, ambient_dim: int) -> np.ndarray:
    """Return the weights, or ones, shape (d,)."""
    return np.ones(ambient_dim) if weights is None else np.asarray(weights, dtype=float)


def check_body(body: object) -> None:
    """Refuse what is no body, such as the matrix of one."""
    if not isinstance(body, Body):
        raise InvalidRequest(
            f"The body is of type {type(body).__name__}.",
            "Give a body, such as gd.bodies.LpBall(2, 1, 1.0) or gd.bodies.Polytope.symmetric_hull(matrix).",
        )
