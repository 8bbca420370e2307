"""Stochastic Frank–Wolfe: the released stream against brute force, its noise, and what it finds. Keys are fixed.

White-box: for a handful of rows the whole stream of gradients is rebuilt for a fixed history of extreme points, for
many rows and their replacements; with Σ the covariance of the noise, built from the code that makes it, the largest
differenceᵀ·Σ⁻¹·difference is the square of the true μ.
"""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.matrix_descent import MatrixDescent
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex
from gaugedp.optimization.stochastic_frank_wolfe import Schedule, StochasticFrankWolfe, _moved
from gaugedp.optimization.trace_designs import CountedSlope, Full, RankOne, TraceProblem, TraceScale
from gaugedp.optimization.vertices import ORACLES, Running, oracle
from tests.optimization.test_matrix_descent import squared, unit_rows
from tests.optimization.test_streams import decays, noise_map

# -- the whole stream, by brute force ---------------------------------------------------------------------


def increments(model: StochasticFrankWolfe, problem: TraceProblem, history: list[np.ndarray]) -> list[np.ndarray]:
    """What the row of a task of one row adds to D_0, or to g_t: by the step that it stands at."""
    here, actual = np.arange(1), []
    for t, point in enumerate(history):
        points = (point, history[t - 1]) if t else (point,)
        places, weights = model._weights(problem, here, points)
        actual.append(model.region.coordinates(problem.designs.combine(places, weights)))
    return actual


def histories(model: StochasticFrankWolfe, count: int, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Points X_0, X_1, … that some releases lead to: the same extreme point always, or others at random."""
    actual, rate = [], model.schedule.rate
    for which in range(count):
        point, points = np.zeros(model.region.shape), []
        fixed = model.region.matrix_of(rng.standard_normal(model.region.n_coordinates))
        for _ in range(1 + model.schedule.n_later):
            points.append(point)
            other = model.region.matrix_of(rng.standard_normal(model.region.n_coordinates))
            vertex = model.region.vertex(-np.abs(fixed) if which == 0 else fixed if which % 2 else other)
            point = (1 - rate) * point + rate * vertex.matrix
        actual.append(points)
    return actual


def steep(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A slope that is 4-Lipschitz and not affine."""
    return np.clip(4 * (predictions - target), -1, 1)


def linear(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of a loss that is linear in the prediction, downwards or upwards."""
    return np.where(target > 0.3, 1.0, -1.0) + 0 * predictions


def true_mu(model: StochasticFrankWolfe, made, slope, replaced: bool) -> float:
    """The largest μ between neighbours, over rows, targets, steps and histories."""
    steps = 1 + model.schedule.n_later
    noise = noise_map(steps, 1 - model.schedule.rate) * model.oracle.std
    columns = decays(steps, 1 - model.schedule.rate)
    lengths = [math.sqrt(float(a @ np.linalg.solve(noise @ noise.T, a))) for a in columns.T]
    worst, rng = 0.0, np.random.default_rng(3)
    for history in histories(model, 6, rng):
        added: list[list[np.ndarray]] = [[] for _ in range(steps)]
        for row in range(len(made.rows)):
            one = RankOne(made.rows[[row]]) if isinstance(made, RankOne) else Full(made.rows[[row]], made.shape)
            for target in (-1.0, 0.0, 0.25, 0.5, 0.75, 1.0):
                if isinstance(made, RankOne) and target < 0:
                    continue
                for t, part in enumerate(increments(model, TraceProblem(one, np.array([target]), slope), history)):
                    added[t].append(part)
        for length, parts in zip(lengths, added, strict=True):
            others = parts if replaced else [np.zeros_like(parts[0])]
            table, base = np.array(parts), np.array(others)
            gaps = np.linalg.norm(table[:, None] - base[None], axis=2)
            worst = max(worst, length * float(gaps.max()))
    return worst


def corners(kind: str):
    """Rows along the axes and at random, whose gradients are as far apart as any."""
    rng = np.random.default_rng(5)
    if kind == "rank one":
        return RankOne(np.vstack([np.eye(2), unit_rows(8, 2, rng)]))
    rows = np.vstack([np.eye(4), unit_rows(8, 4, rng)])
    return Full(np.vstack([rows, -rows]), (2, 2))


@pytest.mark.many
@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("slope", ["squared", "steep", "linear"])
@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_the_whole_stream_keeps_its_guarantee_and_would_not_with_less_noise(kind, slope, replaced) -> None:
    """Every pair of rows at every step, μ = 0.5; with a linear loss the worst pair attains it."""
    made = corners(kind)
    half = squared_half if kind == "full" else squared
    chosen, growth = {"squared": (half, 1.0), "steep": (steep, None), "linear": (linear, 1.0)}[slope]
    scale = TraceScale(made.region, 12, 4.0 if slope == "steep" else 1.0, made.prediction_range, replaced)
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(0.5), scale, growth=growth)
    actual = true_mu(model, made, chosen, replaced)
    assert actual <= 0.5
    if slope == "linear":
        assert actual > 0.999 * 0.5  # noise 10 % smaller, found/0.9, would break the guarantee
    if slope == "squared":
        assert actual > 0.15


def squared_half(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(p − y)/2, in [−1, 1] for p and y in [−1, 1]."""
    return (predictions - target) / 2


def test_weights_are_cut_to_the_bound_for_any_slope() -> None:
    """A slope that jumps breaks every smoothness; the weight of a row stays within η·growth."""
    made = RankOne(np.ones((1, 1)))
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), TraceScale(made.region, 50, 1.0, 1.0), growth=1.0)
    problem = TraceProblem(made, np.array([0.5]), lambda p, y: np.where(p > y, 5.0, -5.0))
    low, high = np.array([[0.4]]), np.array([[0.6]])
    for points in ((low, high), (high, low), (high, high)):
        assert abs(model._weights(problem, np.arange(1), points)[1][0]) <= model.schedule.rate
    assert model._weights(problem, np.arange(1), (high,))[1][0] == 1 / model.schedule.first


def test_the_squared_loss_needs_a_third_of_the_printed_sensitivity() -> None:
    """Printed: 2η(2L₁ + L₀) and 2L₀/n for D_0, which is 4L₀/n."""
    scale = TraceScale(NuclearBall((3, 3)), 1000, 1.0, 2.0)
    rate = math.log(1000) / 1000
    general, affine = (StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), scale, growth=g) for g in (None, 1.0))
    assert general.moved[1] == pytest.approx(2 * rate * 3, rel=1e-4)
    assert affine.moved == pytest.approx((4 / 1000, 2 * rate), rel=1e-4)


# -- slots ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_every_row_has_one_slot(n: int) -> None:
    schedule = Schedule(n, 1000)
    for replaced in (True, False):
        order, starts = schedule.slots(n, replaced, research_rng(1))
        assert sorted(order) == list(range(n))
        assert len(starts) == 2 + schedule.n_later
        assert (starts[0], starts[-1]) == (0, n)
        assert (np.diff(starts) >= 0).all()
        if replaced:
            assert np.diff(starts).tolist() == [schedule.first] + [1] * schedule.n_later


def test_many_rows_share_slots_and_move_less_each() -> None:
    schedule = Schedule(105, 20)
    assert (schedule.group, schedule.n_slots, schedule.first, schedule.n_later) == (6, 18, 9, 9)
    order, starts = schedule.slots(105, True, research_rng(1))
    assert sorted(order) == list(range(105))
    assert np.diff(starts).tolist() == [54] + [6] * 8 + [3]
    made = RankOne(np.ones((105, 1)))
    problem, scale = TraceProblem(made, np.full(105, 0.4), squared), TraceScale(made.region, 105, 1.0, 1.0)
    mechanism = StochasticFrankWolfe.calibrate(gd.GaussianDP(1e9), scale, "toeplitz", 1.0)
    moved = _moved(schedule, 1.0, 2.0)
    assert moved == pytest.approx((2 / 54, 2 * math.log(18) / 18 / 6), rel=1e-6)
    running = Running(mechanism.region, 10, 1 - schedule.rate, moved)
    model = StochasticFrankWolfe(schedule, 1.0, True, oracle("toeplitz", mechanism.guarantee, running))
    weights = [model._weights(problem, np.array([0]), (np.eye(1),) * count)[1][0] for count in (1, 2)]
    assert weights == pytest.approx([0.6 / 54, 0.6 * schedule.rate / 6])
    assert model.solve(problem, len(problem.target), research_rng(1)).item() == pytest.approx(0.4, abs=0.2)


def test_a_million_rows_share_few_steps_and_are_added_up_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    made = RankOne(unit_rows(400, 3, np.random.default_rng(2)))
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), TraceScale(made.region, 10**6, 1.0, 1.0))
    assert (model.schedule.group, model.schedule.n_later) == (16, 31250)
    problem, points = TraceProblem(made, np.full(400, 0.4), squared), (np.eye(3) / 4, np.eye(3) / 5)
    whole = made.combine(*model._weights(problem, np.arange(400), points))
    monkeypatch.setattr("gaugedp.optimization.stochastic_frank_wolfe.slices", lambda rows, _: slices(rows, 90))
    assert model._added(problem, np.arange(400), points) == pytest.approx(whole, rel=1e-12)
    assert not model._added(problem, np.arange(0), points).any()


def test_the_charge_has_room_for_the_rounding_of_a_large_first_batch() -> None:
    schedule = Schedule(2**30, 2**16)
    n_first = schedule.first * schedule.group
    assert _moved(schedule, 1.0, 1.0)[0] > (1 + 2.0**-24) / n_first + 2 * n_first * 2.0**-53


def test_gradients_are_counted() -> None:
    """A first gradient of half of the rows, and two of each other row; moments take none."""
    made, slope = RankOne(unit_rows(30, 3)), CountedSlope(squared)
    problem = TraceProblem(made, np.linspace(0, 1, 30), slope)
    StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), TraceScale(made.region, 30)).solve(problem, 30, research_rng(1))
    assert slope.n_gradients == 15 + 2 * 15
    descent = MatrixDescent.calibrate(gd.GaussianDP(1.0), TraceScale(made.region, 30))
    descent.solve(problem, 30, research_rng(1))
    assert slope.n_gradients == 45 + 30 * descent.n_steps
    moments = MatrixMoments.calibrate(gd.GaussianDP(1.0), MomentScale(made.region, (0.0, 1.0), 1.0, 0.0))
    moments.solve(problem, 30, research_rng(1))
    assert slope.n_gradients == 45 + 30 * descent.n_steps


def test_a_row_more_leaves_the_others_in_their_slots() -> None:
    schedule = Schedule(40, 1000)

    def places(n: int) -> dict[int, int]:
        order, starts = schedule.slots(n, False, research_rng(2))
        return {int(row): int(np.searchsorted(starts, at, side="right")) - 1 for at, row in enumerate(order)}

    fewer, more = places(60), places(61)
    assert {row: more[row] for row in fewer} == fewer
    assert max(more.values()) <= schedule.n_later
    counts = np.bincount(list(places(20_000).values()))
    assert counts[0] == pytest.approx(10_000, abs=500)
    assert counts[1:] == pytest.approx(500, abs=120)


# -- the method -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("kind", ["rank one", "full"])
def test_without_noise_the_matrix_is_found(name: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    made = RankOne(unit_rows(4000, 4, rng)) if kind == "rank one" else Full(unit_rows(4000, 12, rng), (3, 4))
    truth = made.region.vertex(made.region.matrix_of(rng.standard_normal(made.region.n_coordinates))).matrix
    problem = TraceProblem(made, made.predictions(truth), lambda p, y: (p - y) / 2)
    model = StochasticFrankWolfe.calibrate(
        gd.GaussianDP(1e7), TraceScale(made.region, 4000, 1.0, made.prediction_range), name, 1.0
    )
    assert np.linalg.norm(model.solve(problem, len(problem.target), research_rng(1)) - truth) < 0.1


def test_the_recursion_is_the_printed_one() -> None:
    """Algorithm 2, step by step, with hardly any noise: the same points."""
    made, target = RankOne(unit_rows(30, 3)), np.linspace(0, 1, 30)
    problem = TraceProblem(made, target, squared)
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(1e12), TraceScale(made.region, 30, 1.0, 1.0))
    order, _ = model.schedule.slots(30, True, research_rng(4))
    eta, first = math.log(30) / 30, order[:15]

    def slope(row: int, point: np.ndarray) -> np.ndarray:
        z = made.rows[row]
        return (z @ point @ z - target[row]) * np.outer(z, z)

    before = point = np.zeros((3, 3))
    gradient = sum(slope(row, point) for row in first) * 2 / 30
    for row in [None, *order[15:]]:
        if row is not None:
            change = slope(row, point) - slope(row, before)
            gradient = (1 - eta) * (gradient + change) + eta * slope(row, point)
        values, vectors = np.linalg.eigh(gradient)
        vertex = np.outer(vectors[:, 0], vectors[:, 0]) if values[0] < 0 else np.zeros((3, 3))
        before, point = point, (1 - eta) * point + eta * vertex
    assert model.solve(problem, len(problem.target), research_rng(4)) == pytest.approx(point, abs=1e-6)


def test_released_gradients_lie_on_a_lattice_far_below_the_noise() -> None:
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(0.3), TraceScale(Spectraplex(3), 100))
    released = model.region.coordinates(model.oracle.released(np.full((3, 3), 0.3), np.ones(6)))
    step = 2.0 ** (math.floor(math.log2(model.oracle.std)) - 20)
    assert released / step == pytest.approx(np.rint(released / step), abs=1e-6)  # times √2 and back beside the diagonal
    assert released == pytest.approx(model.region.coordinates(np.full((3, 3), 0.3)) + model.oracle.std, abs=step)


def test_other_guarantees_are_refused() -> None:
    for guarantee in (gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6), gd.GaussianDP(0.0)):
        with pytest.raises(InvalidRequest, match="cannot guarantee"):
            StochasticFrankWolfe.calibrate(guarantee, TraceScale(Spectraplex(2), 10))
        with pytest.raises(InvalidRequest, match="cannot guarantee"):
            StochasticFrankWolfe.calibrate(guarantee, TraceScale(Spectraplex(2), 10), "oja")
    with pytest.raises(InvalidRequest, match="noise"):
        StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), TraceScale(Spectraplex(2), 10), "forest")
    with pytest.raises(InvalidRequest, match="growth"):
        StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), TraceScale(Spectraplex(2), 10), growth=0.0)


# -- oracles on the sphere --------------------------------------------------------------------------------


def test_products_need_noise_for_all_steps_that_a_row_lasts() -> None:
    scale = TraceScale(Spectraplex(30), 400, 1.0, 1.0)
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(1.0), scale, "oja", 1.0)
    fading = (1 - model.schedule.rate) ** np.arange(1 + model.schedule.n_later)
    products, lengths = model.oracle, [np.linalg.norm(fading), np.linalg.norm(fading[:-1])]
    assert products.std == pytest.approx(max(np.multiply(model.moved, lengths)), rel=1e-6)
    assert products.least == products.pace(0.0, np.ones(31)) == pytest.approx(10 * math.log(400) / 400)
    assert products.pace(1e3, np.full(4, 2.0)) == pytest.approx(0.25)
    assert products.released(np.zeros((30, 30)), np.eye(31)[0], np.ones(31)) == pytest.approx(products.std, rel=1e-5)
