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
from gaugedp.optimization.shrinkage import bounded_mean, of_least_risk
from gaugedp.optimization.spectraplex import NuclearBall
from gaugedp.optimization.trace_designs import Full, cut

_ROUNDS = 500
_CONSTANT = 0.15  # of a row's squared length, at least, for the intercept; the noise of the mean depends on it


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
        lengths = row_lengths(size, problem.n_slopes)
        second, first = method.release(Full(rows * lengths, (1, size)), cut(target), rng)
        bound, units = self._weights_up_to or 1.0, lengths / math.sqrt(size)
        second = bound * method.raised(second, problem.n_rows) / np.outer(units, units)
        variances = np.array([method.variance_of_first, method.variance_of_first, method.variance_of_second])
        variances *= bound**2 / np.array([units[0], units[-1], units[0] * units[-1]]) ** 2
        return self._shrunk(second, bound * first / units, variances, problem), method.exactness

    def _shrunk(self, second: np.ndarray, first: np.ndarray, variances: np.ndarray, problem: CubeProblem) -> np.ndarray:
        """Return coefficients (k,): slopes of least estimated risk around the released mean.

        `variances` are those of an entry of `first`, of its last, and of an entry of the last column of `second`.
        """
        k, n_rows, (of_first, of_total, of_sums) = problem.n_slopes, problem.n_rows, variances
        if problem.size == k:
            return self._slopes(second, first, of_first, n_rows)
        total = n_rows if self._weights_up_to == 0 else float(second[k, k])
        sums, mean = second[:k, k], bounded_mean(float(first[k]) / total, math.sqrt(of_total) / total)
        centred = second[:k, :k] - np.outer(sums, sums) / second[k, k]
        slopes = self._slopes(centred, first[:k] - sums * mean, of_first + of_sums * mean**2, n_rows)
        return np.append(slopes, mean - np.clip(sums / total, -1, 1) @ slopes)

    def _slopes(self, second: np.ndarray, first: np.ndarray, variance: float, n_rows: float) -> np.ndarray:
        return self._minimum(*of_least_risk(second, first, variance, self._penalty(n_rows)), n_rows)

    def _method(self, size: int, guarantee: Guarantee, replaced: bool) -> MatrixMoments:
        scale = MomentScale(NuclearBall((1, size)), (-1.0, 1.0), math.sqrt(size), -1.0, replaced)
        return MatrixMoments.calibrate(guarantee, scale)

    @abstractmethod
    def _check_penalty(self) -> None:
        """Refuse an invalid penalty."""

    @abstractmethod
    def _penalty(self, n_rows: float) -> float:
        """Return about how much ridge the penalty is worth."""

    @abstractmethod
    def _minimum(self, second: np.ndarray, first: np.ndarray, n_rows: float) -> np.ndarray:
        """Return the slopes w of least ½⟨w, second·w⟩ − ⟨first, w⟩ + penalty."""


def row_lengths(size: int, n_slopes: int) -> np.ndarray:
    """Return factors (k,) of columns of size at most 1/√k that keep rows in the unit ball."""
    if size == n_slopes:
        return np.ones(size)
    constant = max(_CONSTANT, 1 / size)
    return np.sqrt(size * np.append(np.full(n_slopes, (1 - constant) / n_slopes), constant))


@dataclass(eq=False, repr=False)
class Ridge(MomentRegressor):
    """Ridge regression with differential privacy.

    Use it for a linear regression with an ℓ₂ penalty, `alpha`·‖w‖² for coefficients w. The fit releases noisy second
    moments once and computes the coefficients from them, so the penalty does not change what is released. If noise is
    large, the slopes shrink towards 0 and the predictions towards the mean, by an estimate of the risk that uses the
    release alone.

    Parameters
    ----------
    alpha : float
        Weight of the penalty, as in scikit-learn, for columns and a target scaled to [−1, 1] by their bounds. The
        intercept is not penalised. Default 1.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound
        Public bounds and options of the fit, as in `Lasso`.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/matrix_moments.md, for designs of one line.
    Eigenvalues of the second moments are raised to a share of the edge of their noise, a public number.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    guarantee_ and release_.

    Examples
    --------
    The target is the sum of two columns, so there are two coefficients:

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

    def _penalty(self, n_rows: float) -> float:
        del n_rows
        return float(self.alpha)

    def _minimum(self, second: np.ndarray, first: np.ndarray, n_rows: float) -> np.ndarray:
        del n_rows
        return np.asarray(np.linalg.solve(second + float(self.alpha) * np.eye(len(first)), first))


@dataclass(eq=False, repr=False)
class ElasticNet(MomentRegressor):
    """Linear regression with ℓ₁ and ℓ₂ penalties.

    Use it as `Ridge`, if in addition some coefficients should be exactly 0. The fit releases noisy second moments once
    and computes the coefficients from them, so the penalties do not change what is released. If noise is large, the
    slopes shrink as in `Ridge`.

    Parameters
    ----------
    alpha, l1_ratio : float
        The weight of the penalties and the share of the ℓ₁ penalty, as in scikit-learn, for columns and a target scaled
        to [−1, 1] by their bounds. The intercept is not penalised. Default 0.01 and 0.5.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound
        Public bounds and options of the fit, as in `Lasso`.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    The objective for n rows X, target y and coefficients w is ‖y − Xw‖²/(2n) + alpha·(l1_ratio·‖w‖₁ + ½·(1 −
    l1_ratio)·‖w‖²).

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/matrix_moments.md, for designs of one line. The
    coefficients are computed from the released moments and the number of rows, by coordinate descent.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    guarantee_ and release_.

    Examples
    --------
    The target is the sum of two columns, so there are two coefficients:

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

    def _penalty(self, n_rows: float) -> float:
        return n_rows * float(self.alpha)

    def _minimum(self, second: np.ndarray, first: np.ndarray, n_rows: float) -> np.ndarray:
        corner = n_rows * float(self.alpha) * float(self.l1_ratio)
        curved = np.diag(second) + n_rows * float(self.alpha) * (1 - float(self.l1_ratio))
        weights = np.zeros(len(first))
        for _ in range(_ROUNDS):
            before = weights.copy()
            for j in range(len(first)):
                pull = first[j] - second[j] @ weights + second[j, j] * weights[j]
                weights[j] = np.sign(pull) * max(abs(pull) - corner, 0.0) / curved[j]
            if np.abs(weights - before).max() < 1e-9:
                break
        return weights
