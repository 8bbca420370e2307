"""Least squares with a quadratic penalty."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from gaugedp._validate import moderate
from gaugedp.estimators.cube_regressor import CubeProblem
from gaugedp.estimators.moment_regressor import MomentRegressor


@dataclass(eq=False, repr=False)
class Ridge(MomentRegressor):
    """Least squares with the penalty `alpha`·‖w‖², by second moments that are released once.

    alpha : the weight of the penalty, as in scikit-learn, for columns and a target that are scaled to [−1, 1] by their
        bounds. The intercept is not penalised.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound : as in `Lasso`.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/matrix_moments.md, for designs of one line.
    Eigenvalues of the second moments are raised to a share of the edge of their noise, a public number.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, guarantee_, release_.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    alpha: float = 1.0

    def _check_penalty(self) -> None:
        moderate(alpha=self.alpha)

    def _minimum(self, second: np.ndarray, first: np.ndarray, problem: CubeProblem) -> np.ndarray:
        penalty = np.where(np.arange(problem.size) < problem.n_slopes, float(self.alpha), 0.0)
        return np.asarray(np.linalg.solve(second + np.diag(penalty), first))
