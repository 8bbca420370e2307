"""Predictions of private linear regressions."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp.estimators.base import Scored
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import products, read_target
from gaugedp.estimators.weights import WeightedEstimator


@dataclass(eq=False, repr=False)
class LinearRegressor(Scored, RegressorMixin, WeightedEstimator):
    """Base of linear regressions, which find `coef_` and `intercept_`."""

    _: KW_ONLY
    bounds: Any = None
    missing_indicator: Any = False
    target_bounds: Any = None
    fit_intercept: bool = True

    @property
    def _values(self) -> dict[str, np.ndarray]:
        return {"coef": self.coef_, "intercept": np.array(self.intercept_)}

    def _check_y(self, y: Any, n_rows: int) -> np.ndarray:
        read_target(y, n_rows)
        return np.zeros(2)

    def predict(self, X: Any) -> np.ndarray:
        """Return a prediction for each row.

        The predictions have the shape (n,), or (n, m) if the model was fitted to m targets.
        """
        rows = self._like_fitted(X)
        slopes = np.atleast_2d(self.coef_)
        sums = np.stack([products(rows, each) for each in slopes], axis=1) + self.intercept_
        return np.asarray(sums[:, 0] if self.coef_.ndim == 1 else sums)

    def _show(self, reading: Reading, slopes: np.ndarray, constant: float, target: Any) -> None:
        self._read_by(reading)
        assert reading.box is not None
        (low, high), (target_low, target_high) = reading.box, target
        self.coef_ = slopes * (target_high - target_low) / (high - low)
        self.intercept_ = float(
            (target_low + target_high) / 2 + (target_high - target_low) / 2 * constant - self.coef_ @ ((low + high) / 2)
        )
