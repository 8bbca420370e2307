"""Moments released once: exact sums, how far one row moves them, their noise, and the matrix that they give."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.matrix_moments import MOST_COORDINATES, MatrixMoments, MomentScale, moments
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex
from gaugedp.optimization.symmetric import coordinates
from gaugedp.optimization.trace_designs import BITS, Full, RankOne, TraceProblem, cut
from tests.optimization.test_matrix_descent import designs, squared, unit_rows

GUARANTEES = [gd.GaussianDP(0.7), gd.PureDP(0.7)]
BOUNDS = [(0.0, 1.0), (-0.2, 1.2), (-1.0, 1.0), (2.0, 3.0), (-3.0, 0.5)]
REACHES = [0.1, 1.0, 3.0, 40.0]


def scale_of(made, bounds=(-1.0, 1.0), reach: float = 1.0, replaced: bool = True) -> MomentScale:
    return MomentScale(made.region, bounds, reach, made.span[0], replaced)


def joint(made, target: np.ndarray, weight: float) -> np.ndarray:
    """The moments of each row, (H, w·b), as coordinates of the Frobenius norm."""
    vectors = made.vectors(slice(None))
    return np.array([
        np.append(coordinates(np.outer(vector, vector)), weight * t * vector)
        for vector, t in zip(vectors, target, strict=True)
    ])  # fmt: skip


# -- sums ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_moments_are_those_of_the_definition_and_do_not_depend_on_the_order_of_rows(kind: str) -> None:
    rng = np.random.default_rng(3)
    made, target = designs(kind, 3000, rng), cut(rng.uniform(-1, 1, 3000))
    matrices = made.rows.reshape(-1, 3, 4) if kind == "full" else np.einsum("ni,nj->nij", made.rows, made.rows)
    vectors = np.array([made.region.coordinates(matrix) for matrix in matrices])
    second, first = moments(made, target)
    assert second == pytest.approx(vectors.T @ vectors, abs=2 * 3000 * 2.0**-BITS)
    assert first == pytest.approx(target @ vectors, abs=3000 * 2.0**-BITS)
    assert (np.linalg.norm(made.vectors(slice(None)), axis=1) <= 1).all()
    order = rng.permutation(3000)
    mixed = moments(type(made)(made.rows[order], *([(3, 4)] if kind == "full" else [])), target[order])
    assert (mixed[0] == second).all()
    assert (mixed[1] == first).all()
    assert (second * 4.0**BITS == np.rint(second * 4.0**BITS)).all()


# -- sensitivity -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_no_two_rows_move_the_moments_further_than_is_charged(kind: str, reach: float, bounds) -> None:
    """All pairs of 150 rows of norms up to 1, with targets at both ends, and designs at ± one another."""
    rng = np.random.default_rng(5)
    rows = unit_rows(150, 2, rng) * rng.choice([1.0, 0.6], (150, 1))
    made = RankOne(rows) if kind == "rank one" else Full(rows, (1, 2))
    scale = scale_of(made, bounds, reach)
    points = np.vstack([joint(made, np.full(150, cut(end / scale.largest)), scale.weight) for end in bounds])
    furthest = max(float(np.linalg.norm(points - point, axis=1).max()) for point in points)
    assert furthest <= scale.sensitivity
    alone = scale_of(made, bounds, reach, replaced=False).sensitivity
    assert 0.99 * alone < np.linalg.norm(points, axis=1).max() <= alone


@pytest.mark.parametrize("reach", REACHES)
def test_the_charge_is_attained(reach: float) -> None:
    """Designs at the worst angle and targets of ±1: t·t′·⟨A, A′⟩ = −w²/2; at right angles where targets are ≥ 0."""
    angles = np.linspace(0, math.pi, 2001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    full, turned = Full(circle, (1, 2)), RankOne(circle)
    for made, bounds in ((full, (-1.0, 1.0)), (turned, (-1.0, 1.0)), (turned, (0.0, 1.0))):
        scale = scale_of(made, bounds, reach)
        points = np.vstack([joint(made, np.full(2001, end), scale.weight) for end in bounds])
        start = joint(made, np.full(2001, 1.0), scale.weight)[0]
        assert 0.995 * scale.sensitivity < np.linalg.norm(points - start, axis=1).max() <= scale.sensitivity


def test_the_joint_body_is_smaller_than_the_product_of_two_balls() -> None:
    scale = scale_of(RankOne(np.eye(2)), (0.0, 1.0))
    assert scale.sensitivity < 0.85 * math.hypot(math.sqrt(2), 2 * scale.weight)


# -- guarantees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_both_sums_together_keep_the_guarantee(guarantee, replaced: bool) -> None:
    for reach in REACHES:
        scale = MomentScale(Spectraplex(4), (-1.0, 1.0), reach, 0.0, replaced)
        method = MatrixMoments.calibrate(guarantee, scale)
        if isinstance(guarantee, gd.GaussianDP):
            assert 0.7 * (1 - 1e-9) < method.guarantee.mu <= 0.7
            assert method.noise.body.radius(2) == pytest.approx(scale.sensitivity, rel=1e-6)
            assert method.exactness == "exact"
        else:
            assert 0.7 * (1 - 1e-9) < method.guarantee.epsilon(0) <= 0.7
            radii = [noise.body.radius(2) for noise in (method.noise, method.noise_of_b)]
            assert radii == pytest.approx([math.sqrt(2), 2.0] if replaced else [1.0, 1.0], rel=1e-6)
            assert method.exactness == "exact"


@pytest.mark.statistical
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_the_edge_is_that_of_the_noise(guarantee) -> None:
    """p = 120: the largest eigenvalue of one draw is within 10 % of the edge, and the noise is symmetric."""
    made = RankOne(np.zeros((1, 15)))
    method = MatrixMoments.calibrate(guarantee, scale_of(made))
    second, _ = method.release(made, np.zeros(1), research_rng(4))
    assert (second == second.T).all()
    assert np.linalg.eigvalsh(second)[-1] == pytest.approx(method.edge, rel=0.1)


# -- what is found -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rank one", "full"])
@pytest.mark.parametrize("guarantee", [gd.GaussianDP(1e5), gd.PureDP(1e8)], ids=repr)
def test_without_noise_the_matrix_is_found(kind: str, guarantee) -> None:
    rng = np.random.default_rng(7)
    made = designs(kind, 3000, rng)
    truth = made.region.vertex(made.region.matrix_of(rng.standard_normal(made.region.n_coordinates))).matrix
    target = 2.5 * made.predictions(truth)
    method = MatrixMoments.calibrate(guarantee, scale_of(made, (-3.0, 3.0), 2.5))
    found = method.solve(TraceProblem(made, target, squared), 3000, research_rng(1))
    assert np.linalg.norm(found, "nuc") <= 1 + 1e-9
    assert np.linalg.norm(found - truth) < 0.02


def test_floors_rise_with_the_noise_within_their_limits() -> None:
    method = MatrixMoments.calibrate(gd.GaussianDP(0.2), scale_of(RankOne(np.zeros((1, 6)))))
    floors = [method._floor(n) / method.edge for n in (10, 200, 1000, 3000, 10**6)]
    assert floors == sorted(floors, reverse=True)
    assert (floors[0], floors[-1]) == (2.0, 0.3)


def test_what_cannot_be_released_is_refused() -> None:
    wide = MomentScale(NuclearBall((1, MOST_COORDINATES + 1)), (0.0, 1.0), 1.0, -1.0)
    with pytest.raises(InvalidRequest, match='solver="descent"'):
        MatrixMoments.calibrate(gd.GaussianDP(1.0), wide)
    with pytest.raises(InvalidRequest, match="radius of 1"):
        MomentScale(Spectraplex(2, 2.0), (0.0, 1.0), 1.0, 0.0)
    for guarantee in (gd.ApproxDP(1.0, 1e-6),):
        with pytest.raises(InvalidRequest, match="shared by steps"):
            MatrixMoments.calibrate(guarantee, MomentScale(Spectraplex(2), (0.0, 1.0), 1.0, 0.0))
