"""The private classifiers keep scikit-learn's contract, but for what privacy forbids, listed by name."""

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.pca import PCA
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.svc import LinearSVC
from tests.estimators.kit import check_habits

KINDS = [LogisticRegression, LinearSVC]
EXPECTED = {
    "check_dtype_object": "a cell that is no number counts as missing: an error would tell",
    "check_classifiers_classes": "classes are public and given before: labels of other kinds count as none of them",
    "check_classifiers_train": "as above, and infinite values are clipped, not refused: an error would tell",
    "check_classifiers_regression_target": "continuous labels are in no class: an error would tell",
    "check_supervised_y_no_nan": "labels that are no numbers are in no class: an error would tell",
    "check_estimator_sparse_array": "the check has four classes, and public are three",
    "check_estimator_sparse_matrix": "as above",
    "check_decision_proba_consistency": "a model of three classes meets rows of two, its columns are not margins",
}


def made(kind, **given):
    return kind(epsilon=20.0, delta=1e-5, row_norm=10.0, classes=[0, 1, 2], random_state=0, **given)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [{}, {"bounds": (-10, 10), "missing_indicator": True}], ids=["", "indicator"])
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learns_own_checks(kind, given: dict) -> None:
    check_habits(made(kind, **given), EXPECTED)


@pytest.mark.parametrize("kind", KINDS)
def test_pipelines_grids_and_folds_take_it(kind) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 3))
    labels = (rows[:, 0] > 0).astype(int)
    model = kind(epsilon=5.0, delta=1e-5, row_norm=3.0, classes=[0, 1], random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, rows, labels, cv=3).mean() > 0.8
    pipeline = make_pipeline(FunctionTransformer(np.tanh), clone(model).set_params(row_norm=1.7))
    assert pipeline.fit(rows, labels).score(rows, labels) > 0.8
    grid = GridSearchCV(model, {"radius": [1.0, 10.0]}, cv=3).fit(rows, labels)
    assert grid.best_score_ > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_columns_have_names_where_the_table_does(kind) -> None:
    pandas = pytest.importorskip("pandas")
    model = made(kind).fit(pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}), [0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model.fit(np.eye(2), [0, 1]), "feature_names_in_")


@pytest.mark.parametrize("kind", KINDS)
def test_fits_differ_without_a_seed_and_are_stamped_with_one(kind) -> None:
    rows, labels = np.eye(2), [0, 1]
    model = made(kind)
    same = [model.fit(rows, labels).coef_ for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert model.release_.facts["research_seed"] == 0
    other = [clone(model).set_params(random_state=None).fit(rows, labels).coef_ for _ in range(2)]
    assert (other[0] != other[1]).any()


def test_rows_are_clipped_at_prediction_as_in_the_fit() -> None:
    draw = np.random.default_rng(5)
    rows, far = draw.uniform(-1, 1, (400, 2)), np.array([[50.0, -0.5], [-7.0, np.nan], [0.5, np.inf]])
    inside = np.array([[1.0, -0.5], [-1.0, 0.0], [0.5, 1.0]])
    given = {"bounds": (-1, 1), "random_state": 1}
    labels = np.where(rows[:, 0] > 0, 1, 0)
    classifier = LogisticRegression(5, 1e-5, classes=[0, 1], **given).fit(rows, labels)
    regression = LinearRegression(5, 1e-5, target_bounds=(-1, 1), **given).fit(rows, rows[:, 0])
    components = PCA(1, 5, 1e-5, **given).fit(rows)
    for ask in (classifier.decision_function, regression.predict, components.transform):
        assert ask(far) == pytest.approx(ask(inside))
    free = LogisticRegression(5, 1e-5, classes=[0, 1], row_norm=2, random_state=1).fit(rows, labels)
    assert free.decision_function(far[:1]) == pytest.approx(far[:1] @ free.coef_[0] + free.intercept_), "no bounds"


CLASSES = [[0, 1], [3, 1, 2], ["c", "a", "b"]]
OCCUR = [(0, 0, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1), (0, 1, 2), (2, 2, 0)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", CLASSES, ids=repr)
def test_classes_are_what_is_given_whatever_labels_occur(kind, classes: list) -> None:
    """Which labels occur, how often, in what order, and labels beside them, show in nothing but noisy numbers."""
    results = []
    for places in OCCUR:
        labels = [classes[place % len(classes)] for place in places] * 10
        for others in (labels[:3], [9, 9, 9], ["zzz", None, "zzz"]):
            ledger = gd.Ledger.in_memory(gd.ApproxDP(5, 1e-4))
            model = kind(1.0, 1e-6, row_norm=1.0, classes=classes, random_state=1, ledger=ledger)
            model.fit(np.ones((33, 2)), [*labels, *others])
            results.append(public_facts(model, ledger))
    assert results[0]["classes"] == sorted(classes)
    assert all(result == results[0] for result in results)


def public_facts(model, ledger) -> dict:
    """All that a fit says beside its released numbers, and what the ledger notes."""
    return {
        "classes": model.classes_.tolist(),
        "shapes": {name: np.shape(value) for name, value in model.release_.values.items()},
        "facts": model.release_.facts,
        "guarantee": repr(model.guarantee_),
        "said": (model.solver_, model.reason_, model.release_.exactness),
        "paid": [(entry.kind, repr(entry.guarantee)) for entry in ledger.entries()],
        "shown": model.decision_function(np.zeros((1, 2))).shape,
    }
