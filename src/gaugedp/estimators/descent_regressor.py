"""Regressions by noisy gradient descent with bounded slopes."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp._internal.validate import moderate
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.cube_regressor import CubeProblem, CubeRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import SUM_BITS, read_bounds
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.gradient import MOST_CAP, NoisyDescent, Scale
from gaugedp.optimization.lattice import ball_noise, released, shared
from gaugedp.optimization.losses import Huber
from gaugedp.optimization.shrinkage import signal_share

Slopes = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of predictions (n,) and targets (n,)

_NARROWEST = 0.05  # slopes are multiples of 2^−12 of their cap: a narrower parabola would have few of them
_MEAN_SHARE = 0.03  # of the guarantee, for the mean of the counts: chosen on drawn wages and counts
_RAMP = 0.25  # from `_sure` to the share of a signal above which coefficients do not shrink
_NOISE_MARGIN = 1.0  # standard deviations by which the noise of coefficients counts as longer: chosen as for Ridge
_STEEPER = 2.0  # most increase of slopes on the way, relative to that at the mean
_LEAST_SHARE = 2.0**-20  # of a mean of counts, of their bound
_LARGEST_LOG_MEAN = 30.0  # of a log-mean: e^30 is beyond all counts


@dataclass(eq=False, repr=False)
class DescentRegressor(CubeRegressor):
    """Base of regressions by noisy full-batch gradient descent."""

    _: KW_ONLY
    radius: float | None = None
    alpha: Any = None

    _expected: ClassVar[float] = 1.0  # of the norm of the coefficients, over √k
    _curved: ClassVar[float] = 0.05  # smoothness that lessens noise, chosen on HI and two drawn tables for counts
    _sure: ClassVar[float] = 0.6  # share of a signal above which coefficients shrink less, chosen as above

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        del size, range_, guarantee
        if self.radius is not None:
            moderate(radius=self.radius)

    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        radius = self._expected * math.sqrt(problem.size) if self.radius is None else float(self.radius)
        smoothness, slopes_of, left = self._prepared(problem, guarantee, rng)
        # 0.25: the smoothness for which the steps of descent are planned
        scale, cap = Scale(radius, problem.n_rows, problem.replaced), min(0.25 / smoothness, MOST_CAP)
        descent = NoisyDescent.calibrate(left, (1, problem.size), cap, scale)

        def slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
            return cap * slopes_of(z[:, 0], y)[:, None]  # cut to the cap by descent

        weights = descent.solve((problem.rows, problem.target, problem.weights), slopes, problem.n_rows, rng)[0]
        if self.fit_intercept:
            share = signal_share(weights, descent.variance(problem.n_rows, self._curved), _NOISE_MARGIN)
            weights = (share + (1 - share) * min(max(0.0, (share - self._sure) / _RAMP), 1.0)) * weights
        return weights / math.sqrt(problem.size), descent.noise.exactness

    @abstractmethod
    def _prepared(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[float, Slopes, Guarantee]:
        """Return the loss's smoothness, its slopes (n,) of predictions and targets, and the guarantee that is left.

        Slopes increase in the prediction, and each is of its own row only.
        """


@dataclass(eq=False, repr=False)
class HuberRegressor(DescentRegressor):
    """Robust linear regression with the Huber loss.

    Use it instead of `LinearRegression` if a few targets may be far off. The loss (Huber 1964) is quadratic for
    residuals up to `width` and linear beyond, so large residuals have a limited influence.

    Parameters
    ----------
    alpha
        Ignored, because `radius` limits the coefficients.
    epsilon : float
        The privacy budget, default 1. Note that in scikit-learn epsilon is the threshold of the loss, which here is
        `width`; therefore epsilon = 1.35, scikit-learn's default, causes a warning.
    width : float
        Public width of the quadratic part, in units in which the target's bounds are −1 and 1. At the minimum, 0.05,
        the loss is nearly the absolute loss. Default 0.1.
    radius : float, optional
        Public bound on the norm of the coefficients for rows of norm 1 and a target in [−1, 1]. By default it is √k for
        k coefficients.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound
        Public bounds and options of the fit, as in `Lasso`.
    delta, neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/gradient.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0, because the slopes of the loss
    are at most 1. With an intercept it starts at a released mean of the target. The coefficients shrink if the noise is
    large. If it hides them, the mean alone is released and they are 0.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    guarantee_ and release_.

    Examples
    --------
    The target is the sum of two columns, so there are two coefficients:

    >>> import numpy as np
    >>> from gaugedp.estimators import HuberRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> model = HuberRegressor(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.predict(X).shape
    ((2,), (1000,))
    """

    _: KW_ONLY
    width: float = 0.1

    _starts_at_mean: ClassVar[bool] = True
    _curved: ClassVar[float] = 0.025  # as most slopes are cut
    _sure: ClassVar[float] = 1.0

    def _check(self, *facts: Any) -> None:
        super()._check(*facts)
        # 1.35: the threshold of scikit-learn's HuberRegressor, by its default
        if self.epsilon == 1.35 and self.delta == 0:
            warnings.warn(
                "epsilon=1.35 is the privacy budget here, not the threshold of scikit-learn's HuberRegressor. "
                "Pass the threshold as `width`, and choose epsilon for the privacy that you need.",
                stacklevel=3,
            )
        moderate(width=self.width)
        if self.width < _NARROWEST:
            raise InvalidRequest(f"`width` is {self.width!r}, but must be at least {_NARROWEST}.", "Increase it.")

    def _prepared(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[float, Slopes, Guarantee]:
        del problem, rng
        loss = Huber(float(self.width))
        return loss.smoothness, loss.derivative, guarantee


@dataclass(eq=False, repr=False)
class PoissonRegressor(DescentRegressor):
    """Poisson regression for counts with log-linear means.

    Use it to predict counts, such as the number of visits of a person. The logarithm of the expected count is a linear
    function of the features: E y = exp(⟨coef, x⟩ + intercept) for a row x with the count y. The Poisson likelihood is
    maximised.

    Parameters
    ----------
    target_bounds : (0, high)
        Public bounds to which counts are clipped. The slope of a row's loss, (mean − count)/high, is clipped to [−1,
        1], so a predicted mean above twice the bound has no more influence than a mean of twice the bound.
    radius : float, optional
        Public bound on the norm of the coefficients of log(mean/average) for rows of norm 1. By default it is 3·√k for
        k coefficients. The average of the counts is released first, for 3 % of the guarantee.
    bounds, missing_indicator, fit_intercept, weight_bound
        Public bounds and options of the fit, as in `Lasso`. Without an intercept, the mean of a row of zeros is 1.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/gradient.md). `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0, because the slopes of the loss
    are at most 1. The coefficients shrink as those of `HuberRegressor`.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    guarantee_ and release_.

    Examples
    --------
    The counts depend on the first column only. All predicted means are positive:

    >>> import numpy as np
    >>> from gaugedp.estimators import PoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (1000, 2))
    >>> y = rng.poisson(np.exp(X[:, 0]))
    >>> model = PoissonRegressor(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(0, 10)).fit(X, y)
    >>> bool((model.predict(X) > 0).all())
    True
    """

    _expected: ClassVar[float] = 3.0

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted mean count of each row, shape (n,)."""
        return means(super().predict(X))

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        super()._check(size, range_, guarantee)
        low, high = (float(end) for end in range_)
        if low != 0 or not 0 < math.log1p(high) < _LARGEST_LOG_MEAN:
            raise InvalidRequest(
                f"`target_bounds` is {(low, high)}, but the targets are counts, so their lower bound must be 0.",
                "Pass target_bounds=(0, high), where `high` is the largest count that matters.",
            )

    @property
    def _half(self) -> float:
        return float(read_bounds("target_bounds", self.target_bounds)[1]) / 2

    def _prepared(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[float, Slopes, Guarantee]:
        """Release the mean of the counts, where descent starts: slopes there increase by it."""
        high = 2 * self._half
        noise = ball_noise(LpBall(1, 2, 1.0 + NORMS), shared(guarantee, _MEAN_SHARE))
        shares = np.trunc((problem.target + 1) / 2 * problem.weights * 2.0**SUM_BITS).sum() * 2.0**-SUM_BITS
        total = float(released(np.array([shares]), noise, rng)[0])
        least = max(math.sqrt(float(noise.variances.max())) / problem.n_rows, 1 / high)
        mean = min(max(total / problem.n_rows, least), 1.0)
        self._start = start = math.log(mean * high) if self.fit_intercept else 0.0

        def slopes(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
            return means(start + predictions) / high - (target + 1) / 2

        return _STEEPER * mean, slopes, shared(guarantee, 1 - _MEAN_SHARE)

    def _constant(self, mean: float) -> float:
        self._start = math.log(max((mean + 1) / 2, _LEAST_SHARE) * 2 * self._half)
        return 0.0

    def _show(self, reading: Reading, slopes: np.ndarray, constant: float, target: Any) -> None:
        super()._show(reading, slopes, constant, (-1.0, 1.0))
        del target
        self.intercept_ += self._start


def means(log_means: np.ndarray) -> np.ndarray:
    """Return exp(log_means), capped at a public limit."""
    return np.exp(np.minimum(log_means, _LARGEST_LOG_MEAN))
