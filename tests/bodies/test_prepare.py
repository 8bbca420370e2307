"""Preparing generators: what is dropped, what is kept, and where floats end."""

import time

import numpy as np
import pytest

from gaugedp.bodies import Polytope, prepared
from gaugedp.errors import InvalidRequest
from tests.bodies.zoo import MATRICES


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_the_body_stays_the_same(matrix: np.ndarray) -> None:
    ready = prepared(matrix)
    assert ready.rank == np.linalg.matrix_rank(matrix)
    assert np.array_equal(ready.columns, matrix[:, ready.kept])
    assert np.array_equal(ready.frame.columns, ready.columns[:, ready.basis])
    assert np.allclose(ready.frame.columns @ ready.coordinates, ready.columns, atol=1e-12 * np.abs(matrix).max())
    assert np.abs(ready.coordinates).max() <= 1 + 1e-5
    rows = np.random.default_rng(1).normal(size=(20, len(matrix)))
    assert np.allclose(np.abs(rows @ matrix).max(axis=1), np.abs(rows @ ready.columns).max(axis=1), rtol=1e-14)


def test_zeros_and_copies_up_to_sign_go() -> None:
    matrix = np.array([[0.0, 1, -1, 2, 0, -0.0, 1], [0, 2, -2, 0, 0, 3, 2.0000001]])
    assert prepared(matrix).kept.tolist() == [1, 3, 5, 6]
    signed_zeros = np.array([[1.0, 1.0, -1.0], [0.0, -0.0, 0.0]])
    assert prepared(signed_zeros).kept.tolist() == [0]


def test_no_exchange_enlarges_the_determinant() -> None:
    matrix = np.random.default_rng(3).normal(size=(5, 40))
    ready = prepared(matrix)
    best = abs(np.linalg.det(ready.frame.columns))
    for i in range(5):
        for column in matrix.T:
            other = ready.frame.columns.copy()
            other[:, i] = column
            assert abs(np.linalg.det(other)) <= best * (1 + 1e-5)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((3, 4)), "Every generator is zero"),
        (np.array([[1.0, np.nan]]), "finite"),
        (np.array([[1.0, -np.inf]]), "finite"),
        (np.ones(3), "array of shape"),
        (np.zeros((2, 0)), "Every generator is zero"),
        (np.zeros((0, 2)), "Every generator is zero"),
    ],
)
def test_what_has_no_span_is_refused(matrix, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        prepared(matrix)


def test_a_million_columns_take_seconds() -> None:
    matrix = np.random.default_rng(1).integers(-3, 4, (4, 10**6))
    start = time.process_time()
    ready = prepared(matrix)
    assert time.process_time() - start < 30
    assert ready.columns.shape[1] == (7**4 - 1) // 2


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1, 1e12, 1e150])
def test_units_do_not_matter(scale: float) -> None:
    matrix = np.array([[1.0, 2, 0], [3, 1, 1], [1, 0, 1]])
    rows = np.array([1, scale, 1 / scale])
    body = Polytope.symmetric_hull(matrix * rows[:, None])
    assert body.rank == 3
    point = np.array([0.3, -2, 1.7])
    assert body.gauge(point * rows)[0] == pytest.approx(Polytope.symmetric_hull(matrix).gauge(point)[0], rel=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("more", [0, 1])
def test_nearly_parallel_generators_have_the_right_gauge(gap: float, more: int) -> None:
    """The body is the hull of ±(1, 1), ±(1, 1 + gap) and, at `more`, ±(1, 1 + gap/2), inside it."""
    matrix = np.array([[1.0, 1, 1], [1, 1 + gap, 1 + gap / 2]])[:, : 2 + more]
    body, real = Polytope.symmetric_hull(matrix), matrix[1, 1] - 1
    assert body.rank == 2
    assert body.gauge([0.0, 1.0])[0] == pytest.approx(2 / real, rel=1e-5)
    assert np.allclose(body.gauge(matrix.T[:2]), 1, rtol=1e-5)


def test_directions_that_differ_by_rounding_are_one() -> None:
    body = Polytope.symmetric_hull(np.array([[1.0, 1.0], [1.0, 1 + 4e-16]]))
    assert body.rank == 1
    assert np.isinf(body.gauge([0.0, 1.0])[0])


def test_generators_too_nearly_parallel_are_refused_by_the_gauge() -> None:
    body = Polytope.symmetric_hull(np.array([[1.0, 1.0, 0], [1.0, 1 + 1e-13, 0], [0, 0, 1]]))
    assert body.rank == 3
    with pytest.raises(InvalidRequest, match="nearly parallel"):
        body.gauge([0.0, 1.0, 0])
    assert body.radius(2) == pytest.approx(np.sqrt(2))  # needs no coordinates
    assert body.support([0.0, 0, 1])[0] == 1


def test_the_gauge_of_many_generators_agrees_with_the_plain_program() -> None:
    import scipy.optimize

    matrix = np.random.default_rng(5).normal(size=(4, 30))
    points = np.random.default_rng(6).normal(size=(5, 4))
    plain = [scipy.optimize.linprog(np.ones(60), A_eq=np.hstack([matrix, -matrix]), b_eq=point).fun for point in points]
    assert np.allclose(Polytope.symmetric_hull(matrix).gauge(points), plain, rtol=1e-7)
    dual = [
        -scipy.optimize.linprog(
            -point, A_ub=np.vstack([matrix.T, -matrix.T]), b_ub=np.ones(60), bounds=(None, None)
        ).fun
        for point in points
    ]
    assert np.allclose(Polytope.symmetric_hull(matrix).gauge(points), dual, rtol=1e-7)


def test_generators_are_frozen() -> None:
    matrix = np.eye(2)
    body = Polytope.symmetric_hull(matrix)
    matrix[0, 0] = 7
    assert body.radius(1) == 1
