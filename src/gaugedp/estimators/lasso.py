"""Linear regression in an ℓ₁ ball."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._validate import positive
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.learned_bounds import fit_learning_bounds, learns_bounds
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import PUBLIC_ROWS
from gaugedp.estimators.rows import into_box, read_bounds, read_target
from gaugedp.estimators.weights import weighed
from gaugedp.optimization.frank_wolfe import FrankWolfe, frank_wolfe
from gaugedp.optimization.losses import Squared


@dataclass(eq=False, repr=False)
class Lasso(LinearRegressor):
    """Least squares over coefficients whose absolute values add up to at most `radius`, by private Frank–Wolfe.

    bounds, missing_indicator : as in `LogisticRegression`; features are clipped to the bounds and scaled to [−1, 1].
    target_bounds : (low, high), public; the target is clipped to them and scaled to [−1, 1].
    radius : the public bound on Σ|w_j| in these units; the intercept is one of the w_j. It has the place of
        scikit-learn's alpha.
    weight_bound : as in `LogisticRegression`.

    Theorem. Each of T steps chooses one of the ± coordinates by the exponential mechanism on gradients of clipped
    residuals; all together they are (ε, δ)-DP (ε-DP at δ = 0) for one row (docs/theory/frank_wolfe.md). The noise grows
    with the logarithm of the number of features, so it is for many of them.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, n_steps_, solver_, guarantee_, release_.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    radius: float = 1.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Lasso":
        """Fit to rows X (n, d) and target y (n,)."""
        if learns_bounds(self):
            fit_learning_bounds(self, X, y, sample_weight)
            return self
        requested, rows = self._requested(), self._rows(X)
        target, weights_of_rows = read_target(y, len(rows)), self._weights(sample_weight, len(rows))
        positive(radius=self.radius)
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], self.missing_indicator)
        range_ = read_bounds("target_bounds", self.target_bounds)
        planned = len(rows) if self.neighbours == "replace" else PUBLIC_ROWS
        loss, n_columns = Squared(1.0), reading.width + self.fit_intercept
        calibration = FrankWolfe.calibrate(planned, n_columns, loss, self.radius, requested, self.neighbours)
        reservation = self._pay(calibration.guarantee, requested, rows.shape)
        features = np.ones((len(rows), n_columns))
        features[:, : reading.width] = reading.in_cube(rows)
        features, goal = weighed(features, weights_of_rows), weighed(into_box(target, *range_), weights_of_rows)
        weights = frank_wolfe(features, goal, loss, self.radius, calibration, self._generator())
        self._show(reading, weights[: reading.width], float(weights[reading.width :].sum()), range_)
        self._note_names(X)
        self.n_steps_, self.solver_ = calibration.steps, "frank-wolfe"
        facts = {"steps": calibration.steps, "noise": calibration.selection.describe()}
        self._publish(self._values, calibration.guarantee, calibration.selection.exactness, facts, reservation)
        return self
