"""Regression for counts."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.estimators.descent_regressor import DescentRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import read_bounds
from gaugedp.guarantees import Guarantee

_MOST = 30.0  # of a log-mean: e^30 is beyond all counts


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
        return np.exp(np.minimum(super().predict(X), _MOST))

    def _check(self, size: int, range_: Any, guarantee: Guarantee) -> None:
        super()._check(size, range_, guarantee)
        low, high = (float(end) for end in range_)
        if low != 0 or not 0 < math.log1p(high) < _MOST:
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
        means = np.exp(np.minimum(self._start + predictions, _MOST))
        return (means / self._half - (target + 1)) / 2

    def _show(self, reading: Reading, slopes: np.ndarray, constant: float, target: Any) -> None:
        super()._show(reading, slopes, constant, (-1.0, 1.0))
        del target
        self.intercept_ += self._start
