"""Bodies that are known by their support: linear images and Minkowski sums."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from gaugedp.bodies.base import Body, check_points, with_weights
from gaugedp.bodies.frame import Frame, FramedBody, independent
from gaugedp.errors import InvalidRequest

_MOST_SIGNS = 12


def radius_by_support(body: Body, p: float, weights: np.ndarray | None) -> float:
    """Return at least max ‖z/weights‖_p, by supports of the axes: exact at p = ∞, and at p = 1 for d ≤ 12."""
    inverse = 1 / with_weights(weights, body.ambient_dim)
    if p == 1 and body.ambient_dim <= _MOST_SIGNS:
        signs = np.array(list(product((1.0,), *[(1.0, -1.0)] * (body.ambient_dim - 1))))
        return float(body.support(signs * inverse).max())
    return float(np.linalg.norm(body.support(np.diag(inverse)), p))


@dataclass(frozen=True, eq=False)
class LinearImage(FramedBody):
    """{M·z : z ∈ K} for a matrix M of shape (k, d) that is not zero."""

    body: Body
    matrix: np.ndarray

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=float)
        matrix.setflags(write=False)
        object.__setattr__(self, "matrix", matrix)

    @property
    def ambient_dim(self) -> int:
        """The number of rows of M."""
        return self.matrix.shape[0]

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return at least max ‖z/weights‖_p; see `radius_by_support`."""
        return radius_by_support(self, p, weights)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return ‖z‖_K for the one z in the span of K with M·z = point; refused where M maps several z to a point."""
        rows = check_points(points, self.ambient_dim)
        if self.rank < self.body.rank:
            raise InvalidRequest(
                "The map takes several points of the body to one, and the image has no gauge at hand.",
                "Use its support and radius, or a map that is one-to-one on the body.",
            )
        coordinates, inside = self.frame.coordinates(rows)
        gauges = np.full(len(rows), np.inf)
        if inside.any():
            gauges[inside] = self.body.gauge(coordinates[inside] @ self._preimages.T)
        return gauges

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return the support of Mᵀ·direction."""
        return self.body.support(check_points(directions, self.ambient_dim) @ self.matrix)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the image of the argmax of Mᵀ·direction."""
        return self.body.argmax(check_points(directions, self.ambient_dim) @ self.matrix) @ self.matrix.T

    @cached_property
    def _preimages(self) -> np.ndarray:
        """Vectors in the span of K whose images are a basis of the span of the image."""
        span = self.body.span
        return span[:, independent(self.matrix @ span)]

    @cached_property
    def frame(self) -> Frame:
        """Columns of M·span K."""
        return Frame(self.matrix @ self._preimages)

    def __repr__(self) -> str:
        return "LinearImage({!r}, {} x {})".format(self.body, *self.matrix.shape)


@dataclass(frozen=True, eq=False)
class MinkowskiSum(FramedBody):
    """{y + z : y ∈ K, z ∈ L}. It has no gauge at hand."""

    one: Body
    other: Body

    @property
    def ambient_dim(self) -> int:
        """The dimension of both."""
        return self.one.ambient_dim

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return at least max ‖z/weights‖_p: the lesser of the sum of the radii and of `radius_by_support`."""
        apart = self.one.radius(p, weights) + self.other.radius(p, weights)
        return min(apart, radius_by_support(self, p, weights))

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Refuse: a sum has a gauge here only where both parts are polytopes, whose sum is one."""
        check_points(points, self.ambient_dim)
        raise InvalidRequest(
            f"The sum of {self.one!r} and {self.other!r} has no gauge at hand.", "Use its support, or add polytopes."
        )

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return the sum of the supports."""
        return self.one.support(directions) + self.other.support(directions)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the sum of the argmaxes."""
        return self.one.argmax(directions) + self.other.argmax(directions)

    @cached_property
    def frame(self) -> Frame:
        """Columns of span K + span L."""
        both = np.hstack([self.one.span, self.other.span])
        return Frame(both[:, independent(both)])
