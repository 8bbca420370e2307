"""Linear regression: units, sensitivity, how well it does, and what is refused. Keys are fixed."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression import LinearRegression, UnitScaling
from gaugedp.optimization.least_squares import BITS, Gradient, LeastSquares, Metric, Squares
from tests.estimators.kit import check_refused

LOUD = 1e7


def made(n: int, d: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in the unit ball, coefficients of norm √d/2, noise 0.1, target in [−1, 1]."""
    rng = np.random.default_rng((n, d, key))
    scales = np.linspace(1, 0.3, d)
    rows = rng.standard_normal((n, d)) * scales / (np.linalg.norm(scales) * 1.3)
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    truth = rng.standard_normal(d)
    truth *= math.sqrt(d) / 2 / np.linalg.norm(truth)
    return rows, np.clip(rows @ truth + 0.1 * rng.standard_normal(n), -1, 1)


ROWS, TARGET = made(3000, 6, 1)
MODEL = LinearRegression(1.0, 1e-6, row_norm=1.0, target_bounds=(-1, 1), fit_intercept=False)


def excess(model: LinearRegression, rows: np.ndarray, target: np.ndarray) -> float:
    """Mean square of the predictions' distance from least squares."""
    best = np.linalg.lstsq(rows, target, rcond=None)[0]
    return float(np.mean((rows @ (model.coef_ - best)) ** 2))


# -- without noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_without_noise_it_is_least_squares(neighbours: str, delta: float) -> None:
    epsilon = LOUD if delta == 0 else 1e4
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, neighbours=neighbours, random_state=1)
    best = np.linalg.lstsq(ROWS, TARGET, rcond=None)[0]
    assert model.fit(ROWS, TARGET).coef_ == pytest.approx(best, abs=1e-3)
    assert model.intercept_ == 0
    assert model.solver_ == "preconditioned"


@pytest.mark.parametrize("geometry", [{"bounds": (20, 80)}, {"row_norm": 300.0}], ids=str)
def test_units_and_intercept_come_back(geometry) -> None:
    rng = np.random.default_rng(2)
    rows = rng.uniform(20, 80, (4000, 4))
    target = 100 + rows @ np.array([1.0, -2.0, 0.0, 0.5]) + rng.standard_normal(4000)
    model = LinearRegression(
        LOUD, 0.5, target_bounds=(-200, 300), fit_intercept=True, random_state=1, radius=1e4, **geometry
    ).fit(rows, target)
    assert model.predict(rows) == pytest.approx(target, abs=6)
    assert model.coef_ == pytest.approx([1.0, -2.0, 0.0, 0.5], abs=0.05)
    assert model.intercept_ == pytest.approx(100, abs=3)
    assert model.score(rows, target) > 0.99


def test_rows_are_in_the_unit_ball() -> None:
    rng = np.random.default_rng(3)
    for intercept in (False, True):
        for box, row_norm in (((np.full(5, -1.0), np.full(5, 2.0)), None), (None, 3.0)):
            frame = UnitScaling(Reading(5, box), row_norm, (-1.0, 1.0), intercept)
            features = frame.features(10 * rng.standard_normal((500, 5))) * 2.0**-BITS
            longest = np.linalg.norm(features, axis=1).max()
            assert 0.99 < longest <= 1 + math.sqrt(frame.n_features) * 2.0**-BITS
            assert features.shape[1] == 5 + intercept


# -- privacy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["preconditioned", "gradient"])
@pytest.mark.parametrize("requested", [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6)], ids=str)
def test_the_parts_spend_what_is_asked(solver: str, requested) -> None:
    method = LeastSquares.calibrate((1000, 5), requested, 2.0, "replace", solver)
    if isinstance(requested, gd.PureDP):
        assert 0.999 < float(method.guarantee.epsilon(0, "basic")) <= 1
        assert method.exactness == "exact"
    else:
        assert 0.999 < method.guarantee.epsilon(1e-6) <= 1
        assert method.exactness == "exact"


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_no_row_moves_a_sum_further_than_its_body(neighbours: str) -> None:
    """Random and opposite rows; the worst pair comes near each radius."""
    method = LeastSquares.calibrate((1000, 4), gd.ApproxDP(1, 1e-6), 2.0, neighbours, "preconditioned")
    rng = np.random.default_rng(4)
    points = rng.standard_normal((40, 4))
    points = np.concatenate([points, -points, np.eye(4)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    upper = np.triu_indices(4)
    stretch = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    squares = [np.outer(x, x)[upper] * stretch for x in points]
    slopes = [side * x for x in points for side in (-1, 1)]
    for vectors, noise in ((squares, method.moments), (slopes, method.gradient)):
        radius = noise.body.radius(2)
        if neighbours == "replace":
            moved = max(np.linalg.norm(vector - other) for vector in vectors for other in vectors)
        else:
            moved = max(np.linalg.norm(vector) for vector in vectors)
        assert 0.9 * radius <= moved <= radius


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_no_row_moves_the_sum_of_squared_residuals_further_than_its_body(neighbours: str) -> None:
    """The far row has the largest residual that is not clipped, 1; a row on its prediction has none."""
    method = LeastSquares.calibrate((1000, 4), gd.ApproxDP(1, 1e-6), 2.0, neighbours, "preconditioned")
    far, on = ((np.ones((1, 4)) * 2.0**BITS, np.array([target])) for target in (-1e9, 0.0))
    squares = Squares(np.zeros(4), 2.0**-30)
    moved = float(squares(*far)[0] - squares(*on)[0]) * 4.0**-BITS
    assert moved == method.residuals.body.radius(2) == 1


def test_replacing_costs_twice_what_adding_does() -> None:
    replace, add = (
        LeastSquares.calibrate((1000, 4), gd.ApproxDP(1, 1e-6), 2.0, way) for way in ("replace", "add_remove")
    )
    assert replace.gradient.body.radius(2) == pytest.approx(2 * add.gradient.body.radius(2))
    assert replace.moments.body.radius(2) == pytest.approx(math.sqrt(2) * add.moments.body.radius(2))


@pytest.mark.statistical
def test_the_noise_of_a_fit_is_as_large_as_its_guarantee_asks() -> None:
    """One gradient step from 0 on rows that are 0: the released point is noise of a known law; chi-square of 3000."""
    method = LeastSquares.calibrate((500, 3), gd.ApproxDP(0.5, 1e-6), 100.0, "replace", "gradient")
    sigma = math.sqrt(float(method.gradient.variances[0])) * method.pace / 500
    zeros = np.zeros((500, 3)), np.zeros(500)
    rng = gd.research_rng(5)
    actual = np.array([method.solve(*zeros, rng) for _ in range(1000)]).ravel()
    expected = sigma * math.sqrt(method.steps)
    assert actual.std() == pytest.approx(expected, rel=4 / math.sqrt(2 * 3000))
    assert actual.std() > expected / 1.1 * (1 + 4 / math.sqrt(2 * 3000))  # noise 10 % smaller would be seen


@pytest.mark.statistical
def test_momentum_adds_little_noise_and_goes_as_far() -> None:
    """Chi-square of 4000: zeros as rows show the noise, a sum that is constant shows how far the steps go."""
    n, d = 20_000, 200
    method = LeastSquares.calibrate((n, d), gd.ApproxDP(1, 1e-6), 1e4, "replace", "gradient")
    assert method.momentum
    assert method.pace == 1.0
    rng, far = gd.research_rng(6), method.steps**2 / 8 / n
    at_once = math.sqrt(float(method.gradient.variances[0]) / method.steps)  # noise of a step with all of the guarantee
    still = np.array([method.solve_sums(lambda _: np.zeros(d), rng)[0] for _ in range(20)]).ravel()
    assert 1.0 < still.std() / (far * at_once) < 1.25
    pulled, _ = method.solve_sums(lambda _: np.full(d, -1e3 * 4.0**BITS), rng)
    assert 1.0 < pulled.mean() / (1e3 * far) < 1.15  # T²/8, and a term of order T


@pytest.mark.slow
def test_many_columns_take_few_steps() -> None:
    """For engines a step is a look at the table; without momentum these took 141 steps."""
    rows, target = made(20_000, 200, 3)
    model = LinearRegression(1.0, 1e-6, row_norm=1.0, target_bounds=(-1, 1), fit_intercept=False, random_state=4)
    model.fit(rows, target)
    assert model.solver_ == "gradient"
    assert model.method_.steps < 60
    assert excess(model, rows, target) < 0.5 * float(np.mean(target**2))


# -- how well ------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "d", "epsilon", "most"), [(10_000, 10, 1.0, 5e-4), (10_000, 50, 4.0, 1.1e-3)])
def test_the_excess_error(n: int, d: int, epsilon: float, most: float) -> None:
    """δ = 1e-6, medians of seven repetitions with fixed keys."""
    results = []
    for key in range(7):
        rows, target = made(n, d, key)
        results.append(
            excess(clone(MODEL).set_params(epsilon=epsilon, random_state=key).fit(rows, target), rows, target)
        )
    assert np.median(results) <= most


@pytest.mark.statistical
def test_heavy_noise_does_little_worse_than_zero() -> None:
    actual, zero = [], []
    for key in range(7):
        rows, target = made(1000, 10, key)
        model = clone(MODEL).set_params(epsilon=0.1, random_state=key).fit(rows, target)
        assert model.solver_ == "gradient"
        actual.append(excess(model, rows, target))
        model.coef_ = np.zeros(10)
        zero.append(excess(model, rows, target))
    assert np.median(actual) <= 1.15 * np.median(zero)


# -- habits --------------------------------------------------------------------------------------------


def test_it_is_paid_for_before_it_looks() -> None:
    for neighbours in ("replace", "add_remove"):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
        model = clone(MODEL).set_params(ledger=ledger, neighbours=neighbours)
        model.fit(ROWS, TARGET)
        assert 0.99 < ledger.spent.epsilon(1e-5) <= 1
        with pytest.raises(LedgerRefused):
            model.fit(ROWS, TARGET)


def test_searches_work() -> None:
    model = clone(MODEL).set_params(epsilon=20.0, random_state=1)
    assert np.mean(cross_val_score(model, ROWS, TARGET, cv=3)) > 0.3
    search = GridSearchCV(model, {"solver": ["preconditioned", "gradient"]}, cv=2).fit(ROWS, TARGET)
    assert search.best_params_["solver"] in ("preconditioned", "gradient")


@pytest.mark.parametrize("solver", ["auto", "preconditioned", "gradient"])
def test_any_rows_give_a_fit(solver: str) -> None:
    rows, target = ROWS[:50].copy(), TARGET[:50].copy()
    rows[0], rows[1, 3], target[2:4] = np.nan, np.inf, (np.nan, -np.inf)
    for data in ((rows, target), (np.zeros((1, 6)), np.zeros(1)), (np.full((4, 6), 1e300), np.full(4, -1e300))):
        for epsilon in (1e-6, 1.0, 1e3):
            model = clone(MODEL).set_params(solver=solver, epsilon=epsilon, fit_intercept=True)
            assert np.isfinite(model.fit(*data).coef_).all()


WRONG = [
    ({"row_norm": None}, "Either `bounds` or `row_norm`"),
    ({"bounds": (0, 1)}, "Either `bounds` or `row_norm`"),
    ({"row_norm": -1.0}, "row_norm"),
    ({"target_bounds": None}, "`target_bounds` is missing"),
    ({"target_bounds": (1, 0)}, "low < high"),
    ({"solver": "newton"}, "Choose one of"),
    ({"radius": 0.0}, "radius"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"delta": 1.0}, "delta"),
    ({"neighbours": "none"}, "Choose one of"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=str)
def test_bad_parameters_are_refused_and_nothing_is_spent(change, words: str) -> None:
    check_refused(MODEL, change, words, (ROWS, TARGET))


def test_bad_data_is_refused() -> None:
    for target in (TARGET[:5], np.zeros((5, 2)), np.zeros((3000, 2, 2))):
        with pytest.raises(InvalidRequest, match="target"):
            clone(MODEL).fit(ROWS, target)


@pytest.mark.parametrize("length", [0.5, 3.0])
def test_the_nearest_point_of_the_ball_is_nearest_in_the_norm_of_the_steps(length: float) -> None:
    rng = np.random.default_rng(4)
    vectors = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    metric = Metric(np.array([1e-3, 0.2, 1.0, 30.0]), vectors, 1.0)
    point = rng.standard_normal(4)
    point *= length / np.linalg.norm(point)
    actual = metric.step(point, np.zeros(4))
    if length <= 1:
        assert actual == pytest.approx(point)
        return
    others = rng.standard_normal((20_000, 4))
    others /= np.maximum(1, np.linalg.norm(others, axis=1, keepdims=True))
    far = [float(np.sum(metric.values * (vectors.T @ (one - point)) ** 2)) for one in (actual, *others)]
    assert np.linalg.norm(actual) == pytest.approx(1)
    assert far[0] <= min(far)


@pytest.mark.parametrize("radius", [None, 1.0, 2.0, 5.0])
def test_loose_bounds_and_a_small_ball_do_no_worse_than_a_constant(radius: float | None) -> None:
    """A column that fills a sixth of its bounds, ε = 100: noise counts for nothing, the ball for much."""
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.uniform(17, 90, 20_000), rng.uniform(1, 16, 20_000)])
    target = np.clip(0.06 * rows[:, 1] - 0.002 * rows[:, 0] + 0.1 * rng.standard_normal(20_000), 0, 1)
    model = LinearRegression(100.0, 1e-6, bounds=(0, 100), target_bounds=(0, 1), radius=radius, random_state=1)
    explained = model.fit(rows, target).score(rows, target)
    assert explained > (0.6 if radius is None else -1e-3)


def test_pure_noise_keeps_a_guarantee_with_a_delta_where_it_is_the_fainter() -> None:
    """Of few columns at a small ε; δ is never a reason for more noise."""
    for shape, epsilon, is_pure in (((400, 2), 0.1, True), ((400, 4), 0.3, True), ((10_000, 11), 1.0, False)):
        requested = gd.ApproxDP(epsilon, 1e-6)
        made = LeastSquares.calibrate(shape, requested, None, "replace")
        assert (made.guarantee.delta(epsilon) == 0) == is_pure
        assert made.guarantee.delta(epsilon) <= 1e-6
        if is_pure:
            pure = LeastSquares.calibrate(shape, gd.PureDP(epsilon), None, "replace")
            assert made.gradient.variances.max() == pure.gradient.variances.max()


def test_a_row_far_from_its_prediction_moves_the_gradient_by_its_length() -> None:
    """A unit row whose residual is 10: clipped to 1, in steps of 4^-BITS."""
    one = np.array([[2.0**BITS]])
    for weight, slope in ((10.0, 1), (-10.0, -1)):
        assert Gradient(np.array([weight * 2.0**BITS]), 1.0)(one, np.zeros(1)) == slope * 4.0**BITS
