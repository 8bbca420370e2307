"""A model of ratings as it was written: read again, to predict for the lines of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.domain import Domain
from gaugedp.estimators.ratings_fit import RatingsDesign
from gaugedp.optimization.ratings.model import BITS, Completed, Ratings, Spread


@dataclass(frozen=True)
class RatingsModel:
    """A released model of ratings, in units where the bounds of a rating are −1 and 1."""

    design: RatingsDesign
    model: Completed

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
        scores, factors = (
            _numbers(document[key], (len(texts), rank))
            for key, texts in zip(("user_factors", "item_factors"), labels, strict=True)
        )
        middle, half = _scale(design)
        mean = (float(_numbers(document["mean"], ())) - middle) / half
        own = _own(document.get("own", {}))
        return cls(design, Completed(mean, items / half, users / half, factors, scores / half, **own))

    def predict(self, cells: np.ndarray, steps: np.ndarray) -> list[float | None]:
        """Return what is predicted for lines with cells (n, 2), user and item; None for one without an item.

        A user without a cell has no part of their own.
        """
        del steps
        users, items = cells.T
        ratings = self._ratings(self.model.predict(users, items)).tolist()
        return [rating if item >= 0 else None for rating, item in zip(ratings, items.tolist(), strict=True)]

    def recommend(self, cells: np.ndarray, steps: np.ndarray, n: int) -> list[tuple[str, float]]:
        """Return the n items that one user would rate highest, by their own lines (k, 2) and ratings (k,).

        Items of these lines are left out. Joint differential privacy: for that user's eyes only.
        """
        users, items = cells.T
        rated = (items >= 0) & (steps >= 0)
        middle, half = _scale(self.design)
        column, n_items = self.design.domain.column(self.design.target), len(self.model.items)
        values = np.clip(((steps[rated] + column.low_steps) * float(column.step) - middle) / half, -1, 1)
        ratings = Ratings(0 * items[rated], items[rated], np.rint(values * 2.0**BITS), (1, n_items))
        model = self.model.alone(int(users[0]) if len(users) else -1)
        predicted = self._ratings(model.with_own(ratings).predict(np.zeros(n_items, dtype=int), np.arange(n_items)))
        others = np.setdiff1d(np.arange(n_items), items)
        best = others[np.argsort(-predicted[others], kind="stable")[:n]]
        labels = self.design.domain.attribute(self.design.attributes[1]).labels
        return [(labels[item], float(predicted[item])) for item in best]

    def _ratings(self, values: np.ndarray) -> np.ndarray:
        middle, half = _scale(self.design)
        return np.clip(middle + half * values, *self.design.bounds)

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


def _scale(design: RatingsDesign) -> tuple[float, float]:
    """Return the middle of the bounds, and half of their range."""
    low, high = design.bounds
    return (low + high) / 2, (high - low) / 2


def _own(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a fit to a user's own ratings needs; models written before they were recommended from have none."""
    if not facts:
        return {}
    spread = Spread() if facts["spread"] is None else Spread(*_numbers(facts["spread"], (2,)).tolist())
    variance, ridge = _numbers([facts["variance"], facts["ridge"]], (2,)).tolist()
    return {"variance": variance, "ridge": ridge, "spread": spread}


def _numbers(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.asarray(values, dtype=float).reshape(shape)
    if not np.isfinite(numbers).all():
        raise ValueError
    return numbers
