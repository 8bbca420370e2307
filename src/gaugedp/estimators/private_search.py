"""Private hyperparameter search."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.validate import whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.held_out import PIECES, Score, held_out
from gaugedp.estimators.labels import check_given, codes_of, read_both, read_classes
from gaugedp.estimators.random_stopping import RandomStopping, uniform
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds, read_target
from gaugedp.guarantees import ApproxDP, PureDP
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.lattice import for_gaussian_releases, released

_OF_THE_SEARCH = {"epsilon", "delta", "neighbours", "random_state", "ledger"}

Rows = tuple["NamedRows", np.ndarray]  # with their labels or targets


@dataclass(frozen=True, eq=False)
class ClassScore:
    """The loss 1 for a wrong class, else 0."""

    classes: np.ndarray
    strict: bool = False

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the labels; if `strict`, refuse those outside the classes."""
        return read_both(y, n_rows, self.classes, self.strict)[0]

    def public_target(self, n_rows: int) -> np.ndarray:
        """Return the first class, repeated."""
        return np.repeat(self.classes[:1], n_rows)

    def losses(self, predicted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the losses, 1 for labels outside the classes."""
        codes = codes_of(target, self.classes)
        return ((codes < 0) | (codes != codes_of(predicted, self.classes))).astype(float)


@dataclass(frozen=True, eq=False)
class NumberScore:
    """The loss |prediction − target|/width, both clipped; 1 without a target."""

    low: float
    high: float

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the targets as floats."""
        return read_target(y, n_rows)

    def public_target(self, n_rows: int) -> np.ndarray:
        """Return the middle of the bounds, repeated."""
        return np.full(n_rows, (self.low + self.high) / 2)

    def losses(self, predicted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the losses."""
        gaps = np.abs(np.clip(predicted, self.low, self.high) - np.clip(target, self.low, self.high))
        return np.where(np.isnan(gaps), 1.0, np.minimum(gaps / (self.high - self.low), 1.0))


SearchScore = ClassScore | NumberScore  # losses of predictions, in [0, 1]


def noisy_score(losses: np.ndarray, epsilon: float, neighbours: str, rng: Entropy) -> float:
    """Return 1 less the mean loss, ε-DP for one row.

    Laplace noise is added to the sum of losses, which a row changes by at most 1, in integer steps. If rows are added
    or removed, their number has noise too.
    """
    if neighbours == "add_remove":
        return 1 - Score(epsilon, 1).prepare(rng).mean(losses)[0]
    total = np.array([np.rint(losses * PIECES).astype(np.int64).sum() / PIECES])
    return 1 - float(released(total, Laplace.calibrate(LpBall(1, 1), PureDP(epsilon)), rng)[0]) / len(losses)


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Rows (n, d) with column names."""

    rows: np.ndarray
    columns: np.ndarray | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the rows."""
        del dtype, copy
        return self.rows

    def and_zeros(self) -> "NamedRows":
        """Return the rows and one of zeros, so that no table is empty."""
        return NamedRows(np.vstack([self.rows, np.zeros((1, self.rows.shape[1]))]), self.columns)


@dataclass(frozen=True, eq=False)
class Run:
    """One draw: grid index, model and noisy score."""

    index: int
    model: Any
    score: float


@dataclass(frozen=True, eq=False)
class Search:
    """Unfitted models, with the budgets of fits and scores."""

    models: list[Any]
    stopping: RandomStopping
    requested: ApproxDP | PureDP
    score: SearchScore
    score_epsilon: float
    neighbours: str

    @classmethod
    def plan(
        cls, models: list[Any], stopping: RandomStopping, total: ApproxDP | PureDP, score: SearchScore, public: Rows
    ) -> "Search":
        """Return the search within `total`, after trial fits to public rows that show the guarantees."""
        part_guarantee, gaussian = stopping.largest(total), stopping.largest(total, for_gaussian_releases)
        less = stopping.part(total, 0.9 * gaussian.epsilon_value / total.epsilon_value)  # for runs with other noise too
        for part in (gaussian, less):
            if all(stopping.allows(_fitted(model, part, public).guarantee_, part, total) for model in models):
                part_guarantee = part
                break
        else:
            for model in models:
                _fitted(model, part_guarantee, public)  # refuses invalid parameters
        score_epsilon = stopping.largest(PureDP(total.epsilon_value)).epsilon_value
        return cls(models, stopping, part_guarantee, score, score_epsilon, models[0].neighbours)

    def best(self, fitting: Rows, scoring: Rows, rng: Entropy) -> Run:
        """Return the run with the highest score."""
        runs = (self._run(fitting, scoring, rng) for _ in range(self.stopping.count(rng)))
        return max(runs, key=lambda run: run.score)

    def _run(self, fitting: Rows, scoring: Rows, rng: Entropy) -> Run:
        index, (rows, target) = uniform(len(self.models), rng), scoring
        model = _fitted(self.models[index], self.requested, fitting, None if rng.is_secure else rng.integer(64))
        with warnings.catch_warnings(action="ignore"):
            predicted = model.predict(rows.and_zeros())[:-1]
            losses = self.score.losses(predicted, target)
        return Run(index, model, noisy_score(losses, self.score_epsilon, self.neighbours, rng))


def _fitted(model: Any, requested: ApproxDP | PureDP, table: Rows, seed: int | None = None) -> Any:
    delta = requested.delta_value if isinstance(requested, ApproxDP) else 0.0
    fresh = clone(model).set_params(epsilon=requested.epsilon_value, delta=delta, random_state=seed)
    with warnings.catch_warnings(action="ignore"):
        return fresh.fit(*table)


@dataclass(eq=False, repr=False)
class PrivateSearchCV(MetaEstimatorMixin, PrivateEstimator):
    """Hyperparameter search whose guarantee covers the choice.

    Use it to choose hyperparameters. Scikit-learn's GridSearchCV would charge every fit; this search has one price for
    any number of candidates. It draws a candidate at random, fits it to about four fifths of the rows, and scores it on
    the others, with noise. After each draw the search ends with probability 1/draws, and it keeps the best model as it
    was fitted.

    Parameters
    ----------
    estimator : estimator
        A classifier with `classes`, or a regressor with `target_bounds` as numbers, of this package, without a ledger.
        The search sets its epsilon, delta, neighbours and random_state.
    param_grid : dict or list of dict
        The candidates, as in scikit-learn's GridSearchCV. It must not contain epsilon, delta, neighbours, random_state
        or ledger, because these would change the cost of a fit. For a random search, pass a list of points that were
        drawn before.
    epsilon, delta : float
        Total privacy budget for one row, for any number of candidates. The default is epsilon = 1 and delta = 0.
    cv, scoring, refit
        Ignored: the search holds a fifth of the rows out, scores accuracy or the mean absolute error, and keeps the
        model that it chose.
    draws : float, optional
        Mean number of fits. By default it is four for each candidate. The actual number is random and secret.
    neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/private_search.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0 (see `RandomStopping`). A
    single fit gets δ/draws and a third of ε or more, up to nine tenths if its noise is Gaussian.

    The duration of a search reveals the number of fits, so do not publish it. Before the charge, each candidate is
    fitted to rows of zeros, so that invalid parameters are refused. After `fit`, best_score_ is a noisy accuracy, or 1
    minus the mean absolute error divided by the width of the target's bounds. It is too high on average, because it is
    the best of several. Further attributes are best_estimator_, best_params_, best_index_ (in the grid), guarantee_ and
    release_.

    Examples
    --------
    Choose between two values of `radius`. The whole search costs ε = 3:

    >>> import numpy as np
    >>> from gaugedp.estimators import LogisticRegression, PrivateSearchCV
    >>> X, y = np.array([[20.0], [60.0]] * 500), np.array([0, 1] * 500)
    >>> model = LogisticRegression(bounds=(0, 100), classes=[0, 1])
    >>> search = PrivateSearchCV(model, {"radius": [1.0, 10.0]}, epsilon=3.0).fit(X, y)
    >>> sorted(search.best_params_), search.guarantee_
    (['radius'], PureDP(3))
    """

    estimator: Any
    param_grid: Any
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    draws: int | None = None
    cv: Any = None
    scoring: Any = None
    refit: Any = None

    def fit(self, X: Any, y: Any) -> "PrivateSearchCV":
        """Search for the best model of X and y.

        X has shape (n, d), and y has shape (n,) and contains labels or numbers. The search's ledger, if any, is charged
        before any row is read.
        """
        requested, rows, names = self._requested(), self._rows(X), names_of(X)
        assert isinstance(requested, ApproxDP | PureDP)
        self._check(y)
        candidates, score = self._candidates(), self._score()
        target, rng = score.read(y, len(rows)), self._generator()
        is_held = held_out(len(rows), rng)
        search = self._plan(candidates, score, requested, NamedRows(rows, names), is_held)
        reservation = self._pay(requested, requested, rows.shape)
        with after_paying(reservation):
            fitting, scoring = ((NamedRows(rows[part], names), target[part]) for part in (~is_held, is_held))
            best = search.best(fitting, scoring, rng)
        self.best_index_, self.best_score_, self.best_params_ = best.index, best.score, candidates[best.index]
        self.best_estimator_ = _accounted(best.model, requested)
        self._read_by(Reading(rows.shape[1]))
        self._note_names(X)
        released = self.best_estimator_.release_
        values = {**released.values, "best_score": np.array(best.score), "best_index": np.array(best.index)}
        facts = {"estimator": released.estimator, "candidates": [repr(candidate) for candidate in candidates]}
        facts["draws"] = search.stopping.draws
        self._publish(values, requested, "idealized", facts, reservation)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions (n,) of the best model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(lambda search: is_classifier(search.estimator))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities (n, K) of the best model."""
        return self._probabilities(X)

    @available_if(lambda search: is_classifier(search.estimator))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return class scores of the best model."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    def _probabilities(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_._probabilities(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the best model's accuracy or R².

        The method reads rows X and targets y (n,) without privacy and charges no ledger, so use it only on public rows,
        or if only you will see the result.
        """
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the best model, if it is a classifier."""
        return np.asarray(self.best_estimator_.classes_)

    @property
    def _estimator_type(self) -> Any:
        return self.estimator._estimator_type

    def _check(self, y: Any) -> None:
        if y is None:
            raise InvalidRequest("This search requires y to be passed, but the target y is None.", "Pass the targets.")
        kind = type(self.estimator).__name__
        if not isinstance(self.estimator, PrivateEstimator):
            raise InvalidRequest(
                f"The search would not be private, because the estimator {kind} is not differentially private.",
                "Use one of gaugedp.estimators.",
            )
        if self.estimator.ledger is not None:
            raise InvalidRequest(
                "The estimator has a ledger of its own, which would be charged for every fit in addition to the "
                "search.",
                "Pass the ledger to PrivateSearchCV only, which charges the whole search once.",
            )
        if self.draws is not None:
            whole(minimum=1, draws=self.draws)

    def _candidates(self) -> list[dict[str, Any]]:
        try:
            candidates = list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError):
            raise InvalidRequest(
                "`param_grid` must map parameter names to lists of values.",
                "Pass, for example, {'radius': [1.0, 10.0]}.",
            ) from None
        named = {name for candidate in candidates for name in candidate}
        if named & _OF_THE_SEARCH:
            raise InvalidRequest(
                f"`param_grid` contains {', '.join(sorted(named & _OF_THE_SEARCH))}, but this is the same for all "
                "fits of the search.",
                "Pass it to PrivateSearchCV instead.",
            )
        unknown = sorted(named - set(self.estimator.get_params()))
        if unknown or not candidates:
            raise InvalidRequest(
                f"`param_grid` names {', '.join(unknown)}, which {type(self.estimator).__name__} does not have."
                if unknown
                else "`param_grid` is empty.",
                "Use parameters of the estimator.",
            )
        return candidates

    def _score(self) -> SearchScore:
        parameters = self.estimator.get_params()
        if is_classifier(self.estimator):
            check_given(parameters["classes"], parameters.get("bounds"), parameters.get("row_norm"))
            return ClassScore(read_classes(parameters["classes"]), bool(parameters.get("strict_labels", False)))
        if is_regressor(self.estimator) and "target_bounds" in parameters:
            low, high = read_bounds("target_bounds", parameters["target_bounds"])
            return NumberScore(float(low), float(high))
        raise InvalidRequest(
            f"The search compares models by their score, but {type(self.estimator).__name__} has none.",
            "Use a classifier with classes, or a regressor with target_bounds.",
        )

    def _plan(
        self,
        candidates: list[dict[str, Any]],
        score: SearchScore,
        total: ApproxDP | PureDP,
        table: NamedRows,
        is_held: np.ndarray,
    ) -> Search:
        """Return the search, by public facts: for replaced rows also their number and the held-out ones."""
        n_public, n_held = 20, 1  # rows of trial fits, if their number is private
        if self.neighbours == "replace":
            n_public, n_held = int((~is_held).sum()), int(is_held.sum())
        if not (n_public and n_held):
            n_rows = len(table.rows)
            raise InvalidRequest(
                f"The search holds out some rows to score the models, for which n_samples={n_rows} is too small.",
                "Pass at least 30 rows.",
            )
        models = [clone(self.estimator).set_params(neighbours=self.neighbours, **candidate) for candidate in candidates]
        public = NamedRows(np.zeros((n_public, table.rows.shape[1])), table.columns), score.public_target(n_public)
        stopping = RandomStopping(4 * len(candidates) if self.draws is None else int(self.draws))  # misses one in five
        return Search.plan(models, stopping, total, score, public)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags.required = inner.regressor_tags, True
        return tags


def _accounted(model: Any, total: ApproxDP | PureDP) -> Any:
    facts = {**model.release_.facts, "asked": total.to_dict(), "chosen_by": "PrivateSearchCV"}
    model.guarantee_ = total
    model.release_ = replace(model.release_, guarantee=total, exactness="idealized", facts=facts)
    return model
