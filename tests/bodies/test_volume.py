"""Volumes against closed forms, published figures, facets and counting."""

import itertools
import math
import sys

import numpy as np
import pytest
import scipy.spatial

from gaugedp.bodies import Ellipsoid, LpBall, Polytope, SchattenBall, image, minkowski_sum, project, scaled, volume
from gaugedp.errors import InvalidRequest
from tests.bodies.zoo import ZOO, Member


def signs(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2 - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "n", "value"), [(5, 50, 31.46666667), (6, 60, 62.04444444), (7, 70, 117.6380952), (8, 80, 230.8063492)]
)
def test_sign_polytopes_have_the_known_volumes(d: int, n: int, value: float) -> None:
    actual = volume(Polytope.symmetric_hull(signs(d, n)))
    assert actual.kind == "exact"
    assert actual.value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("d", "n", "value"), [(2, 6, 1.749889441), (3, 12, 3.423226836), (5, 30, 4.277664475)])
def test_random_polytopes_have_the_known_volumes(d: int, n: int, value: float) -> None:
    matrix = np.random.default_rng(3).uniform(-1, 1, (d, n))
    assert volume(Polytope.symmetric_hull(matrix)).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (LpBall(1, 1.7, 3.0), 6),
        (LpBall(3, 1), 8 / 6),
        (LpBall(3, 2, 2.0), 4 / 3 * math.pi * 8),
        (LpBall(4, np.inf, 0.5), 1),
        (Ellipsoid(np.diag([2.0, 3.0])), 6 * math.pi),
        (Ellipsoid(np.array([[3.0], [4.0]])), 10),
        (Ellipsoid(np.array([[3.0, 4.0]])), 10),
        (Ellipsoid(np.diag([1.0, 1e-20])), 1e-20 * math.pi),
        (Polytope.symmetric_hull(np.eye(3), 2), 8 * 8 / 6),
        (Polytope.symmetric_hull(np.array([[1.0, 2], [1, 2], [1, 2]])), 4 * math.sqrt(3)),
        (Polytope.difference_hull(np.eye(3)), 3 * math.sqrt(3)),  # a hexagon with sides √2
        (Polytope.difference_hull(np.eye(2), with_zero=True), 3),
        (Polytope.difference_hull(np.eye(2), 2, with_zero=True), 12),
        (SchattenBall((2, 2), np.inf), 2 * math.pi**2 / 3),
        (SchattenBall((2, 3), 2, 2.0), math.pi**3 / 6 * 64),
        (SchattenBall((1, 3), 7), 4 / 3 * math.pi),
        (image(LpBall(2, np.inf), np.array([[1.0, 1], [0, 2], [0, 0]])), 8),
    ],
)
def test_closed_forms(body, value: float) -> None:
    actual = volume(body)
    assert (actual.kind, actual.standard_error) == ("exact", None)
    assert actual.value == pytest.approx(value, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 4), (3, 3)])
def test_spectral_balls_by_counting(shape) -> None:
    """400,000 uniform points of a cube around the ball, 6 standard errors."""
    size, count = shape[0] * shape[1], 400_000
    points = np.random.default_rng(7).uniform(-1, 1, (count, *shape))
    gram = np.swapaxes(points, 1, 2) @ points
    inside = (np.linalg.eigvalsh(gram)[:, -1] <= 1).mean()
    error = 6 * math.sqrt(inside / count) * 2**size
    assert volume(SchattenBall(shape, np.inf)).value == pytest.approx(inside * 2**size, abs=error)


@pytest.mark.parametrize(
    "member", [member for member in ZOO if member.vertices is not None and member.body.rank > 1], ids=str
)
def test_the_facets_of_the_vertices_give_the_same_volume(member: Member) -> None:
    import scipy.spatial

    points = member.vertices @ member.body.span
    scale = np.abs(points).max(axis=0)
    hull = scipy.spatial.ConvexHull(points / scale, qhull_options="Qt")
    log = math.log(hull.volume) + np.log(scale).sum()
    assert volume(member.body).log_volume == pytest.approx(log, abs=1e-6)


@pytest.mark.parametrize("member", [member for member in ZOO if "Schatten" not in member.name], ids=str)
def test_multiples_have_the_volume_times_the_factor_to_the_rank(member: Member) -> None:
    larger = volume(scaled(member.body, 3.5)).log_volume
    assert larger == pytest.approx(volume(member.body).log_volume + member.body.rank * math.log(3.5), abs=1e-9)


def test_high_rank_gives_a_lower_bound() -> None:
    actual = volume(Polytope.symmetric_hull(np.hstack([np.eye(12), np.ones((12, 1)) / 3])))
    assert actual.kind == "lower"
    log_cross = 12 * math.log(2) - math.lgamma(13)
    # the last generator alone swaps in for nothing: |det| stays 1
    assert log_cross - 1e-9 <= actual.log_volume <= log_cross


@pytest.mark.parametrize("rank", [2, 4, 6])
def test_the_cross_polytope_lies_below_the_exact_volume(rank: int) -> None:
    from gaugedp.bodies import prepared

    matrix = np.random.default_rng(rank).normal(size=(rank, 5 * rank))
    ready = prepared(matrix)
    cross = rank * math.log(2) - math.lgamma(rank + 1) + ready.frame.log_volume[0]
    exact = volume(Polytope.symmetric_hull(matrix))
    assert cross < exact.log_volume < cross + rank
    assert exact.kind == "exact"


def test_too_many_facets_give_the_hull_of_the_outermost() -> None:
    matrix = np.random.default_rng(2).normal(size=(7, 400))
    actual = volume(Polytope.symmetric_hull(matrix))
    small = volume(Polytope.symmetric_hull(matrix[:, :30]))
    assert (actual.kind, small.kind) == ("lower", "exact")
    assert actual.log_volume > small.log_volume


def test_no_hull_is_listed_again_for_a_few_more_generators(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment curve has as many facets as there can be: the last hull took as long as all before, for 2 % more."""
    sizes, hull = [], scipy.spatial.ConvexHull
    note = lambda points, **how: sizes.append(len(points) / 2 - 6) or hull(points, **how)  # noqa: E731
    monkeypatch.setattr(scipy.spatial, "ConvexHull", note)
    monkeypatch.setattr(sys.modules["gaugedp.bodies.volume"], "_MOST_FACETS", 8000)
    curve = np.linspace(-1, 1, 300) ** np.arange(1, 7)[:, None]
    assert volume(Polytope.symmetric_hull(curve)).kind == "lower"
    assert len(sizes) > 2
    assert all(following >= 1.1 * size for size, following in itertools.pairwise(sizes))


def test_a_histogram_of_high_rank_is_exact() -> None:
    actual = volume(Polytope.symmetric_hull(np.tril(np.ones((60, 60)))))
    assert actual.kind == "exact"
    assert actual.log_volume == pytest.approx(60 * math.log(2) - math.lgamma(61), abs=1e-9)


def test_values_beyond_the_floats() -> None:
    assert volume(LpBall(400, 2, 1e9)).value == math.inf
    assert volume(LpBall(400, 1)).value == 0


def test_nearly_parallel_generators_give_a_lower_bound() -> None:
    matrix = np.array([[1.0, 1.0], [1.0, 1 + 1e-12]])
    actual = volume(Polytope.symmetric_hull(matrix))
    right = math.log(2 * (1 + 1e-12 - 1))  # the difference of floats is exact
    assert actual.kind == "lower"
    assert right - 0.1 < actual.log_volume <= right


@pytest.mark.parametrize(
    "body",
    [
        SchattenBall((2, 2), 1),
        minkowski_sum(LpBall(2, 2), LpBall(2, 1)),
        project(SchattenBall((2, 2), np.inf), np.eye(4)[:, :2]),
        Polytope.difference_hull(np.array([[1.0], [2.0]])),
    ],
)
def test_what_has_no_volume_here_is_refused(body) -> None:
    with pytest.raises(InvalidRequest):
        volume(body)
