"""The spectraplex and the nuclear ball: extreme points, nearest points, implicit matrices, coordinates."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex, dilation, lowest
from gaugedp.samplers.continuous import normals

RNG = np.random.default_rng(1)
REGIONS = [Spectraplex(1), Spectraplex(5, 2.0), Spectraplex(60), NuclearBall((1, 4)), NuclearBall((4, 6), 0.5)]


def random_of(region, rng=RNG) -> np.ndarray:
    return region.matrix_of(rng.standard_normal(region.n_coordinates))


def points_of(region, count: int) -> list[np.ndarray]:
    """Members: 0, projections of matrices of several sizes, and extreme points."""
    results = [np.zeros(region.shape)]
    for size in np.geomspace(0.01, 10, count):
        results += [region.projection(size * random_of(region)), region.vertex(random_of(region)).matrix]
    return results


def is_member(region, matrix: np.ndarray) -> bool:
    inside = np.linalg.norm(matrix, "nuc") <= region.radius * (1 + 1e-9)
    if isinstance(region, Spectraplex):
        return inside and np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix)[0] > -1e-9
    return inside


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_the_vertex_has_the_least_inner_product(region) -> None:
    members = points_of(region, 20)
    for _ in range(10):
        slope = random_of(region)
        vertex = region.vertex(slope)
        assert is_member(region, vertex.matrix)
        assert vertex.value == pytest.approx(float((slope * vertex.matrix).sum()), abs=1e-10)
        assert vertex.value <= min(float((slope * point).sum()) for point in members) + 1e-10


def test_zero_is_an_extreme_point_of_the_spectraplex() -> None:
    """min ⟨A, X⟩ is min(0, λ_min)·radius: for A ⪰ 0 it is 0, which no matrix of trace 1 reaches."""
    region = Spectraplex(4, 3.0)
    positive = np.diag([1.0, 2.0, 3.0, 4.0])
    assert region.vertex(positive).value == 0
    assert (region.vertex(positive).matrix == 0).all()
    assert region.vertex(positive - 1.5 * np.eye(4)).value == pytest.approx(-1.5)
    assert region.vertex(np.zeros((4, 4))).value == 0


@pytest.mark.parametrize("region", [region for region in REGIONS if region.n_coordinates < 100], ids=repr)
def test_the_middle_is_the_mean_of_extreme_points_along_axes(region) -> None:
    """e_i·e_iᵀ of an orthonormal basis; in the nuclear ball ±e_i·e_jᵀ."""
    units = (region.matrix_of(axis) for axis in np.eye(region.n_coordinates))
    points = [region.vertex(sign * unit).matrix for unit in units for sign in (1, -1)]
    extreme = [point for point in points if np.abs(point).max() >= region.radius * 0.999]
    assert region.middle == pytest.approx(np.mean(extreme, axis=0))


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_the_projection_is_the_nearest_point(region) -> None:
    """⟨M − Π(M), X − Π(M)⟩ ≤ 0 for every member X, and members stay."""
    members = points_of(region, 15)
    for size in (0.05, 1.0, 20.0):
        matrix = size * random_of(region)
        nearest = region.projection(matrix)
        assert is_member(region, nearest)
        worst = max(float(((matrix - nearest) * (point - nearest)).sum()) for point in members)
        assert worst <= 1e-9 * max(1.0, size)
    assert members[3] == pytest.approx(region.projection(members[3]), abs=1e-10)


def test_a_projection_takes_the_symmetric_part() -> None:
    region, matrix = Spectraplex(4), RNG.standard_normal((4, 4))
    assert region.projection(matrix) == pytest.approx(region.projection((matrix + matrix.T) / 2), abs=1e-12)


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_points_of_the_sphere_are_points_of_the_region_and_the_lowest_is_the_vertex(region) -> None:
    for _ in range(10):
        slope, place = random_of(region), RNG.standard_normal(region.n_directions)
        place, square = place / np.linalg.norm(place), region.square(slope)
        assert is_member(region, region.at(place))
        assert float((slope * region.at(place)).sum()) == pytest.approx(region.radius * place @ square @ place)
        assert np.linalg.norm(square, 2) <= np.linalg.norm(slope) * (1 + 1e-12)
        value, best = lowest(square)
        assert region.radius * value == pytest.approx(region.vertex(slope).value, abs=1e-9)
        assert region.at(best) == pytest.approx(region.vertex(slope).matrix, abs=1e-6)
    for slope in (np.eye(4), np.zeros((4, 4))):  # the extreme point 0
        assert lowest(Spectraplex(4).square(slope))[0] == 0


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_coordinates_keep_the_frobenius_norm(region) -> None:
    matrix = random_of(region)
    coords = region.coordinates(matrix)
    assert coords.shape == (region.n_coordinates,)
    assert np.linalg.norm(coords) == pytest.approx(np.linalg.norm(matrix))
    assert region.matrix_of(coords) == pytest.approx(matrix)


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_the_edge_covers_the_largest_value_of_noise(region) -> None:
    """The mean of 200 draws, with three standard errors to spare (deviations are below 1)."""
    rng, largest = research_rng(4), []
    for _ in range(200):
        noise = region.matrix_of(normals(region.n_coordinates, rng))
        values = np.linalg.eigvalsh(noise)[-1:] if isinstance(region, Spectraplex) else np.linalg.svd(noise)[1][:1]
        largest.append(float(values[0]))
    assert np.mean(largest) <= region.edge + 3 / np.sqrt(200)
    assert region.n_coordinates < 20 or np.mean(largest) > 0.75 * region.edge


def test_implicit_matrices_give_the_same_as_arrays() -> None:
    thin = RNG.standard_normal((90, 2))
    holes = sparse.random_array((90, 90), density=0.05, rng=3)
    holes = holes + holes.T
    both = aslinearoperator(sparse.csr_array(holes)) + LinearOperator(
        (90, 90), matvec=lambda v: -thin @ (thin.T @ v), dtype=float
    )
    dense = holes.toarray() - thin @ thin.T
    value, vector = lowest(both)
    assert value == pytest.approx(np.linalg.eigvalsh(dense)[0])
    assert dense @ vector == pytest.approx(value * vector, abs=1e-6)
    assert lowest(both)[1] == pytest.approx(vector, abs=1e-12)  # the same start every time
    assert Spectraplex(90).vertex(both).matrix == pytest.approx(Spectraplex(90).vertex(dense).matrix, abs=1e-6)


@pytest.mark.parametrize("shape", [(5, 3), (70, 40)])
def test_the_dilation_finds_the_largest_singular_value(shape) -> None:
    matrix = RNG.standard_normal(shape)
    values = np.linalg.svd(matrix)[1]
    assert lowest(dilation(matrix))[0] == pytest.approx(-values[0])
    written = dilation(matrix) @ np.eye(sum(shape))
    assert np.linalg.eigvalsh(written)[-len(values) :][::-1] == pytest.approx(values)
    region = NuclearBall(shape, 2.0)
    direct, through = region.vertex(matrix), region.vertex(sparse.csr_array(matrix))
    assert direct.value == pytest.approx(-2 * values[0])
    assert through.matrix == pytest.approx(direct.matrix, abs=1e-6)
    assert through.value == pytest.approx(direct.value)


def test_bad_regions_are_refused() -> None:
    for make in (lambda: Spectraplex(0), lambda: Spectraplex(3, -1.0), lambda: NuclearBall((0, 3))):
        with pytest.raises(InvalidRequest):
            make()
