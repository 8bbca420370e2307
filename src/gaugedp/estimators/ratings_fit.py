"""A model of ratings in a table: planned, charged, then fitted; docs/how-to/low-rank.md."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.version import __version__
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import epsilon_and_delta
from gaugedp.estimators.matrix_completion import MatrixCompletion
from gaugedp.estimators.table_fit import Look, TableMeasurement, guarded, row_share
from gaugedp.estimators.table_rows import check_known, check_target
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.lattice import BITS
from gaugedp.optimization.ratings.model import Completed, Ratings, Spread
from gaugedp.releases.executing import PaidRows

FORMAT = "gaugedp-ratings-1"
RULES = "A row without a cell for user or item, or without a rating, is left out; ratings are clipped to their bounds."
_STEPS_OF_A_CELL = 2


@dataclass(frozen=True)
class RatingsDesign:
    """Attributes of user and item, and the ratings' column."""

    domain: Domain
    attributes: tuple[str, str]
    target: str
    columns: tuple[str, ...] = ()  # that a prediction needs

    @classmethod
    def of(cls, domain: Domain, features: Sequence[str], target: str) -> "RatingsDesign":
        """Return the design for the attributes user and item; refuse other features."""
        check_target(domain, target, by_class=False)
        check_known("attribute", features, list(domain.attributes))
        if len(set(features)) != len(("user", "item")):
            named = ", ".join(features)
            raise InvalidRequest(
                "A model of ratings needs the users and the items as its features, in this order, but the "
                f"features are {named}.",
                'Name these two attributes, such as features=["user", "item"].',
            )
        return cls(domain, (features[0], features[1]), target)

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of a rating."""
        column = self.domain.column(self.target)
        return float(column.low), float(column.high)

    def digest(self) -> str:
        """Return a hash of the columns' public facts."""
        facts = [(name, self.domain.attribute(name)) for name in self.attributes]
        return hashlib.sha256(repr((facts, self.target, self.domain.column(self.target))).encode()).hexdigest()

    def read(self, rows: PaidRows, row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Read the table once; return codes (n, 2) and ratings (n,)."""
        cells, steps = rows.lines((self.attributes, [self.target]), row_key)
        column, has_rating = self.domain.column(self.target), steps[:, 0] >= 0
        return cells[has_rating], (steps[has_rating, 0] + column.low_steps) * float(column.step)


@dataclass(frozen=True)
class RatingsFit(TableMeasurement):
    """A fit of `MatrixCompletion` to a table.

    The guarantee `requested` is for a row, or a user's rows: at most k steps of adding or removing one row, or all rows
    of one cell of users; each step gets its share, by group privacy. A cell may hold several people (other ids, bins,
    two spellings of a number): one of them changes its rows, that is, removes them and adds others. At most max_rows
    rows of each person are kept, and those of others do not depend on them.
    """

    design: RatingsDesign
    unit: PrivacyUnit
    requested: Guarantee

    @classmethod
    def plan(cls, design: RatingsDesign, unit: PrivacyUnit, requested: Guarantee) -> "RatingsFit":
        """Return the fit; a trial without rows refuses impossible fits before the charge."""
        if unit.column not in (None, design.attributes[0]):
            raise InvalidRequest(
                f"The domain file protects all rows of one {unit.column}, but the users of this model are given by "
                f"{design.attributes[0]}.",
                "Name the column of the users in [unit], or no column to protect single ratings.",
            )
        fit = cls(design, unit, requested)
        _ = fit.guarantee_of_parts
        return fit

    @property
    def guarantee(self) -> Guarantee:
        """The requested guarantee."""
        return self.requested

    @cached_property
    def guarantee_of_parts(self) -> Guarantee:
        """Guarantee of the steps of the fit."""
        return self._estimator().fit(np.empty((0, 2)), np.empty(0)).guarantee_.group(self._group)

    def request(self) -> dict[str, Any]:
        """Return the request that a ledger records."""
        return {
            "fit": "ratings",
            "target": self.design.target,
            "features": list(self.design.attributes),
            "digest": self.design.digest(),
            "asked": self.requested.to_dict(),
        }

    def look(self, rng: Entropy) -> Look:
        """See `TableMeasurement`."""
        fit = self._estimator().fit
        return guarded(lambda rows: self._result(fit(*self.design.read(rows, rng.bytes(16)))))

    @property
    def _group(self) -> int:
        return self.unit.most_changes if self.unit.column is None else _STEPS_OF_A_CELL

    def _estimator(self) -> MatrixCompletion:
        share = row_share(self.requested, self._group, epsilon_and_delta(self.requested)[0])
        epsilon, delta = epsilon_and_delta(share)
        users, items = self.design.domain.shape(self.design.attributes)
        return MatrixCompletion(
            epsilon=epsilon,
            delta=delta,
            neighbours="add_remove",
            unit="rating" if self.unit.column is None else "user",
            max_rows=self.unit.max_rows,
            rating_bounds=self.design.bounds,
            users=users,
            items=items,
        )

    def _result(self, model: MatrixCompletion) -> dict[str, Any]:
        names = [list(self.design.domain.attribute(name).labels) for name in self.design.attributes]
        return {
            "format": FORMAT,
            "version": __version__,
            "model": "ratings",
            "target": self.design.target,
            "mean": float(model.mean_),
            "items": dict(zip(names[1], model.item_offsets_.tolist(), strict=True)),
            "users": dict(zip(names[0], model.user_offsets_.tolist(), strict=True)),
            "item_factors": model.item_factors_.tolist(),
            "user_factors": model.user_factors_.tolist(),
            "user_spread": float(model.user_spread_),
            "own": model.for_own_ratings(),
            "guarantee": self.guarantee.to_dict(),
            "exactness": model.release_.exactness,
            "facts": {
                "unit": self.unit.to_dict(),
                "protects": str(self.unit),
                "asked": self.requested.to_dict(),
                "rules": [*self.unit.rules, RULES],
                "solver": model.solver_,
                "reason": model.reason_,
                "features": list(self.design.attributes),
                "design": self.design.digest(),
            },
        }


@dataclass(frozen=True)
class RatingsModel:
    """A released model of ratings, with bounds scaled to [−1, 1]."""

    design: RatingsDesign
    model: Completed

    @classmethod
    def design_of(cls, document: Mapping[str, Any], domain: Domain) -> RatingsDesign:
        """Return a document's design, by the current domain."""
        return RatingsDesign.of(domain, document["facts"]["features"], document["target"])

    @classmethod
    def of(cls, document: Mapping[str, Any], design: RatingsDesign) -> "RatingsModel":
        """Return the model in a document; raise an ordinary error if it has none."""
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
        """Return predictions for lines, None without an item.

        A user without a cell has no part of their own.
        """
        del steps
        users, items = cells.T
        ratings = self._ratings(self.model.predict(users, items)).tolist()
        return [rating if item >= 0 else None for rating, item in zip(ratings, items.tolist(), strict=True)]

    def recommend(self, cells: np.ndarray, steps: np.ndarray, n: int) -> list[tuple[str, float]]:
        """Return a user's n best items.

        Items of their lines (k, 2), with ratings (k,), are left out. Joint differential privacy: for that user only.
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
        """No classes: a rating is a number."""
        return ()

    def scores(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return no scores (n, 0)."""
        del steps
        return np.empty((len(cells), 0))

    def stand_in(self, name: str) -> float:
        """Refuse, as no number is needed."""
        raise KeyError(name)


def _scale(design: RatingsDesign) -> tuple[float, float]:
    low, high = design.bounds
    return (low + high) / 2, (high - low) / 2


def _own(facts: Mapping[str, Any]) -> dict[str, Any]:
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
