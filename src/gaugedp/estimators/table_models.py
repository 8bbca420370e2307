"""Models of a table by name."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import one_of
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.descent_regressor import HuberRegressor, PoissonRegressor, means
from gaugedp.estimators.lasso import Lasso
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.moment_regressor import ElasticNet, Ridge
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.svc import LinearSVC

NORMS = ("l2", "l1")


@dataclass(frozen=True)
class ModelKind:
    """A kind of model for a `TableDesign`.

    estimator : its class, whose fit is (ε, δ)-DP for a row added or removed.
    by_class : True if the target is an attribute; else it is a bounded column.
    in_cube : True if the estimator assumes features in [−1, 1]; else it gets the norm of rows.
    has_radius : True if it takes a bound on the coefficients, in the norm `norm`.
    link : the meaning of a row's sum: "identity"; "log" of the predicted number; or "logit" of probabilities.
    by_sums : True if its fit needs only sums over rows, and provides intervals relative to reference levels.
    """

    estimator: Any
    by_class: bool = False
    in_cube: bool = False
    has_radius: bool = True
    norm: str = "l2"
    link: str = "identity"
    by_sums: bool = False

    def outputs(self, sums: np.ndarray) -> np.ndarray:
        """Return class scores or predicted numbers for sums, elementwise."""
        return means(sums) if self.link == "log" else sums


MODELS = {
    "logistic": ModelKind(LogisticRegression, by_class=True, link="logit"),
    "svc": ModelKind(LinearSVC, by_class=True),
    "linear": ModelKind(LinearRegression, by_sums=True),
    "ridge": ModelKind(Ridge, in_cube=True, has_radius=False),
    "elastic-net": ModelKind(ElasticNet, in_cube=True, has_radius=False),
    "lasso": ModelKind(Lasso, in_cube=True, norm="l1"),
    "huber": ModelKind(HuberRegressor, in_cube=True),
    "poisson": ModelKind(PoissonRegressor, in_cube=True, link="log"),
}


def kind_of(model: str, norm: str | None = None) -> ModelKind:
    """Return the kind of a model; "linear" in the norm "l1" is "lasso"."""
    one_of(tuple(MODELS), model=model)
    if norm is not None:
        one_of(NORMS, norm=norm)
    kind = MODELS["lasso" if (model, norm) == ("linear", "l1") else model]
    if norm not in (None, kind.norm):
        raise InvalidRequest(f"{model} models have no norm {norm}.", "Use l1 only for linear or lasso models.")
    return kind
