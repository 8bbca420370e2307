"""Weights of rows: what they do, what they are cut to, that they move nothing further, and refusals. Keys are fixed."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import (
    ElasticNet,
    GaussianNB,
    HuberRegressor,
    KMeans,
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from gaugedp.estimators.row_scaling import Centre
from gaugedp.estimators.weights import weighed
from gaugedp.optimization.losses import Softmax
from gaugedp.optimization.minimise import Binary, Multiclass, minimise
from gaugedp.optimization.objective_perturbation import CappedLogistic, Extreme, Problem
from tests.estimators.kit import check_refused
from tests.estimators.test_transcripts import BOTH, DELTA, EPSILON, claim, fits
from tests.optimization.transcripts import check

KNOWN = {"bounds": (-1, 1), "random_state": 1, "weight_bound": 3.0}
NUMBER = KNOWN | {"target_bounds": (-4, 4)}
CLASSIFIERS = {
    "objective": LogisticRegression(1e4, 1e-6, classes=[0, 1], solver="objective", **KNOWN),
    "gradient": LogisticRegression(1e4, 1e-6, classes=[0, 1], solver="gradient", **KNOWN),
    "newton": LogisticRegression(1e4, 1e-6, classes=[0, 1], solver="newton", **KNOWN),
    "softmax": LogisticRegression(1e4, 1e-6, classes=[0, 1, 2], **KNOWN),
    "hinge": LinearSVC(1e4, 1e-6, classes=[0, 1], solver="objective", **KNOWN),
    "bayes": GaussianNB(1e4, 1e-6, classes=[0, 1], **KNOWN),
}
REGRESSIONS = {
    "linear": LinearRegression(1e4, 1e-6, **NUMBER),
    "lasso": Lasso(1e4, 1e-6, radius=3, **NUMBER),
    "ridge": Ridge(1e4, 1e-6, **NUMBER),
    "elastic": ElasticNet(1e4, 1e-6, alpha=1e-4, **NUMBER),
    "huber": HuberRegressor(1e4, 1e-6, **NUMBER),
    "poisson": PoissonRegressor(1e4, 1e-6, **{**NUMBER, "target_bounds": (0, 8)}),
}
MODELS = CLASSIFIERS | REGRESSIONS


def table(name: str, n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (n, 2))
    if name in CLASSIFIERS:
        return rows, (rng.random(n) < 1 / (1 + np.exp(-3 * rows[:, 0]))).astype(int)
    return rows, rng.poisson(np.exp(rows[:, 0])) if name == "poisson" else rows @ [1, -1] + rng.normal(0, 0.1, n)


def numbers(model) -> np.ndarray:
    return np.ravel(model.theta_ if isinstance(model, GaussianNB) else model.coef_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_rows_without_weight_are_not_there(name: str) -> None:
    """Rows that say the opposite, with weight 0 or below, pull nowhere; the others have the bound or more."""
    (rows, target), model = table(name), MODELS[name]
    alone = numbers(clone(model).fit(rows, target))
    opposite = np.vstack([rows, rows * [-1, 1]]), np.append(target, target)
    faint = np.where(np.arange(1500) % 3 == 0, -7.0, np.where(np.arange(1500) % 3 == 1, 0.0, np.nan))
    weights = np.append(np.where(np.arange(1500) % 2 == 0, 3.0, 50.0), faint)
    weighted, without = clone(model).fit(*opposite, sample_weight=weights), clone(model).fit(*opposite)
    assert numbers(weighted) == pytest.approx(alone, abs=0.12 if name in ("lasso", "objective", "hinge") else 0.03)
    assert abs(numbers(without) - alone).max() > 0.3
    assert weighted.release_.facts["weight_bound"] == 3.0
    assert "weight_bound" not in without.release_.facts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_weights_at_their_bound_change_nothing(name: str) -> None:
    """But for the level of a classifier's scores, which is not released where there are weights."""
    model = clone(MODELS[name]).set_params(fit_intercept=False) if name != "bayes" else clone(MODELS[name])
    plain = numbers(model.fit(*table(name)))
    weighted = numbers(model.fit(*table(name), sample_weight=np.full(1500, 3.0)))
    scale = 3.0 if name == "ridge" else 1.0  # its penalty stands beside weights of 3
    assert weighted == pytest.approx(plain, rel=1e-2 * scale if name in ("ridge", "elastic") else 1e-12)


def test_the_penalty_stands_beside_weights_as_they_are() -> None:
    (rows, target), model = table("ridge"), Ridge(1e5, 1e-6, alpha=300.0, **NUMBER)
    from sklearn.linear_model import Ridge as WithoutPrivacy

    weights = np.random.default_rng(3).uniform(0, 3, 1500)
    expected = WithoutPrivacy(alpha=300.0).fit(rows, target, weights)
    assert model.fit(rows, target, weights).coef_ == pytest.approx(expected.coef_, abs=0.01)


def test_centres_are_those_of_weighted_rows() -> None:
    rows = np.array([[-0.5, 0.0], [0.5, 0.0], [0.5, 0.8]]).repeat(500, axis=0)
    model = KMeans(1, 1e4, 1e-6, **KNOWN).fit(rows, sample_weight=np.repeat([3.0, 1.5, 0.0], 500))
    assert model.cluster_centers_ == pytest.approx(np.array([[-1 / 6, 0.0]]), abs=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_minimum_is_that_of_weighted_losses(n_classes: int) -> None:
    """Half of the weight on twice the rows is the same sum."""
    rng = np.random.default_rng(2)
    rows, u = rng.normal(0, 0.3, (60, 2)), rng.uniform(0, 1, 60)
    if n_classes == 2:
        kind, loss, target, linear = Binary, CappedLogistic(0.8), rng.choice([-1.0, 1.0], 60), np.ones(2)
    else:
        kind, loss, target, linear = Multiclass, Softmax(3), rng.integers(3, size=60), np.linspace(-1, 1, 6)
    once = kind(loss, (rows, target, u), 0.3, linear)
    twice = kind(loss, (np.vstack([rows] * 2), np.tile(target, 2), np.tile(u / 2, 2)), 0.3, linear)
    point, step = np.linspace(-0.5, 1, len(linear)), np.linspace(1, -1, len(linear)) * 1e-6
    assert minimise(once, 1e-9) == pytest.approx(minimise(twice, 1e-9), abs=1e-8)
    slopes = (once.losses(point + step)[0] - once.losses(point - step)[0]) / 2
    assert slopes == pytest.approx(once.losses(point)[1] @ step, rel=1e-6)
    bent = (once.losses(point + step)[1] - once.losses(point - step)[1]) / 2
    curvatures = once.curvatures(point)
    assert once.matrix(curvatures) @ step == pytest.approx(bent, rel=1e-4)
    assert once.product(curvatures, step) == pytest.approx(bent, rel=1e-4)


@pytest.mark.parametrize("cap", [0.5, 0.7, 1.0])
def test_a_weighted_row_lies_below_the_tangents(cap: float) -> None:
    """Brute force over slopes and weights: the Jacobian with slope r = u·s is below the line of r."""
    strength = 0.7
    s, u = np.meshgrid(np.linspace(0, cap, 301), np.linspace(0, 1, 101))
    jacobians, reach = np.log1p(u * s * (1 - s) / strength), u * s
    for few in Problem(CappedLogistic(cap), 2, 1.0, replaced=False).extremes(strength):
        bent, flat, _ = few
        assert isinstance(bent, Extreme)
        line = flat.jacobian + (bent.jacobian - flat.jacobian) * reach / cap
        assert (jacobians <= line + 1e-12).all()


def heavy(neighbours: str, d: int, target: float, other: float) -> tuple:
    """Rows e₂ of the least target, and a row e₁ with weight far above the bound; −e₁ in its place, or none."""
    rest, one = np.repeat(np.eye(d)[[1]], 2000, axis=0), np.eye(d)[[0]]
    weights, y = np.append(np.full(2000, 1.0), 1e6), np.append(np.full(2000, other), target)
    near = (np.vstack([rest, -one]), y, weights) if neighbours == "replace" else (rest, y[:-1], weights[:-1])
    return (np.vstack([rest, one]), y, weights), near


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("name", ["linear", "newton", "gradient"])
def test_no_weight_moves_a_release_further(name: str, neighbours: str) -> None:
    """A row whose weight is a million moves each release as far as it is charged, and no further."""
    d = 70
    if name == "linear":
        model = LinearRegression(
            EPSILON, DELTA, row_norm=1.0, target_bounds=(-1, 1), solver="preconditioned", neighbours=neighbours,
            fit_intercept=False,
        )  # fmt: skip
        tables = heavy(neighbours, d, 1.0, 0.0)
    else:
        model = LogisticRegression(
            EPSILON, DELTA, row_norm=1.0, classes=[0, 1], solver=name, neighbours=neighbours, fit_intercept=False
        )
        tables = heavy(neighbours, d, 1, 1)
    least = {"linear": 0.6, "gradient": 0.5, "newton": 0.3}[name]
    check(fits(model, "coef_"), tables, claim(neighbours) if name == "linear" else whole(neighbours), 12, least)


def whole(neighbours: str) -> dict[str, float]:
    """What a classifier's fit may take: all of μ, its count being Gaussian or none."""
    del neighbours
    return claim("replace")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("change", "weights", "words"),
    [
        ({}, np.ones((5, 1)), "sample_weight does not have one number per row"),
        ({}, np.ones(4), "sample_weight does not have one number per row"),
        ({}, np.array(["2001-01-01"] * 5, dtype="M8[D]"), "The sample_weight consists of dates"),
        ({"weight_bound": 0}, np.ones(5), "weight_bound"),
        ({"weight_bound": math.inf}, np.ones(5), "weight_bound"),
    ],
)
def test_refusals_cost_nothing(name: str, change: dict, weights: np.ndarray, words: str) -> None:
    check_refused(MODELS[name], change, words, (np.ones((5, 2)), np.ones(5), weights))


def test_what_takes_no_weights_says_so() -> None:
    gibbs = {"solver": "gibbs", "bounds": (-1, 1)}
    model, rows = CLASSIFIERS["objective"], (np.ones((5, 2)), np.ones(5), np.ones(5))
    check_refused(model, gibbs, "does not support weights", rows)
    check_refused(model, {**gibbs, "bounds": "private"}, "does not support weights", rows)
    check_refused(model, {**gibbs, "class_weight": {0: 2}}, "does not support weights", rows[:2])
    fitted = clone(REGRESSIONS["linear"]).fit(*table("linear"), sample_weight=np.ones(1500))
    with pytest.raises(InvalidRequest, match="rows have weights"):
        fitted.coef_interval()
    low, high = clone(CLASSIFIERS["newton"]).fit(*table("newton"), sample_weight=np.ones(1500)).coef_interval()
    assert (low < high).all()


def test_the_level_of_scores_is_not_released_with_weights() -> None:
    model, centre = LogisticRegression(0.5, 1e-6, classes=[0, 1], bounds=(-1, 1)), Centre(None, gd.ApproxDP(0.5, 1e-6))
    assert model._intercept_noise(centre, (2, 1e6), has_weights=False).noises
    assert not model._intercept_noise(centre, (2, 1e6), has_weights=True).noises


def test_learned_bounds_keep_weights() -> None:
    rows, target = table("linear", 20_000)
    model = clone(REGRESSIONS["linear"]).set_params(epsilon=50.0, bounds="private")
    both, weights = (np.vstack([rows, -rows]), np.tile(target, 2)), np.repeat([3.0, 0.0], 20_000)
    assert model.fit(*both, sample_weight=weights).coef_ == pytest.approx(np.array([1, -1]), abs=0.05)


@pytest.mark.parametrize("solver", ["objective", "gradient", "newton"])
def test_a_class_with_more_weight_is_predicted_more(solver: str) -> None:
    """Weights of classes are weights of their rows, and only their ratio counts."""
    rows, labels = table("objective")
    model = clone(CLASSIFIERS[solver])
    as_rows = clone(model).fit(rows, labels, np.where(labels == 1, 3.0, 0.6))
    as_classes = clone(model).set_params(class_weight={0: 2, 1: 10.0}).fit(rows, labels)
    assert as_classes.coef_ == pytest.approx(as_rows.coef_, rel=1e-9)
    assert as_classes.intercept_ == pytest.approx(as_rows.intercept_, rel=1e-9)
    assert as_classes.predict(rows).mean() > clone(model).fit(rows, labels).predict(rows).mean() + 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("equal", "`class_weight` is of type"),
        ({7: 1.0}, "`class_weight` must map classes to finite"),
        ({1: -1.0}, "`class_weight` must map classes to finite"),
        ({1: "much"}, "`class_weight` must map classes to finite"),
        ({0: 0, 1: 0.0}, "All class weights are 0"),
    ],
)
@pytest.mark.parametrize("solver", ["objective", "newton"])
def test_weights_of_classes_are_public_numbers(solver: str, given, words: str) -> None:
    check_refused(CLASSIFIERS[solver], {"class_weight": given}, words, (np.ones((5, 2)), np.ones(5)))


def test_squares_get_the_weights() -> None:
    rows, weights = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.25, 1.0])
    assert (weighed(rows, weights) == [[0.5, 1.0], [3.0, 4.0]]).all()
    assert (weighed(rows[:, 0], weights) == [0.5, 3.0]).all()
