"""Regressions by noisy gradient descent, for losses with bounded slopes."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gaugedp._internal.validate import moderate
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.cube_regressor import CubeProblem, CubeRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.losses import Huber

_NARROWEST = 0.05  # slopes are whole multiples of 2^−12 of what rows may add: narrower ones would be few
_LARGEST_LOG_MEAN = 30.0  # of a log-mean: e^30 is beyond all counts


@dataclass(eq=False, repr=False)
class DescentRegressor(CubeRegressor):
    """A loss of one prediction and one target with slopes in [−1, 1], minimised by gradients of all rows with noise."""

    _: KW_ONLY
    radius: float | None = None

    _expected: ClassVar[float] = 1.0  # of the norm of the coefficients, over √k

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        del size, range_, guarantee
        if self.radius is not None:
            moderate(radius=self.radius)

    def _solved(self, problem: CubeProblem, guarantee: Guarantee, rng: Entropy) -> tuple[np.ndarray, str]:
        radius = self._expected * math.sqrt(problem.size) if self.radius is None else float(self.radius)
        # 0.25: the smoothness for which the steps of descent are planned
        scale, cap = Scale(radius, problem.n_rows, problem.replaced), 0.25 / self._smoothness
        descent = NoisyDescent.calibrate(guarantee, (1, problem.size), cap, scale)

        def slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
            return cap * self._slopes(z[:, 0], y)[:, None]  # cut to the cap by descent

        weights = descent.solve((problem.rows, problem.target, problem.weights), slopes, problem.n_rows, rng)[0]
        return weights / math.sqrt(problem.size), descent.noise.exactness

    @property
    @abstractmethod
    def _smoothness(self) -> float:
        """Return about the smoothness of the loss in the prediction: steps are as long as it allows."""

    @abstractmethod
    def _slopes(self, predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return slopes (n,) that grow with the prediction, each of its own row alone."""


@dataclass(eq=False, repr=False)
class HuberRegressor(DescentRegressor):
    """Linear regression by the loss of Huber (1964): a parabola within `width` of the target, and straight beyond.

    width : in units where the target goes from −1 to 1 by its bounds, public. At 0.05, the least, it is nearly the
        absolute loss.
    radius : a public bound on the norm of the coefficients where rows have norm 1 and the target is in [−1, 1]; √k
        where None, k the number of coefficients.
    bounds, missing_indicator, target_bounds, fit_intercept, weight_bound : as in `Lasso`.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/gradient.md, as slopes are at most 1.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, guarantee_, release_.
    """

    _: KW_ONLY
    width: float = 0.1

    def _check(self, *facts: Any) -> None:
        super()._check(*facts)
        moderate(width=self.width)
        if self.width < _NARROWEST:
            raise InvalidRequest(f"width is {self.width!r}.", f"Give at least {_NARROWEST}.")

    @property
    def _smoothness(self) -> float:
        return 1.0 / float(self.width)

    def _slopes(self, predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
        return Huber(float(self.width)).derivative(predictions, target)


@dataclass(eq=False, repr=False)
class PoissonRegressor(DescentRegressor):
    """Counts with log-linear means: E y = exp(⟨coef, x⟩ + intercept), by the Poisson likelihood.

    target_bounds : (0, high), public; counts are clipped to them. Slopes (mean − count)/high are cut to [−1, 1]: a
        predicted mean above twice the bound pulls no more than that.
    radius : a public bound on the norm of the coefficients of log(mean/(high/2)) where rows have norm 1; 3·√k where
        None, k the number of coefficients.
    bounds, missing_indicator, fit_intercept, weight_bound : as in `Lasso`. Without an intercept the mean
        of a row of zeros is 1.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0: docs/theory/gradient.md, as slopes are at most 1.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, guarantee_, release_.
    """

    _expected: ClassVar[float] = 3.0

    def predict(self, X: Any) -> np.ndarray:
        """Return predicted means, shape (n,)."""
        return means(super().predict(X))

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        super()._check(size, range_, guarantee)
        low, high = (float(end) for end in range_)
        if low != 0 or not 0 < math.log1p(high) < _LARGEST_LOG_MEAN:
            raise InvalidRequest(f"target_bounds is {(low, high)}.", "Give (0, high) for counts up to high.")

    @property
    def _half(self) -> float:
        return float(read_bounds("target_bounds", self.target_bounds)[1]) / 2

    @property
    def _start(self) -> float:
        """The log-mean at w = 0."""
        return math.log(self._half) if self.fit_intercept else 0.0

    @property
    def _smoothness(self) -> float:
        return 1.0

    def _slopes(self, predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
        return (means(self._start + predictions) / self._half - (target + 1)) / 2

    def _show(self, reading: Reading, slopes: np.ndarray, constant: float, target: Any) -> None:
        super()._show(reading, slopes, constant, (-1.0, 1.0))
        del target
        self.intercept_ += self._start


def means(log_means: np.ndarray) -> np.ndarray:
    """Return predicted counts: exp, of numbers cut at a public one, each by itself."""
    return np.exp(np.minimum(log_means, _LARGEST_LOG_MEAN))
