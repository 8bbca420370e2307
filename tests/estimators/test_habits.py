"""What is written by the habits of scikit-learn: translated, charged in full, or warned of."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder
from sklearn.preprocessing import StandardScaler as PublicScaler

import gaugedp as gd
from gaugedp import estimators
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.estimators import (
    PCA,
    GaussianNB,
    HuberRegressor,
    KMeans,
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivateSearchCV,
    SparseRegression,
    StandardScaler,
    unpaid_reads,
)
from gaugedp.estimators.base import PrivateEstimator

RNG = np.random.default_rng(4)
ROWS = RNG.uniform(-1, 1, (2000, 2))
LABELS = np.where(ROWS[:, 0] > 0.9, 1, 0)  # one in twenty
PUBLIC = {"bounds": (-1, 1), "classes": [0, 1], "epsilon": 3.0, "delta": 1e-6, "random_state": 1}


def account() -> gd.Ledger:
    return gd.Ledger.in_memory(gd.ApproxDP(100.0, 0.1))


def charges(ledger: gd.Ledger) -> int:
    return sum(entry.kind == "reserve" for entry in ledger.entries())


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(estimators.__all__)))
def test_a_wrong_argument_names_the_public_class(name: str) -> None:
    kind = getattr(estimators, name)
    if not (isinstance(kind, type) and issubclass(kind, PrivateEstimator)):
        pytest.skip("no estimator")
    with pytest.raises(TypeError, match=f"^{name} has no parameter 'epsilom'. Did you mean 'epsilon'"):
        kind(epsilom=1.0)


def test_the_parameter_of_another_library_is_named() -> None:
    for wrong, right in (("data_norm", "row_norm"), ("accountant", "ledger"), ("regularization", "radius")):
        with pytest.raises(TypeError, match=f"LogisticRegression has no parameter {wrong!r}. Did you mean {right!r}"):
            LogisticRegression(**{wrong: 1})


def test_a_small_c_limits_the_radius_and_a_named_solver_is_auto() -> None:
    """At n·C = 0.02 the solution of scikit-learn has a norm of at most √(2·0.02·log 2) = 0.17: the ridge is for it."""
    wide, narrow = (LogisticRegression(C=c, **PUBLIC).fit(ROWS, LABELS) for c in (1.0, 1e-5))
    assert np.linalg.norm(narrow.coef_) < 0.5 * np.linalg.norm(wide.coef_)
    auto, named = (LogisticRegression(solver=solver, **PUBLIC).fit(ROWS, LABELS) for solver in ("auto", "lbfgs"))
    assert (auto.coef_ == named.coef_).all()
    ledger = account()
    LogisticRegression(solver="saga", ledger=ledger, **PUBLIC).fit(ROWS, LABELS)
    assert charges(ledger) == 1
    with pytest.raises(InvalidRequest, match="`C` is"):
        LogisticRegression(C=-1.0, **PUBLIC).fit(ROWS, LABELS)


def test_alpha_limits_the_radius_of_lasso() -> None:
    public = {"bounds": (-1, 1), "target_bounds": (-1, 1), "random_state": 1, "epsilon": 50.0}
    for alpha, most in ((5.0, 0.1), (0.01, 1.0)):
        model = Lasso(alpha=alpha, **public).fit(ROWS, ROWS[:, 0])
        assert np.abs(model.coef_).sum() + abs(model.intercept_) <= most + 1e-9


def test_a_random_state_object_gives_new_noise_in_each_fit() -> None:
    for make in (np.random.RandomState, np.random.default_rng):
        model = KMeans(n_clusters=2, bounds=(-1, 1), random_state=make(0))
        first, second = model.fit(ROWS).cluster_centers_, model.fit(ROWS).cluster_centers_
        again = KMeans(n_clusters=2, bounds=(-1, 1), random_state=make(0)).fit(ROWS)
        assert (again.cluster_centers_ == first).all()
        assert (second != first).any()
        assert isinstance(json.loads(again.release_.to_json())["facts"]["research_seed"], int)


def test_max_iter_limits_the_rounds_of_k_means() -> None:
    assert KMeans(max_iter=2, bounds=(-1, 1)).fit(ROWS).release_.facts["rounds"] == 2
    assert KMeans(max_iter=300, bounds=(-1, 1)).fit(ROWS).release_.facts["rounds"] == 6


# -- balanced classes ------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (LogisticRegression, {}),
        (LogisticRegression, {"delta": 0.0}),
        (LogisticRegression, {"solver": "newton"}),
        (LogisticRegression, {"bounds": "private"}),
        (LinearSVC, {}),
    ],
)
def test_balanced_classes_are_part_of_one_charge(kind, more: dict, neighbours: str) -> None:
    ledger = account()
    model = kind(class_weight="balanced", neighbours=neighbours, ledger=ledger, **{**PUBLIC, **more})
    model.fit(ROWS, LABELS)
    requested = gd.PureDP(3.0) if more.get("delta") == 0 else gd.ApproxDP(3.0, 1e-6)
    assert (charges(ledger), model.guarantee_) == (1, requested)
    counts = model.release_.values["class_counts"]
    assert counts == pytest.approx(np.bincount(LABELS), abs=300)
    assert (counts != np.bincount(LABELS)).any()
    assert model.predict(ROWS).mean() > 0.03
    assert model.class_weight == "balanced"


def test_the_counts_have_the_noise_of_their_share() -> None:
    """A twentieth of ε = 3, for a replaced row: a scale of 2/0.15, and its variance within a third (1e-6)."""
    seen = []
    for seed in range(200):
        given = {**PUBLIC, "random_state": seed, "neighbours": "replace"}
        model = LogisticRegression(class_weight="balanced", **given)
        seen.append(model.fit(ROWS, LABELS).release_.values["class_counts"] - np.bincount(LABELS))
    assert np.var(seen) == pytest.approx(2 * (2 / 0.15) ** 2, rel=0.4)


def test_names_of_columns_reach_the_parts() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    public = {"bounds": {"a": (-1, 1), "b": (-1, 1)}, "missing_indicator": ["b"], "epsilon": 3.0}
    model = LogisticRegression(class_weight="balanced", classes=[0, 1], **public).fit(frame, LABELS)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(frame).shape == (2000,)
    both = LinearRegression(target_bounds=(-1, 1), **public).fit(frame, frame)
    assert both.coef_.shape == (2, 3)


def test_balanced_classes_are_refused_before_the_charge() -> None:
    ledger = account()
    for wrong in (
        {"classes": None},
        {"bounds": None},
        {"epsilon": -1.0},
        {"solver": "newton", "row_norm": 1.0},
        {"solver": "gibbs"},
    ):
        model = LogisticRegression(class_weight="balanced", ledger=ledger, **{**PUBLIC, **wrong})
        with pytest.raises(InvalidRequest):
            model.fit(ROWS, LABELS)
    with pytest.raises(InvalidRequest, match="class_weight"):
        LogisticRegression(class_weight="equal", **PUBLIC).fit(ROWS, LABELS)
    assert charges(ledger) == 0
    with pytest.raises(LedgerRefused):
        LogisticRegression(class_weight="balanced", ledger=gd.Ledger.in_memory(gd.ApproxDP(2.99, 1e-5)), **PUBLIC).fit(
            ROWS, LABELS
        )


# -- several outputs -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LinearRegression, Lasso, SparseRegression, estimators.Ridge, HuberRegressor])
def test_several_targets_share_one_charge(kind) -> None:
    ledger = account()
    targets = np.column_stack([ROWS[:, 0], 2 * ROWS[:, 1], ROWS.sum(axis=1)])
    more = {"sparsity": 1} if kind is SparseRegression else {}
    model = kind(epsilon=6.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2), ledger=ledger, **more)
    model.fit(ROWS, targets)
    assert (charges(ledger), model.guarantee_) == (1, gd.ApproxDP(6.0, 1e-6))
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    assert model.predict(ROWS[:5]) == pytest.approx(ROWS[:5] @ model.coef_.T + model.intercept_)


def test_each_target_is_fitted_with_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    true_fit = LinearRegression._fit
    monkeypatch.setattr(
        LinearRegression, "_fit", lambda self, *args: (shares.append((self.epsilon, self.delta)), true_fit(self, *args))
    )
    model = LinearRegression(epsilon=6.0, delta=3e-6, bounds=(-1, 1), target_bounds=([-1, -2, -2], [1, 2, 2]))
    model.fit(ROWS, np.column_stack([ROWS, ROWS[:, 0]]))
    assert shares[-3:] == [(2.0, 1e-6)] * 3


# -- fits in several calls -------------------------------------------------------------------------


def test_each_partial_fit_is_charged_and_adds_its_rows() -> None:
    ledger = account()
    model = GaussianNB(epsilon=5.0, bounds=(-1, 1), classes=[0, 1], ledger=ledger)
    scaler = StandardScaler(epsilon=5.0, bounds=(-1, 1), ledger=ledger)
    for part in np.array_split(np.arange(len(ROWS)), 4):
        model.partial_fit(ROWS[part], LABELS[part])
        scaler.partial_fit(ROWS[part])
    assert charges(ledger) == 8
    assert model.guarantee_ == scaler.guarantee_ == 4 * gd.PureDP(5.0) == model.release_.guarantee
    assert scaler.mean_ == pytest.approx(ROWS.mean(axis=0), abs=0.02)
    assert model.class_prior_ == pytest.approx(np.bincount(LABELS) / len(ROWS), abs=0.02)
    model.fit(ROWS, LABELS)
    assert model.guarantee_ == gd.PureDP(5.0)


def test_another_batch_is_refused_before_the_charge() -> None:
    ledger = account()
    scaler = StandardScaler(bounds=(-1, 1), ledger=ledger).partial_fit(ROWS)
    with pytest.raises(InvalidRequest, match="features"):
        scaler.partial_fit(ROWS[:, :1])
    with pytest.raises(InvalidRequest, match="This call to `partial_fit` differs from"):
        scaler.set_params(bounds=(-2, 2)).partial_fit(ROWS)
    assert charges(ledger) == 1
    model = GaussianNB(bounds=(-1, 1), classes=[0, 1], ledger=ledger).partial_fit(ROWS, LABELS)
    with pytest.raises(InvalidRequest, match="weights"):
        model.partial_fit(ROWS, LABELS, sample_weight=np.ones(2000))
    model.fit(ROWS, LABELS, np.ones(2000))
    with pytest.raises(InvalidRequest, match="weights"):
        model.partial_fit(ROWS, LABELS)
    model.partial_fit(ROWS, LABELS, sample_weight=np.ones(2000))
    assert charges(ledger) == 4


def test_long_bounds_that_differ_in_the_middle_differ() -> None:
    rows, high = np.zeros((2, 3000)), np.ones(3000)
    scaler = StandardScaler(bounds=(-high, high)).partial_fit(rows)
    other = high.copy()
    other[1500] = 2.0
    with pytest.raises(InvalidRequest, match="This call to `partial_fit` differs from"):
        scaler.set_params(bounds=(-high, other)).partial_fit(rows)
    scaler.set_params(bounds=(-high, high.copy())).partial_fit(rows)


@pytest.mark.parametrize("part", ["_read_by", "_publish"])
def test_a_call_that_fails_after_the_noise_is_stated(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Its sums are dropped, and what was fitted before the failure is in the guarantee."""

    def fail(*_: object) -> None:
        raise RuntimeError

    for model, given in (
        (GaussianNB(epsilon=5.0, bounds=(-1, 1), classes=[0, 1]), (ROWS, LABELS)),
        (StandardScaler(epsilon=5.0, bounds=(-1, 1)), (ROWS,)),
    ):
        model.partial_fit(*given)
        sums = model._noisy_sums
        with monkeypatch.context() as patch:
            patch.setattr(PrivateEstimator, part, fail)
            with pytest.raises(RuntimeError):
                model.partial_fit(*given)
        assert model.guarantee_ == 2 * gd.PureDP(5.0)
        assert model._noisy_sums is sums
        model.partial_fit(*given)
        assert model.guarantee_ == 3 * gd.PureDP(5.0) == model.release_.guarantee


# -- components, clusters, searches ----------------------------------------------------------------


def test_a_share_of_the_variance_is_chosen_among_released_components() -> None:
    rows = np.hstack([ROWS, ROWS * 0.05])
    public = {"bounds": (-1, 1), "epsilon": 50.0, "delta": 1e-5, "random_state": 3}
    every, some = (PCA(n_components=n, **public).fit(rows) for n in (None, 0.9))
    assert some.n_components_ == 2
    assert (some.components_ == every.components_[:2]).all()
    assert every.guarantee_ == some.guarantee_


def test_whitened_coordinates_have_variance_one_and_go_back() -> None:
    model = PCA(n_components=2, whiten=True, bounds=(-1, 1), epsilon=50.0, delta=1e-5, random_state=1).fit(ROWS)
    coords = model.transform(ROWS)
    assert coords.var(axis=0) == pytest.approx(1, abs=0.1)
    assert model.inverse_transform(coords) == pytest.approx(ROWS)


def test_distances_and_scores_of_clusters() -> None:
    model = KMeans(n_clusters=3, bounds=(-1, 1), random_state=1).fit(ROWS)
    squares = ((ROWS[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert model.transform(ROWS) == pytest.approx(np.sqrt(squares))
    assert model.score(ROWS) == pytest.approx(-squares.min(axis=1).sum())


def test_a_search_has_the_probabilities_of_its_best_model() -> None:
    search = PrivateSearchCV(LogisticRegression(bounds=(-1, 1), classes=[0, 1]), {"C": [0.1, 1.0]}, epsilon=3.0)
    search.fit(ROWS, LABELS)
    assert (search.predict_proba(ROWS) == search.best_estimator_.predict_proba(ROWS)).all()


# -- warnings --------------------------------------------------------------------------------------


def test_a_second_fit_without_a_ledger_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpaid_reads, "_has_warned", [])
    rows = ROWS.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "The noise of this fit")
        KMeans(bounds=(-1, 1)).fit(rows.copy())
        KMeans(bounds=(-1, 1), ledger=account()).fit(rows)
        targets = LinearRegression(bounds=(-1, 1), target_bounds=(-1, 1)).fit(rows.copy(), rows)
        assert not caught
        assert targets.coef_.shape == (2, 2)
        StandardScaler(bounds=(-1, 1)).fit(rows[:, :1])  # a view of the same rows
        KMeans(bounds=(-1, 1)).fit(rows)
    assert [str(warning.message)[:30] for warning in caught] == ["The same rows are fitted again"]


def test_scikit_learns_scaler_before_a_private_model_warns() -> None:
    model = LinearSVC(bounds=(-3, 3), classes=[0, 1])
    with pytest.warns(UserWarning, match="StandardScaler in the pipeline learns from the rows without privacy"):
        make_pipeline(PublicScaler(), model).fit(ROWS, LABELS)
    with pytest.warns(UserWarning, match="StandardScaler in the pipeline"):
        make_pipeline(PublicScaler(), KMeans(2, bounds=(-3, 3))).fit_predict(ROWS)
    nested = ColumnTransformer([("range", MinMaxScaler(), [0])])
    with pytest.warns(UserWarning, match="MinMaxScaler in the pipeline"):
        make_pipeline(nested, model).fit(ROWS, LABELS)


def test_public_and_private_steps_do_not_warn() -> None:
    model = LinearSVC(bounds=(-3, 3), classes=[0, 1])
    public = ColumnTransformer([("kinds", OneHotEncoder(categories=[[0, 1]], handle_unknown="ignore"), [0])])
    for step in (StandardScaler(bounds=(-1, 1)), FunctionTransformer(np.tanh), public):
        make_pipeline(step, model).fit(ROWS, LABELS)


def test_the_threshold_of_huber_regression_is_not_its_privacy() -> None:
    public = {"bounds": (-1, 1), "target_bounds": (-1, 1)}
    with pytest.warns(UserWarning, match="privacy budget here, not the threshold"):
        HuberRegressor(epsilon=1.35, **public).fit(ROWS, ROWS[:, 0])
    HuberRegressor(epsilon=1.35, delta=1e-6, **public).fit(ROWS, ROWS[:, 0])
