"""What every estimator knows of its columns: their names after a fit, and bounds that are given by name."""

import re

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency

from gaugedp import estimators
from gaugedp.estimators.feature_names import by_name
from gaugedp.estimators.fit_release import FitRelease
from tests.estimators.test_seeds import MODELS

pandas = pytest.importorskip("pandas")
IDS = {"MatrixCompletion"}  # its columns are users and items, whatever they are called
IN_A_CUBE = {"Lasso", "SparseRegression", "Ridge", "ElasticNet", "HuberRegressor", "PoissonRegressor"}
BY_COLUMN = {"GaussianNB", "KMeans", "SimpleImputer", "StandardScaler"}
IN_A_BOX = sorted({"Mean", "LinearRegression", "LinearSVC", "LogisticRegression", "PCA", "TopEigenvector",
                   "LowRankCovariance", *IN_A_CUBE, *BY_COLUMN})  # fmt: skip
PREDICT = sorted({"LinearRegression", "LinearSVC", "LogisticRegression", "PCA", "GaussianNB", "KMeans", *IN_A_CUBE})
NAMED = pytest.mark.parametrize("name", sorted(set(MODELS) - IDS))
pytestmark = pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")


def made(name: str, **given):
    return getattr(estimators, name)(epsilon=1.0, delta=1e-6, random_state=1, **{**MODELS[name], **given})


def boxed(name: str, bounds: object):
    """An estimator whose only bound on rows is a box."""
    model = made(name)
    return model.set_params(bounds=bounds, **({"row_norm": None} if "row_norm" in model.get_params() else {}))


def numbers(model) -> list[list]:
    return [np.asarray(value).tolist() for value in model.release_.values.values()]


ROWS = np.random.default_rng(1).uniform(0, 100, (40, 3))
LABELS = (ROWS[:, 0] > 50).astype(int)
FRAME = pandas.DataFrame(ROWS, columns=["age", "school", "hours"])
PAIRS = {"hours": (0, 99), "age": (17, 90), "school": (1, 16)}
ENDS = ([17, 1, 0], [90, 16, 99])


# -- names ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@NAMED
def test_a_frame_gives_its_names_and_an_array_takes_them_away(name: str) -> None:
    model = made(name).fit(FRAME, LABELS)
    assert model.feature_names_in_.tolist() == ["age", "school", "hours"]
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 3
    assert not hasattr(model.fit(ROWS, LABELS), "feature_names_in_")
    assert not hasattr(model.fit(FRAME.set_axis([0, 1, 2], axis=1), LABELS), "feature_names_in_")


@pytest.mark.parametrize("name", PREDICT)
def test_scikit_learns_own_check_of_names(name: str) -> None:
    check_dataframe_column_names_consistency(name, made(name, **({"classes": [0, 1]} if "SV" in name else {})))


@pytest.mark.parametrize("name", [*PREDICT, "TraceRegression"])
def test_columns_in_another_order_are_refused(name: str) -> None:
    model = made(name).fit(FRAME, LABELS)
    use = model.transform if name == "PCA" else model.predict
    for wrong, words in [
        (FRAME[["school", "age", "hours"]], "Feature names must be in the same order as they were in fit.\n"),
        (FRAME.rename(columns={"age": "Age"}), "unseen at fit time:\n- Age\nFeature names seen at fit time, yet now"),
        (FRAME[["age"]], "yet now missing:\n- hours\n- school\n"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            use(wrong)
    assert len(use(FRAME)) == 40
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        use(ROWS)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        getattr(model.fit(ROWS, LABELS), use.__name__)(FRAME)


@pytest.mark.parametrize("name", PREDICT)
def test_another_number_of_columns_is_refused(name: str) -> None:
    model = made(name).fit(ROWS, LABELS)
    with pytest.raises(InvalidRequest, match=f"X has 2 features, but {name} is expecting 3 features as input"):
        (model.transform if name == "PCA" else model.predict)(ROWS[:, :2])


# -- bounds by name ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_A_BOX)
def test_bounds_by_name_are_those_by_place(name: str) -> None:
    expected = boxed(name, ENDS).fit(ROWS, LABELS)
    assert numbers(boxed(name, PAIRS).fit(FRAME, LABELS)) == numbers(expected)
    swapped = FRAME[["hours", "school", "age"]]
    other = boxed(name, ([0, 1, 17], [99, 16, 90])).fit(swapped.to_numpy(), LABELS)
    assert numbers(boxed(name, PAIRS).fit(swapped, LABELS)) == numbers(other)
    assert clone(boxed(name, PAIRS)).get_params()["bounds"] == PAIRS


WRONG = [
    ({**PAIRS, "sex": (0, 1)}, FRAME, "`bounds` names 'sex', which is not in X"),
    ({"age": (17, 90)}, FRAME, "`bounds` has no entry for 'school', 'hours'"),
    ({}, FRAME, "`bounds` has no entry for 'age', 'school', 'hours'"),
    ({**PAIRS, "age": 17}, FRAME, "an entry that is not a pair"),
    ({**PAIRS, "age": (17, 90, 100)}, FRAME, "an entry that is not a pair"),
    ({**PAIRS, "age": ("young", "old")}, FRAME, "an entry that is not a pair"),
    ({**PAIRS, "age": (90, 17)}, FRAME, "low < high"),
    (PAIRS, ROWS, "`bounds` names columns, but the columns of X have no names"),
    (PAIRS, FRAME.set_axis([0, 1, 2], axis=1), "the columns of X have no names"),
]


@pytest.mark.parametrize("name", IN_A_BOX)
@pytest.mark.parametrize(("bounds", "rows", "words"), WRONG, ids=range(len(WRONG)))
def test_wrong_names_are_refused_and_nothing_is_spent(name: str, bounds, rows, words: str) -> None:
    ledger = gd.Ledger.in_memory(ApproxDP(5, 1e-5))
    with pytest.raises(InvalidRequest, match=words):
        boxed(name, bounds).set_params(ledger=ledger).fit(rows, LABELS)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_long_lists_of_names_are_cut() -> None:
    many = np.array([f"c{i}" for i in range(9)], dtype=object)
    with pytest.raises(InvalidRequest, match=r"'c0', 'c1', 'c2', 'c3', 'c4', \.\.\.\. Specify"):
        by_name("bounds", {}, many)


# -- before a fit, and what was asked --------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MODELS))
def test_before_a_fit_it_is_not_fitted(name: str) -> None:
    model, called = made(name), 0
    for method in ("predict", "predict_proba", "decision_function", "transform", "inverse_transform", "interval"):
        if hasattr(model, method):
            called += 1
            with pytest.raises(NotFittedError):
                getattr(model, method)(*(() if method == "interval" else (ROWS[:, :2],)))
    assert called or name in ("TopEigenvector", "LowRankCovariance")


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_release_says_what_was_asked(name: str, neighbours: str) -> None:
    release = made(name, neighbours=neighbours).fit(np.zeros((20, 2)), np.zeros(20)).release_
    assert release.requested == ApproxDP(1, 1e-6)
    assert f"FitRelease({name}, asked=ApproxDP(1, 1e-06), guarantee=" in repr(release)
    assert FitRelease.from_json(release.to_json()).requested == release.requested
    assert release.guarantee.epsilon(1e-6) <= 1 + 1e-9


def test_a_release_of_an_older_text_says_nothing_of_it() -> None:
    release = made("Mean").fit(ROWS).release_
    old = FitRelease(release.estimator, release.values, release.guarantee, release.exactness, {})
    assert old.requested is None
    assert FitRelease.from_json(old.to_json()).requested is None
    with pytest.raises(InvalidRequest, match="The text is not a saved fit in JSON"):
        FitRelease.from_json(release.to_json().replace('"asked": {', '"asked": 5, "was": {'))


@pytest.mark.parametrize(
    "name", ["LogisticRegression", "LinearSVC", "LinearRegression", "Lasso", "TraceRegression", "MatrixCompletion"]
)
def test_a_score_says_that_it_is_not_private(name: str) -> None:
    assert "without privacy" in getattr(estimators, name).score.__doc__
    rows = np.stack([LABELS, 1 - LABELS], axis=1) if name in IDS else ROWS
    model = made(name).fit(rows, LABELS)
    assert model.score(rows, LABELS, sample_weight=np.ones(40)) == pytest.approx(model.score(rows, LABELS))


def test_users_and_items_are_not_exchanged() -> None:
    ratings = pandas.DataFrame({"user": [0, 1, 2, 0], "item": [0, 1, 1, 2]})
    model = made("MatrixCompletion").fit(ratings, [0.0, 1.0, 1.0, 0.5])
    assert model.predict(ratings).tolist() == model.predict(ratings.to_numpy()).tolist()
    for wrong in (lambda: model.predict(ratings[["item", "user"]]),
                  lambda: model.predict(ratings, own=(ratings[["item", "user"]], [1.0] * 4)),
                  lambda: model.recommend(0, own=(ratings[["item", "user"]], [1.0] * 4))):  # fmt: skip
        with pytest.raises(InvalidRequest, match="must be in the same order"):
            wrong()


# -- dates ---------------------------------------------------------------------------------------------


@NAMED
def test_dates_are_no_numbers_in_a_fit_and_after_it(name: str) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(10.0, 0.1))
    model = made(name, ledger=ledger)
    dated = FRAME.assign(school=pandas.Timestamp("2020-01-01"))
    for table in (dated, dated.assign(school=pandas.Timedelta(days=1))):
        with pytest.raises(
            InvalidRequest, match=r"The column 'school' contains dates or durations instead of numbers\. Convert"
        ):
            model.fit(table, LABELS)
    with pytest.raises(InvalidRequest, match="The table contains dates"):
        model.fit(np.full((40, 3), np.datetime64("2020-01-01")), LABELS)
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    model.set_params(ledger=None).fit(FRAME, LABELS)
    if name in PREDICT:
        with pytest.raises(InvalidRequest, match="The column 'school' contains dates"):
            (model.transform if name == "PCA" else model.predict)(dated)
