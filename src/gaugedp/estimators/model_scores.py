"""Private scores of a fitted model, on rows that it has not seen, each with an interval."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gaugedp._numbers import answers
from gaugedp._validate import between
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, after_paying
from gaugedp.estimators.class_scores import ClassSums
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.number_scores import NumberSums
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds
from gaugedp.estimators.score_sums import ScoreNoise, ScoreSums
from gaugedp.ledger.base import Ledger


@dataclass(eq=False, repr=False)
class ScoreReport(PrivateEstimator):
    """Scores of a fitted model on rows that it has not seen, with noise, each with an interval: see `score_report`."""

    estimator: Any
    epsilon: float = 1.0
    _: KW_ONLY
    level: float = 0.95

    delta: ClassVar[float] = 0.0

    def fit(self, X: Any, y: Any) -> "ScoreReport":
        """Look at rows X (n, d) and labels or targets y (n,), which the model was not fitted to."""
        requested, rows, kind = self._requested(), self._rows(X), self._sums()
        between(0, 1, level=self.level)
        table, target = NamedRows(rows, names_of(X)), kind.read(y, len(rows))
        kind.predicted(self.estimator, NamedRows(rows[:0], table.columns))  # refuses other columns
        reservation = self._pay(requested, requested, rows.shape)
        with after_paying(reservation):
            noise = ScoreNoise(float(self.epsilon), self.neighbours == "replace", self._generator())
            sums = kind.release(self.estimator, table, target, noise)
        scores = kind.scores().items()
        self.scores_ = {name: sums.interval(of, self.level, ends) for name, (of, ends) in scores}
        tables = kind.tables(sums, self.level)
        self.__dict__.update({f"{name}_": numbers for name, numbers in tables.items()})
        values = {name: np.array(score) for name, score in self.scores_.items()} | tables
        self._read_by(Reading(rows.shape[1]))
        self._note_names(X)
        facts = {"scored": type(self.estimator).__name__, "level": float(self.level)}
        self._publish(values, requested, "idealized", facts, reservation)  # predictions are products in floats
        return self

    def summary(self) -> str:
        """Return the scores with their intervals, as text."""
        check_is_fitted(self, "scores_")
        lines = []
        for name, score in self.scores_.items():
            value, low, high = next(answers(*([number] for number in score)))
            lines.append(f"{name}: {value} ({low} to {high})")
        note = f"Intervals at {self.level:.4g} hold the noise and the sampling, for independent rows."
        return "\n".join([*lines, note])

    def _sums(self) -> ScoreSums:
        if not isinstance(self.estimator, PrivateEstimator):
            raise InvalidRequest("The estimator is no private one.", "Give a fitted one of gaugedp.estimators.")
        check_is_fitted(self.estimator, "release_")
        if is_classifier(self.estimator):
            return ClassSums(self.estimator.classes_)
        parameters = self.estimator.get_params() | vars(self.estimator).get("learned_", {})
        if "target_bounds" not in parameters:
            raise InvalidRequest(
                f"{type(self.estimator).__name__} has no scores.",
                "Give a classifier, or a regressor with target_bounds.",
            )
        low, high = read_bounds("target_bounds", parameters["target_bounds"])
        return NumberSums(float(low), float(high))


def score_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float = 1.0,
    level: float = 0.95,
    neighbours: str = "replace",
    random_state: int | None = None,
    ledger: Ledger | None = None,
) -> ScoreReport:
    """Return scores of a fitted model on rows X (n, d) and labels or targets y (n,) that it was not fitted to.

    model : a fitted classifier with `classes`, or regressor with `target_bounds` as numbers, of this package. It is
        a release: what is paid for here is the look at these rows, with `ledger`.
    epsilon : the guarantee for one of these rows. level : of the intervals, public. neighbours, random_state and
        ledger : as in every fit.

    Classifiers: accuracy, beside it the share of the commonest class; the log-loss, of probabilities raised to 0.001;
    for two classes the area under the ROC curve, with probabilities in twenty bins. Regressors: R², cut at −1, and the
    mean absolute error, predictions clipped to the target's bounds. Rows without a known class, or a target, are left
    out.

    Theorem. All are functions of three releases, of counts and two sums, or of one of 25 sums, with discrete Laplace
    noise: the report is ε-DP for one row. It is "idealized": the last digits of a prediction in floats may depend on
    the other rows. docs/theory/scores.md

    The report has scores_ {name: (value, lower, upper)}; for classes confusion_matrix_ (K, K), noisy counts of (class,
    predicted class), and for two calibration_ (20, 4): the middle of a bin, the share of the second class in it, and
    its interval; guarantee_, release_.

    An interval holds, with probability of about `level` or more, the score of the law that the rows are drawn from,
    independently: it counts the noise and the sampling. So it holds that of these rows more often.
    """
    report = ScoreReport(model, epsilon, level=level, neighbours=neighbours, random_state=random_state, ledger=ledger)
    return report.fit(X, y)
