"""Private scores of a fitted model, on rows that it has not seen, each with an interval."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gaugedp._numbers import answers
from gaugedp._validate import between
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.held_out import PIECES
from gaugedp.estimators.labels import codes_of, read_both
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds, read_target
from gaugedp.guarantees import PureDP
from gaugedp.guarantees.shares import part
from gaugedp.ledger.base import Ledger
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.lattice import released

_BINS = 10  # of the probability of the second of two classes, on each side of ½
_LOSS_SHARE = Fraction(1, 5)  # of ε, for the sum of log-losses
_LEAST = 0.001  # probabilities are raised to it in the log-loss
_DRAWS = 2000  # of the noise, for an interval; each is taken with both signs, as its law has

Statistic = Callable[[np.ndarray], np.ndarray]  # of released numbers (…, m): a score (…), NaN where it has no meaning


@dataclass(frozen=True, eq=False)
class Released:
    """Numbers (m,) that were released, and draws (r, m) of their noise."""

    numbers: np.ndarray
    draws: np.ndarray

    def interval(self, of: Statistic, level: float, ends: tuple[float, float]) -> tuple[float, float, float]:
        """Return a score within `ends`, and an interval that holds its exact value with probability about `level`.

        The exact numbers are the released ones less their noise, whose law is public: quantiles over draws of it.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value, possible = float(of(self.numbers)), of(self.numbers - self.draws)
        low = np.quantile(np.nan_to_num(possible, nan=ends[0]), (1 - level) / 2)
        high = np.quantile(np.nan_to_num(possible, nan=ends[1]), (1 + level) / 2)
        within = np.clip([np.mean(ends) if np.isnan(value) else value, low, high], *ends)
        return float(within[0]), float(within[1]), float(within[2])


class Judged(ABC):
    """What a row adds to the sums that scores are made of, in whole numbers, and the scores."""

    @abstractmethod
    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return labels or targets (n,), refused by type and shape alone."""

    @abstractmethod
    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """Return what the model says of rows (n, d): probabilities of classes (n, K), or numbers (n,)."""

    @abstractmethod
    def release(self, model: Any, rows: NamedRows, target: np.ndarray, asked: "Asked") -> Released:
        """Return the noisy sums over rows (n, d) and targets (n,): pay first."""

    @abstractmethod
    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Return the scores by name, each with the ends that it lies between."""

    @abstractmethod
    def more(self, told: Released, level: float) -> dict[str, np.ndarray]:
        """Return what is told beside the scores."""


@dataclass(frozen=True, eq=False)
class Asked:
    """ε of all releases, whether a row is replaced, and the randomness."""

    epsilon: float
    replaced: bool
    rng: Entropy

    def noise(self, size: int, radius: float, share: Fraction) -> Laplace:
        """Return noise for sums that a row moves by at most `radius` in ℓ₁, for a share of ε."""
        return Laplace.calibrate(LpBall(size, 1, radius), PureDP(part(self.epsilon, share)))

    def released(self, exact: np.ndarray, noise: Laplace) -> Released:
        """Return the sums with noise, and other draws of it."""
        draws = noise.sample_noise(_DRAWS, self.rng)
        return Released(released(exact, noise, self.rng), np.vstack([draws, -draws]))


@dataclass(frozen=True, eq=False)
class ClassJudged(Judged):
    """Rows counted by (class, predicted class, bin): of two classes, the bin of the second's probability, else one bin.

    Beside the counts, the sum of log-losses over their largest, with a fifth of ε.
    """

    classes: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Classes, predicted classes, bins."""
        k = len(self.classes)
        return k, k, _BINS if k == 2 else 1

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """See Judged."""
        return read_both(y, n_rows, self.classes, strict=False)[0]

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """See Judged."""
        return np.asarray(model._probabilities(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, asked: Asked) -> Released:
        """See Judged. A row adds 1 to one count, so it moves them by 1 in ℓ₁, 2 where it is replaced; the loss by 1."""
        shares = np.clip(np.nan_to_num(self.predicted(model, rows), nan=1 / len(self.classes)), 0.0, 1.0)
        codes = codes_of(target, self.classes)
        known, guesses = codes >= 0, shares.argmax(axis=1)
        bins = self.shape[2]
        places = np.clip((shares[:, 1] * 2 * bins).astype(int) - bins * guesses, 0, bins - 1)
        flat = np.ravel_multi_index((codes[known], guesses[known], places[known]), self.shape)
        counts = np.bincount(flat, minlength=int(np.prod(self.shape))).astype(float)
        losses = np.log(np.maximum(shares[np.flatnonzero(known), codes[known]], _LEAST)) / np.log(_LEAST)
        loss = np.array([np.rint(losses * PIECES).astype(np.int64).sum() / PIECES])
        parts = [
            asked.released(counts, asked.noise(counts.size, 2.0 if asked.replaced else 1.0, 1 - _LOSS_SHARE)),
            asked.released(loss, asked.noise(1, 1.0, _LOSS_SHARE)),
        ]
        numbers = np.concatenate([one.numbers for one in parts])
        return Released(numbers, np.hstack([one.draws for one in parts]))

    def table(self, numbers: np.ndarray) -> np.ndarray:
        """Return the counts, shape (…, K, K, bins)."""
        return numbers[..., :-1].reshape(*numbers.shape[:-1], *self.shape)

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Accuracy, the majority's share, the log-loss, and for two classes the area under the ROC curve."""
        unit, worst = (0.0, 1.0), (0.0, float(-np.log(_LEAST)))
        shown = {
            "accuracy": (self._accuracy, unit),
            "majority share": (lambda numbers: self._totals(numbers).max(axis=-1) / self._n(numbers), unit),
            "log-loss": (lambda numbers: worst[1] * numbers[..., -1] / self._n(numbers), worst),
        }
        return shown | ({"AUC": (self._auc, unit)} if len(self.classes) == 2 else {})

    def bin_share(self, place: int) -> Statistic:
        """Return the share of the second class among rows of a bin."""

        def share(numbers: np.ndarray) -> np.ndarray:
            both = self._by_bin(numbers)[..., place]
            return np.asarray(_over(both[..., 1], both.sum(axis=-1)))

        return share

    def more(self, told: Released, level: float) -> dict[str, np.ndarray]:
        """Confusion matrix (K, K); for two classes lines (middle of a bin, share of the second, its ends)."""
        matrix = {"confusion_matrix": self.table(told.numbers).sum(axis=-1)}
        if len(self.classes) > 2:
            return matrix
        shares = [told.interval(self.bin_share(place), level, (0.0, 1.0)) for place in range(2 * _BINS)]
        return matrix | {"calibration": np.column_stack([(np.arange(2 * _BINS) + 0.5) / (2 * _BINS), shares])}

    def _by_bin(self, numbers: np.ndarray) -> np.ndarray:
        """Of two classes: counts by class and bin, shape (…, 2, bins)."""
        return self.table(numbers).reshape(*numbers.shape[:-1], 2, 2 * _BINS)

    def _n(self, numbers: np.ndarray) -> np.ndarray:
        n = numbers[..., :-1].sum(axis=-1)
        return np.where(n > 0, n, np.nan)

    def _totals(self, numbers: np.ndarray) -> np.ndarray:
        return self.table(numbers).sum(axis=(-1, -2))

    def _accuracy(self, numbers: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("...kkb->...", self.table(numbers)) / self._n(numbers))

    def _auc(self, numbers: np.ndarray) -> np.ndarray:
        """How often a row of the second class has a higher bin than one of the first; the same bin counts as half."""
        first, second = np.moveaxis(self._by_bin(numbers), -2, 0)
        below = np.cumsum(first, axis=-1) - first / 2
        return np.asarray(_over((second * below).sum(axis=-1), first.sum(axis=-1) * second.sum(axis=-1)))


@dataclass(frozen=True, eq=False)
class NumberJudged(Judged):
    """Sums of (1, t, t², |r|, r²): the target t brought to [−1, 1], the residual r over the width of the bounds."""

    low: float
    high: float

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, asked: Asked) -> Released:
        """See Judged. A row adds a vector of at most 5 in ℓ₁; replaced, it moves 0 + 2 + 1 + 1 + 1 or less."""
        known, width = ~np.isnan(target), self.high - self.low
        told = np.nan_to_num(self.predicted(model, rows)[known], nan=self.low / 2 + self.high / 2)
        y, predicted = (np.clip(numbers, self.low, self.high) for numbers in (target[known], told))
        t, r = (2 * y - self.low - self.high) / width, (predicted - y) / width
        vectors = np.column_stack([np.ones(len(t)), t, t * t, np.abs(r), r * r]).clip(-1, 1)
        sums = np.rint(vectors * PIECES).astype(np.int64).sum(axis=0) / PIECES
        return asked.released(sums, asked.noise(5, 5.0, Fraction(1)))

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """See Judged."""
        return read_target(y, n_rows)

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """See Judged."""
        return np.asarray(model.predict(rows.and_zeros())[:-1])

    def more(self, told: Released, level: float) -> dict[str, np.ndarray]:
        """Nothing."""
        del told, level
        return {}

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """R², and the mean absolute error in units of the target."""
        width = self.high - self.low
        return {
            "R²": (self._r_squared, (-1.0, 1.0)),
            "mean absolute error": (lambda s: width * _over(s[..., 3], s[..., 0]), (0.0, width)),
        }

    def _r_squared(self, sums: np.ndarray) -> np.ndarray:
        n, t, square, _, missed = np.moveaxis(sums, -1, 0)
        return np.asarray(1 - 4 * _over(missed, square - t * _over(t, n)))


def _over(part_: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the ratio, NaN where the whole is not above 0."""
    return np.asarray(part_ / np.where(whole > 0, whole, np.nan))


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
        requested, rows, judged = self._requested(), self._rows(X), self._judged()
        between(0, 1, level=self.level)
        table, target = NamedRows(rows, names_of(X)), judged.read(y, len(rows))
        judged.predicted(self.estimator, NamedRows(rows[:0], table.columns))  # refuses other columns
        reservation = self._pay(requested, requested, rows.shape)
        with after_paying(reservation):
            asked = Asked(float(self.epsilon), self.neighbours == "replace", self._generator())
            told = judged.release(self.estimator, table, target, asked)
        shown = judged.scores().items()
        self.scores_ = {name: told.interval(of, self.level, ends) for name, (of, ends) in shown}
        more = judged.more(told, self.level)
        self.__dict__.update({f"{name}_": numbers for name, numbers in more.items()})
        values = {name: np.array(score) for name, score in self.scores_.items()} | more
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
        said = f"At {self.level:.4g}, for the exact scores of these rows; other rows may differ more."
        return "\n".join([*lines, said])

    def _judged(self) -> Judged:
        if not isinstance(self.estimator, PrivateEstimator):
            raise InvalidRequest("The estimator is no private one.", "Give a fitted one of gaugedp.estimators.")
        check_is_fitted(self.estimator, "release_")
        if is_classifier(self.estimator):
            return ClassJudged(self.estimator.classes_)
        given = self.estimator.get_params() | vars(self.estimator).get("learned_", {})
        if "target_bounds" not in given:
            raise InvalidRequest(
                f"{type(self.estimator).__name__} has no scores.",
                "Give a classifier, or a regressor with target_bounds.",
            )
        low, high = read_bounds("target_bounds", given["target_bounds"])
        return NumberJudged(float(low), float(high))


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

    Theorem. All are functions of two releases of counts and a sum, or one of five sums, with discrete Laplace noise:
    the report is ε-DP for one row. It is "idealized": the last digits of a prediction in floats may depend on the other
    rows. docs/theory/scores.md

    The report has scores_ {name: (value, lower, upper)}; for classes confusion_matrix_ (K, K), noisy counts of (class,
    predicted class), and for two calibration_ (20, 4): the middle of a bin, the share of the second class in it, and
    its interval; guarantee_, release_. An interval holds the exact score of these rows, and not what others would say.
    """
    report = ScoreReport(model, epsilon, level=level, neighbours=neighbours, random_state=random_state, ledger=ledger)
    return report.fit(X, y)
