"""Labels that are none of the classes: they pull nowhere, or with `strict_labels` the fit is refused before paying."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import GaussianNB, LinearSVC, LogisticRegression, PrivateSearchCV
from gaugedp.estimators.labels import codes_of, read_both
from tests.estimators.kit import check_refused

PUBLIC = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "random_state": 1}
MODELS = {
    "auto": LogisticRegression(classes=["a", "b"], **PUBLIC),
    "newton": LogisticRegression(classes=["a", "b"], solver="newton", **PUBLIC),
    "hinge": LinearSVC(classes=["a", "b"], **PUBLIC),
    "bayes": GaussianNB(classes=["a", "b"], **PUBLIC),
    "search": PrivateSearchCV(
        LogisticRegression(classes=["a", "b"], bounds=(-1, 1), strict_labels=True), {"radius": [1.0]}, 1.0, 1e-6
    ),
    "learned": LogisticRegression(classes=["a", "b"], **{**PUBLIC, "bounds": "private"}),
}
STRICT = {name: {} if name == "search" else {"strict_labels": True} for name in MODELS}


@pytest.mark.parametrize("odd", ["c", "A", "", None, float("nan"), 0])
@pytest.mark.parametrize("name", MODELS)
def test_strict_labels_refuse_before_paying(name: str, odd: object) -> None:
    """No word says which label it was, or how many there are."""
    labels = np.array(["a", "b"] * 20 + [odd], dtype=object)
    check_refused(MODELS[name], STRICT[name], "^A label is not among the classes. Correct", (np.zeros((41, 2)), labels))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in MODELS if name != "search"])
def test_strict_labels_change_nothing_else(name: str) -> None:
    """Where all labels are classes the release is the same, and does not tell that it was strict."""
    rows, labels = np.linspace(-1, 1, 80).reshape(40, 2), np.array(["a", "b "] * 20)
    plain, strict = clone(MODELS[name]), clone(MODELS[name]).set_params(strict_labels=True)
    assert plain.fit(rows, labels).release_.to_json() == strict.fit(rows, labels).release_.to_json()
    ledger = gd.Ledger.in_memory(gd.ApproxDP(5, 1e-4))
    plain.set_params(ledger=ledger).fit(rows, np.array(["a", "c"] * 20))
    assert len(ledger.entries()) > 1


@pytest.mark.parametrize(
    "make", [np.array, pandas.Series, polars.Series, pyarrow.array, lambda y: pyarrow.chunked_array([y])]
)
def test_number_labels_of_any_library_need_a_class_that_is_a_number(make) -> None:
    for numbers in ([0, 1, 1], [0.0, 1.0, 1.0], [False, True, True]):
        with pytest.raises(InvalidRequest, match="The labels are numbers, but none of the classes"):
            read_both(make(numbers), 3, ["no", "yes"], strict=False)
        assert read_both(make(numbers), 3, ["0", "1"], strict=False)[1].tolist() == ["0", "1"]
    labels, classes = read_both(make(["1", "0", "x"]), 3, [0, 1], strict=False)  # a text may write a number
    assert codes_of(labels, classes).tolist() == [1, 0, -1]


def test_no_single_label_decides_that_labels_are_numbers() -> None:
    for labels in (
        [0, 1, "yes"],
        [0, 1, 1],
        np.array([0, 1, "yes"], dtype=object),
        pandas.Series([0, 1, 1], dtype=object),
    ):
        assert len(read_both(labels, 3, ["no", "yes"], strict=False)[0]) == 3
