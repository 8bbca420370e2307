"""Penalised least squares from second moments released once."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import between, moderate
from gaugedp.entropy import Entropy
from gaugedp.estimators.cube_regressor import CubeProblem, CubeRegressor
from gaugedp.estimators.weights import weighed
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.spectraplex import NuclearBall
from gaugedp.optimization.trace_designs import Full, cut

_ROUNDS = 500


@dataclass(eq=False, repr=False)
class MomentRegressor(CubeRegressor):
    """Base of penalised least squares: any penalty costs the same, as only Σ xxᵀ and Σ y·x are released."""

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        del range_
        self._check_penalty()
        self._method(size, guarantee, replaced=True)  # refuses where moments are too many

    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        size, method = problem.size, self._method(problem.size, guarantee, problem.replaced)
        rows, target = weighed(problem.rows, problem.weights), weighed(problem.target, problem.weights)
        second, first = method.release(Full(rows, (1, size)), cut(target), rng)
        bound = float(self.weight_bound)
        second = bound * size * method.raised(second, problem.n_rows)
        return self._minimum(second, bound * math.sqrt(size) * first, problem), method.exactness

    def _method(self, size: int, guarantee: Guarantee, replaced: bool) -> MatrixMoments:
        scale = MomentScale(NuclearBall((1, size)), (-1.0, 1.0), math.sqrt(size), -1.0, replaced)
        return MatrixMoments.calibrate(guarantee, scale)

    @abstractmethod
    def _check_penalty(self) -> None:
        """Refuse an invalid penalty."""

    @abstractmethod
    def _minimum(self, second: np.ndarray, first: np.ndarray, problem: CubeProblem) -> np.ndarray:
        """Return the w (k,) of least ½⟨w, second·w⟩ − ⟨first, w⟩ + penalty on the first n_slopes."""


@dataclass(eq=False, repr=False)
class Ridge(MomentRegressor):
    """Ridge regression, from second moments released once.

    The penalty `alpha`·‖w‖² does not change what is released.

    alpha : weight of the penalty, as in scikit-learn, for columns and a target scaled to [−1, 1] by their bounds.
        The intercept is not penalised.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound : as in `Lasso`.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/matrix_moments.md, for designs of one line.
    Eigenvalues of the second moments are raised to a share of the edge of their noise, a public number.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, guarantee_, release_.

    Examples
    --------
    >>> import numpy as np
    >>> from gaugedp.estimators import Ridge
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> model = Ridge(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.predict(X).shape
    ((2,), (1000,))
    """

    _: KW_ONLY
    alpha: float = 1.0

    def _check_penalty(self) -> None:
        moderate(alpha=self.alpha)

    def _minimum(self, second: np.ndarray, first: np.ndarray, problem: CubeProblem) -> np.ndarray:
        penalty = np.where(np.arange(problem.size) < problem.n_slopes, float(self.alpha), 0.0)
        return np.asarray(np.linalg.solve(second + np.diag(penalty), first))


@dataclass(eq=False, repr=False)
class ElasticNet(MomentRegressor):
    """Linear regression with ℓ₁ and ℓ₂ penalties.

    The objective is ‖y − Xw‖²/(2n) + alpha·(l1_ratio·‖w‖₁ + ½·(1 − l1_ratio)·‖w‖²).

    alpha, l1_ratio : as in scikit-learn, for columns and a target scaled to [−1, 1] by their bounds. The intercept
        is not penalised.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound : as in `Lasso`.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/matrix_moments.md, for designs of one line. The
    coefficients are computed from the released moments and the number of rows, by coordinate descent.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, guarantee_, release_.

    Examples
    --------
    >>> import numpy as np
    >>> from gaugedp.estimators import ElasticNet
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> model = ElasticNet(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.predict(X).shape
    ((2,), (1000,))
    """

    _: KW_ONLY
    alpha: float = 0.01
    l1_ratio: float = 0.5

    def _check_penalty(self) -> None:
        moderate(alpha=self.alpha)
        if self.l1_ratio not in (0, 1):
            between(0, 1, l1_ratio=self.l1_ratio)

    def _minimum(self, second: np.ndarray, first: np.ndarray, problem: CubeProblem) -> np.ndarray:
        is_slope = np.arange(problem.size) < problem.n_slopes
        corner = problem.n_rows * float(self.alpha) * float(self.l1_ratio) * is_slope
        curved = np.diag(second) + problem.n_rows * float(self.alpha) * (1 - float(self.l1_ratio)) * is_slope
        weights = np.zeros(problem.size)
        for _ in range(_ROUNDS):
            before = weights.copy()
            for j in range(problem.size):
                pull = first[j] - second[j] @ weights + second[j, j] * weights[j]
                weights[j] = np.sign(pull) * max(abs(pull) - corner[j], 0.0) / curved[j]
            if np.abs(weights - before).max() < 1e-9:
                break
        return weights
