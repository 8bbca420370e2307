"""Balls of the ℓ_p norms."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive, whole
from gaugedp.bodies.base import Body, check_points
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class LpBall(Body):
    """Ball of the ℓ_p norm, with a given radius.

    Use it as the sensitivity body if you know the ℓ_p sensitivity of the answers, which is the largest ℓ_p norm of a
    change that one unit, such as a person, can cause. If you pass this number as the radius, the ball contains all
    these changes.

    Parameters
    ----------
    d : int
        The number of answers.
    p : float
        The exponent of the norm, from 1 to infinity.
    size : float
        The radius, a positive number. Default 1.

    Notes
    -----
    Every method is exact up to rounding.

    Examples
    --------
    A person who adds 1 to one of two counts changes them by an ℓ₁ norm of 1. The change (0.5, 1) has the norm 1.5, so
    it lies outside the ball of these changes:

    >>> from gaugedp.bodies import LpBall
    >>> LpBall(d=2, p=1).gauge([[0.5, 1.0]]).tolist()
    [1.5]
    """

    d: int
    p: float
    size: float = 1.0

    def __post_init__(self) -> None:
        whole(minimum=1, d=self.d)
        positive(radius=self.size)
        if not self.p >= 1:
            raise InvalidRequest(
                f"`p` is {self.p!r}, but must be at least 1.", "Pass a number of at least 1, or math.inf."
            )

    @property
    def ambient_dim(self) -> int:
        """The dimension d."""
        return self.d

    @property
    def rank(self) -> int:
        """The dimension d."""
        return self.d

    @property
    def span(self) -> np.ndarray:
        """The coordinate axes."""
        return np.eye(self.d)

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return max ‖z/weights‖_p over the ball, exactly."""
        inverse = np.ones(self.d) if weights is None else 1 / np.asarray(weights, dtype=float)
        if p >= self.p:
            return float(self.size * inverse.max())
        exponent = 1 / (1 / p - (0 if math.isinf(self.p) else 1 / self.p))
        return float(self.size * np.linalg.norm(inverse, exponent))

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return ‖point‖_p/radius."""
        return np.linalg.norm(check_points(points, self.d), self.p, axis=1) / self.size

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return radius·‖direction‖_q, where 1/p + 1/q = 1."""
        return self.size * np.linalg.norm(check_points(directions, self.d), dual_exponent(self.p), axis=1)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the point where Hölder's inequality is an equality."""
        rows = check_points(directions, self.d)
        if self.p == 1:
            points = np.zeros_like(rows)
            picked = np.arange(len(rows)), np.abs(rows).argmax(axis=1)
            points[picked] = np.sign(rows[picked])
            return self.size * points
        longest = np.abs(rows).max(axis=1, keepdims=True)
        rows = np.divide(rows, longest, out=np.zeros_like(rows), where=longest > 0)
        points = np.sign(rows) * np.abs(rows) ** (dual_exponent(self.p) - 1)
        norms = np.linalg.norm(points, self.p, axis=1, keepdims=True)
        return self.size * np.divide(points, norms, out=np.zeros_like(points), where=norms > 0)

    def __repr__(self) -> str:
        return f"LpBall(d={self.d}, p={self.p:g}, radius={self.size:g})"


def dual_exponent(p: float) -> float:
    """Return the dual exponent p/(p − 1) of p."""
    if p == 1:
        return math.inf
    return 1.0 if math.isinf(p) else p / (p - 1)
