"""The Gibbs sampler: its parameters, its privacy where it is attained, its law and its risk."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.stats

import gaugedp as gd
from gaugedp.audit import audit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.gaussian_curve import gaussian_epsilon, gaussian_mu
from gaugedp.optimization import Absolute, Geometry, Gibbs, Hinge, Huber, Logistic, Loss, Simplex
from gaugedp.samplers.proximal import least_steps
from gaugedp.samplers.split import Tangent

pytestmark = pytest.mark.statistical
ASKED = gd.ApproxDP(1.0, 1e-6)
SHAPES = [((4,), 1), ((9,), 1), ((4,), 1.5), ((4,), 2), ((4,), 4), ((4,), math.inf), ((2, 3), 1), ((2, 3), 2)]


class Slope(Loss):
    """y·z, y = ±1: the losses ±Gx at which theorem 1 is attained."""

    def __repr__(self) -> str:
        return "Slope()"

    lipschitz, smoothness = 1.0, 0.0  # type: ignore[assignment]

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y * z

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y + 0 * z

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0 * z * y


def table(geometry: Geometry, n: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((n, key))
    rows = rng.standard_normal((n, geometry.ambient_dim))
    rows /= geometry.dual_norm(rows)[:, None]
    weights = rng.standard_normal((1, geometry.ambient_dim))
    weights *= 0.8 * geometry.radius / geometry.norm(weights)
    return rows, np.where(rng.random(n) < 1 / (1 + np.exp(-rows @ weights[0])), 1.0, -1.0)


# -- privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("purpose", ["erm", "sco", "strongly_convex"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_gaussian_parameter_is_all_that_the_guarantee_allows(purpose: str, neighbours: str, epsilon: float) -> None:
    extra = {"convexity": 0.3} if purpose == "strongly_convex" else {}
    loss, factor = Huber(0.5), 2 if neighbours == "replace" else 1
    mechanism = Gibbs.calibrate(
        Geometry((7,), 1.5, 3.0), loss, 400, gd.ApproxDP(epsilon, 1e-6),
        purpose=purpose, row_norm=2.0, neighbours=neighbours, **extra,
    )  # fmt: skip
    mu = factor * 2.0 * mechanism.rate / math.sqrt(mechanism.strength)
    spent = (
        float(gd.GaussianDP(mu + 4 * mechanism.total_variation).delta(epsilon))
        + (1 + math.exp(epsilon)) * mechanism.stop
    )
    assert 0.999e-6 < spent <= 1e-6
    assert min(mechanism.total_variation, mechanism.stop) > 0
    assert gaussian_mu(epsilon, 1e-6) * 0.995 < mu < gaussian_mu(epsilon, 1e-6)
    if purpose == "erm":
        assert mechanism.strength == pytest.approx(7 / mechanism.geometry.range)
    if extra:
        assert mechanism.strength == pytest.approx(mechanism.rate * 400 * 0.3)


@pytest.mark.parametrize(("requested", "true"), [(0.1, 0.145), (0.5, 0.81), (1.0, 1.72), (2.0, 3.70), (4.0, 8.19)])
def test_the_printed_parameters_keep_another_guarantee(requested: float, true: float) -> None:
    """With G/n where 2G/n is true: at δ = 1e-6, what is asked for, and the ε that losses ±Gx reach."""
    printed = 2 * requested / math.sqrt(2 * math.log(1 / 2e-6))
    assert gaussian_epsilon(printed, 1e-6) == pytest.approx(true, rel=0.01)


def line(neighbours: str) -> tuple[Gibbs, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A mechanism on a wide interval, and two neighbours for which theorem 1 is attained."""
    mechanism = Gibbs.calibrate(
        Geometry((1,), 2, 100.0), Slope(), 20, gd.ApproxDP(4.0, 1e-6),
        purpose="strongly_convex", convexity=1.0, neighbours=neighbours,
    )  # fmt: skip
    rows, targets = np.ones((20, 1)), np.resize([1.0, -1.0], 20)
    if neighbours == "add_remove":
        return mechanism, (rows, targets), (rows[1:], targets[1:])
    return mechanism, (rows, targets), (rows, np.concatenate([[-1.0], targets[1:]]))


def audited(neighbours: str, excess: float) -> tuple[float, bool]:
    """The distance of the means in deviations, and whether the audit finds a violation of the mechanism's own claim."""
    honest, first, other = line(neighbours)
    claim = gd.GaussianDP(gaussian_mu(4.0, 1e-6))
    mechanism = dataclasses.replace(honest, rate=honest.rate * excess)
    pools = [mechanism.draw(*rows, 20_000, gd.research_rng(key)) for key, rows in enumerate((first, other))]
    gap = abs(pools[0].mean() - pools[1].mean()) / math.sqrt((pools[0].var() + pools[1].var()) / 2)
    waiting = [list(pool[:, 0]) for pool in pools]
    actual = audit(lambda side: waiting[int(side[0])].pop(), np.array([0]), np.array([1]), claim, 16_000,
                  rng=gd.research_rng(9))  # fmt: skip
    return gap, actual.violated


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_guarantee_is_attained_and_kept_on_a_wide_interval(neighbours: str) -> None:
    """Two normal laws, μ deviations apart: five standard errors of 20,000 draws each."""
    gap, violated = audited(neighbours, 1.0)
    assert gap == pytest.approx(gaussian_mu(4.0, 1e-6), abs=5 * 2**0.5 / 20_000**0.5 + 0.003)
    assert not violated


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_half_the_sensitivity_is_found_out(neighbours: str) -> None:
    """Positive control: κ as if one row moved the exponent by half of what it does, as printed."""
    gap, violated = audited(neighbours, 2.0)
    assert gap > 1.9 * gaussian_mu(4.0, 1e-6)
    assert violated


def profile(one: Gibbs, first: tuple, second: tuple, epsilon: float) -> tuple[float, float]:
    """δ(ε) of two tables' laws and the range of their losses, on a fine grid of the set that is sampled."""
    ball = one.walk.ball
    count, d = (20_001, 1) if one.geometry.ambient_dim == 1 else (151, 2)
    axis = ball.outer.radius * np.linspace(-1, 1, count)
    grid = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    grid = grid[ball.norm(grid) <= ball.radius]
    parts = [grid[i : i + 20_000] for i in range(0, len(grid), 20_000)]
    logs = [-np.concatenate([one.posterior(*each).value(part) for part in parts]) for each in (first, second)]
    logs = [each - np.logaddexp.reduce(each) for each in logs]
    losses = logs[0] - logs[1]
    return float(np.maximum(0, np.exp(logs[0]) - np.exp(epsilon + logs[1])).sum()), float(np.ptp(losses))


@pytest.mark.many
@pytest.mark.parametrize("in_ball", [True, False])
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Absolute(), Slope()], ids=repr)
@pytest.mark.parametrize(("d", "p"), [(1, 2), (2, 1), (2, 1.5), (2, 2), (2, math.inf)])
def test_no_neighbours_break_the_guarantee_by_integration(d: int, p: float, loss: Loss, in_ball: bool) -> None:
    geometry = Geometry((d,), p, 2.0)
    rows = np.concatenate([np.eye(d), -np.eye(d)])
    rows = np.resize(rows / geometry.dual_norm(rows)[:, None], (6, d))
    targets = np.resize([1.0, 1.0, -1.0], 6)
    corner = np.ones((1, d)) / geometry.dual_norm(np.ones((1, d)))
    others = [np.concatenate([sign * corner, rows[1:]]) for sign in (1, -1)]
    approximate = Gibbs.calibrate(geometry, loss, 6, gd.ApproxDP(1.0, 1e-3), in_ball=in_ball)
    pure = Gibbs.calibrate(geometry, loss, 6, gd.PureDP(1.0), in_ball=in_ball)
    for other in others:
        for flipped in (targets, np.concatenate([-targets[:1], targets[1:]])):
            for pair in (((rows, targets), (other, flipped)), ((others[0], targets), (other, flipped))):
                assert profile(approximate, *pair, 1.0)[0] <= 1e-3
                assert profile(pure, *pair, 1.0)[1] <= 1.0
    worst = profile(pure, (others[0], targets), (others[1], targets), 1.0)[1]
    assert worst > 0.4 or d > 1 or not isinstance(loss, Slope)


def test_the_pure_guarantee_carries_the_samplers_share() -> None:
    pure = Gibbs.calibrate(Geometry((3,), 2, 2.0), Logistic(), 50, gd.PureDP(2.0))
    assert pure.guarantee == gd.ApproxDP(2.0, 1e-9)
    assert pure.rate == pytest.approx(2.0 / (2 * 2 * 2 * 1.0))
    assert (1 + math.exp(2)) * (pure.total_variation + pure.stop) <= 1e-9
    ball = Gibbs.calibrate(Geometry((4,), 1, 2.0), Logistic(), 50, gd.PureDP(2.0), in_ball=True)
    assert ball.rate == pytest.approx(2.0 / (2 * 2 * 2))


def tells_apart(first: np.ndarray, second: np.ndarray, mu: float) -> bool:
    """Whether a test tells two laws on one grid apart better than N(0, 1) and N(μ, 1)."""
    order = np.argsort(-second / first)
    level, power = np.cumsum(first[order]), np.cumsum(second[order])
    inner = (level > 1e-9) & (level < 1 - 1e-9)
    return bool((power[inner] > scipy.stats.norm.cdf(scipy.stats.norm.ppf(level[inner]) + mu) + 1e-12).any())


@pytest.mark.parametrize(("gamma", "slope"), [(2.0, 0.0), (0.3, -1.0), (5.0, 3.0)])
def test_no_test_tells_a_walks_end_from_its_law_better_than_the_theorem_says(gamma: float, slope: float) -> None:
    """e^{−γx²/2 − slope·x} on [−1, 1], from −1, step by step by integration. Control: after two steps."""
    step, tau = 0.3, 0.004
    inside, outside = np.linspace(-1, 1, 401), np.linspace(-5, 5, 1001)
    noise = np.exp(-((inside[:, None] - outside) ** 2) / (2 * step))
    back = noise * np.exp(-gamma * inside**2 / 2 - slope * inside)[:, None]
    kernel = (noise / noise.sum(axis=1, keepdims=True)) @ (back / back.sum(axis=0)).T
    law = np.exp(-gamma * inside**2 / 2 - slope * inside)
    law /= law.sum()
    count = least_steps(step, gamma, 2.0, tau)
    for steps, is_told in ((count, False), (2, True)):
        end = np.linalg.matrix_power(kernel, steps)[0]
        assert (tells_apart(end, law, 2 * tau) or tells_apart(law, end, 2 * tau)) == is_told
        assert (np.abs(end - law).sum() / 2 > tau) == is_told


# -- the law and the risk ----------------------------------------------------------------------------


def by_rejection(one: Gibbs, rows: np.ndarray, targets: np.ndarray, count: int) -> np.ndarray:
    """Independent exact draws of the law for p = 2: from the regulariser's Gaussian about the mode."""
    exponent, rng = one.posterior(rows, targets), np.random.default_rng(8)
    mode = np.zeros((1, one.geometry.ambient_dim))
    for _ in range(3000):
        mode = mode - 0.5 / (one.strength + one.rate * len(rows) / 4) * exponent.gradient(mode)
    results: list[np.ndarray] = []
    while sum(map(len, results)) < count:
        drawn = mode + rng.standard_normal((4000, mode.shape[1])) / math.sqrt(one.strength)
        drawn = drawn[one.geometry.contains(drawn)]
        gaps = exponent.value(drawn) - exponent.value(mode) - one.strength / 2 * ((drawn - mode) ** 2).sum(axis=1)
        results.append(drawn[rng.exponential(size=len(drawn)) > gaps])
    return np.concatenate(results)


def langevin(one: Gibbs, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Metropolis-adjusted Langevin: 200 chains of 600 steps, an uncertified walk of the same law."""
    exponent, rng, pace = one.posterior(rows, targets), np.random.default_rng(9), 0.05
    points = np.zeros((200, one.geometry.ambient_dim))
    for _ in range(600):
        slopes = exponent.gradient(points)
        moved = points - pace * slopes + math.sqrt(2 * pace) * rng.standard_normal(points.shape)
        back = points - moved + pace * exponent.gradient(moved)
        ahead = moved - points + pace * slopes
        logs = exponent.value(points) - exponent.value(moved) - ((back**2) - (ahead**2)).sum(axis=1) / (4 * pace)
        taken = (rng.exponential(size=200) > -logs) & one.geometry.contains(moved)
        points = np.where(taken[:, None], moved, points)
    return points


def test_it_agrees_with_exact_rejection_and_with_another_walk() -> None:
    """Means of the loss and of the weights, within four standard errors."""
    geometry = Geometry((4,), 2, 4.0)
    rows, targets = table(geometry, 300, 1)
    mechanism = Gibbs.calibrate(geometry, Logistic(), 300, ASKED)
    ours, exact = mechanism.draw(rows, targets, 300, gd.research_rng(1)), by_rejection(mechanism, rows, targets, 3000)
    for other in (exact, langevin(mechanism, rows, targets)):
        for part in (
            lambda w: np.logaddexp(0, -(w @ rows.T) * targets).mean(axis=1),
            *(lambda w, i=i: w[:, i] for i in range(4)),
        ):
            one_part, other_part = part(ours), part(other)
            error = math.sqrt(one_part.var() / len(ours) + other_part.var() / len(other))
            assert abs(one_part.mean() - other_part.mean()) < 4.5 * error


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5)], ids=repr)
def test_no_gap_is_above_what_the_curvature_allows(loss: Loss, n: int) -> None:
    """The sampler keeps a point without a look at the rows where this bound is below its exponential."""
    geometry = Geometry((6,), 2, 3.0)
    one = Gibbs.calibrate(geometry, loss, n, ASKED).posterior(*table(geometry, n, 3))
    losses, rng = dataclasses.replace(one, strength=0.0), np.random.default_rng(2)
    centre = np.zeros((1, 6))
    tangent = Tangent(centre, losses.gradient(centre), losses.value(centre))
    points = rng.standard_normal((500, 6)) * rng.choice([0.01, 0.3], (500, 1))
    points[:100] = 0.01 * np.linalg.eigh(losses.rows.T @ losses.rows)[1][:, -1] * rng.uniform(0.5, 1, (100, 1))
    rows = np.zeros(500, dtype=int)
    gaps, most = tangent.gaps(losses, points, rows), tangent.most(losses, points, rows)
    assert (gaps <= most + 1e-12).all()
    assert (gaps[:100] > 0.3 * most[:100]).all() or isinstance(loss, Huber)
    assert math.isinf(one.curvature)


def test_the_reference_run_has_its_mean_loss() -> None:
    """n = 1,000, d = 10, ε = 1, rows on the sphere, radius 5: 0.5923 ± 0.001 by exact rejection, elsewhere."""
    rng = np.random.default_rng((7, 1000, 10))
    rows = rng.standard_normal((1000, 10))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = rng.standard_normal(10)
    weights *= 4 / np.linalg.norm(weights)
    targets = np.where(rng.random(1000) < 1 / (1 + np.exp(-rows @ weights)), 1.0, -1.0)
    mechanism = Gibbs.calibrate(Geometry((10,), 2, 5.0), Logistic(), 1000, ASKED)
    draws = mechanism.draw(rows, targets, 64, gd.research_rng(1))
    losses = np.logaddexp(0, -(draws @ rows.T) * targets).mean(axis=1)
    assert abs(losses.mean() - 0.5923) < 0.001 + 4 * losses.std() / 8
    assert losses.std() < 0.04


@pytest.mark.parametrize("purpose", ["erm", "sco"])
@pytest.mark.parametrize(("shape", "p"), SHAPES)
def test_the_risk_is_below_its_bound(shape: tuple[int, ...], p: float, purpose: str) -> None:
    """The mean over 24 draws of the loss less its least value on the ball, found by random search from above."""
    geometry = Geometry(shape, p, 2.0)
    rows, targets = table(geometry, 300, 2)
    mechanism = Gibbs.calibrate(geometry, Logistic(), 300, gd.ApproxDP(4.0, 1e-6), purpose=purpose)
    draws = mechanism.draw(rows, targets, 24, gd.research_rng(1))
    assert geometry.outer.contains(draws * (1 - 1e-6)).all()
    losses = np.logaddexp(0, -(draws @ rows.T) * targets).mean(axis=1)
    tries = np.random.default_rng(3).standard_normal((4000, geometry.ambient_dim))
    tries *= 2.0 / geometry.norm(tries)[:, None]
    least = np.logaddexp(0, -(tries @ rows.T) * targets).mean(axis=1).min()
    assert losses.mean() - least + 3 * losses.std() / 24**0.5 < mechanism.risk_bound()
    assert mechanism.risk_bound(population=True) > mechanism.risk_bound(population=False)


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Absolute()], ids=repr)
@pytest.mark.parametrize("p", [1, 1.5, 2, math.inf])
def test_the_risk_is_above_its_bound_as_seldom_as_promised_by_integration(p: float, loss: Loss) -> None:
    geometry = Geometry((2,), p, 20.0)
    rows, targets = table(geometry, 40, 6)
    mechanism = Gibbs.calibrate(geometry, loss, 40, gd.ApproxDP(8.0, 1e-3), in_ball=False)
    axis = geometry.outer.radius * np.linspace(-1, 1, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[geometry.outer.contains(grid)]
    logs = -mechanism.posterior(rows, targets).value(grid)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    losses = loss.value(grid @ rows.T, np.broadcast_to(targets, (len(grid), 40))).mean(axis=1)
    excess = losses - losses[geometry.contains(grid)].min()
    for confidence in (0.05, 0.5, 0.95, 0.9999):
        assert chances[excess > mechanism.risk_bound(confidence=confidence)].sum() <= 1 - confidence
    assert chances[excess > mechanism.risk_bound(confidence=0.5) / 50].sum() > 0.5  # control: a bound this small fails


@pytest.mark.parametrize("d", [1, 2, 10, 300])
@pytest.mark.parametrize("confidence", [0.95, 0.9999])
def test_the_bound_with_a_confidence_holds_for_a_cone(d: int, confidence: float) -> None:
    """The exponent ‖w‖ on ℝ^d has the law Gamma(d): three tenths of the deviation are too little (control)."""
    mechanism = Gibbs.calibrate(Geometry((d,), 2), Logistic(), 100, ASKED)
    deviation = mechanism._deviation(confidence, population=False)
    failure = 1 - confidence
    assert scipy.stats.gamma.sf(d + deviation, d) <= failure
    assert scipy.stats.gamma.sf(d + 0.3 * deviation, d) > failure
    assert mechanism.risk_bound(confidence=confidence) > mechanism.risk_bound()


def test_the_samplers_error_is_part_of_the_chance_to_fail() -> None:
    mechanism = Gibbs.calibrate(Geometry((3,), 2), Logistic(), 100, gd.ApproxDP(0.1, 0.9))
    assert min(mechanism.total_variation, mechanism.stop) > 1e-3
    with pytest.raises(InvalidRequest, match="is too high"):
        mechanism.risk_bound(confidence=1 - mechanism.stop / 2)
    failure = scipy.stats.norm.cdf(scipy.stats.norm.ppf(0.05 - mechanism.stop) - 2 * mechanism.total_variation)
    assert mechanism._deviation(0.95, population=False) == pytest.approx(
        math.sqrt(-6 * math.log(failure)) - math.log(failure)
    )


@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=repr)
def test_kinks_are_smoothed_by_little(loss: Loss) -> None:
    mechanism = Gibbs.calibrate(Geometry((3,), 2), loss, 60, ASKED)
    assert mechanism.bias == pytest.approx(3 / ((16 if isinstance(loss, Hinge) else 4) * mechanism.rate * 60))
    assert mechanism.bias < 0.13 * mechanism.risk_bound()
    rows, targets = table(mechanism.geometry, 60, 4)
    assert np.isfinite(mechanism.sample(rows, targets, gd.research_rng(1))).all()


def test_rows_that_push_hard_cost_few_trials() -> None:
    """All rows equal, targets far away: the round ball at its worst."""
    for shape, p in (((10,), 1), ((50,), 2), ((10,), math.inf), ((4, 3), 1)):
        geometry = Geometry(shape, p, 3.0)
        row = geometry.normal(np.ones((1, geometry.ambient_dim)))
        mechanism = Gibbs.calibrate(geometry, Huber(1.0), 2000, ASKED, in_ball=False)
        sampler = mechanism.walk.sampler(
            mechanism.posterior(np.repeat(row, 2000, 0), np.full(2000, 1e9)), mechanism._pace
        )
        points = sampler.draw((4, geometry.ambient_dim), 40, gd.research_rng(1))
        assert sampler.trials(points, gd.research_rng(2)) < 12


# -- the door ----------------------------------------------------------------------------------------


def test_rows_are_pulled_back_and_what_is_not_finite_counts_as_nothing() -> None:
    geometry = Geometry((2,), 1, 1.0)
    mechanism = Gibbs.calibrate(geometry, Logistic(), 5, ASKED, row_norm=2.0)
    rows = np.array([[1e308, -1e308], [math.nan, 1.0], [0.5, math.inf], [0.1, 1.0], [8.0, 1.0]])
    exponent = mechanism.posterior(rows, np.array([1.0, 1, 1, math.nan, -7.0]))
    assert exponent.rows == pytest.approx(np.array([[2.0, -2], [0, 0], [0, 0], [0.1 * 0, 0], [2, 0.25]]))
    assert exponent.targets.tolist() == [1, 0, 0, 0, -1]
    nuclear = Gibbs.calibrate(Geometry((2, 2), 1), Huber(), 1, ASKED)
    assert nuclear.posterior(np.full((1, 2, 2), 1e300), np.zeros(1)).rows == pytest.approx(np.full((1, 4), 0.5))


def test_a_sample_has_a_shape_a_lattice_and_a_progress() -> None:
    mechanism = Gibbs.calibrate(Geometry((2, 3), 2), Logistic(), 40, ASKED)
    rows, targets = table(mechanism.geometry, 40, 5)
    shown: list[float] = []
    actual = mechanism.sample(rows.reshape(40, 2, 3), targets, gd.research_rng(1), shown.append)
    assert actual.shape == (2, 3)
    assert (actual / float(mechanism.lattice_step) % 1 == 0).all()
    assert shown == sorted(shown)
    assert len(shown) == mechanism.steps
    assert mechanism.exactness == "mixing"
    assert f"{mechanism.steps:,} steps" in repr(mechanism)
    assert mechanism.sample(rows, targets).shape == (2, 3)


def test_removed_rows_need_no_public_number() -> None:
    mechanism = Gibbs.calibrate(Geometry((2,), 2), Logistic(), 40, ASKED, neighbours="add_remove")
    for n in (0, 1, 70):
        rows, targets = table(mechanism.geometry, n, 5)
        assert mechanism.sample(rows, targets, gd.research_rng(1)).shape == (2,)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g: Gibbs.calibrate(g, Logistic(), 40, gd.ZCDP(1.0)),
        lambda _: Gibbs.calibrate(Simplex(1), Logistic(), 40, ASKED),
        lambda _: Gibbs.calibrate(Simplex(3), Logistic(), 40, ASKED, in_ball=False),
        lambda _: Gibbs.calibrate(3, Logistic(), 40, ASKED),
        lambda g: Gibbs.calibrate(g, "logistic", 40, ASKED),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, gd.ApproxDP(1.0, 0.0)),
        lambda g: Gibbs.calibrate(g, Logistic(), 0, ASKED),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED, purpose="best"),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED, purpose="strongly_convex"),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED, convexity=1.0),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED, neighbours="none"),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED).risk_bound(confidence=1.0),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED).risk_bound(confidence="high"),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED).risk_bound(population=True, confidence=0.95),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED, purpose="sco").risk_bound(confidence=0.95),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED).sample(np.ones((39, 3)), np.ones(39)),
        lambda g: Gibbs.calibrate(g, Logistic(), 40, ASKED).sample(np.ones((40, 2)), np.ones(40)),
    ],
)
def test_what_cannot_be_is_refused(wrong) -> None:
    with pytest.raises(InvalidRequest):
        wrong(Geometry((3,), 1))


@pytest.mark.parametrize(
    ("geometry", "steps"),
    [
        (Geometry((10,), 1), 98),
        (Geometry((50,), 1), 329),
        (Geometry((100,), 1), 526),
        (Geometry((1000,), 1), 2_439),
        (Geometry((30, 30), 1), 54_050),
        (Geometry((30, 30), 1, q=2), 28_531),
    ],
)
def test_corners_of_the_norm_do_not_set_the_number_of_steps(geometry: Geometry, steps: int) -> None:
    mechanism = Gibbs.calibrate(geometry, Logistic(), 1000, ASKED)
    assert mechanism.steps == pytest.approx(steps, rel=0.01)


@pytest.mark.parametrize("size", [5, 12, 30, 100])
def test_matrices_take_a_q_that_costs_the_bound_little(size: int) -> None:
    """Without a q: bounds are at most 5 % above the least. A q that is given is taken."""
    plain = Geometry((size, size), 1)
    given = dataclasses.replace(plain, q=plain.exponent)
    ours, least = (Gibbs.calibrate(geometry, Logistic(), 1000, ASKED) for geometry in (plain, given))
    assert least.geometry == given
    assert least.risk_bound() * (1 - 1e-9) <= ours.risk_bound() <= 1.05 * least.risk_bound()
    assert ours.steps < 0.8 * least.steps or size == 5
    assert Gibbs.calibrate(gd.bodies.SchattenBall((size, size), 1), Logistic(), 1000, ASKED).geometry == ours.geometry


def test_a_gaussian_regulariser_costs_a_matrix_few_steps_and_a_larger_bound() -> None:
    """Schatten-1, 30 × 30: in the Frobenius ball around it the steps are those of ℓ₂."""
    least, gaussian = (
        Gibbs.calibrate(Geometry((30, 30), 1, q=q), Logistic(), 1000, ASKED, in_ball=False) for q in (None, 2.0)
    )
    assert gaussian.steps < 100 < least.steps / 300
    assert 1.3 < gaussian.risk_bound() / least.risk_bound() < 1.5


@pytest.mark.parametrize(("p", "q", "in_ball"), [(1, 2.0, False), (1, 1.5, True), (1.5, 2.0, True)])
def test_another_regulariser_keeps_the_guarantee_and_its_law(p: float, q: float, in_ball: bool) -> None:
    """δ(ε) by integration, and the mean of 400 draws within five standard errors."""
    geometry = Geometry((2,), p, 2.0, q)
    rows = np.array([[1.0, 0.4], [-0.3, 1.0], [1.0, -1.0], [0.2, 0.9]])
    rows /= np.maximum(1, geometry.dual_norm(rows))[:, None]
    targets = np.array([1.0, -1.0, 1.0, 1.0])
    mechanism = Gibbs.calibrate(geometry, Logistic(), 4, gd.ApproxDP(4.0, 1e-3), in_ball=in_ball)
    other = np.concatenate([-rows[:1], rows[1:]])
    assert profile(mechanism, (rows, targets), (other, targets), 4.0)[0] <= 1e-3
    ball = geometry if in_ball else geometry.outer
    axis = ball.outer.radius * np.linspace(-1, 1, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[ball.norm(grid) <= ball.radius]
    logs = -mechanism.posterior(rows, targets).value(grid)
    mean = np.exp(logs - np.logaddexp.reduce(logs)) @ grid
    draws = mechanism.draw(rows, targets, 400, gd.research_rng(5))
    assert np.abs(draws.mean(axis=0) - mean).max() < 5 * draws.std() / 20
    assert (ball.norm(draws) <= ball.radius * (1 + 1e-6)).all()


# -- the simplex -------------------------------------------------------------------------------------


def on_simplex(count: int = 400) -> np.ndarray:
    """A grid of the simplex in three dimensions."""
    axis = (np.arange(count) + 0.5) / count
    first = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = np.column_stack([first, 1 - first.sum(axis=1)])
    return grid[grid[:, 2] > 0]


@pytest.mark.parametrize(("loss", "excess"), [(Logistic(), 2.4), (Absolute(), 1.9), (Slope(), 1.2)], ids=repr)
def test_the_simplex_keeps_its_guarantees_by_integration(loss: Loss, excess: float) -> None:
    """Theorems 1 and 2, rows at corners of the cube; control: a rate a fifth above what this loss attains."""
    rows, targets = np.array([[1.0, -1, 1], [0.3, 1, -1], [1, 1, -0.2]]), np.array([1.0, -1.0, 1.0])
    other = np.concatenate([[[-1.0, 1, -1]], rows[1:]])
    one = Gibbs.calibrate(Simplex(3), loss, 3, gd.ApproxDP(1.0, 1e-3))
    assert one.strength == pytest.approx(2 / math.log(3))
    assert one.rate * 2 / math.sqrt(one.strength) == pytest.approx(gaussian_mu(1.0, 1e-3 * (1 - 2**-4)))
    pure, grid = Gibbs.calibrate(Simplex(3), loss, 3, gd.PureDP(1.0)), on_simplex()
    for mechanism, factor in ((one, 1.0), (pure, 1.0), (pure, excess)):
        held = dataclasses.replace(mechanism, rate=mechanism.rate * factor)
        logs = [-held.posterior(each, targets).value(grid) for each in (rows, other)]
        logs = [each - np.logaddexp.reduce(each) for each in logs]
        if mechanism is one:
            assert np.maximum(0, np.exp(logs[0]) - np.exp(1.0 + logs[1])).sum() <= 1e-3
        else:  # theorem 2: the range of the losses
            assert (np.ptp(logs[0] - logs[1]) <= 1.0) == (factor == 1.0)


def test_draws_on_the_simplex_have_the_mean_of_their_law_and_keep_the_bound() -> None:
    rng = np.random.default_rng(4)
    rows = rng.uniform(-1, 1, (60, 3))
    targets = np.where(rows @ [0.8, 0.1, 0.1] > 0, 1.0, -1.0)
    mechanism = Gibbs.calibrate(Simplex(3), Logistic(), 60, gd.ApproxDP(8.0, 1e-3))
    grid = on_simplex()
    logs = -mechanism.posterior(rows, targets).value(grid)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    draws = mechanism.draw(rows, targets, 80, gd.research_rng(2))
    assert np.abs(draws.mean(axis=0) - chances @ grid).max() < 5 * draws.std(axis=0).max() / 80**0.5
    assert draws.sum(axis=1) == pytest.approx(1, abs=1e-6)
    losses = np.logaddexp(0, -(grid @ rows.T) * targets).mean(axis=1)
    assert chances @ losses - losses.min() < mechanism.risk_bound()
    assert chances[losses - losses.min() > mechanism.risk_bound(confidence=0.9)].sum() <= 0.1


def test_a_loss_of_ones_own_is_drawn_on_the_simplex() -> None:
    def missing(weights: np.ndarray, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.abs((weights * rows).sum(axis=1) - targets)

    rows, targets = np.eye(3)[[0, 1, 2, 0]], np.array([0.5, 0.2, 0.3, 0.5])
    mechanism = Gibbs.calibrate(Simplex(3), missing, 4, gd.ApproxDP(1.0, 1e-3), lipschitz=1.0)
    draws = mechanism.draw(rows, targets, 2, gd.research_rng(3))
    assert draws.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert draws.min() >= 0
    assert 0 < mechanism.queries.total <= 2 * mechanism.query_bound
