"""Objective perturbation against exact privacy losses, and its minimum against other solvers. Keys are fixed."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.gaussian_curve import gaussian_delta, gaussian_mu
from gaugedp.optimization import minimise as certified
from gaugedp.optimization.losses import Logistic, Softmax
from gaugedp.optimization.minimise import Binary, Multiclass, minimise
from gaugedp.optimization.objective_perturbation import (
    CappedLogistic,
    ObjectivePerturbation,
    Problem,
    least_noise,
    profile,
    pure_epsilon,
    strength_of,
)
from gaugedp.optimization.smoothing import SmoothHinge
from gaugedp.optimization.tuning import TUNED

LOSSES = [CappedLogistic(1.0), CappedLogistic(0.7), CappedLogistic(0.5), SmoothHinge(0.5), SmoothHinge(2.0)]
COMMON = [np.zeros((0, 2)), np.array([[1.0, 1.0], [0.6, -1.0]]), np.array([[1.0, 1.0]] * 6)]
ONES = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (0.5, -1.0)]
GRID = np.concatenate([-np.geomspace(1e-4, 200, 20_000)[::-1], [0.0], np.geomspace(1e-4, 200, 20_000)])


def minus_noise(loss, data: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the losses and the ridge at GRID, and its derivative."""
    gradient, curvature = strength * GRID, np.full_like(GRID, strength)
    for x, y in data:
        gradient = gradient + loss.derivative(GRID * x, np.full_like(GRID, y)) * x
        curvature = curvature + loss.curvature(GRID * x, np.full_like(GRID, y)) * x * x
    return gradient, curvature


def neighbours(replaced: bool):
    for common, one in itertools.product(COMMON, ONES):
        for other in ONES if replaced else [None]:
            if other != one:
                pair = np.vstack([common, [one]]), np.vstack([common, [other]]) if other else common
                yield from (pair, pair[::-1])


def true_delta(loss, pair, strength: float, noise: float, epsilon: float) -> float:
    """δ(ε) of w in one dimension, by the densities of w: b ~ N(0, σ²)."""
    logs = []
    for data in pair:
        gradient, curvature = minus_noise(loss, data, strength)
        logs.append(scipy.stats.norm.logpdf(gradient, scale=noise) + np.log(curvature))
    lost = np.exp(logs[0]) * -np.expm1(np.minimum(0, epsilon + logs[1] - logs[0]))
    return float(np.trapezoid(lost, GRID))


def worst(loss, strength: float, noise: float, epsilon: float, replaced: bool) -> float:
    return max(true_delta(loss, pair, strength, noise, epsilon) for pair in neighbours(replaced))


@pytest.mark.thorough
@pytest.mark.parametrize("replaced", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_profile_bounds_the_true_one(loss, replaced: bool) -> None:
    for strength, noise, epsilon in [(0.7, 1.5, 2.0), (3.0, 4.0, 1.0), (20.0, 20.0, 0.3), (1.0, 0.8, 5.0)]:
        problem = Problem(loss, 1, 5.0, replaced)
        proved, true = profile(problem, strength, noise, epsilon), worst(loss, strength, noise, epsilon, replaced)
        assert true <= proved * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_calibrated_noise_keeps_the_guarantee_and_less_does_not(loss, replaced: bool) -> None:
    """In one dimension two slopes of replaced rows add up to 1, not 2, so that less than half is needed to alarm.

    So it is for the hinge, whose curvature is charged for all its slopes and met at few.
    """
    for epsilon, delta in [(0.5, 1e-4), (2.0, 1e-6)]:
        made = ObjectivePerturbation.calibrate(Problem(loss, 1, 5.0, replaced), gd.ApproxDP(epsilon, delta), 8)
        assert worst(loss, made.strength, made.noise, epsilon, replaced) <= delta
        assert (
            worst(
                loss,
                made.strength,
                made.noise / (3 if replaced or isinstance(loss, SmoothHinge) else 1.5),
                epsilon,
                replaced,
            )
            > delta
        )


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(
    "loss", [CappedLogistic(1.0), CappedLogistic(0.7), SmoothHinge(0.5), Softmax(3), Softmax(7)], ids=repr
)
def test_more_ridge_never_costs_privacy(loss, replaced: bool) -> None:
    problem = Problem(loss, 3, 5.0, replaced, 0.1)
    for noise, epsilon in ((0.5, 3.0), (2.0, 1.0), (30.0, 0.1)):
        results = [profile(problem, strength, noise, epsilon) for strength in np.geomspace(0.01, 1e4, 30)]
        assert (np.diff(results) <= 1e-12).all()
    assert 0 < results[-1] < results[0] == 1
    pure = [pure_epsilon(problem, strength, 2.0) for strength in np.geomspace(0.01, 1e4, 30)]
    assert (np.diff(pure) <= 1e-12).all()


@pytest.mark.parametrize("requested", [gd.ApproxDP(1e8, 1e-6), gd.ApproxDP(1e300, 1e-6), gd.PureDP(1e12)], ids=repr)
@pytest.mark.parametrize("radius", [1e-3, 10.0, 1e3])
def test_however_large_epsilon_is_minima_are_found_finely(requested, radius: float) -> None:
    for n_rows in (1, 10**4, 10**7):
        made = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 20, radius), requested, n_rows)
        assert made.distance <= 1e-3 * radius
        assert float(made.output.lattice_step) <= 1e-2 * radius


def test_one_sided_slopes_cost_no_more_than_gaussian_noise_on_their_sum() -> None:
    for epsilon, delta in [(1.0, 1e-6), (4.0, 1e-6)]:
        made = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 20, 5.0), gd.ApproxDP(epsilon, delta), 8)
        assert 1 <= made.noise * gaussian_mu(epsilon, delta) / 2 < 1.02


def true_epsilon(loss, pair, strength: float, noise: float) -> float:
    logs = []
    for data in pair:
        gradient, curvature = minus_noise(loss, data, strength)
        logs.append(np.log(curvature) - np.abs(gradient) / noise)
    return float(np.max(logs[0] - logs[1]))


@pytest.mark.slow
@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_pure_noise_is_pure(loss, replaced: bool) -> None:
    made = ObjectivePerturbation.calibrate(Problem(loss, 1, 5.0, replaced), gd.PureDP(1.0), 8)
    actual = max(true_epsilon(loss, pair, made.strength, made.noise) for pair in neighbours(replaced))
    proved = pure_epsilon(made.problem, made.strength, made.noise)
    assert (0.45 if replaced else 0.8) * proved < actual <= proved <= 0.99
    less = made.noise / (3 if replaced or isinstance(loss, SmoothHinge) else 1.5)
    assert max(true_epsilon(loss, pair, made.strength, less) for pair in neighbours(replaced)) > 1


def test_gaussian_releases_beside_cost_noise() -> None:
    requested = gd.ApproxDP(1.0, 1e-6)
    mu = gaussian_mu(1.0, 1e-6)
    alone = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 5, 5.0), requested, 8).noise
    beside = ObjectivePerturbation.calibrate(
        Problem(CappedLogistic(1.0), 5, 5.0, auxiliary_mu=mu / 2), requested, 8
    ).noise
    assert beside / alone == pytest.approx(math.sqrt(0.99 / 0.74), rel=0.01)
    with pytest.raises(InvalidRequest, match="No amount of noise achieves this guarantee"):
        ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 5, 5.0, auxiliary_mu=1.1 * mu), requested, 8)


@pytest.mark.parametrize("auxiliary_mu", [0.0, 0.05])
@pytest.mark.parametrize("loss", [CappedLogistic(0.8), SmoothHinge(0.5), Softmax(3)], ids=repr)
def test_the_noise_of_the_output_is_charged_with_that_of_the_objective(loss, auxiliary_mu: float) -> None:
    """Two points within `distance` of w are 2·distance apart, of noise σ: 2·distance/σ-GDP beside w and the rest.

    All together keep δ, and next to nothing of it is left: without the output, or with a third of its μ² more, they
    would not.
    """
    made = ObjectivePerturbation.calibrate(Problem(loss, 4, 5.0, True, auxiliary_mu), gd.ApproxDP(1.0, 1e-6), 300)
    output = 2 * made.distance / math.sqrt(made.output.variances.min())
    assert 0 < output <= 0.1 * gaussian_mu(1.0, 1e-6) * (1 + 1e-9)

    def delta(beside: float) -> float:
        return profile(Problem(loss, 4, 5.0, True, beside), made.strength, made.noise, 1.0)

    assert 0.999e-6 < delta(math.hypot(auxiliary_mu, output)) <= 1e-6
    assert delta(auxiliary_mu) < 0.99e-6
    assert delta(math.hypot(auxiliary_mu, 1.15 * output)) > 1e-6


@pytest.mark.parametrize("auxiliary_mu", [0.0, 0.05])
@pytest.mark.parametrize("loss", [CappedLogistic(0.8), SmoothHinge(0.5), Softmax(3)], ids=repr)
def test_the_least_noise_keeps_delta_beside_the_output_and_less_does_not(loss, auxiliary_mu: float) -> None:
    """The output has a tenth of the μ that all have; the noise is found to one part in a million."""
    requested, output = gd.ApproxDP(1.0, 1e-6), 0.1 * gaussian_mu(1.0, 1e-6)
    problem, beside = (Problem(loss, 4, 5.0, True, mu) for mu in (auxiliary_mu, math.hypot(auxiliary_mu, output)))
    least = least_noise(problem, requested)
    kept, lost = (profile(beside, strength_of(problem, requested, s), s, 1.0) for s in (least, least * (1 - 2e-6)))
    assert kept <= 1e-6 < lost


@pytest.mark.parametrize("loss", [CappedLogistic(0.8), SmoothHinge(0.5), Softmax(3)], ids=repr)
def test_the_noise_of_the_output_is_a_part_of_a_pure_guarantee(loss) -> None:
    made = ObjectivePerturbation.calibrate(Problem(loss, 4, 5.0), gd.PureDP(1.0), 300)
    assert made.output.body.radius(2) == pytest.approx(2 * made.distance)
    spent = made.output.guarantee.epsilon(0)
    assert 0.999 < pure_epsilon(made.problem, made.strength, made.noise) + spent <= 1
    assert spent > 0.005


@pytest.mark.statistical
@pytest.mark.parametrize("requested", [gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0)], ids=repr)
def test_the_output_has_the_noise_that_is_charged(requested, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one b for all, 400 outputs differ by their own noise alone; a false alarm is five standard errors."""
    made = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 2, 5.0), requested, 20)
    rows, labels = rows_of(20, 2, 4)
    linear = made.draw(research_rng(1))
    monkeypatch.setattr(ObjectivePerturbation, "draw", lambda *_: linear)
    least = minimise(Binary(made.problem.loss, (rows, labels), made.strength, linear), made.distance / 2)
    rng = research_rng(2)
    off = np.array([made.solve(rows, labels, rng) - least for _ in range(400)])
    variances = made.output.variances
    assert off.mean(axis=0) == pytest.approx(np.zeros(2), abs=made.distance + 5 * math.sqrt(variances[0] / 400))
    most = 6.0  # the kurtosis is 3 for the normal law, and below 6 for that of a pure guarantee
    assert (off**2).mean(axis=0) / variances == pytest.approx(np.ones(2), rel=5 * math.sqrt((most - 1) / 400))


@pytest.mark.parametrize("n_classes", [3, 4])
def test_the_corners_of_the_softmax_are_those_of_the_table(n_classes: int) -> None:
    """All pairs of rows ±e₁, e₂ and a mixed one, all labels: how many corners exceed each reach."""
    rows = [np.array(x) for x in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.6, 0.8)]]
    unit = np.eye(n_classes)
    (table,) = Problem(Softmax(n_classes), 2, 5.0).extremes(1.0)
    for x, other, y, label in itertools.product(rows, rows, range(n_classes), range(n_classes)):
        norms = [
            np.linalg.norm(np.outer(unit[k] - unit[y], x) - np.outer(unit[j] - unit[label], other))
            for k, j in itertools.product(range(n_classes), repeat=2)
        ]
        for reach in {one.reach for one in table}:
            allowed = sum(one.count for one in table if one.reach > reach)
            assert sum(norm > reach + 1e-9 for norm in norms) <= allowed


@pytest.mark.parametrize("n_classes", [3, 7])
def test_the_corners_of_the_softmax_add_up(n_classes: int) -> None:
    problem = Problem(Softmax(n_classes), 2, 5.0)
    (table,) = problem.extremes(20.0)
    deltas = [one.count * gaussian_delta(one.reach / 4.0, 1.0 - one.jacobian) for one in table]
    assert 1.01 * max(deltas) < sum(deltas) <= profile(problem, 20.0, 4.0, 1.0) < 1.001 * sum(deltas) < 1


def test_the_jacobian_of_the_softmax_is_bounded() -> None:
    rng = np.random.default_rng(3)
    for q in (0.1, 1.0, 20.0):
        for p in [*rng.dirichlet(np.ones(4), 200), np.full(4, 0.25)]:
            matrix = np.diag(p) - np.outer(p, p)
            assert np.linalg.slogdet(np.eye(4) + q * matrix)[1] <= 3 * math.log1p(q / 4) + 1e-12


def batch_minima(b: np.ndarray, data, strength: float) -> np.ndarray:
    """Minima for d = 1 and K = 3 classes: one a row of b, by Newton's method."""
    w = np.zeros_like(b)
    for _ in range(40):
        gradient, hessian = batch_derivatives(w, data, strength)
        w = w - np.linalg.solve(hessian, (gradient + b)[:, :, None])[:, :, 0]
    return w


def batch_derivatives(w: np.ndarray, data, strength: float) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = strength * w, np.broadcast_to(strength * np.eye(3), (len(w), 3, 3)).copy()
    for x, y in data:
        p = scipy.special.softmax(w * x, axis=1)
        gradient = gradient + (p - np.eye(3)[y]) * x
        hessian += (p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]) * x * x
    return gradient, hessian


@pytest.mark.statistical
@pytest.mark.parametrize("replaced", [True, False])
def test_the_softmax_keeps_its_guarantee_by_simulation(replaced: bool) -> None:
    """δ(ε) = E(1 − e^{ε−L})₊ over 40,000 draws; a false alarm is five standard errors."""
    made = ObjectivePerturbation.calibrate(Problem(Softmax(3), 3, 5.0, replaced), gd.ApproxDP(1.0, 0.01), 8)
    pairs = [([(1.0, 0)], [(-1.0, 0)]), ([(1.0, 0), (1.0, 2)], [(1.0, 0), (1.0, 1)])]
    if not replaced:
        pairs = [([(1.0, 0)], []), ([], [(1.0, 0)]), ([(1.0, 0), (1.0, 1)], [(1.0, 0)])]
    b = made.noise * np.random.default_rng(5).standard_normal((40_000, 3))
    for data, other in pairs:
        w = batch_minima(b, data, made.strength)
        gradient, hessian = batch_derivatives(w, other, made.strength)
        loss = (np.sum(gradient**2, axis=1) - np.sum(b**2, axis=1)) / (2 * made.noise**2)
        loss += np.linalg.slogdet(batch_derivatives(w, data, made.strength)[1])[1] - np.linalg.slogdet(hessian)[1]
        lost = -np.expm1(np.minimum(0, 1.0 - loss))
        assert lost.mean() - 5 * lost.std() / 200 <= 0.01


def test_two_shares_of_variance_are_no_worse_than_one_beyond_the_threshold() -> None:
    tail = scipy.stats.norm.sf
    shares = np.linspace(1e-6, 1 - 1e-6, 999)
    for s in (math.sqrt(3), 2.0, 5.0):
        assert (tail(s / np.sqrt(shares)) + tail(s / np.sqrt(1 - shares)) <= tail(s) * (1 + 1e-9)).all()
    low = tail(0.5 / np.sqrt(0.5)) * 2
    assert low > tail(0.5)  # below the threshold it fails


def rows_of(n: int, d: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, np.where(rows[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("strength", [1e-3, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_minimum_is_certified(loss, strength: float) -> None:
    data = rows_of(300, 6, 1)
    problem = Binary(loss, data, strength, np.linspace(-1, 1, 6))
    actual = minimise(problem, 1e-7)
    assert np.linalg.norm(problem.at(actual)[1]) <= strength * 1e-7
    expected = scipy.optimize.minimize(problem.at, np.zeros(6), jac=True, method="BFGS", tol=1e-10)
    assert problem.at(actual)[0] <= expected.fun + 1e-9


def test_separable_rows_far_minima_and_lonely_rows_are_found() -> None:
    rows = np.ones((50, 1))
    problem = Binary(CappedLogistic(0.5), (rows, np.ones(50)), 1e-6, np.zeros(1))
    actual = minimise(problem, 1e-3)
    assert actual[0] > 10
    lonely = Binary(CappedLogistic(0.6), (np.zeros((1, 2)), np.ones(1)), 2.0, np.array([3.0, -1.0]))
    assert minimise(lonely, 1e-9) == pytest.approx([-1.5, 0.5])


def test_without_a_certificate_gradient_steps_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Binary(Logistic(), rows_of(20, 3, 2), 2.0, np.ones(3))
    expected = minimise(problem, 1e-8)
    monkeypatch.setattr(certified, "NEWTON_STEPS", 0)
    assert minimise(problem, 1e-8) == pytest.approx(expected, abs=3e-8)


def test_the_softmax_is_minimised_with_and_without_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = rows_of(200, 4, 3)
    labels = np.random.default_rng(1).integers(0, 3, 200)
    problem = Multiclass(Softmax(3), (rows, labels), 0.5, np.linspace(-2, 2, 12))
    w, v = np.linspace(-1, 1, 12), np.cos(np.arange(12.0))
    slope = (problem.at(w + 1e-6 * v)[0] - problem.at(w - 1e-6 * v)[0]) / 2e-6
    assert slope == pytest.approx(problem.at(w)[1] @ v, rel=1e-6)
    bent = (problem.losses(w + 1e-6 * v)[1] - problem.losses(w - 1e-6 * v)[1]) / 2e-6
    assert problem.product(problem.curvatures(w), v) == pytest.approx(bent, abs=1e-6)
    assert problem.matrix(problem.curvatures(w)) @ v == pytest.approx(bent, abs=1e-6)
    actual = minimise(problem, 1e-8)
    monkeypatch.setattr(certified, "TUNED", replace(TUNED, largest_matrix=0))
    assert minimise(problem, 1e-8) == pytest.approx(actual, abs=1e-7)


@pytest.mark.statistical
@pytest.mark.parametrize("requested", [gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0)], ids=repr)
def test_the_noise_has_its_law(requested) -> None:
    """4,000 lengths and directions; a false alarm is five standard errors. A tenth less noise is seen."""
    made = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 5, 5.0), requested, 100)
    rng = research_rng(7)
    draws = np.array([made.draw(rng) for _ in range(4000)])
    lengths = np.linalg.norm(draws, axis=1) / made.noise
    law = scipy.stats.chi(5) if isinstance(requested, gd.ApproxDP) else scipy.stats.gamma(5)
    miss = 5 * law.std() / math.sqrt(4000)
    assert lengths.mean() == pytest.approx(law.mean(), abs=miss)
    assert abs(0.9 * lengths.mean() - law.mean()) > miss
    assert np.linalg.norm((draws / lengths[:, None] / made.noise).mean(axis=0)) < 5 / math.sqrt(4000)


@pytest.mark.parametrize("requested", [gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0)], ids=repr)
def test_the_output_is_on_a_lattice_with_noise_for_twice_the_distance(requested) -> None:
    made = ObjectivePerturbation.calibrate(Problem(CappedLogistic(1.0), 6, 5.0), requested, 300)
    actual = made.solve(*rows_of(300, 6, 4), research_rng(1)) / float(made.output.lattice_step)
    assert (actual == np.rint(actual)).all()
    assert made.output.body.radius(2) == pytest.approx(2 * made.distance)
    assert math.sqrt(made.output.variances.max()) < 1e-4
    assert made.guarantee == requested


def test_other_guarantees_and_caps_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="is of another kind"):
        ObjectivePerturbation.calibrate(Problem(CappedLogistic(), 3, 5.0), gd.ZCDP(1.0), 10)
    with pytest.raises(InvalidRequest, match="cap"):
        CappedLogistic(0.3)


@pytest.mark.parametrize("loss", [CappedLogistic(0.9), SmoothHinge(0.3)], ids=repr)
def test_gradients_near_the_minimum_are_rounded_by_less_than_the_bound(loss) -> None:
    """Against the same sums in longer floats; and the minimum is no farther than the bound supposes."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((9000, 7)) * np.geomspace(1, 1e-3, 7)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels, linear = np.sign(rows[:, 0]), 3 * rng.standard_normal(7)
    problem, strength = Problem(loss, 7, 5.0), 0.5
    actual = minimise(Binary(loss, (rows, labels), strength, linear), 1e-7)
    near = np.longdouble(rows) @ np.longdouble(actual)
    slopes = loss.derivative(near, np.longdouble(labels))
    exact = slopes @ np.longdouble(rows)
    bound = problem.rounding(len(rows), strength, float(np.linalg.norm(linear)))
    off = np.linalg.norm(np.asarray(exact - Binary(loss, (rows, labels), strength, linear).losses(actual)[1], float))
    assert 0 < off < bound
    pulled = float(-(slopes * near).max())
    assert pulled <= (0.28 if isinstance(loss, CappedLogistic) else 1.15)


@pytest.mark.parametrize("guarantee", [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6)], ids=repr)
def test_the_certificate_allows_for_noise_that_is_never_drawn(guarantee: gd.PureDP | gd.ApproxDP) -> None:
    """The noise has a length of Gamma(d) or chi(d) times σ, beyond this with a probability below 1e-150."""
    n_rows, problem = 10**6, Problem(CappedLogistic(0.9), 100, 100.0)
    mechanism = ObjectivePerturbation.calibrate(problem, guarantee, n_rows)
    usual = mechanism.noise * (100 if isinstance(guarantee, gd.PureDP) else 10)
    rounding = problem.rounding(n_rows, mechanism.strength, 355 * usual)
    assert mechanism.distance >= 2 * rounding / mechanism.strength > 2.0**-30 * problem.radius
    assert rounding > 1.5 * problem.rounding(n_rows, mechanism.strength, 40 * usual)


def test_the_ridge_pulls_to_the_middle_and_its_certificate_allows_for_it() -> None:
    """Without rows the minimum is w₀ − b/λ, here with the same noise for each w₀."""
    guarantee, problem = gd.ApproxDP(1.0, 1e-6), Problem(CappedLogistic(0.9), 3, 10.0, most_middle=20.0)
    mechanism = ObjectivePerturbation.calibrate(problem, guarantee, 100)
    found = {
        middle: mechanism.solve(np.zeros((0, 3)), np.zeros(0), research_rng(1), 1.0, middle)
        for middle in (0.0, -7.0, 30.0)
    }
    assert found[-7.0] - found[0.0] == pytest.approx([0, 0, -7], abs=1e-5)
    assert found[30.0] - found[0.0] == pytest.approx([0, 0, 20], abs=1e-5)
    n_rows, wide = 10**6, Problem(CappedLogistic(0.9), 100, 100.0, most_middle=6400.0)
    far = ObjectivePerturbation.calibrate(wide, guarantee, n_rows)
    farthest = 355 * 10 * far.noise + 6400 * far.strength
    assert far.distance >= 2 * wide.rounding(n_rows, far.strength, farthest) / far.strength


@pytest.mark.parametrize("loss", [CappedLogistic(0.9), SmoothHinge(0.3)], ids=repr)
def test_of_many_rows_some_make_the_matrix_and_all_the_certificate(loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in order of their labels, so that no part of them in a row is like the rest."""
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((50_000, 3)) / 3
    labels = np.where(rng.random(50_000) < 1 / (1 + np.exp(-4 * rows[:, 0])), 1.0, -1.0)
    order = np.argsort(labels)
    problem = Binary(loss, (rows[order], labels[order]), 2.0, rng.standard_normal(3))
    monkeypatch.setattr(certified, "TUNED", replace(TUNED, cheap_coordinates=0))  # as of many columns
    assert len(problem.thinned().rows) < 20_000
    actual = minimise(problem, 1e-7)
    assert np.linalg.norm(problem.at(actual)[1]) <= 2.0 * 1e-7
    monkeypatch.setattr(Binary, "thinned", lambda self: self)
    assert minimise(problem, 1e-7) == pytest.approx(actual, abs=2e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_few_steps_find_the_minimum_of_clustered_rows(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few distinct rows, half of them zeros where a step's matrix looks: its matrix is then far from that of all."""
    calls, at = [], Binary.at
    monkeypatch.setattr(Binary, "at", lambda self, weights: calls.append(1) or at(self, weights))
    for key in range(6):
        rng = np.random.default_rng((7, key))
        points = rng.standard_normal((10, 4))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        which = rng.choice(10, size=2**15, p=rng.dirichlet(np.full(10, 0.3)))
        rows, labels = points[which], np.where(rng.random(10) < 0.5, 1.0, -1.0)[which]
        if kept:
            rows[::2] = 0
        calls.clear()
        minimise(Binary(SmoothHinge(0.2), (rows, labels), 1.0, 3 * rng.standard_normal(4)), 1e-7)
        assert len(calls) < 150
