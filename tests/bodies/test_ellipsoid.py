"""Ellipsoids against brute force over the unit sphere."""

from itertools import product

import numpy as np
import pytest

from gaugedp.bodies import Ellipsoid, LpBall, Polytope
from gaugedp.errors import InvalidRequest

RNG = np.random.default_rng(4)


def sphere(count: int, dim: int) -> np.ndarray:
    points = np.random.default_rng(5).normal(size=(count, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 4), (1, 3), (3, 1)])
def test_support_and_radius_against_the_sphere(shape) -> None:
    matrix = RNG.normal(size=shape)
    body, points = Ellipsoid(matrix), sphere(40_000, shape[1]) @ matrix.T
    rows = RNG.normal(size=(5, shape[0]))
    assert np.allclose(body.support(rows), (points @ rows.T).max(axis=0), rtol=2e-2)
    for p in (1, 1.3, 2, 3, np.inf):
        reached = np.linalg.norm(points, p, axis=1).max()
        assert reached * (1 - 1e-12) <= body.radius(p) <= reached * (1.02 if p in (1, 2, np.inf) else 1.35)


def test_the_gauge_is_the_length_in_the_ellipsoid_s_coordinates() -> None:
    matrix = RNG.normal(size=(4, 3))
    coordinates = RNG.normal(size=(10, 3))
    assert np.allclose(Ellipsoid(matrix).gauge(coordinates @ matrix.T), np.linalg.norm(coordinates, axis=1))


def test_more_columns_than_rank_take_the_shortest_way() -> None:
    matrix = RNG.normal(size=(2, 5))
    inside = RNG.normal(size=(6, 2))
    shortest = np.linalg.norm(np.linalg.pinv(matrix) @ inside.T, axis=0)
    assert np.allclose(Ellipsoid(matrix).gauge(inside), shortest)


@pytest.mark.parametrize("dim", [17, 30])
def test_the_radius_at_one_is_a_bound_in_high_dimension(dim: int) -> None:
    matrix = np.random.default_rng(dim).normal(size=(dim, 4)) * np.geomspace(1, 50, dim)[:, None]
    sums = np.abs(sphere(20_000, 4) @ matrix.T).sum(axis=1).max()
    body = Ellipsoid(matrix)
    assert sums <= body.radius(1) <= 1.3 * sums
    assert body.radius(1) <= np.linalg.norm(matrix, axis=1).sum()
    assert body.radius(1) <= np.sqrt(dim) * body.radius(2) * (1 + 1e-12)


def test_signs_are_all_looked_at() -> None:
    matrix = np.random.default_rng(0).normal(size=(16, 3))
    brute = max(np.linalg.norm(np.array(signs) @ matrix) for signs in product((1.0, -1.0), repeat=16))
    assert Ellipsoid(matrix).radius(1) == pytest.approx(brute, rel=1e-12)


def test_a_round_ellipsoid_is_a_ball() -> None:
    body, ball = Ellipsoid(3 * np.eye(4)), LpBall(4, 2, 3.0)
    rows = RNG.normal(size=(5, 4))
    assert np.allclose(body.gauge(rows), ball.gauge(rows))
    assert np.allclose(body.argmax(rows), ball.argmax(rows))
    assert body.radius(1) == pytest.approx(ball.radius(1))


def test_an_ellipsoid_with_one_column_is_a_segment() -> None:
    matrix = np.array([[2.0], [-1.0]])
    body, hull = Ellipsoid(matrix), Polytope.symmetric_hull(matrix)
    assert np.array_equal(body.gauge([[1.0, -0.5], [1, 1]]), hull.gauge([[1.0, -0.5], [1, 1]]))
    assert body.radius(1) == hull.radius(1) == 3


def test_a_direction_off_the_body_has_the_origin_as_argmax() -> None:
    body = Ellipsoid(np.array([[1.0], [0.0]]))
    assert body.argmax([0.0, 1.0]).tolist() == [[0, 0]]
    assert body.support([0.0, 1.0]).tolist() == [0]


def test_the_matrix_is_frozen() -> None:
    matrix = np.eye(2)
    body = Ellipsoid(matrix)
    matrix[0, 0] = 5
    assert body.radius(2) == 1
    with pytest.raises(ValueError, match="read-only"):
        body.matrix[0, 0] = 2


@pytest.mark.parametrize(
    "matrix", [np.zeros((2, 2)), np.ones(3), np.ones((0, 2)), [[np.nan, 1]], [[np.inf]], 3.0, [[1e300]], [[1e-300]]]
)
def test_a_bad_matrix_is_refused(matrix) -> None:
    with pytest.raises(InvalidRequest, match="ellipsoid"):
        Ellipsoid(matrix)
