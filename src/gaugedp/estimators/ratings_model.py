"""A model of ratings as it was written: read again, to predict for the lines of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.domain import Domain
from gaugedp.estimators.ratings_fit import RatingsDesign


@dataclass(frozen=True)
class RatingsModel:
    """A mean, offsets of users and items, and factors (n, rank): a rating is the mean, both, and their product."""

    design: RatingsDesign
    mean: float
    users: np.ndarray
    items: np.ndarray
    user_factors: np.ndarray
    item_factors: np.ndarray

    @classmethod
    def design_of(cls, document: Mapping[str, Any], domain: Domain) -> RatingsDesign:
        """Return the design that a document names, as the domain describes it now."""
        return RatingsDesign.of(domain, document["facts"]["features"], document["target"])

    @classmethod
    def of(cls, document: Mapping[str, Any], design: RatingsDesign) -> "RatingsModel":
        """Return the model that a document holds; an ordinary error says that it holds none."""
        labels = [design.domain.attribute(name).labels for name in design.attributes]
        users, items = (
            _numbers([document[key][label] for label in texts], (len(texts),))
            for key, texts in zip(("users", "items"), labels, strict=True)
        )
        rank = len(document["item_factors"][0])
        factors = [
            _numbers(document[key], (len(texts), rank))
            for key, texts in zip(("user_factors", "item_factors"), labels, strict=True)
        ]
        return cls(design, float(_numbers(document["mean"], ())), users, items, *factors)

    def predict(self, cells: np.ndarray, steps: np.ndarray) -> list[float | None]:
        """Return what is predicted for lines with cells (n, 2), user and item; None for one without an item.

        A user without a cell has no part of their own.
        """
        del steps
        users, items = cells.T
        known = users >= 0
        ratings = self.mean + self.items[items] + np.where(known, self.users[users], 0.0)
        ratings += np.where(known, (self.user_factors[users] * self.item_factors[items]).sum(axis=1), 0.0)
        clipped = np.clip(ratings, *self.design.bounds).tolist()
        return [rating if item >= 0 else None for rating, item in zip(clipped, items.tolist(), strict=True)]

    @property
    def classes(self) -> tuple[str, ...]:
        """None: a rating is a number."""
        return ()

    def scores(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return no scores, shape (n, 0)."""
        del steps
        return np.empty((len(cells), 0))

    def stand_in(self, name: str) -> float:
        """Refuse: no number is needed."""
        raise KeyError(name)


def _numbers(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.asarray(values, dtype=float).reshape(shape)
    if not np.isfinite(numbers).all():
        raise ValueError
    return numbers
