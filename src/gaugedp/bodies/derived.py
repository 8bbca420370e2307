"""Linear images and Minkowski sums, given by their support."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.base import Body, check_points, with_weights
from gaugedp.bodies.ellipsoid import sign_patterns
from gaugedp.bodies.frame import Frame, FramedBody, independent
from gaugedp.errors import InvalidRequest


def radius_by_support(body: Body, p: float, weights: np.ndarray | None) -> float:
    """Return a bound of max ‖z/weights‖_p by supports of the axes. It is exact at p = ∞, and at p = 1 for d ≤ 12."""
    inverse = 1 / with_weights(weights, body.ambient_dim)
    if p == 1 and body.ambient_dim <= 12:
        return float(body.support(sign_patterns(body.ambient_dim) * inverse).max())
    return float(np.linalg.norm(body.support(np.diag(inverse)), p))


def gauge_by_argmax(body: Body, points: np.ndarray) -> np.ndarray:
    """Return upper bounds of the gauges of points in the span, by the simplex method.

    The program is min Σλ_i subject to Σλ_i·z_i = point, λ ≥ 0, over all z_i in the body. At a basis of r points with
    the dual y, the point that enters is argmax(y), and value/h(y) ≤ gauge ≤ value. It ends where both differ by 1e−9,
    or after 100·r² exchanges, far beyond those of ranks up to 10.
    """
    span, rank = body.span, body.rank
    targets = points @ span
    basis = np.tile(_independent_points(body).T, (len(targets), 1, 1))
    basis *= np.where(np.linalg.solve(basis, targets[:, :, None])[:, :, 0] < 0, -1.0, 1.0)[:, None, :]
    heights = body.support(points)
    below = np.divide((targets**2).sum(axis=1), heights, out=np.zeros(len(targets)), where=heights > 0)
    # 1e-11: of the gauge, by which points are moved to unlike places, so that no two vectors may leave at once
    targets += 1e-11 * below[:, None] * (basis @ (1 + np.sqrt(np.arange(rank))))
    values, live = np.empty(len(targets)), np.arange(len(targets))
    for _ in range(100 * rank**2):
        inverse = np.linalg.inv(basis[live])
        shares = np.maximum((inverse @ targets[live][:, :, None])[:, :, 0], 0.0)
        values[live] = shares.sum(axis=1)
        duals = inverse.sum(axis=1)
        entering = body.argmax(duals @ span.T) @ span
        below[live] = np.maximum(below[live], values[live] / (entering * duals).sum(axis=1))
        better = values[live] > below[live] * (1 + 1e-9)  # relative error of the result
        live, shares, entering = live[better], shares[better], entering[better]
        if not len(live):
            break
        rates = (inverse[better] @ entering[:, :, None])[:, :, 0]
        # 1e-12: rates that are zero but for rounding
        rooms = np.divide(shares, rates, out=np.full(rates.shape, np.inf), where=rates > 1e-12)
        basis[live, :, rooms.argmin(axis=1)] = entering
    return values


def _independent_points(body: Body) -> np.ndarray:
    """Return r independent points of the body in coordinates of its span: each is the farthest off the others' span."""
    found = np.zeros((0, body.rank))
    for _ in range(body.rank):
        apart = np.linalg.svd(found)[2][-1] if len(found) else np.eye(body.rank)[0]
        found = np.vstack([found, body.argmax(apart @ body.span.T) @ body.span])
    return found


@dataclass(frozen=True, eq=False)
class LinearImage(FramedBody):
    """Image of a body under a linear map.

    It is {M·z : z ∈ K} for a body K and a matrix M of shape (k, d): the sensitivity body of answers M·a that are
    computed from answers a with the sensitivity body K. Make it with `image`.
    """

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
        """Return an upper bound of max ‖z/weights‖_p; see `radius_by_support`."""
        return radius_by_support(self, p, weights)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the norm of each point's preimage.

        A matrix M that is not one-to-one is refused.
        """
        rows = check_points(points, self.ambient_dim)
        if self.rank < self.body.rank:
            raise InvalidRequest(
                "The norm of this image of a body cannot be computed, because the matrix maps several points of "
                "the body to one point.",
                "Use the methods `support` and `radius` instead, or a matrix whose columns are linearly independent.",
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
        """Return M times the argmax of K at Mᵀ·direction."""
        return self.body.argmax(check_points(directions, self.ambient_dim) @ self.matrix) @ self.matrix.T

    @cached_property
    def _preimages(self) -> np.ndarray:
        span = self.body.span
        return span[:, independent(self.matrix @ span)]

    @cached_property
    def frame(self) -> Frame:
        """Independent columns of M·span K."""
        return Frame(self.matrix @ self._preimages)

    def __repr__(self) -> str:
        return "LinearImage({!r}, {} x {})".format(self.body, *self.matrix.shape)


@dataclass(frozen=True, eq=False)
class MinkowskiSum(FramedBody):
    """Sensitivity body of two changes that may occur together.

    Use it if one unit can change the answers in two ways at once, for example because a person has rows in two tables.
    If a body K contains the changes from the first table and a body L those from the second, the Minkowski sum {y + z :
    y ∈ K, z ∈ L} contains all joint changes. The function `minkowski_sum` makes this class, or a simpler body if the
    sum is one.

    Notes
    -----
    `gauge` takes milliseconds per point if the body spans at most 10 dimensions.

    Examples
    --------
    The first change moves each answer by at most 1. The second moves them by at most 1 in total, so the first answer
    moves by at most 2, but both together by at most 3:

    >>> from gaugedp.bodies import LpBall, minkowski_sum
    >>> minkowski_sum(LpBall(2, float("inf")), LpBall(2, 1)).support([[1, 0], [1, 1]]).tolist()
    [2.0, 3.0]
    """

    one: Body
    other: Body

    @property
    def ambient_dim(self) -> int:
        """The dimension of both."""
        return self.one.ambient_dim

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return the smaller of two upper bounds on the radius."""
        apart = self.one.radius(p, weights) + self.other.radius(p, weights)
        return min(apart, radius_by_support(self, p, weights))

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the norm of each point, to 1e−9.

        It is infinite off the span.
        """
        rows = check_points(points, self.ambient_dim)
        inside = self.frame.coordinates(rows)[1]
        gauges = np.full(len(rows), np.inf)
        if inside.any():
            gauges[inside] = gauge_by_argmax(self, rows[inside])
        return gauges

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return the sum of the supports."""
        return self.one.support(directions) + self.other.support(directions)

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return the sum of the argmaxes."""
        return self.one.argmax(directions) + self.other.argmax(directions)

    @cached_property
    def frame(self) -> Frame:
        """Independent columns of span K + span L."""
        both = np.hstack([self.one.span, self.other.span])
        return Frame(both[:, independent(both)])
