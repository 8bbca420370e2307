"""What is missing: one rule for all estimators, in a fit and after it, and the columns that say where it was."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

import gaugedp as gd
from gaugedp.estimators import (
    PCA,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    LowRankCovariance,
    Mean,
    PoissonRegressor,
    Ridge,
    SparseMean,
    SparseRegression,
    TopEigenvector,
)
from tests.estimators.kit import check_refused

RNG = np.random.default_rng(7)
LOW, HIGH = np.array([0.0, -1.0, 5.0, 0.0]), np.array([16.0, 3.0, 9.0, 1.0])  # 0 at an end, within, and outside
FULL = RNG.uniform(LOW - 1, HIGH + 1, (400, 4))
TARGET = (FULL[:, 0] + FULL[:, 2] > 15).astype(int)
GAPS = RNG.random(FULL.shape) < 0.3
HOLED = np.where(GAPS, np.nan, FULL)
BY_HAND = np.where(GAPS, (LOW + HIGH) / 2, FULL)

BOX = {"delta": 1e-5, "bounds": (LOW, HIGH), "random_state": 3}
MODELS = [
    LogisticRegression(2.0, classes=[0, 1], **BOX),
    LogisticRegression(2.0, classes=[0, 1], row_norm=0.7, solver="gradient", **BOX),
    LinearSVC(2.0, classes=[0, 1], **BOX),
    LinearSVC(2.0, classes=[0, 1, 2], **BOX),
    LinearRegression(2.0, target_bounds=(0, 1), **BOX),
    Lasso(2.0, target_bounds=(0, 1), **BOX),
    Ridge(2.0, target_bounds=(0, 1), **BOX),
    ElasticNet(2.0, target_bounds=(0, 1), **BOX),
    HuberRegressor(2.0, target_bounds=(0, 1), **BOX),
    PoissonRegressor(2.0, target_bounds=(0, 1), **BOX),
    SparseRegression(2, 2.0, target_bounds=(0, 1), **BOX),
    Mean(2.0, **BOX),
]
OTHERS = [PCA(2, 2.0, **BOX), TopEigenvector(2.0, **BOX), LowRankCovariance(1, 2.0, **BOX)]
OTHERS.append(SparseMean(1, 2.0, 1e-5, bounds=(0.0, 8.0), random_state=3))


def named(models):
    return pytest.mark.parametrize("model", models, ids=lambda one: type(one).__name__)


def answers(model, rows) -> list[np.ndarray]:
    """What a fitted model says of rows, in every way that it has."""
    ways = ("decision_function", "predict", "predict_proba", "transform")
    return [getattr(model, way)(rows) for way in ways if hasattr(model, way)]


def same(one, other) -> None:
    """Insist that two fits released the same numbers."""
    assert one.release_.values.keys() == other.release_.values.keys()
    for name, value in one.release_.values.items():
        assert np.array_equal(value, other.release_.values[name]), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@named([*MODELS, *OTHERS])
def test_a_missing_number_counts_as_the_middle_of_its_bounds(model) -> None:
    by_hand = np.where(GAPS, 4.0, FULL) if isinstance(model, SparseMean) else BY_HAND
    holed, full = clone(model).fit(HOLED, TARGET), clone(model).fit(by_hand, TARGET)
    same(holed, full)
    for of_holes, of_full in zip(answers(holed, HOLED), answers(full, BY_HAND), strict=True):
        assert np.array_equal(of_holes, of_full)


@named([LogisticRegression(classes=[0, 1]), LinearSVC(classes=[0, 1]), LinearRegression(target_bounds=(0, 1)), Mean()])
def test_without_bounds_a_row_with_a_gap_counts_as_0(model) -> None:
    model.set_params(epsilon=2.0, delta=1e-5, row_norm=10.0, random_state=3)
    by_hand = np.where(GAPS.any(axis=1, keepdims=True), 0.0, FULL)
    holed, full = clone(model).fit(HOLED, TARGET), clone(model).fit(by_hand, TARGET)
    same(holed, full)
    for of_holes, of_full in zip(answers(holed, HOLED), answers(full, by_hand), strict=True):
        assert np.array_equal(of_holes, of_full)


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "places"), [(True, [0, 1, 2, 3]), ([2, 0], [2, 0]), (np.array([1]), [1]), ([], [])])
@named(MODELS)
def test_an_indicator_is_a_public_column_after_the_others(model, chosen, places) -> None:
    marked = clone(model).set_params(missing_indicator=chosen).fit(HOLED, TARGET)
    more = np.zeros(len(places))
    by_hand = clone(model).set_params(bounds=(np.append(LOW, more), np.append(HIGH, more + 1)))
    full = by_hand.fit(np.hstack([HOLED, GAPS[:, places]]), TARGET)
    same(marked, full)
    for of_holes, of_full in zip(
        answers(marked, HOLED[:50]), answers(full, np.hstack([HOLED, GAPS[:, places]])[:50]), strict=True
    ):
        assert np.array_equal(of_holes, of_full)
    assert marked.n_features_in_ == 4
    assert marked.release_.facts.get("missing_indicator", []) == places
    assert repr(marked.guarantee_) == repr(full.guarantee_)


@pytest.mark.slow
@named(MODELS)
def test_the_gaps_decide_neither_the_columns_nor_the_cost(model) -> None:
    """A table without gaps, one with a gap in a single cell, and one of gaps alone, get the same columns and charge."""
    single = FULL.copy()
    single[0, 0] = np.nan
    seen = []
    for rows in (FULL, single, np.full(FULL.shape, np.nan)):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(10, 1e-3))
        fitted = clone(model).set_params(missing_indicator=True, ledger=ledger).fit(rows, TARGET)
        shapes = {name: np.shape(value) for name, value in fitted.release_.values.items()}
        seen.append((shapes, repr(ledger.spent), fitted.release_.facts["missing_indicator"]))
    assert seen[0] == seen[1] == seen[2]


def test_indicators_may_be_chosen_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(HOLED, columns=["school", "b", "c", "d"])
    model = LogisticRegression(2.0, classes=[0, 1], **BOX)
    by_name = clone(model).set_params(missing_indicator=["school", "d"]).fit(frame, TARGET)
    same(by_name, clone(model).set_params(missing_indicator=[0, 3]).fit(HOLED, TARGET))
    assert by_name.feature_names_in_.tolist() == ["school", "b", "c", "d"]
    assert by_name.predict(frame).shape == (400,)
    assert clone(by_name).get_params()["missing_indicator"] == ["school", "d"]
    again = by_name.set_params(missing_indicator=False).fit(frame, TARGET)
    assert again.coef_.shape == (1, 4)
    assert again.predict(frame).shape == (400,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"missing_indicator": "school"}, "`missing_indicator` must be True, False or a"),
        ({"missing_indicator": 2}, "`missing_indicator` must be True, False or a"),
        ({"missing_indicator": {0, 1}}, "`missing_indicator` must be True, False or a"),
        ({"missing_indicator": None}, "`missing_indicator` must be True, False or a"),
        ({"missing_indicator": ["school"]}, "at least one name is unknown"),
        ({"missing_indicator": [4]}, "positions from 0 to 3"),
        ({"missing_indicator": [-1]}, "at least one name is unknown"),
        ({"missing_indicator": [True, False]}, "at least one name is unknown"),
        ({"missing_indicator": [0.0]}, "at least one name is unknown"),
        ({"missing_indicator": [[0]]}, "at least one name is unknown"),
        ({"missing_indicator": [1, 1]}, "`missing_indicator` must name columns of X,"),
        (
            {"missing_indicator": True, "bounds": None, "row_norm": 1.0},
            "`missing_indicator` requires `bounds`",
        ),
    ],
)
@named([LogisticRegression(classes=[0, 1], **BOX), LinearRegression(target_bounds=(0, 1), **BOX), Mean(**BOX)])
def test_what_is_no_choice_of_columns_is_refused(model, change, words) -> None:
    check_refused(model, change, words, (HOLED, TARGET))


def test_a_mean_and_the_share_that_is_missing_give_the_mean_of_what_is_known() -> None:
    rows = np.repeat([[12.0], [np.nan], [14.0], [13.0]], 5000, axis=0)
    mean, share = Mean(5.0, bounds=(0, 16), missing_indicator=True).fit(rows).mean_
    assert (mean - 8.0 * share) / (1 - share) == pytest.approx(13.0, abs=0.1)
    assert share == pytest.approx(0.25, abs=0.01)
