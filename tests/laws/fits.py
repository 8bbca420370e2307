"""Random small fits: an estimator with its public parameters, and rows and targets that suit it.

Every class of `gaugedp.estimators.__all__` that is an estimator takes part: its parameters are found by their names, so
that a new one is fitted here as soon as it is exported, or refused by `fit` in the test of this file.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp import estimators
from gaugedp.estimators.base import PrivateEstimator

Generator = np.random.Generator


def names() -> Iterator[str]:
    """Yield the names of all estimators."""
    for name in estimators.__all__:
        if inspect.isclass(kind := getattr(estimators, name)) and issubclass(kind, PrivateEstimator):
            yield name


NAMES = tuple(names())
TARGETS: dict[
    str, Callable[[Generator, np.ndarray], np.ndarray]
] = {  # of a number in [0, 1], by the rows' first column
    "symmetric": lambda rng, signal: 0.5 + 0.3 * signal + 0.1 * rng.standard_normal(len(signal)),
    "skewed": lambda rng, signal: rng.exponential(0.15 * np.exp(signal)),
    "binary": lambda rng, signal: (rng.random(len(signal)) < 1 / (1 + np.exp(-3 * signal))).astype(float),
    "bimodal": lambda rng, signal: np.where(signal > 0, 0.8, 0.2) + 0.05 * rng.standard_normal(len(signal)),
    "count": lambda rng, signal: rng.poisson(2 * np.exp(signal)) / 10.0,
}


@dataclass(frozen=True)
class Fit:
    """A fit that was not made yet: `fitted` makes it.

    parameters : of the estimator called `name`, without random_state and ledger.
    rows, target : X and y; those that the estimator does not use are there too. rng is for further choices of a law.
    """

    name: str
    parameters: Mapping[str, Any]
    rows: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)
    rng: Generator = field(repr=False)

    @property
    def is_classifier(self) -> bool:
        """Whether the target is one of the classes."""
        return "classes" in self.parameters or self.name == "PrivateSearchCV"

    def model(self, seed: int | None = None, **given: Any) -> Any:
        """Return the estimator, not fitted."""
        return getattr(estimators, self.name)(random_state=seed, **{**self.parameters, **given})

    def fitted(self, seed: int | None = None, rows: Any = None, target: Any = None, **given: Any) -> Any:
        """Return the estimator, fitted to these rows or to others, with other parameters where they are given."""
        X, y = self.rows if rows is None else rows, self.target if target is None else target
        return self.model(seed, **given).fit(X, y)


def fit_of(
    rng: Generator, name: str | None = None, *, n_rows: int | None = None, target: str | None = None, **given: Any
) -> Fit:
    """Return a random fit of the estimator called `name`, with a target of a kind in TARGETS.

    Features are given bounds, or a bound on the norm of rows where the estimator takes one. `given` are parameters.
    """
    name = name or str(rng.choice(NAMES))
    kind = target or str(rng.choice(list(TARGETS)))
    known = inspect.signature(getattr(estimators, name)).parameters
    n_columns = int(rng.integers(2 if "sparsity" in known else 1, 5))
    rows = rng.beta(*rng.uniform(0.5, 3, 2), (n_rows or int(rng.integers(20, 200)), n_columns)) * 2 - 1
    if "users" in known:
        rows = rng.integers(0, 4, (len(rows), 2))
    signal = rows[:, 0].astype(float)
    y = np.clip(TARGETS[kind](rng, signal), 0, 1)
    public = {key: value for key, value in _PUBLIC.items() if key in known}
    if "classes" in public or "param_grid" in public:
        y = (y > np.median(y)).astype(int)
    if "row_norm" in known and ("bounds" not in public or rng.random() < 0.3):
        public |= {"bounds": None} if "bounds" in public else {}
        public["row_norm"] = float(np.sqrt(rows.shape[1]))
    budget = {"epsilon": float(f"{10 ** rng.uniform(-1, 1):.3g}"), "delta": 1e-6 if rng.random() < 0.5 else 0.0}
    neighbours = "add_remove" if rng.random() < 0.5 else "replace"
    return Fit(name, {**public, **budget, "neighbours": neighbours, **given}, rows, y, rng)


_PUBLIC: dict[str, Any] = {  # public facts, by the names of parameters
    "bounds": (-1, 1),
    "target_bounds": (0, 1),
    "classes": [0, 1],
    "n_clusters": 2,
    "n_components": 1,
    "rank": 1,
    "sparsity": 1,
    "rating_bounds": (0, 1),
    "users": 4,
    "items": 4,
    "estimator": estimators.LogisticRegression(bounds=(-1, 1), classes=[0, 1]),
    "param_grid": {"radius": [1.0, 10.0]},
    "draws": 2,
}
