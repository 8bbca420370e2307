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
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Logistic, Softmax
from gaugedp.optimization.newton import NoisyNewton
from gaugedp.optimization.objective_perturbation import CappedLogistic, PerturbedLoss

REASON = "requested"
_CENTRED = (-1.0, 1.0)  # a target that is in its units already


class LogisticRegression(Intervals, LinearClassifier):
    """Logistic regression with differential privacy.

    Use it to predict classes or their probabilities, if the model must reveal little about any one row. You must
    specify bounds on the rows and the list of classes. Both must come from public knowledge, because bounds that are
    taken from the data would reveal rows. More than two classes are fitted jointly, with the softmax.

    A fit is (ε, δ)-DP for one row, and ε-DP at δ = 0. The proofs are in docs/theory/objective_perturbation.md,
    gradient.md, newton.md and gibbs.md.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. The default is epsilon = 1 and delta = 0, which gives pure ε-DP.
    row_norm : float, optional
        Rows are clipped to the ℓ₂ ball of this radius. Specify it, `bounds`, or both. If you specify both, it is in the
        units of the scaled columns.
    bounds : (low, high), dict or "private", optional
        The public interval of each column: two numbers for all columns, two arrays (d,) for d columns, or {column:
        (low, high)} for a data frame. Columns are clipped to the bounds and scaled into [−1, 1]; 0 stays 0 if it is
        within the bounds. `row_norm` then defaults to √d, or to less if the noise is large. Lists for two columns that
        can be read in two ways, such as [(0, 90), (80, 100)], are refused. "private" learns the bounds from the rows
        for 3/20 of ε (docs/theory/bound_search.md).
    missing_indicator : bool or list of columns
        Columns for which an indicator of missing numbers is appended to X: 1 if the number is missing, else 0. The list
        is public, and it requires `bounds`. Default False.
    classes : list
        All possible labels, from public knowledge. A row with another label counts as a row of zeros, which has no
        influence. A numeric column of labels is refused, because of its type, if no class is a number. The attribute
        `classes_` holds them sorted.
    strict_labels : bool
        Whether a table with a label outside `classes` is refused before anything is charged. Such a refusal reveals
        that label without privacy, so this option is only for the custodian of the rows. Default False.
    class_weight : {label: weight} or "balanced", optional
        Public weights relative to the largest; labels that are not named have weight 1. "balanced" releases the number
        of rows in each class for a twentieth of ε, and weights each class by the inverse of that number.
    weight_bound : float
        Public bound on `sample_weight`. A larger weight counts as the bound, and a negative or invalid one as 0. The
        influence of a row is its weight divided by the bound (docs/theory/weights.md). It does not apply to "gibbs". If
        class or row weights are used, the intercept is not re-estimated from scores. Default 1.
    fit_intercept : bool
        Whether the model has an intercept. Default True; the notes explain what it costs.
    solver : {"auto", "objective", "gradient", "newton", "gibbs"}
        "objective" minimises the loss plus a random linear term, and "gradient" is noisy gradient descent on all rows.
        "auto", the default, chooses one of them by public numbers, and takes a single step for two classes if the noise
        is large; `reason_` explains the choice. For two classes, "newton" uses noisy curvature and provides
        `coef_interval` and `summary`. For two classes and δ > 0, "gibbs" draws the weights from the regularised
        exponential mechanism, which is slower.
    radius : float, optional
        Expected norm of the coefficients for rows of norm 1. By default it is 10·√(K − 1) for K classes. It determines
        the ridge penalty and the ball of "gradient" (which by default is wider if the noise is small), so it plays the
        role of scikit-learn's C.
    C : float, optional
        scikit-learn's C for the scaled rows. It limits the default radius to √(2nC·log K), a norm that scikit-learn's
        solution for n rows cannot exceed, so it matters only if it is small. "newton" ignores it.
    penalty, dual
        Ignored, because the penalty is always the squared ℓ₂ norm. The names of scikit-learn's solvers, such as
        "lbfgs", count as "auto".
    neighbours : {"add_remove", "replace"}
        How neighbouring tables differ: by one row added or removed (the default), or by one row replaced. With
        "replace" the number of rows is public. With "add_remove" it is released for a tenth of ε, at most 0.05, or for
        a twentieth of μ², the square of the Gaussian-DP parameter of the fit.
    random_state : int, optional
        A seed, for research only. By default the operating system supplies the randomness of the noise.
    ledger : Ledger, optional
        The ledger that is charged before the rows are read. By default no ledger is charged.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Coefficients, of shape (1, d + m) for two classes and (K, d + m) for K > 2, and intercepts. Here d is the number
        of columns and m the number of indicators.
    classes_, solver_, reason_, guarantee_, release_, n_features_in_, feature_names_in_
        The sorted classes, the solver and the reason for it, the privacy guarantee, the released numbers, and the
        number and names of the columns (names only if X is a data frame).

    Notes
    -----
    With an intercept, rows are centred by their noisy mean, if public numbers show that this is worth its cost. Rows
    get a constant of a fifth of their norm, whose coefficient is regularised like all others: towards 0, or for
    "objective" with centred rows towards the log-odds of the labels, released for 1/20 of ε or μ². If noise is large,
    the intercept of two classes is re-estimated from the labels and scores of the rows, for 0.3 to 0.5 of μ², and
    slopes that noise explains shrink. If it hides the slopes, "auto" releases the sum of the labels alone, and
    `solver_` is "labels". With more classes, rows then count by their direction from a rough centre, for a tenth of μ².

    The larger the noise, the lower is the cap on the slope of a row's loss (between 1/2 and 1 for two classes), so that
    rows far on the wrong side have no more influence than most others. The cap depends on public numbers only. "newton"
    has no cap, and needs more rows.

    Missing values are treated as described in docs/how-to/prepare-features.md#missing-values. Note that a step before
    this model in a pipeline that learns from the rows, such as scikit-learn's StandardScaler, reads them without
    privacy. Specify `bounds` instead, or use gaugedp's scaler.

    Examples
    --------
    Fit 1,000 rows with two columns, within [0, 100] and [0, 10], and predict the probabilities of both classes:

    >>> import numpy as np
    >>> from gaugedp.estimators import LogisticRegression
    >>> X, y = np.array([[20.0, 1.0], [60.0, 5.0]] * 500), np.array([0, 1] * 500)
    >>> model = LogisticRegression(epsilon=1.0, bounds=([0, 0], [100, 10]), classes=[0, 1]).fit(X, y)
    >>> model.predict_proba(X).shape
    (1000, 2)
    """

    solvers = ("auto", "objective", "gradient", "gibbs", "newton")
    judged_by = "newton"
    _has_odds = True
    supposed = "log-odds that are linear in the rows, with root mean square 5 or less"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogisticRegression":
        """Fit the model to rows X and labels y.

        X has shape (n, d) and y has shape (n,). A row whose label is not in `classes` counts as a row of zeros. The
        model's ledger, if any, is charged before any row is read.
        """
        self._best = None
        if self.solver == "newton" and not fits_in_parts(self):
            fit_newton(self, X, y, sample_weight)
        else:
            super().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities of each row, shape (n, K)."""
        return self._probabilities(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the class probabilities, shape (n, K)."""
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
            return self._by_noise(guarantee, size, n_rows or PUBLIC_ROWS, TUNED.single_step_noise)
        if n_rows is None:
            return "gradient", "the number of rows is not public"
        # 0.002: noise below which the softmax loss is perturbed, and no steps are taken
        return self._by_noise(guarantee, size, n_rows, 0.002)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> Solution:
        far = problem.noise_to_signal / (problem.noise_to_signal + TUNED.capped_noise)
        cap = 1 - 0.5 * far
        loss: PerturbedLoss = CappedLogistic(cap) if problem.n_classes == 2 else Softmax(problem.n_classes)
        if solver == "gibbs":
            return problem.sampled(Logistic(), rng)
        if solver == "objective":
            return problem.perturbed(loss, rng)
        cap = 1 - TUNED.most_capped * far if problem.is_rough else cap
        return problem.descended(loss.derivative, cap if problem.n_classes == 2 else math.sqrt(2) * cap, rng)


def fit_newton(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a binary LinearClassifier by noisy Newton steps, in the scaling of least squares."""
    requested, rows = model._requested(), model._rows(X)
    assert model._earlier_mu == 0  # the steps take all of the guarantee
    check_given(model.classes, model.bounds, model.row_norm)
    labels, classes = read_both(y, len(rows), model.classes, model.strict_labels)
    row_weights, shares = model._weights(sample_weight, len(rows)), class_shares(model.class_weight, classes)
    if len(classes) != 2:
        raise InvalidRequest(f'solver="newton" supports two classes, not {len(classes)}.', 'Choose solver="auto".')
    if model.bounds is not None and model.row_norm is not None:
        raise InvalidRequest('solver="newton" accepts `bounds` or `row_norm`, but not both.', "Omit one of them.")
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
