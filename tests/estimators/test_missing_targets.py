"""A row without a target does not influence a regression, if rows are added or removed."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators import (
    AdditiveRegressor,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    SparseRegression,
)

RNG = np.random.default_rng(11)
X = RNG.uniform(0, 1, (3000, 3))
Y = 2 + X @ [1, 0.5, 0.2] + RNG.normal(0, 0.1, 3000)
KINDS = [AdditiveRegressor, ElasticNet, HuberRegressor, Lasso, LinearRegression, PoissonRegressor, Ridge]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", [*KINDS, SparseRegression])
def test_rows_without_targets_are_as_if_they_were_absent(kind: type, delta: float) -> None:
    is_known = np.arange(3000) % 3 > 0
    public = {"delta": delta or 1e-6 if kind is SparseRegression else delta, "bounds": (0, 1), "target_bounds": (0, 20)}
    given = {"sparsity": 2, **public} if kind is SparseRegression else public

    def prediction(rows: np.ndarray, target: np.ndarray, **options: object) -> np.ndarray:
        model = kind(epsilon=5.0, **given, random_state=4, **options)
        return np.asarray(model.fit(rows, target).predict(X[:5]))

    missing = np.where(is_known, Y, np.nan)
    assert np.array_equal(prediction(X, missing), prediction(X[is_known], Y[is_known]))
    replaced = prediction(X, missing, neighbours="replace")
    assert not np.array_equal(replaced, prediction(X[is_known], Y[is_known], neighbours="replace"))
