"""Not worse than trivial: no classifier is below the private majority class, no regression below the private mean."""

import functools

import numpy as np
import pytest
from scipy import stats

from tests.laws import model_data
from tests.laws.kit import batches, generator
from tests.laws.model_data import Data, matrices, ratings

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators

LAW = "trivial"
DRAWS = 50
FALSE_ALARM = 1e-3  # of all cases of a run together, were each estimator exactly as good as the trivial one
HOLDS = (  # estimator, its parameters, kind of data; 600 rows of 3 columns at epsilon 5
    ("LinearRegression", {}, "symmetric"),
    ("LogisticRegression", {}, "balanced"),
    ("Ridge", {}, "symmetric"),
    ("LinearSVC", {}, "balanced"),
    ("GaussianNB", {}, "balanced"),
    ("HuberRegressor", {}, "symmetric"),
    ("AdditiveRegressor", {}, "symmetric"),
    ("LogisticRegression", {}, "three"),
    ("ElasticNet", {}, "binary"),
    ("LinearSVC", {}, "three"),
    ("GaussianNB", {}, "three"),
    ("LinearRegression", {}, "bimodal"),
    ("MatrixCompletion", {}, "ratings"),
    ("TraceRegression", {}, "matrices"),
)
KNOWN = (  # estimator, its parameters, kind of data, rows, epsilon, and how many draws show it
    ("PoissonRegressor", {}, "count", 100, 1.0, 50),
    ("HuberRegressor", {}, "binary", 1000, 5.0, 10),
    ("SparseRegression", {"sparsity": 1}, "count", 100, 0.1, 20),
    # 0.016 of R² behind: the mean alone has the Gaussian noise that is charged. On skewed targets slopes do worse.
    ("Ridge", {}, "symmetric", 100, 1.0, 50),
    ("ElasticNet", {}, "symmetric", 100, 1.0, 50),
)
MENDED = (  # were in KNOWN
    ("SparseRegression", {"sparsity": 1}, "count", 1000, 0.1, 12),
    ("Lasso", {}, "symmetric", 100, 0.1, 20),
    ("LogisticRegression", {}, "rare", 100, 0.1, 20),
    ("LinearSVC", {}, "rare", 100, 0.1, 20),
    ("GaussianNB", {}, "rare", 100, 0.1, 50),
    ("LinearRegression", {}, "count", 1000, 0.1, 50),
    ("AdditiveRegressor", {}, "symmetric", 100, 0.1, 20),
    ("Ridge", {}, "symmetric", 100, 0.1, 50),
    ("ElasticNet", {}, "count", 100, 0.1, 20),
    ("PoissonRegressor", {}, "count", 100, 0.1, 50),
)
COVERS = {"estimators": {name for name, *_ in (*HOLDS, *KNOWN, *MENDED)}}


def drawn(kind: str, rng: np.random.Generator, n_rows: int) -> Data:
    """Return data of a kind."""
    special = {"ratings": ratings, "matrices": matrices}
    if kind in special:
        return special[kind](rng)
    of = model_data.classes if kind in model_data.CLASSES else model_data.regression
    return of(kind, rng, (n_rows, 3))


def score(data: Data, predicted: np.ndarray) -> float:
    """Return the accuracy, or R²."""
    if "classes" in data.facts:
        return float(np.mean(predicted == data.target))
    return float(1 - np.mean((predicted - data.target) ** 2) / np.var(data.target))


def trivial(data: Data, seed: int, **requested: float) -> float:
    """Return the score of the majority class by noisy counts, or of the private mean, at the same guarantee."""
    y = np.asarray(data.target)
    if "classes" in data.facts:
        counts = np.bincount(y, minlength=len(data.facts["classes"]))
        noise = np.random.default_rng([seed, 1]).laplace(0, 2 / requested["epsilon"], len(counts))
        return score(data, np.full(len(y), np.argmax(counts + noise)))
    bounds = data.facts.get("target_bounds") or data.facts["rating_bounds"]
    mean = estimators.Mean(bounds=bounds, random_state=seed, **requested).fit(y[:, None]).mean_[0]
    return score(data, np.full(len(y), mean))


def lead(name: str, parameters: dict, data: Data, seeds: range, **requested: float) -> float:
    """Return by how many standard errors an estimator is better than the trivial one, over fits with these seeds."""
    build = functools.partial(getattr(estimators, name), **data.facts, **parameters, **requested)
    models = ((seed, build(random_state=seed).fit(data.rows, data.target)) for seed in seeds)
    gains = [score(data, model.predict(data.rows)) - trivial(data, seed, **requested) for seed, model in models]
    return float(np.mean(gains) / max(np.std(gains, ddof=1) / np.sqrt(len(gains)), 1e-12))


def most(n_cases: int) -> float:
    """Return how many standard errors behind alarm: three, and more where so many cases are looked at."""
    return max(3.0, float(stats.t.isf(FALSE_ALARM / n_cases, DRAWS - 1)))


@pytest.mark.parametrize("cases", batches(LAW, 5), ids=str)
def test_where_data_are_plentiful_no_estimator_is_worse_than_trivial(cases: range) -> None:
    """Fifty fits to random data in every fifth case, delta 1e-6; all lead by far more than they may fall behind."""
    n_cases = batches(LAW, 5)[-1].stop
    for case in cases[::5]:
        name, parameters, kind = HOLDS[int(generator(LAW, case).integers(len(HOLDS)))]
        data = drawn(kind, generator(LAW, case), 600)
        found = lead(name, parameters, data, range(DRAWS), epsilon=5.0, delta=1e-6)
        assert found > -most(n_cases), f"case {case}: {name} on {kind} rows is {-found:.1f} standard errors behind"


NO_SHRINKAGE = pytest.mark.xfail(strict=True, reason="no shrinkage towards the private mean or the majority class")
WORSE = [pytest.param(*case, marks=[pytest.mark.many, NO_SHRINKAGE]) for case in KNOWN]


@pytest.mark.parametrize(("name", "parameters", "kind", "n_rows", "epsilon", "draws"), [*WORSE, *MENDED])
def test_where_noise_is_large(name: str, parameters: dict, kind: str, n_rows: int, epsilon: float, draws: int) -> None:
    """Fixed data and seeds."""
    data = drawn(kind, np.random.default_rng(45), n_rows)
    assert lead(name, parameters, data, range(draws), epsilon=epsilon, delta=1e-6) > -3


def test_an_estimator_below_the_majority_class_is_found() -> None:
    """The law's own control: a classifier that learnt the classes the other way round."""
    data = drawn("balanced", np.random.default_rng(45), 1500)
    turned = Data(data.rows, 1 - data.target, data.facts)
    build = estimators.LogisticRegression(epsilon=5.0, delta=1e-6, random_state=1, **data.facts)
    wrong = build.fit(turned.rows, turned.target)
    assert score(data, wrong.predict(data.rows)) < trivial(data, 1, epsilon=5.0, delta=1e-6) - 0.1
