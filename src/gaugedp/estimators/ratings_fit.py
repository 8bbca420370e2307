"""A model of ratings in a table: planned, then paid for, then fitted; docs/how-to/low-rank.md."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import STAYS_SPENT, GaugedpError, InvalidRequest
from gaugedp.estimators.base import epsilon_and_delta
from gaugedp.estimators.matrix_completion import MatrixCompletion
from gaugedp.estimators.table_fit import Look, group_size, row_share
from gaugedp.estimators.table_rows import check_known, check_target
from gaugedp.guarantees import Guarantee
from gaugedp.tables.table import Table

FORMAT = "gaugedp-ratings-1"
RULES = "A row whose user or item has no cell, or that has no rating, is left out; ratings are clipped to their bounds."
_STEPS_OF_A_CELL = 2


@dataclass(frozen=True)
class RatingsDesign:
    """The attributes that say who rated what, and the bounded column that says how."""

    domain: Domain
    attributes: tuple[str, str]
    target: str
    columns: tuple[str, ...] = ()  # that a prediction needs

    @classmethod
    def of(cls, domain: Domain, features: Sequence[str], target: str) -> "RatingsDesign":
        """Return the design for features user, item. Refused: other features than two attributes."""
        check_target(domain, target, by_class=False)
        check_known("attribute", features, list(domain.attributes))
        if len(set(features)) != len(("user", "item")):
            named = ", ".join(features)
            raise InvalidRequest(f"The features of ratings are {named}.", "Name the users, then the items.")
        return cls(domain, (features[0], features[1]), target)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a rating."""
        column = self.domain.column(self.target)
        return float(column.low), float(column.high)

    def digest(self) -> str:
        """Return a hash of all that is public about the three columns."""
        facts = [(name, self.domain.attribute(name)) for name in self.attributes]
        return hashlib.sha256(repr((facts, self.target, self.domain.column(self.target))).encode()).hexdigest()

    def read(self, table: Table, row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Look at the table once; return the numbers of users and items (n, 2), and ratings (n,)."""
        cells, steps = table.rows(list(self.attributes), [self.target], row_key)
        column, has_rating = self.domain.column(self.target), steps[:, 0] >= 0
        return cells[has_rating], (steps[has_rating, 0] + column.low_steps) * float(column.step)


@dataclass(frozen=True)
class RatingsFit:
    """A fit of `MatrixCompletion` to a table at the guarantee `requested` for one unit: a row, or a user's rows.

    A unit is at most so many steps of adding or removing one row, or all rows of one cell of users; each keeps its
    share, by group privacy. A cell may hold several people (other ids, bins, two ways to write a number): one of them
    changes its rows, which is to remove them and to add others. At most max_rows rows of each person are kept, and
    those of others do not depend on them.
    """

    design: RatingsDesign
    unit: PrivacyUnit
    requested: Guarantee

    @classmethod
    def plan(cls, design: RatingsDesign, unit: PrivacyUnit, requested: Guarantee) -> "RatingsFit":
        """Return the fit, after a trial fit without rows: what cannot be fitted is refused before payment."""
        if unit.column not in (None, design.attributes[0]):
            raise InvalidRequest(
                f"The domain file protects the rows of each {unit.column}, and the users are {design.attributes[0]}.",
                "Protect rows or users: name the column of the users in [unit].",
            )
        fit = cls(design, unit, requested)
        _ = fit.guarantee_of_parts
        return fit

    @property
    def guarantee(self) -> Guarantee:
        """What was requested."""
        return self.requested

    @cached_property
    def guarantee_of_parts(self) -> Guarantee:
        """What the fit keeps, step by step."""
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

    def prepare(self, rng: Entropy) -> Look:
        """Return a function of the table, to be called once, after paying: it returns the model as a dict for JSON."""

        def look(table: Table) -> dict[str, Any]:
            try:
                return self._result(self._estimator().fit(*self.design.read(table, rng.bytes(16))))
            except (InvalidRequest, ArithmeticError, ValueError, MemoryError):
                failure = GaugedpError("The model could not be fitted.", "Try a smaller one.", STAYS_SPENT)
            raise failure

        return look

    @property
    def _group(self) -> int:
        return group_size(self.unit) if self.unit.column is None else _STEPS_OF_A_CELL

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
            "version": version("gaugedp"),
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
