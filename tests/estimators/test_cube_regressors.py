"""Ridge, elastic net, Huber and Poisson regression: what they find, refuse, and keep of scikit-learn's contract."""

import math

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn import linear_model

import gaugedp as gd
from gaugedp.estimators import ElasticNet, HuberRegressor, PoissonRegressor, Ridge
from gaugedp.estimators.cube_regressor import CubeProblem
from gaugedp.estimators.moment_regressor import row_lengths
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.spectraplex import NuclearBall
from tests.estimators.kit import check_habits, check_refused

RNG = np.random.default_rng(4)
ROWS = RNG.uniform([0, -5, 10], [1, 5, 30], (20_000, 3))
CUBE = (ROWS - [0.5, 0, 20]) / [0.5, 5, 10]
TRUE = np.array([1.0, -0.5, 0.0])
TARGET = CUBE @ TRUE + 0.2 + RNG.normal(0, 0.2, 20_000)
COUNTS = RNG.poisson(np.exp(CUBE @ TRUE + 0.5))
BOX = {"bounds": ([0, -5, 10], [1, 5, 30])}
FINE = {"epsilon": 1.0, "delta": 1e-6, "target_bounds": (-3, 3), **BOX}
KINDS = [Ridge, ElasticNet, HuberRegressor]


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", KINDS)
def test_they_find_what_is_there(kind, neighbours: str) -> None:
    model = kind(**FINE, neighbours=neighbours).fit(ROWS, TARGET)
    assert model.score(ROWS, TARGET) > 0.85
    assert model.release_.exactness == "exact"
    delta = 1e-6
    assert model.guarantee_.epsilon(delta) <= 1 + 1e-9
    pure = kind(**{**FINE, "epsilon": 4.0, "delta": 0.0}, neighbours=neighbours).fit(ROWS, TARGET)
    assert pure.score(ROWS, TARGET) > 0.8
    assert pure.release_.exactness == "exact"
    assert pure.guarantee_.epsilon(0) <= 4 + 1e-9


def test_the_penalties_are_scikit_learns() -> None:
    """At a large ε: the same coefficients, for columns and a target between −1 and 1."""
    cubed = {"epsilon": 2000.0, "delta": 1e-6, "bounds": (-1, 1), "target_bounds": (-3, 3)}
    scaled = np.clip(TARGET, -3, 3) / 3
    for alpha in (0.1, 5000.0):
        mine = Ridge(**cubed, alpha=alpha).fit(CUBE, TARGET)
        theirs = linear_model.Ridge(alpha=alpha).fit(CUBE, scaled)
        assert mine.coef_ == pytest.approx(3 * theirs.coef_, abs=0.01)
        assert mine.intercept_ == pytest.approx(3 * theirs.intercept_, abs=0.01)
    for alpha, ratio in ((0.01, 0.5), (0.05, 1.0), (0.02, 0.0)):
        mine = ElasticNet(**cubed, alpha=alpha, l1_ratio=ratio).fit(CUBE, TARGET)
        theirs = linear_model.ElasticNet(alpha=alpha, l1_ratio=ratio).fit(CUBE, scaled)
        assert mine.coef_ == pytest.approx(3 * theirs.coef_, abs=0.01)


def test_a_few_wild_targets_hardly_move_huber() -> None:
    wild = np.where(np.arange(len(TARGET)) % 20 == 0, 3.0, TARGET)
    middle = ROWS.mean(axis=0)[None]
    huber, ridge = (kind(**FINE).fit(ROWS, wild).predict(middle)[0] for kind in (HuberRegressor, Ridge))
    assert abs(huber - 0.2) < abs(ridge - 0.2) / 2


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_counts_have_log_linear_means(neighbours: str) -> None:
    model = PoissonRegressor(1.0, 1e-6, target_bounds=(0, 12), neighbours=neighbours, **BOX).fit(ROWS, COUNTS)
    slopes = model.coef_ * [0.5, 5, 10]
    assert slopes == pytest.approx(TRUE, abs=0.15)
    assert model.predict(ROWS).min() > 0
    assert model.predict(ROWS).mean() == pytest.approx(COUNTS.mean(), rel=0.05)
    bare = PoissonRegressor(8.0, 1e-6, target_bounds=(0, 12), fit_intercept=False, bounds=(-1, 1))
    assert bare.fit(CUBE, RNG.poisson(np.exp(CUBE @ TRUE))).coef_ == pytest.approx(TRUE, abs=0.15)


@pytest.mark.parametrize("high", [5e2, 5e3])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_wide_bounds_of_counts_are_no_bias(high: float, delta: float) -> None:
    """The mean is down to a two-thousandth of the bounds: as epsilon grows, the fit becomes that of scikit-learn."""
    counts = RNG.gamma(2.0, np.exp(1 + CUBE @ TRUE) / 2)
    expected = linear_model.PoissonRegressor(alpha=0, tol=1e-8).fit(CUBE, counts)
    model = PoissonRegressor(1e6, delta, bounds=(-1, 1), target_bounds=(0, high), random_state=1).fit(CUBE, counts)
    assert model.coef_ == pytest.approx(expected.coef_, abs=0.02)
    assert model.intercept_ == pytest.approx(expected.intercept_, abs=0.02)


def test_the_mean_of_counts_is_noisy_and_paid_for() -> None:
    problem = CubeProblem(CUBE / 2, np.zeros(len(CUBE)), np.ones(len(CUBE)), len(CUBE), 3, True)
    model, drawn = PoissonRegressor(target_bounds=(0, 12)), set()
    for seed in range(5):
        smoothness, _, left = model._prepared(problem, gd.GaussianDP(1.0), gd.research_rng(seed))
        drawn.add(smoothness)
        assert left.mu**2 + 0.03 <= 1
    assert len(drawn) == 5


@pytest.mark.parametrize("kind", [Ridge, ElasticNet])
def test_the_noise_is_that_of_the_neighbours(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing moves the moments further than adding, whose number of rows has a twentieth of μ²."""
    deviations, released = {}, MatrixMoments.release
    table = CUBE[:5000], TARGET[:5000]
    for neighbours in ("replace", "add_remove"):

        def seen(method: MatrixMoments, *facts: object, of: str = neighbours):
            deviations[of] = float(method.noise.variances.max()) ** 0.5
            return released(method, *facts)

        with monkeypatch.context() as patched:
            patched.setattr(MatrixMoments, "release", seen)
            kind(1.0, 1e-6, bounds=(-1, 1), target_bounds=(-1, 1), neighbours=neighbours).fit(*table)
    scales = [MomentScale(NuclearBall((1, 4)), (-1.0, 1.0), 2.0, -1.0, replaced) for replaced in (True, False)]
    expected = scales[0].sensitivity / scales[1].sensitivity * math.sqrt(0.95)
    assert deviations["replace"] / deviations["add_remove"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("has_constant", [True, False])
@pytest.mark.parametrize("n_slopes", [1, 3, 30])
def test_the_longest_rows_of_moments_have_length_one(n_slopes: int, has_constant: bool) -> None:
    """Corners of the cube; the constant has a share of the length from which the mean is visible."""
    size = n_slopes + has_constant
    row = np.ones(size) / math.sqrt(size) * row_lengths(size, n_slopes)
    assert row @ row == pytest.approx(1, abs=1e-12)
    assert not has_constant or row[-1] ** 2 >= 0.15 - 1e-9


def constant_or_line(n_rows: int, epsilon: float) -> list[float]:
    """R² of ridges on a tenth of a signal, with a mean far from the middle of the bounds."""
    rng, scores = np.random.default_rng(9), []
    for seed in range(15):
        rows = rng.uniform(-1, 1, (n_rows, 20))
        target = np.clip(-0.8 + 0.05 * rows[:, 0] + 0.1 * rng.standard_normal(n_rows), -1, 1)
        model = Ridge(epsilon, 1e-6, bounds=(-1, 1), target_bounds=(-1, 1), random_state=seed)
        scores.append(model.set_params(neighbours="add_remove").fit(rows, target).score(rows, target))
    return scores


@pytest.mark.filterwarnings("ignore::gaugedp.errors.HopelessFit")
def test_a_ridge_is_hardly_worse_than_a_constant_where_noise_hides_the_slopes() -> None:
    """Without shrinkage the median is -27; where rows are many, the slope is found."""
    assert np.median(constant_or_line(1000, 0.5)) > -0.2
    assert np.median(constant_or_line(20_000, 8.0)) > 0.02


def test_without_an_intercept_there_is_none() -> None:
    for kind in KINDS:
        model = kind(8.0, 1e-6, bounds=(-1, 1), target_bounds=(-3, 3), fit_intercept=False).fit(CUBE, TARGET - 0.2)
        assert model.intercept_ == 0
        assert model.coef_ == pytest.approx(TRUE, abs=0.15)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (Ridge, {"alpha": -1.0}, "alpha"),
        (Ridge, {"alpha": math.nan}, "alpha"),
        (ElasticNet, {"alpha": 0.0}, "alpha"),
        (ElasticNet, {"l1_ratio": 1.5}, "l1_ratio"),
        (HuberRegressor, {"width": 0.0}, "width"),
        (HuberRegressor, {"width": 0.01}, "at least 0.05"),
        (HuberRegressor, {"radius": -1.0}, "radius"),
        (PoissonRegressor, {"target_bounds": (1, 5)}, ", where `high` is the largest count that"),
        (PoissonRegressor, {"target_bounds": (0, math.inf)}, "target_bounds"),
        *((kind, {"bounds": None}, "bounds") for kind in KINDS),
        *((kind, {"target_bounds": None}, "target_bounds") for kind in (*KINDS, PoissonRegressor)),
    ],
)
def test_what_is_no_parameter_is_refused_before_paying(kind, change: dict, words: str) -> None:
    model = kind(1.0, 1e-6, bounds=(-1, 1), target_bounds=(0, 3))
    check_refused(model, change, words, (CUBE[:50], COUNTS[:50]))


def test_too_many_columns_for_second_moments_are_refused() -> None:
    model, table = Ridge(1.0, 1e-6, bounds=(0, 1), target_bounds=(0, 1)), (np.zeros((3, 1700)), np.zeros(3))
    check_refused(model, {}, "for at most 1,600", table)


EXPECTED = {
    "check_dtype_object": "a cell that is no number counts as missing: an error would tell",
    "check_supervised_y_no_nan": "a target that is no number counts as the middle of its bounds: an error would tell",
    "check_requires_y_none": "a target that is not given is refused, in other words",
    "check_supervised_y_2d": "a target with columns is refused, not flattened",
    "check_regressors_train": "infinite values are clipped, not refused: an error would tell",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*KINDS, PoissonRegressor])
def test_scikit_learns_own_checks(kind) -> None:
    bounds = (0, 200) if kind is PoissonRegressor else (-200, 200)
    model = kind(epsilon=50.0, delta=1e-5, bounds=(-10, 10), target_bounds=bounds, random_state=0)
    check_habits(model, EXPECTED)


@pytest.mark.parametrize("model", [Ridge, ElasticNet])
def test_a_bound_of_weights_that_are_not_given_changes_nothing(model) -> None:
    """The scale of rows is that of weights only if there are weights."""
    X = np.random.default_rng(5).uniform(-1, 1, (400, 2))
    y = X @ [0.3, -0.2] + 0.3
    fits = [
        model(1e6, weight_bound=bound, bounds=(-1, 1), target_bounds=(-1, 1), random_state=1).fit(X, y)
        for bound in (1, 8)
    ]
    assert fits[0].intercept_ == fits[1].intercept_
    assert (fits[0].coef_ == fits[1].coef_).all()
