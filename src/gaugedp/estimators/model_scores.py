"""Private scores of a fitted model, on rows that it has not seen, each with an interval."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.numbers import answers
from gaugedp._internal.validate import between
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.held_out import PIECES
from gaugedp.estimators.labels import codes_of, read_both
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds, read_target
from gaugedp.estimators.score_sums import NoisySums, ScoreNoise, Statistic, draws_for, expected_counts, ratio
from gaugedp.ledger.base import Ledger

_DEGREE = 4  # twice that of the scores: products of two of their terms tell how far sampling moves them
_PIECES = 2**24  # of what a row adds to a sum, cut downwards, so that sums are exact and a row adds 1 at most in all
_TERMS = ((0, 0), (0, 1), (0, 2), (1, 0), (2, 0))  # powers of |r| and t: 1, t, t², |r|, r²
_BINOMIALS = np.array([comb(_DEGREE, j) for j in range(_DEGREE + 1)], dtype=float)
_POWERS = np.array([[comb(j, a) / comb(_DEGREE, a) for j in range(_DEGREE + 1)] for a in range(_DEGREE + 1)])
_SHIFTED = np.array(  # t = 2u − 1
    [[comb(b, i) * 2.0**i * (-1) ** (b - i) for i in range(_DEGREE + 1)] for b in range(_DEGREE + 1)]
)
_BINS = 10  # of the probability of the second of two classes, on each side of ½
_LOSS_SHARE, _SQUARE_SHARE = Fraction(1, 5), Fraction(1, 20)  # of ε, for the sums of log-losses and of their squares
_LEAST = 0.001  # probabilities are raised to it in the log-loss
_UNIT = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class NumberSums:
    """Sums of Bernstein polynomials in the residual and the target, of which moments are linear functions.

    r is the residual over the width of the bounds, t the target brought to [−1, 1], u the target brought to [0, 1].
    """

    low: float
    high: float

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return labels or targets (n,), refused by type and shape alone."""
        return read_target(y, n_rows)

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """Return the predictions (n,) for rows (n, d)."""
        return np.asarray(model.predict(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, noise: ScoreNoise) -> NoisySums:
        """Return noisy sums over rows and targets: pay first.

        The polynomials are not negative and add up to 1: a row moves them by 1, replaced by 2.
        """
        has_target, width = ~np.isnan(target), self.high - self.low
        predictions = np.nan_to_num(self.predicted(model, rows)[has_target], nan=self.low / 2 + self.high / 2)
        y, predicted = (np.clip(numbers, self.low, self.high) for numbers in (target[has_target], predictions))
        u, r = np.clip((y - self.low) / width, 0, 1), np.clip(np.abs(predicted - y) / width, 0, 1)
        sums, size = _bernstein_sums(r, u).ravel(), (_DEGREE + 1) ** 2
        law = noise.law(size, 2.0 if noise.replaced else 1.0, Fraction(1))
        numbers, exact = noise.released(sums, law, draws_for(size))
        moments = _moments(exact)
        possible = _terms(moments) + np.einsum(
            "rij,rj->ri", _roots(_products(moments)), noise.normals(len(exact), len(_TERMS))
        )
        return NoisySums(_terms(_moments(numbers)), possible)

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """R², and the mean absolute error in units of the target."""
        width = self.high - self.low
        return {
            "R²": (_r_squared, (-1.0, 1.0)),
            "mean absolute error": (lambda sums: width * ratio(sums[..., 3:4], sums[..., :1]), (0.0, width)),
        }

    def tables(self, sums: NoisySums, level: float) -> dict[str, np.ndarray]:
        """Return no tables."""
        del sums, level
        return {}


def _r_squared(sums: np.ndarray) -> np.ndarray:
    """1 − 4Σr²/(Σt² − (Σt)²/n): the units of t are half of those of r."""
    n, t, square, _, missed = (sums[..., i : i + 1] for i in range(len(_TERMS)))
    return np.asarray(1 - 4 * ratio(missed, square - t * ratio(t, n)))


def _bernstein(x: np.ndarray) -> np.ndarray:
    """Return C(4, j)·x^j·(1 − x)^{4−j} for x (n,) in [0, 1], shape (n, 5): not negative, with the sum 1."""
    j = np.arange(_DEGREE + 1)
    return np.asarray(_BINOMIALS * x[:, None] ** j * (1 - x[:, None]) ** (_DEGREE - j))


def _bernstein_sums(r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return sums (5, 5) over rows of the products of both rows' polynomials, in whole pieces."""
    parts = (np.floor(column[:, None] * _bernstein(u) * _PIECES) for column in _bernstein(r).T)
    return np.array([part.astype(np.int64).sum(axis=0) for part in parts]) / _PIECES


def _moments(sums: np.ndarray) -> np.ndarray:
    """Return Σ|r|^a·t^b from sums (…, 25), shape (…, 5, 5): x^a is Σ_j C(j, a)/C(4, a) times a polynomial."""
    table = sums.reshape(*sums.shape[:-1], _DEGREE + 1, _DEGREE + 1)
    return np.asarray(_POWERS @ table @ (_SHIFTED @ _POWERS).T)


def _terms(moments: np.ndarray) -> np.ndarray:
    """Return the sums of the terms, shape (…, 5)."""
    return np.stack([moments[..., a, b] for a, b in _TERMS], axis=-1)


def _products(moments: np.ndarray) -> np.ndarray:
    """Return the sums of products of two terms, shape (…, 5, 5)."""
    return np.stack([np.stack([moments[..., a + c, b + d] for c, d in _TERMS], axis=-1) for a, b in _TERMS], axis=-2)


def _roots(matrices: np.ndarray) -> np.ndarray:
    """Return R with R·Rᵀ the positive part of symmetric matrices (r, 5, 5)."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Rows counted by (class, predicted class, bin): of two classes, the bin of the second's probability, else one bin.

    Beside the counts, the sum of log-losses over their largest, with a fifth of ε, and of their squares, with a
    twentieth.
    """

    classes: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Classes, predicted classes, bins."""
        k = len(self.classes)
        return k, k, _BINS if k == 2 else 1

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return labels or targets (n,), refused by type and shape alone."""
        return read_both(y, n_rows, self.classes, strict=False)[0]

    def predicted(self, model: Any, rows: NamedRows) -> np.ndarray:
        """Return the probabilities of classes (n, K) for rows (n, d)."""
        return np.asarray(model._probabilities(rows.and_zeros())[:-1])

    def release(self, model: Any, rows: NamedRows, target: np.ndarray, noise: ScoreNoise) -> NoisySums:
        """Return noisy sums over rows and labels: pay first.

        A row moves the counts by 1 in ℓ₁, 2 where it is replaced; the loss and its square by 1.
        """
        shares = np.clip(np.nan_to_num(self.predicted(model, rows), nan=1 / len(self.classes)), 0.0, 1.0)
        codes = codes_of(target, self.classes)
        losses = self._losses(shares, codes)
        counts, draws = self._counts(shares, codes), draws_for(int(np.prod(self.shape)))
        law = noise.law(counts.size, 2.0 if noise.replaced else 1.0, 1 - _LOSS_SHARE - _SQUARE_SHARE)
        cells, exact_cells = noise.released(counts, law, draws)
        loss, exact_loss = noise.released(_sum(losses), noise.law(1, 1.0, _LOSS_SHARE), draws)
        _, exact_square = noise.released(_sum(losses * losses), noise.law(1, 1.0, _SQUARE_SHARE), draws)
        normal = noise.normals(2 * draws, counts.size + 1)
        possible_cells = expected_counts(exact_cells, normal[:, 1:])
        before, after = (table.sum(axis=1, keepdims=True) for table in (exact_cells, possible_cells))
        mean = np.nan_to_num(ratio(exact_loss, before))
        spread = np.sqrt(np.maximum(exact_square - mean * exact_loss, 0.0))
        possible_loss = exact_loss + mean * (after - before) + spread * normal[:, :1]
        return NoisySums(np.concatenate([cells, loss]), np.hstack([possible_cells, possible_loss]))

    def _counts(self, shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
        is_class, guesses, bins = codes >= 0, shares.argmax(axis=1), self.shape[2]
        places = np.clip((shares[:, 1] * 2 * bins).astype(int) - bins * guesses, 0, bins - 1)
        flat = np.ravel_multi_index((codes[is_class], guesses[is_class], places[is_class]), self.shape)
        return np.bincount(flat, minlength=int(np.prod(self.shape))).astype(float)

    def _losses(self, shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the losses of rows with a known class, over the largest."""
        is_class = np.flatnonzero(codes >= 0)
        return np.asarray(np.log(np.maximum(shares[is_class, codes[is_class]], _LEAST)) / np.log(_LEAST))

    def scores(self) -> Mapping[str, tuple[Statistic, tuple[float, float]]]:
        """Accuracy, the majority's share, the log-loss, and for two classes the area under the ROC curve."""
        worst = (0.0, float(-np.log(_LEAST)))
        shown: dict[str, tuple[Statistic, tuple[float, float]]] = {
            "accuracy": (lambda sums: ratio(np.einsum("...kkb->...", self._cells(sums)), _n(sums))[..., None], _UNIT),
            "majority share": (lambda sums: ratio(self._cells(sums).sum(axis=(-1, -2)), _n(sums)[..., None]), _UNIT),
            "log-loss": (lambda sums: worst[1] * ratio(sums[..., -1:], _n(sums)[..., None]), worst),
        }
        return shown | ({"AUC": (self._auc, _UNIT)} if len(self.classes) == 2 else {})

    def tables(self, sums: NoisySums, level: float) -> dict[str, np.ndarray]:
        """Confusion matrix (K, K); for two classes lines (middle of a bin, share of the second, its ends)."""
        matrix = {"confusion_matrix": self._cells(sums.numbers).sum(axis=-1)}
        if len(self.classes) > 2:
            return matrix
        numbers, possible = self._by_bin(sums.numbers), self._by_bin(sums.possible)
        bins = (NoisySums(numbers[:, place], possible[:, :, place]) for place in range(2 * _BINS))
        shares = [cells.interval(_second_share, level, _UNIT) for cells in bins]
        return matrix | {"calibration": np.column_stack([(np.arange(2 * _BINS) + 0.5) / (2 * _BINS), shares])}

    def _cells(self, sums: np.ndarray) -> np.ndarray:
        """Return the counts, shape (…, K, K, bins)."""
        return sums[..., :-1].reshape(*sums.shape[:-1], *self.shape)

    def _by_bin(self, sums: np.ndarray) -> np.ndarray:
        """Return the counts of two classes by class and bin, shape (…, 2, bins)."""
        return self._cells(sums).reshape(*sums.shape[:-1], 2, 2 * _BINS)

    def _auc(self, sums: np.ndarray) -> np.ndarray:
        """Return the chance that a row of the second class has a higher bin than one of the first; ties count half."""
        first, second = np.moveaxis(self._by_bin(sums), -2, 0)
        below = np.cumsum(first, axis=-1) - first / 2
        first_n, second_n = first.sum(axis=-1), second.sum(axis=-1)
        pairs = np.where(first_n > 0, first_n, np.nan) * second_n
        return ratio((second * below).sum(axis=-1), pairs)[..., None]


def _sum(losses: np.ndarray) -> np.ndarray:
    """Return the sum (1,), of whole pieces."""
    return np.array([np.rint(losses * PIECES).astype(np.int64).sum() / PIECES])


def _n(sums: np.ndarray) -> np.ndarray:
    return np.asarray(sums[..., :-1].sum(axis=-1))


def _second_share(cells: np.ndarray) -> np.ndarray:
    return ratio(cells[..., 1:], cells.sum(axis=-1, keepdims=True))


ScoreSums = ClassSums | NumberSums  # what a row adds to the sums that scores are made of, and the scores


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
