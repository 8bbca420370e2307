"""A seed is for research: a bad one is refused before anything is paid, a good one is stamped on what it touched."""

import dataclasses
import json
import pickle

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import base

TARGET = {"target_bounds": (-1, 1)}
MODELS = {
    "AdditiveClassifier": {"bounds": (-1, 1), "classes": [0, 1]},
    "AdditiveRegressor": {"bounds": (-1, 1), **TARGET},
    "PCA": {"row_norm": 1.0},
    "TopEigenvector": {"row_norm": 1.0},
    "ElasticNet": {"bounds": (-1, 1), **TARGET},
    "GaussianNB": {"bounds": (-1, 1), "classes": [0, 1]},
    "SimpleImputer": {"bounds": (-1, 1)},
    "StandardScaler": {"bounds": (-1, 1)},
    "HuberRegressor": {"bounds": (-1, 1), **TARGET},
    "KMeans": {"bounds": (-1, 1), "n_clusters": 2},
    "Lasso": {"bounds": (-1, 1), **TARGET},
    "LinearRegression": {"row_norm": 1.0, **TARGET},
    "LinearSVC": {"row_norm": 1.0, "classes": [0, 1]},
    "LogisticRegression": {"row_norm": 1.0, "classes": [0, 1]},
    "LowRankCovariance": {"row_norm": 1.0},
    "MatrixCompletion": {"rating_bounds": (0, 1), "users": 3, "items": 3},
    "Mean": {"bounds": (-1, 1)},
    "PoissonRegressor": {"bounds": (-1, 1), "target_bounds": (0, 1)},
    "PrivateSearchCV": {
        "estimator": estimators.LogisticRegression(row_norm=1.0, classes=[0, 1]),
        "param_grid": {"radius": [1.0, 10.0]},
        "draws": 2,
    },
    "Ridge": {"bounds": (-1, 1), **TARGET},
    "SparseMean": {"bounds": (-1, 1), "sparsity": 1},
    "SparseRegression": {"bounds": (-1, 1), "sparsity": 1, **TARGET},
    "TraceRegression": {"row_norm": 1.0, **TARGET},
}
OTHERS = {"TooFewRows", "DomainFeatures", "from_domain", "score_report", "sub_gaussian_bounds"}


def test_every_estimator_is_here() -> None:
    assert set(MODELS) == set(estimators.__all__) - OTHERS


def fitted(name: str, seed: object) -> tuple[object, gd.Ledger]:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.5))
    model = getattr(estimators, name)(epsilon=1.0, delta=1e-6, random_state=seed, ledger=ledger, **MODELS[name])
    return model, ledger


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("name", MODELS)
def test_a_bad_seed_costs_nothing_and_a_good_one_is_stamped(name: str) -> None:
    for seed in (-1, 1.5, "a", 2**300):
        model, ledger = fitted(name, seed)
        with pytest.raises(InvalidRequest, match="Nothing was read and nothing was spent"):
            model.fit(np.zeros((20, 2)), np.zeros(20))
        assert [entry.kind for entry in ledger.entries()] == ["open"]
    model, ledger = fitted(name, np.int64(3))
    model.fit(np.zeros((20, 2)), np.zeros(20))
    assert len(ledger.entries()) > 1
    assert json.loads(model.release_.to_json())["facts"]["research_seed"] == 3
    assert "seeded: NOT PRIVATE" in repr(model.release_)


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("epsilon", [1e-300, 1.1e-6, 1e12, 1e300])
@pytest.mark.parametrize(
    "name", ["PCA", "TopEigenvector", "LinearRegression", "LinearSVC", "LogisticRegression", "Mean"]
)
def test_absurd_guarantees_end_in_a_fit_or_in_words(name: str, epsilon: float) -> None:
    """Also for rows that are all zeros: what is refused is refused before anything is paid."""
    for delta in (0.0, 1e-300, 1e-6):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(1e6, 0.5))
        public = {"random_state": 1, "ledger": None if epsilon > 1 else ledger, **MODELS[name]}
        model = getattr(estimators, name)(epsilon=epsilon, delta=delta, **public)
        for rows in (np.zeros((20, 3)), np.eye(20, 3)):
            try:
                model.fit(rows, np.arange(20) % 2)
            except InvalidRequest:
                assert [entry.kind for entry in ledger.entries()] == ["open"]


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_leaves_its_ledger_behind_and_an_unfitted_one_keeps_it(name: str, tmp_path) -> None:
    """So it loads where the ledger is not; and nothing is fitted without paying, as a fit asks for the ledger."""
    model, _ = fitted(name, 1)
    path = tmp_path / "gone.ledger"
    model.set_params(ledger=gd.Ledger.open(path, gd.ApproxDP(100.0, 0.5)))
    assert isinstance(pickle.loads(pickle.dumps(model)).ledger, gd.Ledger)
    rows, target = np.zeros((20, 2)), np.zeros(20)
    model.fit(rows, target)
    kept = pickle.dumps(model)
    assert b"gone.ledger" not in kept
    path.unlink()
    actual = pickle.loads(kept)
    for name_of, value in model.release_.values.items():
        assert np.array_equal(actual.release_.values[name_of], value)
    with pytest.raises(InvalidRequest, match=r"does not include its ledger.*set_params"):
        actual.fit(rows, target)
    assert actual.set_params(ledger=None).fit(rows, target) is actual


def test_a_fitted_model_with_a_ledger_in_memory_is_saved_too() -> None:
    model, _ = fitted("LogisticRegression", 1)
    model.fit(np.zeros((20, 2)), np.zeros(20))
    assert pickle.loads(pickle.dumps(model)).coef_.tolist() == model.coef_.tolist()


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_saved_in_another_form_is_refused_in_words(name: str) -> None:
    """As the versions saved them that wrote no form, or will save them that write another."""
    model, _ = fitted(name, 1)
    state = model.set_params(ledger=None).fit(np.zeros((20, 2)), np.zeros(20)).__getstate__()
    assert state.pop(base._FORM_KEY) == base._FORM
    for older in ({}, {base._FORM_KEY: base._FORM - 1}, {base._FORM_KEY: base._FORM + 1}):
        with pytest.raises(InvalidRequest, match="The model was saved by another version of") as refused:
            type(model).__new__(type(model)).__setstate__({**state, **older})
        assert str(refused.value).count(".") == 2
    again = pickle.loads(pickle.dumps(model))
    assert set(vars(again)) == set(vars(model)) == set(state)


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
def test_a_model_whose_parts_change_gets_a_new_form() -> None:
    """What `predict` and `interval` read: where this fails, raise `_FORM`, and write the parts down anew."""
    results = {}
    for name in MODELS:
        model, _ = fitted(name, 1)
        model.set_params(neighbours="replace").fit(np.zeros((20, 2)), np.zeros(20))
        results |= {part: type(value) for part, value in vars(model).items()}
    parts = {part for part in results if part.startswith("_")}
    assert parts == {
        "_read_as",
        "_bounds",
        "_calibration",
        "_n_calls",
        "_n_published",
        "_items",
        "_model",
        "_users",
        "_count",
        "_total",
        "_sums",
        "_noisy_sums",
        "_sums_settings",
        "_centres",
        "_count_scale",
        "_pending",
        "_start",
        "_best",
        "_weights_up_to",
    }
    expected = {
        "_read_as": {"n_columns", "box", "indicators", "names"},
        "_model": {"mean", "items", "users", "factors", "scores", "variance", "ridge", "spread", "reason"},
        "outlook_": {"n_rows", "noise_std", "detectable", "largest"},
    }
    assert {part: {field.name for field in dataclasses.fields(results[part])} for part in expected} == expected
    assert base._FORM == 7
