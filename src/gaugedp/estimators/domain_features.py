"""Features of a data frame by a domain, for pipelines of scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.labels import codes_of
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.tables.lines import frame_lines


def from_domain(domain: Domain, features: Sequence[str] | None = None, target: str | None = None) -> "DomainFeatures":
    """Return a transformer that prepares rows by their domain.

    Use it in a scikit-learn pipeline to get the same features that `gd.fit` and `gaugedp fit` use. An attribute becomes
    one indicator for each of its cells (a category, a bin, a date, or a level of a tree). A bounded column becomes a
    number: its value is clipped to the bounds, rounded to its step and scaled to [−1, 1]. The transformer costs no
    budget, because it learns nothing from the rows.

    Parameters
    ----------
    domain : Domain
        The domain, whose unit is one row. For persons with several rows use `gd.fit`.
    features : sequence of str, optional
        Names of attributes and bounded columns. By default all are used, without the target.
    target : str, optional
        The target: an attribute, for classes, or a bounded column, for numbers. By default there is none.

    Notes
    -----
    A missing number counts as the number that the domain names for it, else as 0, the middle. A value in no cell gives
    zeros. Unlike `gd.fit`, a pipeline cannot leave rows out: a row without a cell keeps its other features. Missing
    targets have no influence in either.

    Examples
    --------
    Scaling [0, 1000] to [−1, 1] turns a `pay` of 200 into −0.6:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> from gaugedp.estimators import LogisticRegression, from_domain
    >>> domain = gd.Domain.of(sex=["1", "2"], owns=["no", "yes"], pay=gd.bounded(0, 1000))
    >>> table = pd.DataFrame({"sex": [1, 2] * 500, "pay": [200.0, 900.0] * 500, "owns": ["no", "yes"] * 500})
    >>> features = from_domain(domain, target="owns")
    >>> features.fit_transform(table)[0].tolist(), features.get_feature_names_out().tolist()
    ([1.0, 0.0, -0.6], ['sex=1', 'sex=2', 'pay'])
    >>> model = LogisticRegression(epsilon=1.0, row_norm=features.row_norm, classes=features.classes)
    >>> model.fit(features.transform(table), features.target_of(table)).classes_.tolist()
    ['no', 'yes']
    """
    return DomainFeatures(domain, features, target).check()


class DomainFeatures(TransformerMixin, BaseEstimator):
    """Transformer of the rows of a domain, made by `from_domain`.

    It is a step of a scikit-learn pipeline. It learns nothing from the rows, so it costs no budget.
    """

    def __init__(self, domain: Domain, features: Sequence[str] | None = None, target: str | None = None) -> None:
        self.domain, self.features, self.target = domain, features, target

    def check(self) -> "DomainFeatures":
        """Check that the domain fits, and return the transformer."""
        if not isinstance(self.domain, Domain):
            raise InvalidRequest(
                f"`domain` is of type {type(self.domain).__name__}, but must be a domain.",
                'Pass one, such as gd.Domain.load("domain.toml").',
            )
        if self.domain.rows is not None or (self.domain.unit is not None and self.domain.unit.column is not None):
            raise InvalidRequest(
                "The domain protects persons who may have several rows, but an estimator that is fitted to a "
                "frame protects single rows.",
                "Use gd.fit, or a domain whose unit is a row.",
            )
        self._design  # noqa: B018 - raises for unknown names
        return self

    @property
    def _design(self) -> TableDesign:
        listed = [name for name in self._all_names if name != self.target] if self.features is None else self.features
        if self.target is None:
            return TableDesign.of_features(self.domain, listed)
        return TableDesign.of(self.domain, listed, self.target, self.target not in self.domain.columns)

    @property
    def _all_names(self) -> list[str]:
        return list(dict.fromkeys([*self.domain.attributes, *self.domain.columns]))

    @property
    def row_norm(self) -> float:
        """The largest possible ℓ₂ norm of a row of features."""
        return self._design.row_norm

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (low, high) of the features, each (d,)."""
        design = self._design
        low = np.zeros(design.n_features)
        low[design.n_features - len(design.columns) :] = -1.0
        return low, np.ones(design.n_features)

    @property
    def classes(self) -> list[str]:
        """The classes of the target, if it is an attribute."""
        if self.target not in self.domain.attributes:
            raise InvalidRequest(
                f"The target {self.target!r} must be an attribute, because this model predicts classes.",
                "Choose an attribute of the domain.",
                "",
            )
        return list(self._design.classes or ())

    @property
    def target_bounds(self) -> tuple[float, float]:
        """Bounds of the target, if it is a bounded column."""
        if self.target not in self.domain.columns or self.target in self.domain.attributes:
            raise InvalidRequest(
                f"The target {self.target!r} must be a bounded column, because this model predicts numbers.",
                "Choose a column with `low` and `high`.",
                "",
            )
        return self._design.bounds

    def fit(self, X: Any, y: Any = None) -> "DomainFeatures":
        """Store the column names of a data frame X only."""
        del y
        self.check()
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features (n, d) of a pandas, polars or arrow frame X."""
        design = self._design
        return design.rows_of(*frame_lines(X, self.domain, design.attributes, design.columns))

    def target_of(self, X: Any) -> np.ndarray:
        """Return the target of each row of X.

        X is a data frame. The result, of shape (n,), contains labels or numbers; a missing number is NaN. A row whose
        value is in no class gets a text that is no class: "", or "?" if one class is the empty text.
        """
        if self.target is None:
            raise InvalidRequest(
                "The model was described from a domain without a target, so it has none to predict.",
                "Pass `target` to from_domain.",
                "",
            )
        by_class = self.target in self.domain.attributes
        cells, steps = frame_lines(X, self.domain, *(([self.target], []) if by_class else ([], [self.target])))
        if by_class:
            return np.array([*self.classes, _none_of(self.classes)], dtype=object)[cells[:, 0]]
        column = self.domain.column(self.target)
        values = (steps[:, 0] + column.low_steps) * float(column.step)
        return np.where(steps[:, 0] < 0, np.nan, np.clip(values, *self.target_bounds))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features, such as "SEX=1"."""
        del input_features
        return np.array(self._design.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _none_of(classes: list[str]) -> str:
    text = ""
    while (codes_of(np.array([text], dtype=object), np.array(classes, dtype=object)) >= 0).any():
        text += "?"
    return text
