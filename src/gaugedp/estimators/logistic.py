"""Logistic regression with clipped rows, for two classes and for more."""

import math
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.validate import moderate
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.intervals import Intervals
from gaugedp.estimators.labels import check_given, class_shares, codes_of, read_both
from gaugedp.estimators.learned_bounds import learns_bounds
from gaugedp.estimators.linear_model import LinearClassifier, LinearProblem
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression import UnitScaling
from gaugedp.estimators.row_count import PUBLIC_ROWS
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Logistic, Loss, Softmax
from gaugedp.optimization.newton import NoisyNewton
from gaugedp.optimization.objective_perturbation import CappedLogistic

_BLURRED = 0.003  # noise, in units of the rows' sum, at which slopes are capped half of the way
_MOST_CAPPED = 0.75  # of the slopes, for rows that count by their direction: nearly all of them pull alike
_FAINT = 0.002  # noise below which the softmax loss is perturbed, and no steps are taken
_LOUD = 0.15  # noise from which on one step is taken, for two classes
REASON = "asked for"
_CENTRED = (-1.0, 1.0)  # a target that is in its units already


class LogisticRegression(Intervals, LinearClassifier):
    """Logistic regression; for more than two classes jointly, by the softmax.

    epsilon, delta : the guarantee for one row; delta = 0 asks for pure ε-DP.
    row_norm : rows are pulled back to the ℓ₂ ball of this radius. Or (or also, in the units that result)
    bounds : (low, high), numbers or arrays (d,), or {column: (low, high)} where X is a data frame: columns are clipped
        to them and scaled into [−1, 1]; 0 stays 0 where the bounds hold it. The row norm is √d then, unless row_norm is
        given. Plain lists for two columns that can be read both ways, such as [(0, 90), (80, 100)], are refused. Or
        "private", which learns them from the rows for 3/20 of ε: docs/theory/bound_search.md.
    missing_indicator : True, or a list of columns (numbers from 0, or names where X is a data frame), public as the
        bounds are: each has a column after those of X, 1 where its number is missing, else 0. It needs bounds.
    classes : all labels there can be, a public list; `classes_` has them sorted, as scikit-learn does. A row with
        another label counts as a row of zeros, which pulls nowhere. A column of numbers is refused, by its type, where
        no class is a number.
    strict_labels : True refuses, before anything is paid, a table with a label that is none of the classes. Whoever
        sees whether a fit was refused learns that, without privacy: it is for the custodian of the rows.
    class_weight : {label: weight}, public; 1 for labels that are not named. Weights count over the largest of them.
    weight_bound : a public bound on `sample_weight`. A larger weight counts as the bound, one below 0 or no number as
        0, and a row pulls by its weight over the bound: docs/theory/weights.md. Not with "gibbs". With weights of
        either kind the intercept is not found again from scores.
    fit_intercept : rows are centred by their mean, where public numbers say that its noise is worth it, and get a
        constant of a fifth of their norm, which is accounted for. Its coefficient is regularised as all others. For two
        classes, where noise is loud, it is found again from the scores of the rows, for a fifth of μ². For more, rows
        count there by their direction from a rough centre, for a tenth of μ²: their norm and bounds matter little.
    solver : "objective" adds a random linear term to the loss and minimises, "gradient" is noisy gradient descent on
        all rows; "auto" chooses by public numbers, and takes a single step for two classes where noise is loud.
        `reason_` says why. For two classes, "newton" steps by noisy curvature, and gives `coef_interval` and `summary`;
        where δ > 0, "gibbs" draws the weights from the regularised exponential mechanism, slower than all others.
    radius : how long the coefficients are expected to be, where rows have norm 1; 10·√(K − 1) where None. It sets the
        ridge, and the ball that "gradient" stays in (wider for None, where noise is faint): it has the place of
        scikit-learn's C.
    neighbours : "replace" or "add_remove"; then a tenth of ε, 0.05 at most, goes to the number of rows, or a
        twentieth of μ².
    random_state : for research only; None draws from the operating system. ledger : charged before the rows are read.

    Theorem. `fit` is (ε, δ)-DP for one row (ε-DP at δ = 0): docs/theory/objective_perturbation.md, gradient.md,
    newton.md and gibbs.md.

    The noisier the fit, the lower the cap on a row's slope (between 1/2 and 1 for two classes), so that rows far on the
    wrong side pull no more than most; by public numbers. Not with "newton", whose coefficients are those of the rows as
    read: it needs more rows, and does better where one class is rare.

    Missing values count as docs/how-to/prepare-features.md#missing-values says. In a pipeline, a step before a private
    model that learns from the rows, such as scikit-learn's StandardScaler, looks at them without privacy, and nothing
    here hides that: give `bounds`, or take gaugedp's StandardScaler, which pays.

    After fit: coef_ (1 or K, d + m) for d columns and m indicators, intercept_, classes_, solver_, reason_, guarantee_,
    release_; as of every model n_features_in_, and feature_names_in_ where X is a data frame.
    """

    solvers = ("auto", "objective", "gradient", "gibbs", "newton")
    judged_by = "newton"
    supposed = "log-odds that are linear in the rows, and 5 or less in root mean square"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogisticRegression":
        """Fit to rows X (n, d) and labels y (n,); rows with a label outside `classes` count as rows of zeros."""
        self._best = None
        if self.solver == "newton" and not learns_bounds(self):
            fit_newton(self, X, y, sample_weight)
        else:
            super().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (n, K)."""
        return self._probabilities(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, shape (n, K)."""
        scores = self.decision_function(X)
        both = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
        return scipy.special.log_softmax(both, axis=1)

    def _chosen(self, guarantee: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        if self.solver != "auto":
            return self.solver, "asked for"
        if isinstance(guarantee, PureDP):
            return "objective", "a pure guarantee: its noise is added once"
        if len(self.classes) == 2:
            if not self.fit_intercept or self.class_weight is not None or self._weights_up_to > 0:
                return "objective", "two classes: its noise is added once"
            return self._by_noise(guarantee, size, n_rows or PUBLIC_ROWS, _LOUD)
        if n_rows is None:
            return "gradient", "the number of rows is not public"
        return self._by_noise(guarantee, size, n_rows, _FAINT)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> tuple[np.ndarray, str]:
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
    """Fit a LinearClassifier with two classes to rows X (n, d) and labels y (n,), in the frame of least squares."""
    requested, rows = model._requested(), model._rows(X)
    check_given(model.classes, model.bounds, model.row_norm)
    labels, classes = read_both(y, len(rows), model.classes, model.strict_labels)
    row_weights, shares = model._weights(sample_weight, len(rows)), class_shares(model.class_weight, classes)
    if len(classes) != 2:
        raise InvalidRequest(f'There are {len(classes)} classes, and "newton" takes two.', 'Choose solver="auto".')
    if model.bounds is not None and model.row_norm is not None:
        raise InvalidRequest('Both bounds and row_norm are given, and "newton" takes one.', "Leave one of them out.")
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
