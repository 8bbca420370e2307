"""Penalised least squares from second moments released once."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import between, moderate
from gaugedp.entropy import Entropy
from gaugedp.estimators.cube_regressor import CubeProblem, CubeRegressor
from gaugedp.estimators.target_mean import TargetMean
from gaugedp.estimators.weights import weighed
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.shrinkage import bounded_mean, of_least_risk, of_likely_signal
from gaugedp.optimization.spectraplex import NuclearBall
from gaugedp.optimization.trace_designs import Full, cut

_ROUNDS = 500
_CONSTANT = 0.15  # of a row's squared length, at least, for the intercept; the noise of the mean depends on it
_NOISE_THAT_HIDES = 10.0  # the deviation of the noise of Σ t·x, over its largest value, above which slopes are 0
_LITTLE_SHRINKAGE = 0.05  # shrinkage up to which slopes are only those of least risk
_NOISE_OF_MEAN = (
    0.02  # the deviation of the mean's noise, of half the range, above which the mean is also released alone
)


@dataclass(eq=False, repr=False)
class MomentRegressor(CubeRegressor):
    """Base of penalised least squares: any penalty costs the same, as only Σ xxᵀ and Σ y·x are released."""

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        del range_
        self._check_penalty()
        self._method(size, guarantee, replaced=True)  # refuses where moments are too many

    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        size, method, mean = problem.size, self._method(problem.size, guarantee, problem.replaced), None
        rows, target = weighed(problem.rows, problem.weights), weighed(problem.target, problem.weights)
        lengths = row_lengths(size, problem.n_slopes)
        bound, units = self._weights_up_to or 1.0, lengths / math.sqrt(size)
        if size > problem.n_slopes and method.variance_of_first > (_NOISE_OF_MEAN * problem.n_rows * units[-1]) ** 2:
            mean = TargetMean.plan(guarantee, problem.n_rows, problem.replaced)
            method = self._method(problem.size, mean.remaining, problem.replaced)
        level = mean and (bound * mean.total(problem.target, problem.weights, rng), bound**2 * mean.variance)
        second, first = method.release(Full(rows * lengths, (1, size)), cut(target), rng)
        plain, raised = (
            bound * part / np.outer(units, units) for part in (second, method.raised(second, problem.n_rows))
        )
        of_first, of_second = bound**2 * method.variance_of_first, bound**2 * method.variance_of_second
        noise = (of_first / units[0] ** 2, of_second / units[0] ** 4, of_second / (units[0] * units[-1]) ** 2)
        moments = NoisyMoments(plain, raised, bound * first / units, *noise)
        if size == problem.n_slopes:
            return self._slopes(moments, problem.n_rows), method.exactness
        levels = [(float(moments.first[-1]), of_first / units[-1] ** 2), *([level] if level else [])]
        return self._around(levels, moments, problem.n_rows), method.exactness

    def _around(self, levels: list[tuple[float, float]], moments: "NoisyMoments", n_rows: float) -> np.ndarray:
        """Return slopes (k,) and an intercept, around the mean by noisy sums of the target with their variances."""
        most = self._weights_up_to * n_rows  # 0 without weights
        total = min(float(moments.raised[-1, -1]), most) if most else n_rows
        precision = sum(1 / variance for _, variance in levels)
        likely = sum(level / variance for level, variance in levels) / precision
        mean = bounded_mean(likely / total, 1 / math.sqrt(precision) / total)
        middle = np.clip(moments.raised[:-1, -1] / total, -1, 1)
        slopes = self._slopes(moments.centred(middle, mean, total), n_rows)
        return np.append(slopes, mean - middle @ slopes)

    def _slopes(self, moments: "NoisyMoments", n_rows: float) -> np.ndarray:
        """Return a mean of two estimates (k,), mostly the first where noise is small, times the chance of a signal.

        Σ t·x is at most `n_rows`. If its noise is many times as large, the slopes are 0.
        """
        if moments.of_first > (_NOISE_THAT_HIDES * n_rows) ** 2:
            return np.zeros(len(moments.first))
        variances = moments.of_first, moments.of_second
        least = of_least_risk(moments.raised, moments.first, moments.of_first, self._penalty(n_rows))
        second, first, chance, shrinkage = of_likely_signal(moments.plain, moments.first, variances, n_rows)
        part = min(0.5, 2 * max(shrinkage - _LITTLE_SHRINKAGE, 0.0))
        return chance * ((1 - part) * self._minimum(*least, n_rows) + part * self._minimum(second, first, n_rows))

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


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Σ xxᵀ as released, the same with raised eigenvalues, and Σ t·x, for rows in the cube [−1, 1]^k.

    The noise has variance `of_first` per entry of Σ t·x, `of_second` per entry of Σ xxᵀ, and `of_sums` in the last
    column, of the constant.
    """

    plain: np.ndarray
    raised: np.ndarray
    first: np.ndarray
    of_first: float
    of_second: float
    of_sums: float

    def centred(self, middle: np.ndarray, mean: float, total: float) -> "NoisyMoments":
        """Return moments of columns less their noisy means `middle` (k,), and of the target less its mean."""
        k, sums = len(middle), self.raised[:-1, -1]
        return NoisyMoments(
            self.plain[:k, :k] - total * np.outer(middle, middle) + self.of_sums / total * np.eye(k),
            self.raised[:k, :k] - np.outer(sums, sums) / self.raised[-1, -1],
            self.first[:k] - total * mean * middle,
            self.of_first + self.of_sums * mean**2,
            self.of_second + 2 * float(middle @ middle) / k * self.of_sums,
            0.0,
        )


def row_lengths(size: int, n_slopes: int) -> np.ndarray:
    """Return factors (k,) of columns of size at most 1/√k that keep rows in the unit ball."""
    if size == n_slopes:
        return np.ones(size)
    constant = max(_CONSTANT, 1 / size)
    return np.sqrt(size * np.append(np.full(n_slopes, (1 - constant) / n_slopes), constant))


@dataclass(eq=False, repr=False)
class Ridge(MomentRegressor):
    """Ridge regression with differential privacy.

    Use it for a linear regression whose coefficients should stay small: it penalises them by `alpha`·‖w‖², where w are
    the coefficients. The fit releases noisy second moments once and computes the coefficients from them, so the penalty
    does not change what is released.

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
    If the noise is large, the mean of the target is also released by itself, within the same guarantee. Predictions
    then shrink towards it, by an amount that follows from the release and its known noise. If the noise hides the
    slopes, the fit releases nothing but the mean.

    Theorem (docs/theory/matrix_moments.md, for designs that are vectors). `fit` is (ε, δ)-DP for one row, and ε-DP at δ
    = 0. Small eigenvalues of the noisy second moments are raised to a public number, a share of the edge of their noise
    (about its largest eigenvalue).

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

    Use it like `Ridge` if, in addition, some coefficients should be exactly 0. The coefficients are computed from noisy
    second moments, which the fit releases only once, so the penalties do not change what is released.

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

    Theorem (docs/theory/matrix_moments.md, for designs that are vectors). `fit` is (ε, δ)-DP for one row, and ε-DP at δ
    = 0. The coefficients are computed from the released moments and the number of rows, by coordinate descent.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    guarantee_ and release_.

    If the noise is large, the slopes shrink as in `Ridge`.

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
