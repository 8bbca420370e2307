"""Base of private estimators: guarantee, randomness, charging before reading."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.validate import between, non_negative, one_of, positive, whole
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy, research_rng, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest, LedgerRefused
from gaugedp.estimators.feature_names import check_names, names_of
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.habits import check_parameters, next_seed
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_table
from gaugedp.estimators.unpaid_reads import begin_fit, note_fit, of_one_fit, warn_of_pipeline, warn_of_refit
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.ledger.base import Ledger
from gaugedp.ledger.entries import Reservation, Stored
from gaugedp.releases.executing import Charge

NEIGHBOURS = ("add_remove", "replace")
_SCORED_NAN = (
    "Each fold and candidate of a search is a fit that is charged; a refused fit is scored NaN, "
    "unless error_score='raise' is given."
)
_FORM_KEY, _FORM = "_gaugedp_form", 7  # increased whenever the attributes of a model change


@contextmanager
def after_paying(reservation: Reservation | None) -> Iterator[None]:
    """Context manager: an InvalidRequest raised inside states that the cost stays spent."""
    try:
        with of_one_fit():
            yield
    except InvalidRequest as refused:
        if reservation is None:
            raise
        raise InvalidRequest(refused.what, refused.do, STAYS_SPENT) from None


def epsilon_and_delta(guarantee: Guarantee) -> tuple[float, float]:
    """Return the (ε, δ) of a requested guarantee."""
    if isinstance(guarantee, ApproxDP):
        return guarantee.epsilon_value, guarantee.delta_value
    return guarantee.epsilon(0), 0.0


@dataclass(frozen=True, repr=False)
class LedgerLeftBehind:
    """Placeholder for a ledger that was not pickled; a model predicts without one."""

    what: str = "The model was saved after a fit, and a saved model does not include its ledger."
    do: str = "Pass the ledger again: model.set_params(ledger=gd.Ledger.open(...))."

    def __repr__(self) -> str:
        return "LedgerLeftBehind()"


IN_MEMORY = LedgerLeftBehind(
    "The ledger of this model is in the memory of another process.",
    "Pass a ledger file, which processes share: gd.Ledger.open('people.ledger', budget=...). Or fit with n_jobs=1.",
)


class Scored:
    """Mixin with a documented `score`, placed before scikit-learn's."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy (classifier) or R² (regressor) of `predict`.

        It reads rows X (n, d) and targets y (n,) without privacy and charges no ledger, so use it only on public rows,
        or if only you will see the result. For a score that you can publish, use `score_report`.
        """
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


@dataclass(eq=False, repr=False)
class PrivateEstimator(BaseEstimator):
    """Base of the private estimators, whose fit is (ε, δ)-DP for one row.

    `random_state` is for research only: whoever knows it can subtract the noise. `ledger` is charged before the rows
    are read. Every fit sets guarantee_, release_ and n_features_in_ (d), and feature_names_in_ if X is a data frame.

    `max_iter`, `tol`, `n_jobs`, `verbose`, `copy_X` and `warm_start` are accepted for code that was written for
    scikit-learn, and ignored: the budget decides how many steps are taken. Only `KMeans` reads `max_iter`. `n_iter_` is
    1 where no steps are counted.

    Before the charge, only parameters and the types and shapes of X and y are checked. A cell that is not a number
    counts as missing. A table without rows can be fitted if their number is private (neighbours="add_remove").
    """

    _: KW_ONLY
    max_iter: Any = None
    tol: Any = None
    n_jobs: Any = None
    verbose: Any = None
    copy_X: Any = None  # noqa: N815 - as scikit-learn writes it
    warm_start: Any = None
    neighbours: str = "add_remove"
    random_state: Any = None
    ledger: Ledger | None = None

    _read_as = Reading(0)  # of the last fit
    _is_trial = False  # True for fits to public rows
    _is_part = False  # True for parts of a fit, which is charged before
    _weights_up_to = 0.0  # of the last fit; 0 if rows had no weights
    _repr_html_ = drawn_by("model")

    def __new__(cls, *_: Any, **parameters: Any) -> Any:
        """Refuse unknown parameters by the name of the public class."""
        check_parameters(cls.__name__, parameters, cls._get_param_names())
        return super().__new__(cls)

    def _requested(self) -> Guarantee:
        positive(epsilon=self.epsilon)
        if self.epsilon < 1e-6:  # noise would exceed its lattice
            given = "too small for the parts of this fit" if self._is_trial or self._is_part else repr(self.epsilon)
            raise InvalidRequest(
                f"`epsilon` is {given}, but a model needs at least 1e-06.", "Choose a larger `epsilon`."
            )
        non_negative(delta=self.delta)
        one_of(NEIGHBOURS, neighbours=self.neighbours)
        self._generator()  # an invalid seed is refused here, before anything is charged
        if self.delta == 0:
            return PureDP(float(self.epsilon))
        between(0, 1, delta=self.delta)
        return ApproxDP(float(self.epsilon), float(self.delta))

    def _generator(self) -> Entropy:
        if self.random_state is not None:
            whole(minimum=0, random_state=next_seed(deepcopy(self.random_state)))
        return system_rng() if self._seed is None else research_rng(self._seed)

    @property
    def _seed(self) -> int | None:
        """The seed; of a RandomState or Generator its next number, which `_publish` draws."""
        return None if self.random_state is None else int(next_seed(deepcopy(self.random_state)))

    def _account(self) -> Ledger | None:
        """Return the ledger that a fit is charged to."""
        if isinstance(self.ledger, LedgerLeftBehind):
            raise InvalidRequest(self.ledger.what, self.ledger.do)
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise InvalidRequest(
                f"`ledger` is of type {type(self.ledger).__name__}, but must be a ledger or None.",
                "Pass gd.Ledger.open(...), or None.",
            )
        return self.ledger

    def _pay(
        self, guarantee: Guarantee, requested: Guarantee, shape: tuple[int, ...], person: str | None = None
    ) -> Reservation | None:
        """Charge the ledger, durably, before any row is read.

        The ledger is for rows, or for units of the column `person`. `shape` starts with the number of rows, which the
        ledger records if it is public: if rows are replaced.
        """
        ledger = self._account()
        warn_of_pipeline(self)
        if ledger is None:
            warn_of_refit(self)
            return None
        unit = ledger.unit or PrivacyUnit(person, neighbours=self.neighbours)
        if (unit.column is None) != (person is None) or unit.neighbours != self.neighbours:
            mine = PrivacyUnit(person, neighbours=self.neighbours)
            or_else = f"Give the model neighbours={unit.neighbours!r}, or use" if unit.column == person else "Use"
            raise InvalidRequest(
                f"The ledger protects {unit}, but this fit protects {mine}.",
                f"{or_else} a ledger that protects the same unit.",
            )
        public = shape if self.neighbours == "replace" and person is None else shape[1:]
        request = {"fit": type(self).__name__, "shape": list(public), "research_seed": self._seed}
        charge = Charge(chargeable(guarantee, requested), ledger.table or "rows", unit, request)
        try:
            reservation = charge.reserved(ledger)
        except LedgerRefused as refused:
            raise LedgerRefused(refused.what, f"{refused.do} {_SCORED_NAN}", refused.undone) from None
        assert not isinstance(reservation, Stored)  # no key was given, so nothing can be stored under it
        return reservation

    def _publish(
        self,
        values: Mapping[str, np.ndarray],
        guarantee: Guarantee,
        exactness: str,
        facts: Mapping[str, Any],
        reservation: Reservation | None,
    ) -> None:
        """Set `guarantee_` and `release_`, and settle the reservation."""
        requested = self._requested().to_dict()
        public = {"asked": requested, "neighbours": self.neighbours, "research_seed": self._seed, **facts}
        if self._read_as.indicators:
            public["missing_indicator"] = list(self._read_as.indicators)
        if self._weights_up_to > 0:
            public["weight_bound"] = self._weights_up_to
        self.guarantee_, self.n_iter_ = guarantee, int(facts.get("steps", facts.get("rounds", 1)))
        self.release_ = FitRelease(type(self).__name__, values, guarantee, exactness, public)
        next_seed(self.random_state)
        note_fit(self)
        if reservation is not None and isinstance(self.ledger, Ledger):
            self.ledger.settle(reservation, self.release_.to_json().encode())

    def _read_by(self, reading: Reading) -> None:
        """Store how the fit read its rows."""
        self._read_as, self.n_features_in_ = replace(reading, names=None), reading.n_columns
        self._set_names(reading.names)

    def _rows(self, X: Any) -> np.ndarray:
        """Return the rows (n, d); an empty table is refused only if n is public."""
        begin_fit(self, X)
        return read_table(X, 0 if self.neighbours == "add_remove" else 1)

    def _note_names(self, X: Any) -> None:
        """Set `feature_names_in_` from a data frame, else remove it."""
        self._set_names(names_of(X))

    def _set_names(self, names: np.ndarray | None) -> None:
        if names is not None:
            self.feature_names_in_ = names
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _like_fitted(self, X: Any) -> np.ndarray:
        """Return X (n, d + m) as a fit reads it.

        Its columns must match those of the fit in number, and in name if both have names; indicators are appended.
        """
        check_is_fitted(self, "n_features_in_")
        check_names(type(self).__name__, getattr(self, "feature_names_in_", None), X)
        return self._read_like_fitted(read_table(X))

    def _read_like_fitted(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of as many columns as those of the fit, scaled like them."""
        name = type(self).__name__
        if rows.shape[1] != self.n_features_in_:
            raise InvalidRequest(
                f"X has {rows.shape[1]} features, but {name} is expecting {self.n_features_in_} features as input.",
                "Pass the same columns.",
                "",
            )
        return self._read_as(rows)

    def _more_tags(self) -> dict[str, Any]:
        """Return the tags for scikit-learn versions without `__sklearn_tags__`."""
        return {"poor_score": True, "non_deterministic": True, "allow_nan": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _probabilities(self, X: Any) -> np.ndarray:
        """Return class probabilities (n, K) for scores."""
        del X
        raise InvalidRequest(f"{type(self).__name__} has no probabilities to score.", "Score a classifier.", "")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the display for notebooks, instead of scikit-learn's diagram."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without an in-memory ledger.

        A fitted model omits any ledger. So a fit in another process is refused with a reason, not a pickling error.
        """
        state: dict[str, Any] = {**super().__getstate__(), _FORM_KEY: _FORM}
        if not isinstance(self.ledger, Ledger) or ("release_" not in state and self.ledger.shared):
            return state
        return {**state, "ledger": LedgerLeftBehind() if "release_" in state else IN_MEMORY}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state; refuse other versions' models."""
        attributes = dict(state)
        if attributes.pop(_FORM_KEY, None) != _FORM:
            raise InvalidRequest(
                "The model was saved by another version of gaugedp, in a format that this version cannot read.",
                "Load it with the version that saved it, or fit it again, which costs budget.",
                "",
            )
        super().__setstate__(attributes)
