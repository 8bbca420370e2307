"""Private scores of a fitted model or of given predictions."""

import operator
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.numbers import answers
from gaugedp._internal.validate import between
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.given_scores import GivenScores, read_groups
from gaugedp.estimators.model_scores import ClassSums, NumberSums, ScoreSums
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds
from gaugedp.estimators.score_sums import NoisySums, ScoreNoise, Statistic
from gaugedp.ledger.base import Ledger


@dataclass(eq=False, repr=False)
class ScoreReport(PrivateEstimator):
    """Noisy scores of a fitted model: see `score_report`."""

    estimator: Any
    epsilon: float = 1.0
    _: KW_ONLY
    level: float = 0.95
    groups: Any = None

    delta: ClassVar[float] = 0.0

    def fit(self, X: Any, y: Any, group: Any = None) -> "ScoreReport":
        """Score rows X (n, d) with labels or targets y (n,), in total and by group."""
        requested, rows, kind = self._requested(), self._rows(X), self._sums()
        codes, groups = read_groups(group, self.groups, len(rows))
        between(0, 1, level=self.level)
        table, target = NamedRows(rows, names_of(X)), kind.read(y, len(rows))
        kind.predicted(self.estimator, NamedRows(rows[:0], table.columns))  # refuses other columns
        reservation = self._pay(requested, requested, rows.shape)
        with after_paying(reservation):
            noise = ScoreNoise(
                float(self.epsilon), self.neighbours == "replace", self._generator(), is_split=bool(groups)
            )
            members = [codes == code for code in range(max(1, len(groups)))]
            parts = [(NamedRows(rows[part], table.columns), target[part]) for part in members]
            each = [kind.release(self.estimator, *part, noise) for part in parts]
        total = reduce(operator.add, each)
        self.scores_ = self._intervals(kind.scores(), total)
        tables = kind.tables(total, self.level)
        self.__dict__.update({f"{name}_": numbers for name, numbers in tables.items()})
        values = {name: np.array(score) for name, score in self.scores_.items()} | tables
        wanted = {**kind.scores(), **kind.rates()}
        self.by_group_ = {name: self._intervals(wanted, sums) for name, sums in zip(groups, each, strict=False)}
        for group_name, scores in self.by_group_.items():
            values |= {f"{name} [{group_name}]": np.array(score) for name, score in scores.items()}
        self._read_by(Reading(rows.shape[1]))
        self._note_names(X)
        facts = {"scored": type(self.estimator).__name__, "level": float(self.level)}
        self._publish(values, requested, "idealized", facts, reservation)  # predictions are float products
        return self

    def _intervals(
        self, wanted: Mapping[str, tuple[Statistic, tuple[float, float]]], sums: NoisySums
    ) -> dict[str, tuple[float, float, float]]:
        return {name: sums.interval(of, self.level, ends) for name, (of, ends) in wanted.items()}

    def summary(self) -> str:
        """Return the report as printable text."""
        check_is_fitted(self, "scores_")
        lines = []
        for heading, scores in {"": self.scores_, **self.by_group_}.items():
            lines += [f"{heading}:"] if heading != "" else []
            for name, score in scores.items():
                value, low, high = next(answers(*([number] for number in score)))
                lines.append(f"{name}: {value} ({low} to {high})")
        note = f"Intervals at {self.level:.4g} account for noise and sampling, for independent rows."
        return "\n".join([*lines, note])

    def _sums(self) -> ScoreSums:
        if isinstance(self.estimator, GivenScores):
            return _sums_of(self.estimator)
        if not isinstance(self.estimator, PrivateEstimator):
            raise InvalidRequest(
                "A private score needs a private model, but the estimator is not differentially private.",
                "Pass a fitted model of gaugedp.estimators.",
            )
        check_is_fitted(self.estimator, "release_")
        if is_classifier(self.estimator):
            return ClassSums(self.estimator.classes_)
        parameters = self.estimator.get_params() | vars(self.estimator).get("learned_", {})
        if "target_bounds" not in parameters:
            raise InvalidRequest(
                f"{type(self.estimator).__name__} makes no predictions that can be scored.",
                "Pass a classifier, or a regressor with target_bounds.",
            )
        low, high = read_bounds("target_bounds", parameters["target_bounds"])
        return NumberSums(float(low), float(high))


def _sums_of(scores: GivenScores) -> ScoreSums:
    return NumberSums(*scores.target_bounds) if scores.classes is None else ClassSums(scores.classes)


def score_report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float = 1.0,
    classes: Any = None,
    target_bounds: Any = None,
    group: Any = None,
    groups: Any = None,
    level: float = 0.95,
    neighbours: str = "add_remove",
    random_state: int | None = None,
    ledger: Ledger | None = None,
) -> ScoreReport:
    """Return private scores of a model or of predictions.

    Use it to publish how well a model predicts, with confidence intervals. `score_report(model, X, y)` scores a model
    on rows X (n, d) and labels or targets y (n,) that it was not fitted to. `score_report(y_true, y_score,
    classes=[...])` scores predictions from elsewhere. Rows without a known class or a target are left out.

    Classifiers are scored by accuracy, by log-loss and, for two classes, by the area under the ROC curve. The share of
    the most common class is reported too, for comparison. Regressors are scored by R² and by the mean absolute error.

    Parameters
    ----------
    model : estimator
        A fitted classifier with `classes`, or regressor with `target_bounds` as numbers, of this package. The model is
        released already, so `ledger` is charged only for reading these rows.
    y_true, y_score : array
        Labels (n,) and the probabilities of the second of the sorted classes (n,), or of all K classes (n, K); or
        targets and predicted numbers, each (n,). A prediction may depend on its own row and on what is public or was
        released, but not on other rows. Probabilities are clipped to [0, 1]; a missing one counts as 1/K.
    epsilon : float
        Privacy budget for one of these rows. Default 1.
    classes, target_bounds : optional
        Public facts for predictions from elsewhere: either all possible labels, or (low, high).
    group, groups : array (n,) and list, optional
        The group of each row, such as its region, and the public list of groups. All groups together cost no more than
        one, because a row is in only one of them; a row in none is left out. The total adds up their noise.
    level : float
        Public confidence level of the intervals. Default 0.95.
    neighbours, random_state, ledger
        As in `LogisticRegression`.

    Returns
    -------
    ScoreReport
        `scores_` maps each name to (value, lower, upper). For classes, `confusion_matrix_` (K, K) holds noisy counts of
        (class, predicted class). For two classes, `calibration_` (20, 4) holds the middle of a bin, the share of the
        second class in it, and the interval of this share. `by_group_` maps each group to its scores, for two classes
        with the selection rate (the share that is predicted to be of the second class), the true- and false-positive
        rates and the base rate. There are also guarantee_ and release_.

    Notes
    -----
    For the log-loss, probabilities are raised to at least 0.001; for the ROC curve, they are put into twenty bins. R²
    is at least −1, and the predictions of regressors are clipped to the target's bounds.

    Theorem (docs/theory/scores.md). All scores are computed from sums with discrete Laplace noise: either three
    releases, of counts and of two sums, or one release of 25 sums. The report is therefore ε-DP for one row. It is
    "idealized", because the last digits of a prediction in floats may depend on the other rows.

    An interval covers, with probability of about `level` or more, the score on the distribution from which the rows are
    drawn independently: it accounts for both noise and sampling. Therefore it covers the score on these rows more
    often.

    Examples
    --------
    Fit a model to one half of the rows and score it on the other half:

    >>> import numpy as np
    >>> from gaugedp.estimators import LogisticRegression, score_report
    >>> X, y = np.array([[20.0], [60.0]] * 500), np.array([0, 1] * 500)
    >>> model = LogisticRegression(epsilon=1.0, bounds=(0, 100), classes=[0, 1]).fit(X[:500], y[:500])
    >>> report = score_report(model, X[500:], y[500:], epsilon=1.0)
    >>> sorted(report.scores_)
    ['AUC', 'accuracy', 'log-loss', 'majority share']
    """
    if y is None:
        model, X, y = (scores := GivenScores.of(classes, target_bounds)), scores.rows(X), model
    elif classes is not None or target_bounds is not None:
        raise InvalidRequest(
            "The model has its own classes or bounds, so `classes` and `target_bounds` do not apply.", "Omit them."
        )
    report = ScoreReport(model, epsilon, level=level, groups=groups, neighbours=neighbours, ledger=ledger)
    return report.set_params(random_state=random_state).fit(X, y, group)
