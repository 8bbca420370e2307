"""Operations on bodies: multiples, sums, linear images and projections."""

from dataclasses import replace

import numpy as np

from gaugedp._internal.validate import defect, positive
from gaugedp.bodies.base import Body
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.bodies.corners import Corners
from gaugedp.bodies.derived import LinearImage, MinkowskiSum
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.generators import MatrixGenerators
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.polytope import MOST_DENSE, Polytope
from gaugedp.bodies.product import Product
from gaugedp.bodies.schatten import SchattenBall
from gaugedp.errors import InvalidRequest


def scaled(body: Body, factor: float) -> Body:
    """Return a multiple of a body, of the same kind.

    The multiple is {factor·z : z ∈ body}.
    """
    positive(factor=factor)
    match body:
        case LpBall() | SchattenBall():
            return replace(body, size=factor * body.size)
        case Polytope():
            return replace(body, factor=factor * body.factor)
        case Ellipsoid():
            return Ellipsoid(factor * body.matrix)
        case LinearImage():
            return LinearImage(body.body, factor * body.matrix)
        case Product():
            return Product(tuple(scaled(part, factor) for part in body.parts))
        case MinkowskiSum():
            return MinkowskiSum(scaled(body.one, factor), scaled(body.other, factor))
    return LinearImage(body, factor * np.eye(body.ambient_dim))


def image(body: Body, matrix: np.ndarray) -> Body:
    """Return the body that a matrix maps a body to.

    Use it if you compute new answers from other answers by a matrix, such as totals from single counts. If `body` is
    the sensitivity body of the original answers, which contains all changes that one unit can cause, then the result is
    the sensitivity body of the new answers.

    Parameters
    ----------
    body : Body
        The body of the original answers, in ℝ^d.
    matrix : array-like, shape (k, d)
        The matrix by which the d original answers are multiplied. It must have a non-zero entry.

    Returns
    -------
    Body
        The body in ℝ^k. It is a polytope or an ellipsoid where possible, and otherwise a body that is given by its
        support function.

    Raises
    ------
    InvalidRequest
        If the matrix has the wrong shape, is zero, or contains a number that is not finite.

    Examples
    --------
    A unit adds 1 to one of three counts. If two of the counts are added up, it changes both new answers together by at
    most 1:

    >>> from gaugedp.bodies import LpBall, image
    >>> image(LpBall(3, 1), [[1, 1, 0], [0, 0, 1]]).radius(1)
    1.0
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.shape[1] != body.ambient_dim or not np.isfinite(array).all() or not array.any():
        raise InvalidRequest(
            f"The matrix {defect(array)}, but must be a finite matrix that is not zero.",
            f"Pass an array of shape (k, {body.ambient_dim}), with at least one entry that is not 0.",
        )
    return _image(body, array)


def _image(body: Body, matrix: np.ndarray) -> Body:
    match body:
        case BoxHull():
            return _image_of_hull(body, matrix)
        case Polytope():
            return replace(body, generators=MatrixGenerators(matrix @ body.columns()))
        case Ellipsoid():
            return Ellipsoid(matrix @ body.matrix)
        case LpBall():
            return _image_of_ball(body, matrix)
        case LinearImage():
            return image(body.body, matrix @ body.matrix)
        case MinkowskiSum():
            return minkowski_sum(_image(body.one, matrix), _image(body.other, matrix))
    return LinearImage(body, matrix)


def _image_of_hull(body: BoxHull, matrix: np.ndarray) -> Body:
    if matrix.shape[0] != matrix.shape[1] or (matrix != np.diag(np.diag(matrix))).any():
        listed = body.generators.n_generators * body.ambient_dim <= MOST_DENSE
        return _image(body.listed, matrix) if listed else LinearImage(body, matrix)
    ends = np.diag(matrix) * np.array([body.generators.low, body.generators.high])
    return replace(body, generators=Corners(tuple(ends.min(axis=0)), tuple(ends.max(axis=0))))


def _image_of_ball(body: LpBall, matrix: np.ndarray) -> Body:
    if body.p == 1:
        return Polytope.symmetric_hull(matrix, body.size)
    if body.p == 2:
        return Ellipsoid(body.size * matrix)
    moving = matrix.any(axis=0)
    return LinearImage(replace(body, d=int(moving.sum())), matrix[:, moving])


def project(body: Body, basis: np.ndarray) -> Body:
    """Return the orthogonal projection of a body.

    The projection is onto the span of the orthonormal columns of `basis` (d, k).
    """
    columns = np.asarray(basis, dtype=float)
    if columns.ndim != 2 or not np.isfinite(columns).all() or 0 in columns.shape:
        raise InvalidRequest(
            f"The basis {defect(columns)}, but must be a finite matrix.", "Pass an array with one vector per column."
        )
    # 1e-9: columns that are orthonormal but for rounding
    if np.abs(columns.T @ columns - np.eye(columns.shape[1])).max() > 1e-9:
        raise InvalidRequest(
            "The columns of the basis are not orthonormal.",
            "Orthonormalise them first, for example with numpy.linalg.qr(basis)[0].",
        )
    return image(body, columns.T)


def minkowski_sum(first: Body, second: Body) -> Body:
    """Return the sensitivity body of two joint changes.

    Use it if one unit can change the answers in two ways at once, for example because a person has rows in two tables.
    The Minkowski sum {y + z : y ∈ first, z ∈ second} contains every sum of two such changes.

    Parameters
    ----------
    first, second : Body
        The bodies of the two changes, of the same dimension.

    Returns
    -------
    Body
        A ball for two balls of the same norm, a polytope for two polytopes, and otherwise a `MinkowskiSum`.

    Raises
    ------
    InvalidRequest
        If the dimensions differ, or if the corners of a sum of polytopes would have more than 10^7 coordinates.

    Examples
    --------
    A person changes the counts by at most 1 through one table and by at most 0.5 through another, hence by at most 1.5:

    >>> from gaugedp.bodies import LpBall, minkowski_sum
    >>> minkowski_sum(LpBall(2, 1), LpBall(2, 1, 0.5))
    LpBall(d=2, p=1, radius=1.5)
    """
    if first.ambient_dim != second.ambient_dim:
        raise InvalidRequest(
            f"The two bodies lie in spaces of different dimensions, {first.ambient_dim} and {second.ambient_dim}.",
            "Pass two bodies for the same number of answers.",
        )
    if isinstance(first, Polytope) and isinstance(second, Polytope):
        return _sum_of_polytopes(first, second)
    if isinstance(first, LpBall | SchattenBall) and isinstance(second, LpBall | SchattenBall):
        resized = replace(first, size=second.size)
        if resized == second:
            return replace(first, size=first.size + second.size)
    return MinkowskiSum(first, second)


def _sum_of_polytopes(body_a: Polytope, body_b: Polytope) -> Polytope:
    first, second = body_a.factor * body_a.symmetric_columns(), body_b.factor * body_b.symmetric_columns()
    count = 2 * first.shape[1] * second.shape[1]
    if count * body_a.ambient_dim > MOST_DENSE:
        raise InvalidRequest(
            f"The sum of the two polytopes has up to {count} corners in dimension {body_a.ambient_dim}, which is "
            "too many.",
            "Use polytopes with fewer generators, or a box or ball around one of them.",
        )
    points, shifts = first[:, :, None], second[:, None, :]
    corners = np.concatenate([points + shifts, points - shifts], axis=2)
    return Polytope.symmetric_hull(corners.reshape(body_a.ambient_dim, -1))
