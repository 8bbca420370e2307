"""Models in files, whatever their kind."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gaugedp.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import ratings_fit, table_fit
from gaugedp.estimators.ratings_model import RatingsModel
from gaugedp.estimators.table_model import TableModel

_KINDS: dict[str, Any] = {table_fit.FORMAT: TableModel, ratings_fit.FORMAT: RatingsModel}


class Design(Protocol):
    """What a model needs of a line, and what it predicts."""

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that it needs."""

    @property
    def columns(self) -> Sequence[str]:
        """The bounded columns that it needs."""

    @property
    def target(self) -> str:
        """What it predicts."""


class StoredModel(Protocol):
    """A model that predicts for lines of a table."""

    @property
    def design(self) -> Design:
        """What it needs of a line."""

    def predict(self, cells: np.ndarray, steps: np.ndarray) -> Sequence[str | float | None]:
        """Return what is predicted for lines with cells (n, attributes) and steps (n, columns), −1 where missing."""

    def recommend(self, cells: np.ndarray, steps: np.ndarray, n: int) -> Sequence[tuple[str, float]]:
        """Return the n items that a user would rate highest by their own lines (k, 2) and ratings (k,), or refuse."""

    @property
    def classes(self) -> Sequence[str]:
        """The classes that have scores; none where a number is predicted."""

    def scores(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the score of each class (n, classes), NaN where nothing is predicted."""

    def stand_in(self, name: str) -> float:
        """Return what a missing number of a bounded column counts as."""


def load_model(path: str, domain: Domain) -> StoredModel:
    """Return the model in the file `path`, which was fitted with a domain that says the same of its names.

    Raises InvalidRequest for a file that is no model, and for another domain.
    """
    document = _read(path)
    kind = _KINDS[document["format"]]
    try:
        design = kind.design_of(document, domain)
        same = document["facts"]["design"] == design.digest()
    except (AttributeError, LookupError, TypeError):
        same = False
    if not same:
        raise InvalidRequest(
            f"The domain file says other things than when {path!r} was fitted.",
            "Give the domain file that it was fitted with.",
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
    return InvalidRequest(f"{path!r} is no model.", "Give the file that `gaugedp fit --out` wrote.")
