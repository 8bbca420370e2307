"""Stored models of any kind."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import ratings_fit, table_fit
from gaugedp.estimators.ratings_fit import RatingsModel
from gaugedp.estimators.table_models import ModelKind, kind_of
from gaugedp.estimators.table_rows import TableDesign


@dataclass(frozen=True)
class TableModel:
    """Coefficients and intercepts of a table's model.

    They are for the features of `design`, in the units of the table; k is 1 for a number and for two classes. A row's
    sums are ⟨coefficients, features⟩ + intercept, with numbers clipped to their bounds; a missing number counts as the
    domain specifies, else as the middle. The prediction is the second of two classes if the sum is above 0, else the
    class of the largest sum; or for numbers the sum (exp of it if the link is "log"), clipped to the target's bounds.
    """

    design: TableDesign
    coefficients: np.ndarray
    intercepts: np.ndarray
    kind: ModelKind

    @classmethod
    def design_of(cls, document: Mapping[str, Any], domain: Domain) -> TableDesign:
        """Return a document's design, by the current domain."""
        by_class = kind_of(document["model"]).by_class
        return TableDesign.of(domain, document["facts"]["features"], document["target"], by_class)

    @classmethod
    def of(cls, document: Mapping[str, Any], design: TableDesign) -> "TableModel":
        """Return the model in a document; raise an ordinary error if it has none."""
        labels = design.classes if len(design.classes or ()) > 2 else None
        slopes = [_numbers(document["coefficients"][name], labels) for name in design.names]
        intercepts = np.array(_numbers(document["intercept"], labels))
        return cls(design, np.array(slopes).T, intercepts, kind_of(document["model"]))

    def sums(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return sums (n, k) of lines with cells and steps, −1 where missing."""
        domain, start = self.design.domain, 0
        outputs = np.tile(self.intercepts, (len(cells), 1))
        for codes, size in zip(cells.T, domain.shape(self.design.attributes), strict=True):
            outputs += self.coefficients[:, start + np.maximum(codes, 0)].T
            start += size
        for name, column in zip(self.design.columns, steps.T, strict=True):
            fact = domain.column(name)
            values = np.where(column < 0, self.stand_in(name), (column + fact.low_steps) * float(fact.step))
            outputs += np.clip(values, float(fact.low), float(fact.high))[:, None] * self.coefficients[:, start]
            start += 1
        return outputs

    @property
    def classes(self) -> Sequence[str]:
        """Classes with scores; none for a number."""
        return self.design.classes or ()

    def scores(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return class scores (n, classes), NaN without a cell."""
        sums, has_probabilities = self.sums(cells, steps), self.kind.link == "logit"
        if sums.shape[1] == 1:
            sums = np.hstack([-sums, sums]) / (2 if has_probabilities else 1)
        shares = softmax(sums, axis=1) if has_probabilities else sums
        return np.where(np.all(cells >= 0, axis=1)[:, None], shares, np.nan)

    def recommend(self, cells: np.ndarray, steps: np.ndarray, n: int) -> list[tuple[str, float]]:
        """Refuse, as there are no items."""
        del cells, steps, n
        raise InvalidRequest(
            "The model does not predict ratings, so it has no items.", "Fit a model with --model ratings.", ""
        )

    def stand_in(self, name: str) -> float:
        """Return the replacement for a bounded column's missing number."""
        fact = self.design.domain.column(name)
        return float(fact.low + fact.high) / 2 if fact.missing is None else float(fact.missing)

    def predict(self, cells: np.ndarray, steps: np.ndarray) -> list[str | float | None]:
        """Return each line's prediction, None without a cell."""
        sums, classes = self.sums(cells, steps), self.design.classes
        if classes is None:
            predicted: list[Any] = np.clip(self.kind.outputs(sums[:, 0]), *self.design.bounds).tolist()
        else:
            codes = sums[:, 0] > 0 if len(classes) == 2 else sums.argmax(axis=1)
            predicted = [classes[code] for code in codes.astype(int).tolist()]
        complete = np.all(cells >= 0, axis=1)
        return [prediction if is_known else None for prediction, is_known in zip(predicted, complete, strict=True)]


def _numbers(coefficients: Any, labels: Sequence[str] | None) -> list[float]:
    listed = [float(coefficients)] if labels is None else [float(coefficients[label]) for label in labels]
    if not np.isfinite(listed).all():
        raise ValueError
    return listed


StoredModel = TableModel | RatingsModel
_KINDS: dict[str, Any] = {table_fit.FORMAT: TableModel, ratings_fit.FORMAT: RatingsModel}


def load_model(path: str, domain: Domain) -> StoredModel:
    """Return the model in a file, fitted with an equal domain."""
    document = _read(path)
    kind = _KINDS[document["format"]]
    try:
        design = kind.design_of(document, domain)
        same = document["facts"]["design"] == design.digest()
    except (AttributeError, LookupError, TypeError):
        same = False
    if not same:
        raise InvalidRequest(
            f"The domain file differs from the one with which the model {path!r} was fitted.",
            "Pass the domain file that the model was fitted with.",
        )
    try:
        model: StoredModel = kind.of(document, design)
    except (LookupError, OverflowError, TypeError, ValueError):
        raise _no_model(path) from None
    return model


def _read(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except OSError:
        raise InvalidRequest(f"The model {path!r} cannot be read.", "Check the path.") from None
    except (ValueError, RecursionError):
        raise _no_model(path) from None
    facts = document.get("facts") if isinstance(document, dict) else None
    if not isinstance(facts, dict) or document.get("format") not in _KINDS or "design" not in facts:
        raise _no_model(path)
    return document


def _no_model(path: str) -> InvalidRequest:
    return InvalidRequest(f"{path!r} is not a model.", "Pass the file that `gaugedp fit --out` wrote.")
