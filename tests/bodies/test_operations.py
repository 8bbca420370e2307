"""Sums, images and projections against brute force."""

from itertools import product

import numpy as np
import pytest

from gaugedp.bodies import (
    Ellipsoid,
    LinearImage,
    LpBall,
    MinkowskiSum,
    Polytope,
    SchattenBall,
    image,
    minkowski_sum,
    project,
    scaled,
)
from gaugedp.errors import InvalidRequest

RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(8, 4))
BODIES = [
    LpBall(4, 1, 2.0),
    LpBall(4, 2),
    LpBall(4, 3),
    LpBall(4, np.inf),
    SchattenBall((2, 2), 1),
    SchattenBall((2, 2), np.inf, 3.0),
    Ellipsoid(RNG.normal(size=(4, 2))),
    Polytope.symmetric_hull(RNG.normal(size=(4, 7)), 2),
    Polytope.difference_hull(RNG.normal(size=(4, 5))),
    Polytope.difference_hull(RNG.normal(size=(4, 3)), with_zero=True),
    MinkowskiSum(LpBall(4, 2), LpBall(4, 1)),
    LinearImage(LpBall(3, 4), RNG.normal(size=(4, 3))),
]


@pytest.mark.parametrize("body", BODIES, ids=repr)
@pytest.mark.parametrize("matrix", [RNG.normal(size=(3, 4)), RNG.normal(size=(5, 4)), np.eye(4)[1:2]])
def test_the_support_of_an_image_is_the_support_of_the_adjoint(body, matrix: np.ndarray) -> None:
    mapped = image(body, matrix)
    rows = RNG.normal(size=(6, len(matrix)))
    assert mapped.ambient_dim == len(matrix)
    assert np.allclose(mapped.support(rows), body.support(rows @ matrix))
    assert np.allclose((mapped.argmax(rows) * rows).sum(axis=1), mapped.support(rows))
    assert mapped.rank == np.linalg.matrix_rank(matrix @ body.span)
    for p in (1, 2, np.inf):
        assert mapped.radius(p) >= np.linalg.norm(mapped.argmax(rows), p, axis=1).max() * (1 - 1e-12)


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_a_one_to_one_image_keeps_the_gauge(body) -> None:
    matrix = RNG.normal(size=(5, 4))
    inside = body.argmax(ROWS) * RNG.uniform(0, 3, size=(8, 1))
    assert np.allclose(image(body, matrix).gauge(inside @ matrix.T), body.gauge(inside), rtol=1e-6)


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_multiples(body) -> None:
    larger = scaled(body, 2.5)
    assert type(larger) is type(body)
    assert np.allclose(larger.support(ROWS), 2.5 * body.support(ROWS))
    assert larger.radius(2) == pytest.approx(2.5 * body.radius(2))


@pytest.mark.parametrize(("one", "other"), list(product(BODIES, BODIES[::3])), ids=repr)
def test_supports_add(one, other) -> None:
    both = minkowski_sum(one, other)
    assert np.allclose(both.support(ROWS), one.support(ROWS) + other.support(ROWS))
    ends = both.argmax(ROWS)
    assert np.allclose((ends * ROWS).sum(axis=1), both.support(ROWS))
    assert both.rank == np.linalg.matrix_rank(np.hstack([one.span, other.span]))
    for p in (1, 1.5, 2, np.inf):
        reached = np.linalg.norm(one.argmax(ROWS) + other.argmax(ROWS), p, axis=1).max()
        assert reached * (1 - 1e-12) <= both.radius(p) <= (one.radius(p) + other.radius(p)) * (1 + 1e-12)


def test_balls_of_one_norm_add_their_radii() -> None:
    assert minkowski_sum(LpBall(3, 1.5, 2.0), LpBall(3, 1.5, 0.5)) == LpBall(3, 1.5, 2.5)
    assert minkowski_sum(SchattenBall((2, 2), 1), SchattenBall((2, 2), 1, 2.0)) == SchattenBall((2, 2), 1, 3.0)
    assert isinstance(minkowski_sum(LpBall(4, 2), SchattenBall((2, 2), 2)), MinkowskiSum)
    assert isinstance(minkowski_sum(SchattenBall((1, 4), 2), SchattenBall((4, 1), 2)), MinkowskiSum)


def test_the_gauge_of_a_sum_of_polytopes_is_the_least_common_multiple_of_both() -> None:
    """Against the program min t with point = F·x + G·y, ‖x‖₁ ≤ t, ‖y‖₁ ≤ t."""
    import scipy.optimize

    first, second = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 5))
    points = RNG.normal(size=(4, 3))
    both = minkowski_sum(Polytope.symmetric_hull(first), Polytope.symmetric_hull(second, 2))
    columns = np.hstack([first, -first, 2 * second, -2 * second, np.zeros((3, 1))])
    lengths = np.zeros((2, 19))
    lengths[0, :8] = lengths[1, 8:18] = 1
    lengths[:, 18] = -1
    costs = np.append(np.zeros(18), 1)
    expected = [
        scipy.optimize.linprog(costs, A_eq=columns, b_eq=point, A_ub=lengths, b_ub=[0, 0]).fun for point in points
    ]
    assert np.allclose(both.gauge(points), expected, rtol=1e-7)


def test_the_gauge_of_a_sum_with_a_ball_is_where_the_distance_is_the_multiple() -> None:
    """‖x‖ = t where x is t from t·K: the distance by non-negative least squares, whose last column holds Σλ ≤ t."""
    import scipy.optimize

    hull = RNG.normal(size=(3, 5))
    both, points = MinkowskiSum(Polytope.symmetric_hull(hull), LpBall(3, 2)), RNG.normal(size=(6, 3))
    heavy = 1e4  # the weight of the row Σλ + slack = t
    columns = np.vstack([np.hstack([hull, -hull, np.zeros((3, 1))]), np.full(11, heavy)])
    for point, gauge in zip(points, both.gauge(points), strict=True):
        coefficients = scipy.optimize.nnls(columns, np.append(point, heavy * gauge))[0]
        assert np.linalg.norm(columns[:3] @ coefficients - point) == pytest.approx(gauge, rel=1e-5)


def test_gauges_of_sums_in_closed_form() -> None:
    """Balls of one norm, a flat sum, one that is long and thin, and points off the span."""
    assert np.allclose(MinkowskiSum(LpBall(4, 2), LpBall(4, 2, 2.0)).gauge(ROWS), np.linalg.norm(ROWS, axis=1) / 3)
    stretch = np.array([[1.0, 1], [0, 1e-4], [0, 0]])
    flat = MinkowskiSum(LinearImage(LpBall(2, np.inf), stretch), LinearImage(LpBall(2, np.inf), 2 * stretch))
    rows = ROWS[:, :2]
    assert np.allclose(flat.gauge(rows @ stretch.T), np.abs(rows).max(axis=1) / 3)
    assert flat.gauge([[0.0, 0, 1], [0, 0, 0]]).tolist() == [np.inf, 0]
    corners = MinkowskiSum(Polytope.symmetric_hull(np.eye(8)), LpBall(8, 2))  # whose bases are degenerate at the axes
    assert np.allclose(corners.gauge(np.eye(8)), 0.5, rtol=2e-9)


def test_kinds_are_kept_where_they_can_be() -> None:
    matrix = RNG.normal(size=(2, 4))
    assert isinstance(image(LpBall(4, 1, 2.0), matrix), Polytope)
    assert isinstance(image(LpBall(4, 2), matrix), Ellipsoid)
    nested = image(image(LpBall(4, 3), RNG.normal(size=(3, 4))), RNG.normal(size=(2, 3)))
    assert isinstance(nested, LinearImage)
    assert isinstance(nested.body, LpBall)
    assert image(Polytope.difference_hull(np.eye(4)), matrix).differences


def test_projections_are_shadows() -> None:
    basis = np.linalg.qr(RNG.normal(size=(4, 2)))[0]
    for body in BODIES:
        shadow = project(body, basis)
        directions = RNG.normal(size=(5, 2))
        assert np.allclose(shadow.support(directions), body.support(directions @ basis.T))
        assert shadow.radius(2) >= np.linalg.norm(body.argmax(ROWS) @ basis, axis=1).max() * (1 - 1e-12)


def test_a_projection_of_a_flat_polytope_to_nothing_is_the_origin() -> None:
    origin = project(Polytope.symmetric_hull(np.array([[1.0], [0.0]])), np.array([[0.0], [1.0]]))
    assert (origin.rank, origin.radius(1), origin.span.shape) == (0, 0, (1, 0))
    assert origin.gauge([[0.0], [1.0]]).tolist() == [0, np.inf]


BALL, LARGE = LpBall(4, 2), Polytope.symmetric_hull(RNG.normal(size=(3, 2000)))
BAD_MAPS = [np.zeros((2, 4)), np.ones((2, 3)), np.ones(4), np.full((2, 4), np.nan)]
BAD_BASES = [np.ones((4, 2)), 2 * np.eye(4), np.eye(4)[0], np.full((4, 1), np.nan)]


@pytest.mark.parametrize(
    ("words", "call", "given"),
    [
        *((", but must be a finite matrix that is not", image, (BALL, matrix)) for matrix in BAD_MAPS),
        *(("basis", project, (BALL, basis)) for basis in BAD_BASES),
        *(("factor", scaled, (BALL, factor)) for factor in (0, -1, np.nan, np.inf, "2")),
        ("The norm of this image of a body cannot be", image(LpBall(3, np.inf), np.ones((2, 3))).gauge, ([1.0, 0],)),
        ("Pass two bodies for the same number of", minkowski_sum, (LpBall(2, 2), LpBall(3, 2))),
        ("fewer generators", minkowski_sum, (LARGE, LARGE)),
    ],
)
def test_what_cannot_be_made_is_refused(words: str, call, given: tuple) -> None:
    with pytest.raises(InvalidRequest, match=words):
        call(*given)
