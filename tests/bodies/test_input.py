"""What bodies refuse, and where floats end."""

from fractions import Fraction

import numpy as np
import pytest

from gaugedp.bodies import Ellipsoid, LpBall, MatrixGenerators, Polytope
from gaugedp.errors import InvalidRequest

MAKERS = [Polytope.symmetric_hull, Polytope.difference_hull]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([[1.0, np.nan]]), "Pass finite numbers"),
        (np.array([[1.0, np.inf]]), "Pass finite numbers"),
        (np.zeros((0, 3)), "whose columns are the n generators"),
        (np.zeros((3, 0)), "whose columns are the n generators"),
        (np.array([]), "whose columns are the n generators"),
        (np.ones(3), "whose columns are the n generators"),
        (np.ones((2, 2, 2)), "whose columns are the n generators"),
        (np.float64(3), "whose columns are the n generators"),
    ],
)
def test_a_bad_matrix_is_refused(make, matrix, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make(matrix)


NOT_NUMBERS = [[[1, 0], [0]], [[1j, 0], [0, 1]], [["a", "b"]], [[None, object()]], [[1, [2, 3]]]]


@pytest.mark.parametrize("make", [*MAKERS, Ellipsoid, lambda rows: LpBall(2, 2).gauge(rows), LpBall(2, 2).support])
@pytest.mark.parametrize("rows", NOT_NUMBERS, ids=["ragged", "complex", "texts", "objects", "nested"])
def test_ragged_complex_and_other_rows_are_refused_in_a_sentence(make, rows) -> None:
    with pytest.raises(InvalidRequest, match="not real numbers in rows of equal length"):
        make(rows)


def test_numbers_of_python_are_taken_as_they_are() -> None:
    for rows in ([[Fraction(1, 2), 2**70]], np.array([[0.5, 2.0**70]], dtype=object), ((0.5, 2.0**70),)):
        assert Polytope.symmetric_hull(rows).columns().tolist() == [[0.5, 2.0**70]]


def test_a_hull_of_zeros_is_refused_at_once() -> None:
    with pytest.raises(InvalidRequest, match="Every generator is 0, so no unit can change"):
        Polytope.symmetric_hull(np.zeros((3, 4)))


def test_one_point_has_a_gauge_of_shape_one() -> None:
    for body in (LpBall(3, 2), Polytope.symmetric_hull(np.eye(3)), Ellipsoid(np.eye(3))):
        assert body.gauge([3, 0, 0]).shape == body.support([3, 0, 0]).shape == (1,)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf, "1", None, True])
def test_a_bad_factor_is_refused(make, factor) -> None:
    with pytest.raises(InvalidRequest, match="factor"):
        make(np.eye(2), factor)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ((0, 2, 1), "`d` is 0"),
        ((-1, 2, 1), "`d` is -1"),
        ((1.5, 2, 1), "`d` is 1.5"),
        ((2, 0.5, 1), "at least 1, or math.inf"),
        ((2, np.nan, 1), "at least 1, or math.inf"),
        ((2, -np.inf, 1), "at least 1, or math.inf"),
        ((2, 2, 0), "`radius` is 0"),
        ((2, 2, -1), "`radius` is -1"),
        ((2, 2, np.nan), "`radius` is nan"),
        ((2, 2, np.inf), "`radius` is inf"),
    ],
)
def test_a_bad_ball_is_refused(facts, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        LpBall(*facts)


def test_the_matrix_is_taken_as_floats() -> None:
    generators = MatrixGenerators([[1, 2], [3, 4]])
    assert generators.matrix.dtype == float
    assert (generators.ambient_dim, generators.n_generators, generators.rank) == (2, 2, 2)
    assert np.array_equal(generators.apply(np.eye(2)), generators.matrix.T)
    assert np.array_equal(generators.row_squares(), [5, 25])


def test_a_body_too_large_for_its_gauge_says_so() -> None:
    body = Polytope.difference_hull(np.zeros((1, 1)))
    object.__setattr__(body, "generators", _Enormous())
    with pytest.raises(InvalidRequest, match="Use `radius` or `support`"):
        body.gauge(np.ones(4000))
    with pytest.raises(InvalidRequest, match="Use `radius` or `support`"):
        _ = body.rank


class _Enormous:
    ambient_dim, n_generators = 4000, 4000


def test_too_many_pairs_give_the_safe_bound() -> None:
    columns = np.random.default_rng(1).normal(size=(40, 6000))
    body = Polytope.difference_hull(columns)
    assert body.radius(2) == 2 * np.linalg.norm(columns, axis=0).max()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,)])
def test_points_of_the_wrong_dimension_are_refused(shape) -> None:
    with pytest.raises(InvalidRequest):
        Polytope.symmetric_hull(np.eye(2)).gauge(np.ones(shape))


def test_the_gauge_of_a_tiny_body_is_not_zero() -> None:
    matrix = np.diag([1e-9, 1e-9])
    assert np.allclose(Polytope.symmetric_hull(matrix).gauge(matrix.T), 1, rtol=1e-6)


def test_a_point_just_off_the_span_has_no_gauge() -> None:
    body = Polytope.symmetric_hull(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert np.isinf(body.gauge([1.0, 2 + 1e-8])[0])


def test_the_argmax_does_not_depend_on_the_length_of_the_direction() -> None:
    body = LpBall(2, 1.01)
    assert np.allclose(body.argmax([1e6, 1.0]), body.argmax([1.0, 1e-6]))
