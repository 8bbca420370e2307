"""Lists within X and y, which would be read as missing, are refused before anything is spent."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators

N = 60
X = np.random.default_rng(0).uniform(-1, 1, (N, 3))
LABELS = (X[:, 0] > 0).astype(int)
PAIRS = X[:, :2].tolist()
BOX, NUMBERS, CLASSES = {"bounds": (-1, 1)}, {"target_bounds": (-1, 1)}, {"classes": [0, 1]}
SUPERVISED = {
    **{name: {**BOX, **NUMBERS} for name in ("LinearRegression", "Ridge", "ElasticNet", "Lasso", "HuberRegressor")},
    "PoissonRegressor": {**BOX, "target_bounds": (0, 9)},
    "SparseRegression": {**BOX, **NUMBERS, "sparsity": 1},
    **{name: {**BOX, **CLASSES} for name in ("LogisticRegression", "LinearSVC", "GaussianNB")},
}
OTHERS = {
    **dict.fromkeys(("Mean", "KMeans", "StandardScaler", "SimpleImputer"), BOX),
    "SparseMean": {**BOX, "sparsity": 1},
    "PCA": {"n_components": 1, "row_norm": 1.0},
    "LowRankCovariance": {"rank": 1, "row_norm": 1.0},
    "TopEigenvector": {"row_norm": 1.0},
}


def objects(entries: Iterable[Any]) -> np.ndarray:
    """Return an array of objects, one for each entry."""
    listed = list(entries)
    array = np.empty(len(listed), dtype=object)
    array[:] = [None] * len(listed)
    for place, entry in enumerate(listed):
        array[place] = entry
    return array


RAGGED = [row[: 1 + place % 3] for place, row in enumerate(X.tolist())]
CELLS = np.empty((N, 3), dtype=object)
CELLS[:] = 0.5
CELLS[:, 1] = objects(PAIRS)
TARGETS = {
    "pairs": PAIRS,
    "tuples": tuple(map(tuple, PAIRS)),
    "arrays": [np.array(pair) for pair in PAIRS],
    "objects of lists": objects(PAIRS),
    "objects of arrays": objects(map(np.array, PAIRS)),
    "a series of lists": pd.Series(PAIRS),
    "ragged": RAGGED,
    "ragged objects": objects(RAGGED),
    "empty lists": [[]] * N,
    "dictionaries": [{"a": 1.0}] * N,
    "sets": [{1.0, 2.0}] * N,
    "a table": X[:, :2],
}
SEVERAL = ("pairs", "tuples", "arrays", "a table")  # targets of regressions, which fit each
ROWS = {
    "ragged": RAGGED,
    "ragged objects": objects(RAGGED),
    "lists of lists": [[[cell, cell] for cell in row] for row in X.tolist()],
    "cells of lists": CELLS,
    "a frame of lists": pd.DataFrame({"a": PAIRS, "b": X[:, 0], "c": X[:, 1]}),
    "dictionaries": [{"a": 1.0}] * N,
}


def check(name: str, facts: dict[str, Any], *data: Any) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(9, 1e-3))
    with pytest.raises(InvalidRequest):
        getattr(estimators, name)(epsilon=1.0, delta=1e-6, ledger=ledger, **facts).fit(*data)
    assert ledger.spent.epsilon(0) == 0


@pytest.mark.parametrize("name", SUPERVISED)
def test_nested_targets_are_refused_before_paying(name: str) -> None:
    several = SEVERAL if "target_bounds" in SUPERVISED[name] else ()
    for kind, target in TARGETS.items():
        if kind not in several:
            check(name, SUPERVISED[name], X, target)


@pytest.mark.parametrize("name", [*SUPERVISED, *OTHERS])
def test_nested_rows_are_refused_before_paying(name: str) -> None:
    for rows in ROWS.values():
        check(name, {**SUPERVISED, **OTHERS}[name], rows, LABELS)


@pytest.mark.parametrize("one", [[1.0, 2.0], [], {"a": 1}, np.ones(2)], ids=str)
def test_one_nested_cell_counts_as_missing(one: Any) -> None:
    """It may be one person's: whether a fit is refused must not tell."""
    target = objects([one, *X[1:, 0]])
    frame = pd.DataFrame({"a": objects([one, *X[1:, 0]]), "b": X[:, 1]})
    fit = estimators.Ridge(1.0, 1e-6, **BOX, **NUMBERS, random_state=1).fit(frame, target)
    other = [np.nan, *X[1:, 0]]
    like = estimators.Ridge(1.0, 1e-6, **BOX, **NUMBERS, random_state=1).fit(frame.assign(a=other), other)
    assert (fit.coef_ == like.coef_).all()


def test_objects_of_rows_are_rows() -> None:
    fits = [
        estimators.Mean(1.0, **BOX, random_state=1).fit(rows).mean_ for rows in (X, objects(X.tolist()), objects(X))
    ]
    assert (fits[0] == fits[1]).all()
    assert (fits[0] == fits[2]).all()


class Broken:
    """A cell whose own code fails."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("a value that must not be shown")


@pytest.mark.parametrize("model", ["Mean", "Ridge"])
def test_a_cell_that_fails_counts_as_missing(model: str) -> None:
    cells = np.zeros((N, 1), dtype=object)
    cells[3, 0] = Broken()
    facts = BOX if model == "Mean" else {**BOX, **NUMBERS}
    getattr(estimators, model)(epsilon=1.0, delta=1e-6, **facts).fit(
        cells, *([objects(cells[:, 0])] * (model != "Mean"))
    )
