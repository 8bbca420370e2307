"""What every body keeps, over a zoo with flat, thin, huge and one-dimensional members."""

from itertools import product

import numpy as np
import pytest

from gaugedp.bodies import Polytope, scaled
from gaugedp.errors import InvalidRequest
from tests.bodies.zoo import ZOO, Member

POWERS = (1, 1.5, 2, np.inf)


FINITE = [member for member in ZOO if member.vertices is not None]
FLAT = [member for member in ZOO if member.body.rank < member.body.ambient_dim]
SMOOTH = [member for member in ZOO if member.vertices is None]


@pytest.fixture(params=ZOO, ids=str)
def member(request) -> Member:
    return request.param


def directions(member: Member, count: int = 6) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(count, member.body.ambient_dim))


def points_inside(member: Member, count: int = 30) -> np.ndarray:
    """Points of the body: mixtures of its vertices, or scaled argmaxes where it has no finite set."""
    rng = np.random.default_rng(8)
    if member.vertices is None:
        ends = member.body.argmax(rng.normal(size=(count, member.body.ambient_dim)))
        return ends * rng.uniform(size=(count, 1))
    return np.vstack([member.vertices, rng.dirichlet(np.ones(len(member.vertices)), count) @ member.vertices])


def test_shapes(member: Member) -> None:
    rows = directions(member)
    d = member.body.ambient_dim
    assert member.body.support(rows).shape == member.body.gauge(0 * rows).shape == (len(rows),)
    assert member.body.argmax(rows).shape == (len(rows), d)
    assert member.body.support(rows[0]).shape == member.body.gauge(0 * rows[0]).shape == (1,)
    assert member.body.argmax(rows[0]).shape == (1, d)


def test_the_argmax_attains_the_support_on_the_boundary(member: Member) -> None:
    rows = directions(member)
    ends = member.body.argmax(rows)
    support = member.body.support(rows)
    assert np.allclose(support, (rows * ends).sum(axis=1), rtol=1e-12, atol=0)
    assert np.allclose(member.body.gauge(ends), 1, rtol=1e-6)
    assert (support > 0).all()


@pytest.mark.parametrize("member", FINITE, ids=str)
def test_the_support_is_the_largest_product_over_the_vertices(member: Member) -> None:
    rows = directions(member)
    assert np.allclose(member.body.support(rows), (rows @ member.vertices.T).max(axis=1), rtol=1e-12)


@pytest.mark.many
def test_support_and_gauge_are_even_and_homogeneous(member: Member) -> None:
    rows, inside = directions(member), points_inside(member)[:4]
    assert np.allclose(member.body.support(-rows), member.body.support(rows), rtol=1e-12)
    assert np.allclose(member.body.support(2.5 * rows), 2.5 * member.body.support(rows), rtol=1e-12)
    gauges = member.body.gauge(inside)
    assert np.allclose(member.body.gauge(-inside), gauges, rtol=1e-6, atol=1e-9)
    assert np.allclose(member.body.gauge(2.5 * inside), 2.5 * gauges, rtol=1e-6, atol=1e-9)


@pytest.mark.many
def test_gauge_and_support_are_dual(member: Member) -> None:
    rows, inside = directions(member), points_inside(member)[::3]
    products = inside @ rows.T
    bound = np.outer(member.body.gauge(inside), member.body.support(rows))
    assert (products <= bound * (1 + 1e-6) + 1e-9).all()


@pytest.mark.many
def test_the_gauge_of_a_point_of_the_body_is_at_most_one(member: Member) -> None:
    assert (member.body.gauge(points_inside(member)[::4]) <= 1 + 1e-6).all()
    assert member.body.gauge(np.zeros(member.body.ambient_dim))[0] == 0


def test_beyond_the_boundary_the_gauge_is_above_one(member: Member) -> None:
    assert (member.body.gauge(1.01 * member.body.argmax(directions(member))) > 1.005).all()


def scales(member: Member):
    return [None, np.random.default_rng(9).uniform(0.2, 4, member.body.ambient_dim)]


def longest(points: np.ndarray, p: float, scale: np.ndarray | None) -> float:
    return np.linalg.norm(points if scale is None else points / scale, p, axis=1).max()


def test_the_radius_holds_every_point(member: Member) -> None:
    inside = points_inside(member)
    for p, scale in product(POWERS, scales(member)):
        assert member.body.radius(p, scale) >= longest(inside, p, scale) * (1 - 1e-12)


@pytest.mark.parametrize("member", FINITE, ids=str)
def test_the_radius_is_attained_at_a_vertex(member: Member) -> None:
    for p, scale in product(member.exact, scales(member)):
        assert member.body.radius(p, scale) == pytest.approx(longest(member.vertices, p, scale), rel=1e-12)


def uphill(body, p: float, scale: np.ndarray) -> np.ndarray:
    """Points where the convex ‖z/scale‖_p is largest on a smooth ball: z ← argmax of its gradient, from many starts."""
    points = body.argmax(
        np.vstack(
            [
                np.eye(body.ambient_dim),
                np.ones((1, body.ambient_dim)),
                np.broadcast_to(1 / scale, (1, body.ambient_dim)),
                np.random.default_rng(10).normal(size=(60, body.ambient_dim)),
            ]
        )
    )
    for _ in range(200):
        scaled = np.abs(points / scale)
        slope = scaled.max(axis=1, keepdims=True) == scaled if p == np.inf else scaled ** (p - 1)
        points = body.argmax(slope / scale)
    return points


@pytest.mark.slow
@pytest.mark.parametrize("member", SMOOTH, ids=str)
def test_the_radius_of_a_smooth_ball_is_attained(member: Member) -> None:
    for p, scale in product(member.exact, scales(member)):
        best = longest(uphill(member.body, p, np.ones(1) if scale is None else scale), p, scale)
        assert member.body.radius(p, scale) == pytest.approx(best, rel=1e-6)


def test_the_rank_is_the_dimension_of_the_span(member: Member) -> None:
    corners = np.array(list(product((-1.0, 0, 1), repeat=member.body.ambient_dim)))
    points = member.body.argmax(corners) if member.vertices is None else member.vertices
    assert member.body.rank == np.linalg.matrix_rank(points / np.abs(points).max(axis=0).clip(1e-300), tol=1e-10)
    assert member.body.rank <= member.body.ambient_dim


@pytest.mark.parametrize("member", FLAT, ids=str)
def test_the_gauge_is_infinite_off_the_span(member: Member) -> None:
    left, _, _ = np.linalg.svd(member.body.span)
    off = left[:, member.body.rank :].T * member.body.radius(2)
    assert np.isinf(member.body.gauge(off)).all()
    assert np.isinf(member.body.gauge(off + member.body.argmax(directions(member, 1)))).all()


def test_the_span_is_orthonormal_and_holds_the_body(member: Member) -> None:
    span = member.body.span
    assert span.shape == (member.body.ambient_dim, member.body.rank)
    assert np.allclose(span.T @ span, np.eye(member.body.rank), atol=1e-12)
    inside = points_inside(member)
    assert np.allclose(inside @ span @ span.T, inside, atol=1e-9 * member.body.radius(2))


def test_the_gauge_keeps_the_triangle_inequality(member: Member) -> None:
    points = points_inside(member)[:6]
    gauges, sums = member.body.gauge(points), member.body.gauge(points + points[::-1])
    assert (sums <= (gauges + gauges[::-1]) * (1 + 1e-6)).all()


@pytest.mark.parametrize("member", SMOOTH, ids=str)
def test_bad_points_and_directions_are_refused(member: Member) -> None:
    d = member.body.ambient_dim
    for ask in (member.body.gauge, member.body.support, member.body.argmax):
        for bad in (np.ones(d + 1), np.full(d, np.nan), np.ones((1, 1, d))):
            with pytest.raises(InvalidRequest, match="The points, of shape"):
                ask(bad)


@pytest.mark.many
@pytest.mark.parametrize("times", [0.25, 3, 7.5])
def test_a_larger_factor_scales_everything(member: Member, times: float) -> None:
    body, rows, inside = scaled(member.body, times), directions(member), points_inside(member)[:3]
    assert np.allclose(body.support(rows), times * member.body.support(rows), rtol=1e-12)
    assert np.allclose(body.argmax(rows), times * member.body.argmax(rows), rtol=1e-12)
    assert np.allclose(body.gauge(inside), member.body.gauge(inside) / times, rtol=1e-9)
    assert body.radius(2) == pytest.approx(times * member.body.radius(2), rel=1e-12)
    assert body.rank == member.body.rank


def test_a_difference_body_of_one_point_is_nothing() -> None:
    body = Polytope.difference_hull(np.array([[2.0], [1.0]]))
    assert (body.rank, body.radius(1), body.support([1.0, 1.0])[0]) == (0, 0, 0)
    assert body.gauge([[0.0, 0.0], [2.0, 1.0]]).tolist() == [0, np.inf]


def test_the_difference_body_is_not_twice_the_symmetric_one() -> None:
    apart = Polytope.difference_hull(np.eye(3))
    assert apart.radius(1) == 2
    assert apart.radius(2) == pytest.approx(np.sqrt(2))  # and not 2
    assert apart.radius(np.inf) == 1
    assert np.isinf(apart.gauge([1.0, 0, 0])[0])  # one row more is no replacement
    assert Polytope.difference_hull(np.eye(3), with_zero=True).gauge([1.0, 0, 0])[0] == pytest.approx(1)
    assert apart.gauge([1.0, -1, 0])[0] == pytest.approx(1)
    assert apart.gauge([1.0, 1, -2])[0] == pytest.approx(2)


def test_adding_nothing_can_only_enlarge_a_difference_body() -> None:
    matrix = np.array([[5.0, 6.0], [5.0, 4.0]])  # differences are short, the points are long
    assert Polytope.difference_hull(matrix).radius(1) == 2
    assert Polytope.difference_hull(matrix, with_zero=True).radius(1) == 10
