"""Full-batch methods on low-rank regions: exact sums, their sensitivity, their noise, and what they find."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.matrix_descent import MatrixDescent, MatrixFrankWolfe
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex
from gaugedp.optimization.trace_designs import BITS, Full, RankOne, TraceProblem, TraceScale

RNG = np.random.default_rng(1)
KINDS = [MatrixDescent, MatrixFrankWolfe]
GUARANTEES = [gd.GaussianDP(0.7), gd.PureDP(0.7)]


def unit_rows(n: int, d: int, rng=RNG) -> np.ndarray:
    rows = rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def designs(kind: str, n: int, rng=RNG):
    return RankOne(unit_rows(n, 4, rng)) if kind == "rank one" else Full(unit_rows(n, 12, rng), (3, 4))


def squared(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
    return predictions - target


def scale_of(made, n: float, replaced: bool = True) -> TraceScale:
    return TraceScale(made.region, n, 1.0, made.prediction_range, replaced)


# -- sums ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_predictions_and_sums_are_those_of_the_definition(kind: str) -> None:
    made, target = designs(kind, 500), RNG.uniform(0, 1, 500)
    point = made.region.projection(made.region.matrix_of(RNG.standard_normal(made.region.n_coordinates)))
    matrices = made.rows.reshape(500, 3, 4) if kind == "full" else np.einsum("ni,nj->nij", made.rows, made.rows)
    predictions = np.einsum("nij,ij->n", matrices, point)
    assert made.predictions(point) == pytest.approx(predictions, abs=1e-7)
    assert made.predict(np.arange(500), point) == pytest.approx(predictions, abs=1e-12)
    low, high = made.span
    assert (predictions >= low).all()
    assert (predictions <= high).all()
    gradient = TraceProblem(made, target, squared).gradient(point)
    slopes = np.clip(predictions - target, -1, 1)
    exact = np.einsum("n,nij->ij", slopes, matrices)
    assert gradient == pytest.approx(exact, abs=500 * 2.0**-BITS)
    assert made.combine(np.arange(500), slopes) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_sums_do_not_depend_on_the_order_of_rows_nor_predictions_on_other_rows(kind: str) -> None:
    made, target, order = designs(kind, 3000), RNG.uniform(0, 1, 3000), RNG.permutation(3000)
    point = made.region.projection(made.region.matrix_of(RNG.standard_normal(made.region.n_coordinates)))
    mixed = type(made)(made.rows[order], *([(3, 4)] if kind == "full" else []))
    actual = TraceProblem(made, target, squared).gradient(point)
    assert (TraceProblem(mixed, target[order], squared).gradient(point) == actual).all()
    alone = [
        type(made)(made.rows[i : i + 1], *([(3, 4)] if kind == "full" else [])).predictions(point)[0] for i in range(50)
    ]
    assert (made.predictions(point)[:50] == alone).all()
    assert (actual * 2.0 ** (2 * BITS + 1) == np.rint(actual * 2.0 ** (2 * BITS + 1))).all()


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_one_row_moves_a_sum_within_the_ball_and_up_to_its_edge(kind: str, replaced: bool) -> None:
    """Differences of all pairs of 60 rows with slopes of ±1, sums taken with other rows around them."""
    made = designs(kind, 60)
    common = designs(kind, 5)
    descent = MatrixDescent.calibrate(gd.GaussianDP(1.0), scale_of(made, 100, replaced))
    point = np.zeros(made.region.shape)

    def total(row: np.ndarray, sign: float) -> np.ndarray:
        rows = type(made)(np.vstack([common.rows, row]), *([(3, 4)] if kind == "full" else []))
        target = np.append(np.full(5, 0.3), np.full(len(row), -sign))
        return descent.region.coordinates(TraceProblem(rows, target, squared).gradient(point))

    sums = [total(made.rows[i : i + 1], sign) for i in range(60) for sign in (-1.0, 1.0)]
    others = sums if replaced else [total(made.rows[:0], 1.0)]
    furthest = max(float(np.linalg.norm(one - other)) for one in sums for other in others)
    radius = descent.noise.body.radius(2)
    assert radius == pytest.approx(2.0 if replaced else 1.0, rel=1e-6)
    assert 0.98 * radius < furthest <= radius


def test_rows_of_the_squared_loss_move_a_sum_by_three_quarters_of_what_is_charged() -> None:
    """X = uuᵀ, rows at 19.33° and 70.67° of u, y = 0 and 1: 1.485 of 2, and no more in 20,000 other cases."""
    u, angles = np.array([1.0, 0.0]), np.radians([19.33, 70.67])
    z, w = (np.array([np.cos(angle), np.sin(angle)]) for angle in angles)

    def moved(u: np.ndarray, z: np.ndarray, w: np.ndarray) -> float:
        gradients = [((row @ u) ** 2 - y) * np.outer(row, row) for row, y in ((z, 0.0), (w, 1.0))]
        return float(np.linalg.norm(gradients[0] - gradients[1]))

    assert moved(u, z, w) == pytest.approx(1.48478, abs=1e-4)
    rng = np.random.default_rng(4)
    others = (unit_rows(3, 3, rng) * [[1.0], [rng.random() ** 0.1], [rng.random() ** 0.1]] for _ in range(20_000))
    assert max(moved(*rows) for rows in others) < 1.4848


# -- guarantees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_all_steps_together_keep_the_guarantee(kind, guarantee) -> None:
    for n in (30, 3000, 10**6):
        method = kind.calibrate(guarantee, TraceScale(Spectraplex(4), n))
        each = method.noise.guarantee
        if isinstance(guarantee, gd.GaussianDP):
            assert 0.7 * (1 - 1e-9) < math.sqrt(method.n_steps) * each.mu <= 0.7
        else:
            assert 0.7 * (1 - 1e-9) < method.n_steps * each.epsilon(0) <= 0.7
        assert method.exactness == "exact"


@pytest.mark.statistical
@pytest.mark.parametrize("region", [Spectraplex(4), NuclearBall((2, 5))], ids=repr)
@pytest.mark.parametrize("replaced", [True, False])
def test_noise_of_matrices_has_the_deviation_that_mu_asks_for(region, replaced: bool) -> None:
    """c√T/μ on the diagonal, c√(T/2)/μ beside it, over 2,000 matrices; five standard errors; 10 % less is seen."""
    method = MatrixDescent.calibrate(gd.GaussianDP(0.5), TraceScale(region, 300, replaced=replaced))
    expected = (2.0 if replaced else 1.0) * math.sqrt(method.n_steps) / 0.5
    assert math.sqrt(method.noise.variances.max()) == pytest.approx(expected, rel=1e-3)
    zero = np.zeros(region.shape)
    results = np.array([method._noisy(zero, noise) for noise in method.noise.pool(2000, research_rng(5))])
    five = 5 / math.sqrt(2 * 2000)
    one, beside = results[:, 0, 0].std(), results[:, 0, 1].std()
    for seen, law in (
        (one, expected),
        (beside, expected / math.sqrt(2) if isinstance(region, Spectraplex) else expected),
    ):
        assert seen == pytest.approx(law, rel=five)
        assert abs(0.9 * seen - law) > law * 0.02
    if isinstance(region, Spectraplex):
        assert (results == results.transpose(0, 2, 1)).all()


# -- what is found -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["rank one", "full"])
@pytest.mark.parametrize("guarantee", [gd.GaussianDP(1e4), gd.PureDP(1e7)], ids=repr)
def test_without_noise_the_matrix_is_found(kind, shape: str, guarantee) -> None:
    rng = np.random.default_rng(7)
    made = designs(shape, 3000, rng)
    truth = made.region.vertex(made.region.matrix_of(rng.standard_normal(made.region.n_coordinates))).matrix
    target = made.predictions(truth)
    method = kind.calibrate(guarantee, scale_of(made, 3000))
    actual = method.solve(TraceProblem(made, target, squared), 3000, research_rng(1))
    assert np.linalg.norm(actual, "nuc") <= 1 + 1e-9
    assert np.linalg.norm(actual - truth) < 0.1


def test_paths_grow_as_noise_falls_and_stay_within_their_limits() -> None:
    for guarantee in (gd.GaussianDP, gd.PureDP):
        made = [
            MatrixDescent.calibrate(guarantee(size), TraceScale(Spectraplex(6), 1000, 2.0))
            for size in (1e-6, 1e-2, 1.0, 1e4)
        ]
        paths = [one.n_steps * one.length for one in made]
        assert paths == sorted(paths)
        assert all(1 <= one.n_steps <= 400 and one.length <= 0.5 for one in made)
        counts = [
            MatrixFrankWolfe.calibrate(guarantee(s), TraceScale(Spectraplex(6), 1000)).n_steps for s in (1, 10, 1e4)
        ]
        assert counts == sorted(counts)
        assert counts[0] < counts[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_other_guarantees_and_scales_are_refused(kind) -> None:
    for guarantee in (gd.ApproxDP(1.0, 1e-6), gd.GaussianDP(0.0), gd.PureDP(0.0)):
        with pytest.raises(InvalidRequest, match="divided between steps"):
            kind.calibrate(guarantee, TraceScale(Spectraplex(2), 10))
    with pytest.raises(InvalidRequest, match="Scale the matrices so that the radius is 1"):
        TraceScale(Spectraplex(2, 2.0), 10)
