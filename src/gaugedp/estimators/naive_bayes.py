"""Classification by class means and variances of columns."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np
import scipy
from sklearn.base import ClassifierMixin

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.labels import check_given, codes_of, read_both
from gaugedp.estimators.partial_fits import PartialFits
from gaugedp.estimators.public_noise import noise_to_signal, warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.score_calibration import Calibration, cells_of, n_cells
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.weights import WeightedEstimator
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.shrinkage import bounded_mean, signal_share

_LEAST_VARIANCE, _LEAST_NOISE, _COUNT_SHARE = TUNED.class_variance, TUNED.class_noise, TUNED.classes_share


@dataclass(eq=False, repr=False)
class GaussianNB(PartialFits, Scored, ClassifierMixin, WeightedEstimator):
    """Gaussian naive Bayes with private means and variances.

    Use it for a fast classifier with a simple assumption: within each class, the columns are normally distributed and
    independent. The fit releases only noisy counts, means and variances of each class.

    Parameters
    ----------
    bounds : (low, high)
        The public interval of each column, as in `LogisticRegression`. A missing number counts as the middle of the
        interval.
    classes : list
        All possible labels, from public knowledge. A row with another label is ignored.
    strict_labels, weight_bound
        Whether to refuse other labels, and a public bound on `sample_weight`, as in `LogisticRegression`.
    priors : array (K,), optional
        Public probabilities of the K sorted classes. By default they are the noisy shares of the classes.
    var_smoothing
        Ignored, because the variances have a floor.
    calibrate : bool
        Whether a tenth of the guarantee is spent on a calibration. Default True.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/means.md). A row adds to its class the number 1 and, for each of its numbers x, x and 2x² − 1,
    which are in [−1, 1] because of the bounds. `fit` releases the sums of all classes with noise, and spends a tenth of
    the guarantee on the numbers of rows. It is (ε, δ)-DP for one row, and ε-DP at δ = 0.

    Columns are rarely independent, so that naive Bayes is too sure of its classes, and prefers rare ones too often. The
    calibration counts, with noise, how often each class occurs at each score, and corrects the log-odds by a slope and
    offsets. For two classes the order of the rows remains. Probabilities that you specify as `priors` then replace the
    shares of the classes. If the noise hides the columns, by public numbers or the noisy number of rows, all of the
    guarantee is spent on the numbers of rows, and `solver_` is "labels" instead of "moments". A `partial_fit` never
    does this, and its calibration uses the scores of all calls, each by the model of its time.

    If the noise is large, the variances shrink towards the variances within all classes. They are at least a thousandth
    of the square of half the range, and at least half the standard deviation of their noise. After `fit`, the model has
    the attributes theta_ (means) and var_ of shape (K, d), class_prior_ (K,), classes_, solver_, guarantee_ and
    release_.

    Examples
    --------
    Two classes and one column give a matrix of means with two rows and one column:

    >>> import numpy as np
    >>> from gaugedp.estimators import GaussianNB
    >>> X, y = np.array([[20.0], [60.0]] * 500), np.array(["low", "high"] * 500)
    >>> model = GaussianNB(epsilon=1.0, bounds=(0, 100), classes=["low", "high"]).fit(X, y)
    >>> model.classes_.tolist(), model.theta_.shape
    (['high', 'low'], (2, 1))
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None
    classes: Any = None
    strict_labels: bool = False
    priors: Any = None
    var_smoothing: Any = None
    calibrate: bool = True

    _calibration = cast("Calibration | None", None)  # no annotation: it is not a parameter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianNB":
        """Fit the model to rows X and labels y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        requested, rows = self._requested(), self._rows(X)
        check_given(self.classes, self.bounds, None)
        labels, classes = read_both(y, len(rows), self.classes, self.strict_labels)
        weights = self._weights(sample_weight, len(rows))
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], False)
        shape = len(classes), rows.shape[1]
        if self.priors is not None:
            self._priors(len(classes))  # refuses
        noise = ClassNoise.calibrate(shape, requested, self.neighbours, bool(self.calibrate))
        is_hidden = self.neighbours == "replace" and self._hides_columns(len(rows), shape[1])
        guarantee = noise.alone.guarantee if is_hidden else noise.sums.guarantee
        warn_before_charge(self, len(rows), shape[1])
        reservation = self._pay(guarantee, requested, rows.shape)
        with after_paying(reservation):
            table = LabelledCube(reading.in_cube(rows), codes_of(labels, classes), weights)
            rng = self._generator()
            counted = noise.alone if is_hidden else noise.counts
            counts = counted.release(weights[:, None], table.codes, rng)
            if self.neighbours == "add_remove" and self._hides_columns(float(counts.sum()), shape[1]):
                is_hidden, counted, counts = True, noise.rest, noise.counted_again(counts, table, rng)
            n_rows = float(counts.sum())
            if is_hidden:
                self._added(np.zeros((shape[0], noise.width)), guarantee)  # a partial fit starts with its own rows
                self._show(classes, reading, *_uninformed(shape), counts, counted.deviation)
            else:
                n_rows = self._learn(noise, table, counts, (classes, reading), rng)
        self._read_by(reading)
        self.solver_ = "labels" if is_hidden else "moments"
        facts = {"solver": self.solver_, "classes": classes.tolist()}
        self._publish(self._values(), guarantee, noise.exactness, facts, reservation)
        warn_after_release(self, n_rows, shape[1])
        return self

    def _hides_columns(self, n_rows: float, n_features: int) -> bool:
        """Return True if noise hides the columns, by a public or released number of rows; partial fits add up."""
        requested = self._requested()
        noise = noise_to_signal(requested, n_features + 1, max(1.0, n_rows), self.neighbours == "replace")
        most = TUNED.hidden_classes_pure if isinstance(requested, PureDP) else TUNED.hidden_classes
        return noise > most and not self._is_trial and not self._continues

    def _learn(
        self, noise: "ClassNoise", table: "LabelledCube", counts: np.ndarray, read: tuple[np.ndarray, Reading],
        rng: Entropy,
    ) -> float:  # fmt: skip
        """Release sums and counts of scores; return the noisy number of rows of all calls."""
        later = np.zeros((noise.n_classes, noise.n_scores))
        sums = noise.sums.release(table.vectors, table.codes, rng)
        noisy = self._added(np.hstack([counts, sums, later]), noise.sums.guarantee)
        moments, calls = noisy[:, : noise.width - noise.n_scores], math.sqrt(self._n_calls)
        means, variances = _moments(moments, calls * noise.sums.deviation)
        priors = self._show(*read, means, variances, moments[:, :1], calls * noise.counts.deviation)
        if noise.scores is not None:
            cells = cells_of(_likelihoods(table.cube, means, variances), np.log(priors), table.codes)
            counted = noise.scores.release(table.weights[:, None], cells, rng)
            noisy[:, moments.shape[1] :] += counted.reshape(later.shape)  # so `_added` has them too
            known = calls * noise.scores.deviation, np.log(priors)
            self._calibration = Calibration.fitted(noisy[:, moments.shape[1] :].ravel(), *known)
        return float(moments[:, 0].sum())

    def _show(
        self, classes: np.ndarray, reading: Reading, means: np.ndarray, variances: np.ndarray, counts: np.ndarray,
        deviation: float,
    ) -> np.ndarray:  # fmt: skip
        """Set the attributes without a calibration, by moments in the cube; return the noisy shares of the classes."""
        assert reading.box is not None
        low, high = reading.box
        shares = _shares(counts[:, 0], deviation)
        self.theta_, self.var_ = (low + high) / 2 + (high - low) / 2 * means, ((high - low) / 2) ** 2 * variances
        self.classes_, self.class_prior_, self._calibration = classes, shares, None
        if self.priors is not None:
            self.class_prior_ = self._priors(len(classes))
        return shares

    def _values(self) -> dict[str, np.ndarray]:
        """Return the released numbers."""
        values = {"theta": self.theta_, "var": self.var_, "class_prior": self.class_prior_}
        if self._calibration is None:
            return values
        return {**values, "slope": np.array([self._calibration.slope]), "offsets": self._calibration.offsets}

    def _priors(self, n_classes: int) -> np.ndarray:
        given = np.asarray(self.priors, dtype=float)
        if given.shape != (n_classes,) or not (given > 0).all() or abs(given.sum() - 1) > 1e-9:
            raise InvalidRequest("`priors` is not a list of probabilities that sum to 1.", "Pass one for each class.")
        return given

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, shape (n, K)."""
        rows = self._like_fitted(X)
        scores = _likelihoods(rows, self.theta_, self.var_)
        if self._calibration is not None:
            scores = self._calibration(scores)
        joint = np.log(self.class_prior_) + scores
        return np.asarray(joint - scipy.special.logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities of each row, shape (n, K)."""
        return np.exp(self.predict_log_proba(X))

    def _probabilities(self, X: Any) -> np.ndarray:
        return self.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row."""
        likeliest = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])


@dataclass(frozen=True, eq=False)
class LabelledCube:
    """Rows (n, d) in the cube, codes of their classes, and weights in [0, 1] (n,)."""

    cube: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    @property
    def vectors(self) -> np.ndarray:
        """Weighted x and 2x² − 1 (n, 2d)."""
        return np.hstack([self.cube, 2 * self.cube**2 - 1]) * self.weights[:, None]


@dataclass(frozen=True, eq=False)
class ClassNoise:
    """Noise of a fit: counts of classes, sums of columns, and counts of scores.

    Theorem. Counts, sums and counts of scores have shares of ε or μ² that add up to 1, and so have the counts and the
    `rest`, which is released instead where the noisy number of rows shows that noise hides the columns. If the number
    of rows is public, the counts `alone` are released, with Laplace noise for ε. docs/theory/means.md
    """

    counts: GroupSums
    sums: GroupSums
    scores: GroupSums | None
    rest: GroupSums
    alone: GroupSums

    @classmethod
    def calibrate(cls, shape: tuple[int, int], requested: Guarantee, neighbours: str, has_scores: bool) -> "ClassNoise":
        """Return the noise for public `shape` = (classes, columns)."""
        (n_classes, d), share = shape, TUNED.scores_share if has_scores else 0.0
        return cls(
            GroupSums.counting(n_classes, requested, neighbours, _COUNT_SHARE),
            GroupSums.calibrate((n_classes, 2 * d), requested, neighbours, 1 - _COUNT_SHARE - share),
            GroupSums.counting(n_cells(n_classes), requested, neighbours, share) if has_scores else None,
            GroupSums.counting(n_classes, requested, neighbours, 1 - _COUNT_SHARE),
            GroupSums.counting(n_classes, pure_within(requested), neighbours),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.counts.n_groups

    @property
    def n_scores(self) -> int:
        """Columns of the counts of scores, per class."""
        return n_cells(self.n_classes) // self.n_classes

    @property
    def width(self) -> int:
        """Released numbers per class."""
        return 1 + self.sums.size + self.n_scores

    @property
    def exactness(self) -> str:
        """Exactness of the noise."""
        parts = (self.counts, self.sums, self.rest, self.alone)
        return "exact" if {part.noise.exactness for part in parts} == {"exact"} else "idealized"

    def counted_again(self, counts: np.ndarray, table: LabelledCube, rng: Entropy) -> np.ndarray:
        """Return counts of the classes by what remains of the guarantee, averaged with the first ones."""
        again = self.rest.release(table.weights[:, None], table.codes, rng)
        first, second = self.counts.deviation**-2, self.rest.deviation**-2
        return (first * counts + second * again) / (first + second)


def _shares(counts: np.ndarray, deviation: float) -> np.ndarray:
    """Return positive shares of the classes: posterior means, each uniform a priori, which then sum to 1."""
    total = max(float(counts.sum()), 1.0)
    shares = [(1 + bounded_mean(2 * float(count) / total - 1, 2 * deviation / total)) / 2 for count in counts]
    positive = np.maximum(shares, 0.5 / max(total, 2.0))
    return np.asarray(positive / positive.sum())


def _uninformed(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the moments of numbers that are uniform in the cube, for all classes."""
    return np.zeros(shape), np.full(shape, 1 / 3)


def _likelihoods(rows: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the log-likelihood (n, K) of each row in each class, each row summed independently."""
    rows, spread = np.ascontiguousarray(rows), np.log(2 * np.pi * variances).sum(axis=1) / 2
    distances = [((rows - mean) ** 2 / var).sum(axis=1) / 2 for mean, var in zip(means, variances, strict=True)]
    return np.asarray(-spread - np.column_stack(distances))


def _moments(noisy: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (K, d) of the classes, from noisy sums of 1, x and 2x² − 1 (K, 1 + 2d).

    Variances of a class shrink towards those within all classes, by what noise explains of their distance.
    """
    d, counts = noisy.shape[1] // 2, np.maximum(noisy[:, :1], 1.0)
    squares, n_rows, error = (noisy[:, d + 1 :] + noisy[:, :1]) / 2, counts.sum(), (deviation / counts) ** 2
    means = np.clip(noisy[:, 1 : d + 1] / counts, -1, 1)
    within = np.clip((squares - counts * means**2).sum(axis=0) / n_rows, _LEAST_VARIANCE, 1)
    off = np.clip(squares / counts - means**2, 0, 1) - within
    doubt = error[:, 0] * (0.25 + 4 * (means**2).mean(axis=1))  # of a variance, whose square has half of the noise
    kept = np.array([[signal_share(one, float(of))] for one, of in zip(off, doubt, strict=True)])
    least = _LEAST_NOISE * deviation * (kept / counts + (1 - kept) / n_rows)
    return means, np.clip(within + kept * off, np.clip(least, _LEAST_VARIANCE, 1), 1)
