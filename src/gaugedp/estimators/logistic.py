"""Logistic regression for two or more classes."""

import math
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.validate import moderate
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fits_in_parts
from gaugedp.estimators.intervals import Intervals
from gaugedp.estimators.labels import check_given, class_shares, codes_of, read_both
from gaugedp.estimators.linear_model import LinearClassifier, LinearProblem, Solution
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression import UnitScaling
from gaugedp.estimators.row_count import PUBLIC_ROWS
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Logistic, Loss, Softmax
from gaugedp.optimization.newton import NoisyNewton
from gaugedp.optimization.objective_perturbation import CappedLogistic

_BLURRED = 0.003  # noise, in units of the rows' sum, at which slopes are capped halfway
_MOST_CAPPED = 0.75  # of the slopes, for rows that count by their direction: nearly all have equal influence
_LOUD = 0.15  # noise above which a single step is taken for two classes
REASON = "requested"
_CENTRED = (-1.0, 1.0)  # a target that is in its units already


class LogisticRegression(Intervals, LinearClassifier):
    """Logistic regression with differential privacy.

    A fit is (ε, δ)-DP for one row (ε-DP at δ = 0): docs/theory/objective_perturbation.md, gradient.md, newton.md and
    gibbs.md. You must specify public facts about the data, namely bounds on the rows and the list of classes. Never
    read them off the data. More than two classes are fitted jointly, with the softmax.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. delta = 0 gives pure ε-DP.
    row_norm : float, optional
        Rows are clipped to the ℓ₂ ball of this radius. Specify it, `bounds`, or both; with both, it is in the units of
        the scaled columns.
    bounds : (low, high), dict or "private", optional
        Numbers or arrays (d,), or {column: (low, high)} for a data frame. Columns are clipped to the bounds and scaled
        into [−1, 1]; 0 stays 0 if it is within the bounds. `row_norm` then defaults to √d, or to less if the noise is
        large. Lists for two columns that can be read in two ways, such as [(0, 90), (80, 100)], are refused. "private"
        learns the bounds from the rows for 3/20 of ε (docs/theory/bound_search.md).
    missing_indicator : bool or list of columns
        Columns, public like the bounds, for which an indicator of missing numbers is appended to X: 1 if the number is
        missing, else 0. It requires `bounds`.
    classes : list
        All possible labels. A row with another label counts as a row of zeros, which has no influence. A numeric column
        of labels is refused, by its type, if no class is a number. `classes_` holds them sorted.
    strict_labels : bool
        If True, a table with a label outside `classes` is refused before anything is charged. The refusal reveals such
        a label without privacy: this option is for the custodian of the rows.
    class_weight : {label: weight} or "balanced", optional
        Public weights relative to the largest; labels that are not named have weight 1. "balanced" releases the numbers
        of rows of the classes for a twentieth of ε, and weighs by their inverses.
    weight_bound : float, optional
        Public bound on `sample_weight`. A larger weight counts as the bound, a negative or invalid one as 0, and a
        row's influence is its weight over the bound (docs/theory/weights.md). It does not apply to "gibbs". With
        weights of either kind the intercept is not re-estimated from scores.
    fit_intercept : bool
        If True, rows are centred by their noisy mean, if public numbers make that worth its cost. They get a constant
        of a fifth of their norm, whose coefficient is regularised like all others. If the noise is large, the intercept
        of two classes is re-estimated from the scores of the rows, for three tenths of μ², and slopes that noise
        explains shrink. With more classes, rows then count by their direction from a rough centre, for a tenth of μ².
    solver : {"auto", "objective", "gradient", "newton", "gibbs"}
        "objective" minimises the loss plus a random linear term, and "gradient" is noisy gradient descent on all rows.
        "auto" chooses one by public numbers, and takes a single step for two classes if the noise is large; `reason_`
        explains the choice. For two classes, "newton" uses noisy curvature and provides `coef_interval` and `summary`.
        For two classes and δ > 0, "gibbs" draws the weights from the regularised exponential mechanism, more slowly.
    radius : float, optional
        Expected norm of the coefficients for rows of norm 1. Default 10·√(K − 1). It sets the ridge, and the ball of
        "gradient" (by default wider if noise is small). It plays the role of scikit-learn's C.
    C : float, optional
        scikit-learn's C for the scaled rows. It limits the default radius to the norm √(2nC·log K) that scikit-learn's
        solution cannot exceed, so it matters only where it is small. "newton" ignores it.
    penalty, dual
        Ignored: the penalty is the squared ℓ₂ norm. Names of scikit-learn's solvers, such as "lbfgs", count as "auto".
    neighbours : {"add_remove", "replace"}
        How neighbouring tables differ. The former spends a tenth of ε, at most 0.05, or a twentieth of μ² on the number
        of rows, which is public with the latter.
    random_state : int, optional
        For research only. By default noise is drawn from the operating system.
    ledger : Ledger, optional
        The ledger that is charged before the rows are read.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Coefficients (1 or K, d + m) for d columns and m indicators, and intercepts. Further attributes are classes_,
        solver_, reason_, guarantee_, release_, n_features_in_, and feature_names_in_ if X is a data frame.

    Notes
    -----
    The larger the noise, the lower the cap on a row's slope (between 1/2 and 1 for two classes). Rows far on the wrong
    side then have no more influence than most. The cap depends on public numbers only. "newton" has no cap: it needs
    more rows, and does better if one class is rare. Missing values are treated as in
    docs/how-to/prepare-features.md#missing-values. A step before this model in a pipeline that learns from the rows,
    such as scikit-learn's StandardScaler, reads them without privacy: specify `bounds`, or use gaugedp's scaler.

    Examples
    --------
    >>> import numpy as np
    >>> from gaugedp.estimators import LogisticRegression
    >>> X, y = np.array([[20.0, 1.0], [60.0, 5.0]] * 500), np.array([0, 1] * 500)
    >>> model = LogisticRegression(epsilon=1.0, bounds=([0, 0], [100, 10]), classes=[0, 1]).fit(X, y)
    >>> model.predict_proba(X).shape
    (1000, 2)
    """

    solvers = ("auto", "objective", "gradient", "gibbs", "newton")
    judged_by = "newton"
    supposed = "log-odds that are linear in the rows, with root mean square 5 or less"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogisticRegression":
        """Fit to rows X (n, d) and labels y (n,); other labels count as rows of zeros."""
        self._best = None
        if self.solver == "newton" and not fits_in_parts(self):
            fit_newton(self, X, y, sample_weight)
        else:
            super().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities (n, K)."""
        return self._probabilities(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log class probabilities (n, K)."""
        scores = self.decision_function(X)
        both = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
        return scipy.special.log_softmax(both, axis=1)

    def _chosen(self, guarantee: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        if self.solver != "auto":
            return self.solver, "requested"
        if isinstance(guarantee, PureDP):
            return "objective", "a pure guarantee: its noise is added once"
        if len(self.classes) == 2:
            if not self.fit_intercept or self.class_weight is not None or self._weights_up_to > 0:
                return "objective", "two classes: its noise is added once"
            return self._by_noise(guarantee, size, n_rows or PUBLIC_ROWS, _LOUD)
        if n_rows is None:
            return "gradient", "the number of rows is not public"
        # 0.002: noise below which the softmax loss is perturbed, and no steps are taken
        return self._by_noise(guarantee, size, n_rows, 0.002)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> Solution:
        far = problem.noise_to_signal / (problem.noise_to_signal + _BLURRED)
        cap = 1 - 0.5 * far
        loss: Loss | Softmax = CappedLogistic(cap) if problem.n_classes == 2 else Softmax(problem.n_classes)
        if solver == "gibbs":
            return problem.sampled(Logistic(), rng)
        if solver == "objective":
            return problem.perturbed(loss, rng)
        if problem.n_classes == 2 and self.solver == "auto" and problem.has_level and problem.noise_to_signal > _LOUD:
            return problem.descended(loss.derivative, 0.5, rng, once=True)  # slopes are 1/2 at 0
        cap = 1 - _MOST_CAPPED * far if problem.is_rough else cap
        return problem.descended(loss.derivative, cap if problem.n_classes == 2 else math.sqrt(2) * cap, rng)


def fit_newton(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a binary LinearClassifier by noisy Newton steps, in the scaling of least squares."""
    requested, rows = model._requested(), model._rows(X)
    assert model._earlier_mu == 0  # the steps take all of the guarantee
    check_given(model.classes, model.bounds, model.row_norm)
    labels, classes = read_both(y, len(rows), model.classes, model.strict_labels)
    row_weights, shares = model._weights(sample_weight, len(rows)), class_shares(model.class_weight, classes)
    if len(classes) != 2:
        raise InvalidRequest(f'There are {len(classes)} classes, but "newton" takes two.', 'Choose solver="auto".')
    if model.bounds is not None and model.row_norm is not None:
        raise InvalidRequest('Both bounds and row_norm are given, but "newton" takes one.', "Omit one of them.")
    moderate(**{name: value for name in ("radius", "row_norm") if (value := getattr(model, name)) is not None})
    reading = Reading.of(model.bounds, names_of(X), rows.shape[1], model.missing_indicator)
    frame = UnitScaling(reading, model.row_norm, _CENTRED, model.fit_intercept)
    method = NoisyNewton.calibrate(frame.n_features, requested, model.radius, model.neighbours)
    reservation = model._pay(method.guarantee, requested, rows.shape)
    with after_paying(reservation):
        codes, features = codes_of(labels, classes), frame.features(rows)
        features[codes < 0] = 0.0
        target = np.column_stack([codes == 1, row_weights * shares[codes]])
        weights, law = method.solve(lambda of: of(features, target), model._generator(), frame.constant_feature)
    slopes, constant = frame.back(weights)
    model.coef_, model.intercept_ = slopes[None], np.array([constant if model.fit_intercept else 0.0])
    model._best = law.mapped(*frame.back_map())
    model.classes_, model.solver_, model.reason_ = classes, "newton", REASON
    model._read_by(reading)
    values = {"coef": model.coef_, "intercept": model.intercept_, **model._errors}
    facts = {"solver": "newton", "reason": REASON, "noise": method.describe(), "classes": classes.tolist()}
    model._publish(values, method.guarantee, method.exactness, facts, reservation)
    return model
