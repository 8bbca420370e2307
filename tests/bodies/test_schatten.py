"""Schatten balls against the definition and against ℓ_p balls."""

from itertools import product

import numpy as np
import pytest

from gaugedp.bodies import LpBall, SchattenBall
from gaugedp.errors import InvalidRequest

POWERS = (1, 1.5, 2, 4, np.inf)


def drawn(count: int, shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(6).normal(size=(count, *shape))


@pytest.mark.parametrize("p", POWERS)
def test_the_gauge_is_the_norm_of_the_singular_values(p: float) -> None:
    matrices = drawn(5, (2, 3))
    expected = [np.linalg.norm(np.linalg.svd(matrice)[1], p) / 2.5 for matrice in matrices]
    assert np.allclose(SchattenBall((2, 3), p, 2.5).gauge(matrices.reshape(5, 6)), expected)


def test_vectors_are_matrices_row_after_row() -> None:
    ball = SchattenBall((2, 3), np.inf)
    assert ball.gauge([1.0, 1, 1, 0, 0, 0])[0] == pytest.approx(np.sqrt(3))
    assert ball.gauge([1.0, 0, 0, 0, 1, 0])[0] == pytest.approx(1)
    assert SchattenBall((3, 2), 1).gauge([1.0, 0, 0, 1, 0, 0])[0] == pytest.approx(2)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (1, 1)])
def test_a_single_row_or_column_is_a_euclidean_ball(p: float, shape) -> None:
    ball, plain = SchattenBall(shape, p, 2.0), LpBall(shape[0] * shape[1], 2, 2.0)
    rows = drawn(4, shape).reshape(4, -1)
    assert np.allclose(ball.gauge(rows), plain.gauge(rows))
    assert np.allclose(ball.support(rows), plain.support(rows))
    assert np.allclose(ball.argmax(rows), plain.argmax(rows))
    assert ball.radius(1) == pytest.approx(plain.radius(1))


@pytest.mark.parametrize("p", POWERS)
def test_diagonal_matrices_are_an_lp_ball(p: float) -> None:
    values = drawn(4, (1, 3)).reshape(4, 3)
    matrices = np.array([np.diag(value) for value in values]).reshape(4, 9)
    assert np.allclose(SchattenBall((3, 3), p).gauge(matrices), LpBall(3, p).gauge(values))
    assert np.allclose(SchattenBall((3, 3), p).support(matrices), LpBall(3, p).support(values))


@pytest.mark.parametrize(("p", "shape"), list(product(POWERS, [(2, 2), (2, 3), (3, 3)])))
def test_the_radius_without_weights(p: float, shape) -> None:
    ball, size = SchattenBall(shape, p, 3.0), shape[0] * shape[1]
    ones = np.ones(size) / ball.gauge(np.ones(size))
    axis = np.eye(1, size)[0] / ball.gauge(np.eye(1, size))
    diagonal = np.eye(*shape).ravel() / ball.gauge(np.eye(*shape).ravel())
    points = np.vstack([ones, axis, diagonal, ball.argmax(drawn(3000, shape).reshape(3000, size))])
    for q in (1, 1.5, 2, 3, np.inf):
        reached = np.linalg.norm(points, q, axis=1).max()
        exact = p <= 2 or q in (2, np.inf)
        assert reached * (1 - 1e-12) <= ball.radius(q) <= reached * (1 + 1e-12 if exact else 1.6)


def test_an_orthogonal_sign_matrix_attains_the_bound_at_one() -> None:
    assert SchattenBall((2, 2), np.inf).radius(1) == pytest.approx(4 / np.sqrt(2))  # [[1, 1], [1, -1]]/√2


def test_a_repeated_singular_value_has_an_argmax_on_the_boundary() -> None:
    for p in POWERS:
        ball = SchattenBall((3, 3), p)
        end = ball.argmax(np.eye(3).ravel())
        assert ball.gauge(end)[0] == pytest.approx(1)
        assert end[0] @ np.eye(3).ravel() == pytest.approx(ball.support(np.eye(3).ravel())[0])


BAD_SHAPES = [(0, 2), (2,), (2, 3, 4), 4, (1.5, 2), (2, True), None]
BAD_NORMS = [(0.5, 1), (np.nan, 1), (2, 0), (2, -1), (2, np.nan), (2, np.inf)]


@pytest.mark.parametrize("facts", [*((shape, 2) for shape in BAD_SHAPES), *(((2, 2), *facts) for facts in BAD_NORMS)])
def test_a_bad_shape_norm_or_radius_is_refused(facts: tuple) -> None:
    with pytest.raises(InvalidRequest):
        SchattenBall(*facts)


def test_equal_balls_are_equal() -> None:
    assert SchattenBall((2, 3), 1) == SchattenBall((2, 3), 1, 1.0)
    assert hash(SchattenBall([2, 3], 1)) == hash(SchattenBall((2, 3), 1))
