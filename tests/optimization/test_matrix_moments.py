"""Moments released once: exact sums, how far one row moves them, their noise, and the matrix that they give."""

import math
from dataclasses import replace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization import matrix_moments
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


@pytest.mark.slow
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


def mixed_rows(rng: np.random.Generator) -> RankOne:
    """Rows of lengths from 0 to 1: far from the centre those of length 1 are, beside 0 the short ones."""
    return RankOne(unit_rows(220, 2, rng) * np.sqrt(np.append(rng.random(110), np.ones(110)))[:, None])


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("reach", REACHES)
def test_no_two_rows_move_centred_moments_further_than_is_charged(reach: float, bounds) -> None:
    """The centre of least noise, and one so far out that short rows have the largest first moments."""
    made = mixed_rows(np.random.default_rng(6))
    plain = MomentScale(made.region, bounds, reach, 0.0)
    for scale in (plain.centred(), replace(plain, centre=0.5)):
        points = np.vstack([joint(made, scale.scaled(made, np.full(220, end)), scale.weight) for end in bounds])
        assert max(float(np.linalg.norm(points - point, axis=1).max()) for point in points) <= scale.sensitivity
        alone = replace(scale, replaced=False).sensitivity
        assert 0.99 * alone < np.linalg.norm(points, axis=1).max() <= alone


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("target", [-1.0, -0.3, 0.1, 1.0])
def test_first_moments_of_rows_of_any_length_are_below_their_bound(target: float, shift: float) -> None:
    """|y − shift·s|·s at 1,001 lengths s; at y = shift = 1 the row of length 1/2 has the largest."""
    lengths = np.linspace(0, 1, 1001)
    largest = (np.abs(target - shift * lengths) * lengths).max()
    assert largest <= matrix_moments._furthest(target, shift) <= largest + 1e-6


def test_two_rows_nearly_attain_the_charge_of_centred_moments() -> None:
    made = mixed_rows(np.random.default_rng(6))
    scale = MomentScale(made.region, (0.0, 1.0), 1.0, 0.0).centred()
    assert scale.centre > 0.3
    points = np.vstack([joint(made, scale.scaled(made, np.full(220, end)), scale.weight) for end in (0.0, 1.0)])
    assert max(float(np.linalg.norm(points - point, axis=1).max()) for point in points) > 0.89 * scale.sensitivity


def test_a_centre_takes_noise_from_the_gradient_where_it_helps_alone() -> None:
    """For targets of one sign: by half at d = 2, an eighth at d = 20; nowhere for ±1, or for matrices."""
    for d, least in ((2, 2.0), (10, 1.2), (20, 1.1)):
        plain = MomentScale(Spectraplex(d), (0.0, 1.0), 1.0, 0.0)
        assert plain.noise / plain.centred().noise > least
    assert MomentScale(Spectraplex(5), (-1.0, 1.0), 1.0, 0.0).centred().centre == 0
    assert MomentScale(NuclearBall((2, 2)), (0.0, 1.0), 1.0, -1.0).centred().centre == 0
    with pytest.raises(InvalidRequest, match="`centre` applies only"):
        MomentScale(NuclearBall((2, 2)), (0.0, 1.0), 1.0, -1.0, centre=0.1)


def test_scales_whose_charge_is_not_proved_are_refused() -> None:
    """At this centre below 0 two rows move the moments by 1.3 % more than theorem 1 would charge."""
    with pytest.raises(InvalidRequest, match=r"`centre` is -0\.39"):
        MomentScale(Spectraplex(2), (-0.727, 0.392), 0.422, 0.0, centre=-0.39)
    with pytest.raises(InvalidRequest, match="`width` is -2"):
        MomentScale(Spectraplex(2), (1.0, -1.0), 1.0, 0.0)
    with pytest.raises(InvalidRequest, match="vectors z"):
        Full(np.zeros((1, 4)), (2, 2)).traces()


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
    actual = method.solve(TraceProblem(made, target, squared), 3000, research_rng(1))
    assert np.linalg.norm(actual, "nuc") <= 1 + 1e-9
    assert np.linalg.norm(actual - truth) < 0.02


def test_a_centre_changes_nothing_but_noise() -> None:
    made = designs("rank one", 2000, np.random.default_rng(8))
    problem, actual = TraceProblem(made, made.predictions(np.eye(4) / 5), squared), []
    for scale in (scale_of(made, (0.0, 1.0)), scale_of(made, (0.0, 1.0)).centred()):
        method = MatrixMoments.calibrate(gd.GaussianDP(1e5), scale)
        actual.append(method.solve(problem, 2000, research_rng(1)))
    assert actual[0] == pytest.approx(actual[1], abs=0.02)


def test_where_noise_hides_all_the_trace_is_that_of_extreme_points() -> None:
    """μ = 0.001, targets of 0: the data tell nothing. A prior around 0 gives traces of 0.5 to 0.8 here."""
    made = RankOne(np.eye(12))
    method = MatrixMoments.calibrate(gd.GaussianDP(1e-3), scale_of(made, (0.0, 1.0)).centred())
    for key in range(3):
        actual = method.solve(TraceProblem(made, np.zeros(12), squared), 12, research_rng(key))
        assert np.trace(actual) == pytest.approx(1, abs=1e-6)


def test_noise_hides_moments_where_its_edge_is_above_their_largest_eigenvalue() -> None:
    """Rows that are all one design have an eigenvalue of n."""
    method = MatrixMoments.calibrate(gd.GaussianDP(1.0), scale_of(RankOne(np.eye(4))))
    assert method.hides(method.edge - 1)
    assert not method.hides(method.edge + 1)


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_denoised_moments_are_nearer_than_noisy_ones(level: float) -> None:
    """H = level·I and one spike of four edges, p = 120: the bulk goes to its level, the spike to its own length."""
    p, rng = 120, np.random.default_rng(9)
    method = MatrixMoments.calibrate(gd.GaussianDP(1.0), scale_of(RankOne(np.zeros((1, 15)))))
    noise = rng.standard_normal((p, p)) * math.sqrt(float(method.noise.variances.max())) / math.sqrt(2)
    exact = level * np.eye(p)
    exact[0, 0] += 4 * method.edge
    noisy = exact + np.tril(noise, -1) + np.tril(noise, -1).T + math.sqrt(2) * np.diag(np.diag(noise))
    values, vectors = method.denoised(noisy)
    off = (vectors * values) @ vectors.T - exact
    assert np.linalg.norm(off) < 0.4 * np.linalg.norm(noisy - exact)
    assert values[-1] == pytest.approx(4 * method.edge + level, rel=0.1)
    assert (values >= 0).all()


def test_floors_rise_with_the_noise_within_their_limits() -> None:
    method = MatrixMoments.calibrate(gd.GaussianDP(0.2), scale_of(RankOne(np.zeros((1, 6)))))
    floors = [method._floor(n) / method.edge for n in (10, 200, 1000, 3000, 10**6)]
    assert floors == sorted(floors, reverse=True)
    assert (floors[0], floors[-1]) == (2.0, 0.3)


def test_what_cannot_be_released_is_refused() -> None:
    wide = MomentScale(NuclearBall((1, MOST_COORDINATES + 1)), (0.0, 1.0), 1.0, -1.0)
    with pytest.raises(InvalidRequest, match="Use fewer columns, or solver="):
        MatrixMoments.calibrate(gd.GaussianDP(1.0), wide)
    with pytest.raises(InvalidRequest, match="Scale the matrices so that the radius is 1"):
        MomentScale(Spectraplex(2, 2.0), (0.0, 1.0), 1.0, 0.0)
    for guarantee in (gd.ApproxDP(1.0, 1e-6),):
        with pytest.raises(InvalidRequest, match="divided between steps"):
            MatrixMoments.calibrate(guarantee, MomentScale(Spectraplex(2), (0.0, 1.0), 1.0, 0.0))
