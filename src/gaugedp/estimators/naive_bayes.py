"""Classification by class means and variances of columns."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy
from sklearn.base import ClassifierMixin

from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.labels import check_given, codes_of, read_both
from gaugedp.estimators.partial_fits import PartialFits
from gaugedp.estimators.public_noise import warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.weights import WeightedEstimator
from gaugedp.optimization.shrinkage import signal_share

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
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. A row adds to its class the number 1 and, for each of its numbers x, x and 2x² − 1, which are in [−1, 1]
    because of the bounds. `fit` releases the sums of all classes with noise, and spends a tenth of the guarantee on the
    numbers of rows. It is (ε, δ)-DP for one row, and ε-DP at δ = 0 (see `GroupSums`).

    If the noise is large, the variances shrink towards the variances within all classes. They are at least a thousandth
    of the square of half the range, and at least half the standard deviation of their noise. After `fit`, the model has
    the attributes theta_ (means) and var_ of shape (K, d), class_prior_ (K,), classes_, guarantee_ and release_.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianNB":
        """Fit the model to rows X and labels y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        requested, rows = self._requested(), self._rows(X)
        check_given(self.classes, self.bounds, None)
        labels, classes = read_both(y, len(rows), self.classes, self.strict_labels)
        weights = self._weights(sample_weight, len(rows))
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], False)
        d = rows.shape[1]
        if self.priors is not None:
            self._priors(len(classes))  # refuses
        counted = GroupSums.calibrate((len(classes), 1), requested, self.neighbours, _COUNT_SHARE)
        sums = GroupSums.calibrate((len(classes), 2 * d), requested, self.neighbours, 1 - _COUNT_SHARE)
        warn_before_charge(self, len(rows), d)
        reservation = self._pay(sums.guarantee, requested, rows.shape)
        with after_paying(reservation):
            cube, codes = reading.in_cube(rows), codes_of(labels, classes)
            vectors, rng = np.hstack([cube, 2 * cube**2 - 1]) * weights[:, None], self._generator()
            counts = counted.release(weights[:, None], codes, rng)
            noisy = self._added(np.hstack([counts, sums.release(vectors, codes, rng)]), sums.guarantee)
        counts = np.maximum(noisy[:, 0], 1.0)
        means, variances = _moments(noisy, sums.deviation)
        assert reading.box is not None
        low, high = reading.box
        self.theta_, self.var_ = (low + high) / 2 + (high - low) / 2 * means, ((high - low) / 2) ** 2 * variances
        self.classes_, self.class_prior_ = classes, counts / counts.sum()
        if self.priors is not None:
            self.class_prior_ = self._priors(len(classes))
        self._read_by(reading)
        values = {"theta": self.theta_, "var": self.var_, "class_prior": self.class_prior_}
        self._publish(values, sums.guarantee, sums.noise.exactness, {"classes": classes.tolist()}, reservation)
        warn_after_release(self, float(noisy[:, 0].sum()), d)
        return self

    def _priors(self, n_classes: int) -> np.ndarray:
        given = np.asarray(self.priors, dtype=float)
        if given.shape != (n_classes,) or not (given > 0).all() or abs(given.sum() - 1) > 1e-9:
            raise InvalidRequest("`priors` is not a list of probabilities that sum to 1.", "Pass one for each class.")
        return given

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, shape (n, K)."""
        rows = self._like_fitted(X)
        spread = np.log(2 * np.pi * self.var_).sum(axis=1) / 2
        distances = [
            ((rows - theta) ** 2 / var).sum(axis=1) / 2 for theta, var in zip(self.theta_, self.var_, strict=True)
        ]
        joint = np.log(self.class_prior_) - spread - np.column_stack(distances)
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
