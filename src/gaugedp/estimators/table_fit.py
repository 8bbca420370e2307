"""A model of a table: planned, charged, then fitted; docs/theory/table_models.md has the proof."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp._internal.version import __version__
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy
from gaugedp.errors import STAYS_SPENT, GaugedpError, InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, epsilon_and_delta
from gaugedp.estimators.held_out import PreparedScore, Score, describe, held_out, losses, scores
from gaugedp.estimators.reference_levels import Contrasts
from gaugedp.estimators.table_models import ModelKind, kind_of
from gaugedp.estimators.table_rows import RULES, TableDesign
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP, compose
from gaugedp.releases.executing import Charge, PaidRows
from gaugedp.tables.aggregate import Rows

Look = Callable[[PaidRows], dict[str, Any]]
FORMAT = "gaugedp-model-1"
_SAID = {"asked", "neighbours", "classes"}  # facts of an estimator that the model's own replace


class TableMeasurement(ABC):
    """A measurement that returns a JSON document."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Guarantee of the document."""

    @property
    @abstractmethod
    def guarantee_of_parts(self) -> Guarantee:
        """Guarantee of the separate parts, which some ledgers charge where `guarantee` is free."""

    @abstractmethod
    def request(self) -> dict[str, Any]:
        """Return the request that a ledger records."""

    @abstractmethod
    def look(self, rng: Entropy) -> Look:
        """Draw the initial noise; return the function from rows to document, used once."""

    encode, decode = staticmethod(json.dumps), staticmethod(json.loads)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Look]:
        """Return the charge and the function to the document; see `Measurement`."""
        guarantees, look = [self.guarantee, self.guarantee_of_parts], self.look(rng)

        def evaluate(rows: PaidRows) -> dict[str, Any]:
            document = look(rows)
            document["guarantee"] = (rows.charged or self.guarantee).to_dict()
            document["facts"] |= {"table": table.name, "account": rows.account}
            document["facts"]["rules"] += table.rules
            return document

        return Charge(guarantees, table.name, table.unit, self.request()), evaluate


@dataclass(frozen=True)
class TableFit(TableMeasurement):
    """A private fit of `model` to a table, with an optional score.

    A unit's rows are at most `group` steps of adding or removing one row. Each step gets ε/group, and the δ that group
    privacy raises to the `requested` one. With a score, rows are split at random, independently of their values, into a
    training and a held-out part. A row is in one part only (parallel composition): epsilon is the larger of the two.

    model : a name in `MODELS`.
    norm : "l2"; or "l1" for "lasso", and for "linear", which it makes a lasso.
    """

    design: TableDesign
    model: str
    unit: PrivacyUnit
    requested: Guarantee
    score: Score | None = None
    radius: float | None = None
    reference: str | None = None  # reference levels of coefficients, such as "SEX=2, EDU=12"
    norm: str = "l2"

    @classmethod
    def plan(
        cls,
        design: TableDesign,
        model: str,
        unit: PrivacyUnit,
        requested: Guarantee,
        score: float | None = None,
        radius: float | None = None,
        *,
        reference: str | None = None,
        norm: str | None = None,
    ) -> "TableFit":
        """Return the fit; a trial on public rows refuses impossible fits before the charge."""
        scored, kind = None if score is None else Score(score, unit.most_changes), kind_of(model, norm)
        if reference is not None and not kind.by_sums:
            raise InvalidRequest(
                "Reference levels apply only to linear models with norm l2.", "Omit `reference`, or fit such a model."
            )
        if radius is not None and not kind.has_radius:
            raise InvalidRequest(f"The model {model} does not have a `radius`.", "Omit this parameter.")
        if radius is None and kind.has_radius:
            radius = kind.estimator.radius  # its default
        fit = cls(design, model, unit, requested, scored, radius, reference, kind.norm)
        _ = fit._contrasts, fit.guarantee_of_parts
        return fit

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the fit and the score together."""
        if self.score is None or self.score.epsilon <= _epsilon(self.requested):
            return self.requested
        return ApproxDP(self.score.epsilon, _delta(self.requested)) if _delta(self.requested) else self.score.guarantee

    @cached_property
    def guarantee_of_parts(self) -> Guarantee:
        """Guarantee of the separate parts, which some ledgers charge where `guarantee` is free."""
        trial = self._estimator()
        trial._is_trial = True
        fitted = trial.fit(*self.design.public_row()).guarantee_.group(self.unit.most_changes)
        return fitted if self.score is None else compose([(fitted, 1), (self.score.guarantee, 1)])

    def request(self) -> dict[str, Any]:
        """Return the request that a ledger records."""
        return {
            "fit": self.model,
            "target": self.design.target,
            "features": list(self.design.features),
            "digest": self.design.digest(),
            "asked": self.requested.to_dict(),
            "score": None if self.score is None else self.score.epsilon,
            "radius": self.radius,
            "norm": self.norm,
        }

    def look(self, rng: Entropy) -> Look:
        """See `TableMeasurement`."""
        prepared = None if self.score is None else self.score.prepare(rng)
        return guarded(lambda rows: self._look(rows, rng, prepared))

    def _look(self, table: PaidRows, rng: Entropy, prepared: PreparedScore | None) -> dict[str, Any]:
        if table.are_elsewhere and prepared is None and self._kind.by_sums:
            return self._results(self._estimator().fit_table(self.design, table, rng.bytes(16)))
        rows, target = self.design.read(table, rng.bytes(16))
        apart = np.zeros(len(rows), dtype=bool) if prepared is None else held_out(len(rows), rng)
        more_rows, more_target = self.design.public_row()
        estimator = self._estimator()
        estimator.fit(np.vstack([rows[~apart], more_rows]), np.concatenate([target[~apart], more_target]))
        results, (coefficients, intercepts) = self._results(estimator), _fitted(estimator)
        if prepared is not None:
            outputs = self._kind.outputs(scores(rows[apart], coefficients, intercepts))
            lost = losses(self.design, outputs, target[apart])
            results["score"] = self._scored(prepared.mean(lost))
        return results

    def _results(self, estimator: Any) -> dict[str, Any]:
        law = estimator._best if self._kind.by_sums else None
        intervals = {} if law is None else {"intervals": self._contrasts.facts(law)}
        return self._facts(estimator) | self._numbers(*_fitted(estimator)) | intervals

    @property
    def _contrasts(self) -> Contrasts:
        return Contrasts.read(self.design, self.reference)

    @property
    def _kind(self) -> ModelKind:
        return kind_of(self.model, self.norm)

    def _estimator(self) -> Any:
        share = row_share(self.requested, self.unit.most_changes, _epsilon(self.guarantee))
        parameters = {"epsilon": _epsilon(share), "delta": _delta(share), "neighbours": "add_remove"}
        estimator = self._kind.estimator(**parameters, **self._public)
        if self._kind.by_sums:
            estimator._possible = self.design.possible_rows()
        return estimator

    @property
    def _public(self) -> dict[str, Any]:
        rows = {"bounds": (-1.0, 1.0)} if self._kind.in_cube else {"row_norm": self.design.row_norm}
        public = {**rows, "radius": self.radius} if self._kind.has_radius else rows
        if self.design.by_class:
            return {**public, "classes": list(range(len(self.design.classes or ())))}
        return {**public, "target_bounds": self.design.bounds}

    def _numbers(self, coefficients: np.ndarray, intercepts: np.ndarray) -> dict[str, Any]:
        slopes, constants = self.design.in_units(coefficients, intercepts)
        classes = self.design.classes or ()

        def named(numbers: np.ndarray) -> Any:
            values = numbers.tolist()
            return values[0] if len(values) == 1 else dict(zip(classes, values, strict=True))

        by_name = zip(self.design.names, slopes.T, strict=True)
        return {"intercept": named(constants), "coefficients": {name: named(column) for name, column in by_name}}

    def _facts(self, estimator: PrivateEstimator) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": __version__,
            "model": self.model,
            "target": self.design.target,
            "classes": None if self.design.classes is None else list(self.design.classes),
            "score": None,
            "guarantee": self.guarantee.to_dict(),
            "exactness": estimator.release_.exactness,
            "facts": {
                "unit": self.unit.to_dict(),
                "protects": str(self.unit),
                "asked": self.requested.to_dict(),
                "rules": [
                    *self.unit.rules,
                    *self.design.domain.origins([*self.design.features, self.design.target]),
                    RULES.format(no_number=self.design.domain.text_format.no_number),
                ],
                "estimator": type(estimator).__name__,
                "guarantee_for_a_row": estimator.guarantee_.to_dict(),
                "radius": self.radius,
                "norm": self.norm,
                "link": self._kind.link,
                "features": list(self.design.features),
                "design": self.design.digest(),
                **{name: fact for name, fact in estimator.release_.facts.items() if name not in _SAID},
            },
        }

    def _scored(self, lost: tuple[float, float, float]) -> dict[str, Any]:
        assert self.score is not None
        mean, low, high = lost
        if self.design.by_class:
            return describe("accuracy", (1 - mean, 1 - high, 1 - low), self.score.guarantee)
        width = self.design.bounds[1] - self.design.bounds[0]
        return describe("mean absolute error", (mean * width, low * width, high * width), self.score.guarantee)


def guarded(fit: Look) -> Look:
    """Return the function without its error messages, which may quote rows."""

    def look(rows: PaidRows) -> dict[str, Any]:
        try:
            return fit(rows)
        except (InvalidRequest, ArithmeticError, ValueError, MemoryError):
            failure = GaugedpError("The model could not be fitted.", "Try a simpler model.", STAYS_SPENT)
        raise failure

    return look


def row_share(guarantee: Guarantee, size: int, largest: float) -> Guarantee:
    """Return one step's guarantee such that `size` steps satisfy `guarantee`.

    Other releases may be `largest`/`size`-DP per step: (ε, δ) a step is (kε, δ·(e^{kε} − 1)/(e^ε − 1)) for k steps, and
    grows with ε.
    """
    if size == 1:
        return guarantee
    epsilon = _epsilon(guarantee) / size * (1 - NORMS)
    if isinstance(guarantee, PureDP):
        return PureDP(epsilon)
    shrunk = math.exp(largest / size - largest) * math.expm1(-largest / size) / math.expm1(-largest)
    return ApproxDP(epsilon, _delta(guarantee) * shrunk * (1 - NORMS))


def _fitted(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)


def _epsilon(guarantee: Guarantee) -> float:
    return epsilon_and_delta(guarantee)[0]


def _delta(guarantee: Guarantee) -> float:
    return epsilon_and_delta(guarantee)[1]
