"""What private linear regressions share: how they predict."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.reading import Reading


class LinearRegressor(RegressorMixin, PrivateEstimator):
    """A regression by a linear function of the row; subclasses find `coef_` (d,) and `intercept_`."""

    coef_: np.ndarray
    intercept_: float

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions, shape (n,)."""
        return self._like_fitted(X) @ self.coef_ + self.intercept_

    def _show(self, reading: Reading, slopes: np.ndarray, constant: float, target: Any) -> None:
        """Set what tells targets from rows, of slopes and a constant for both in units of their boxes."""
        self._read_by(reading)
        assert reading.box is not None
        (low, high), (target_low, target_high) = reading.box, target
        self.coef_ = slopes * (target_high - target_low) / (high - low)
        self.intercept_ = float(
            (target_low + target_high) / 2 + (target_high - target_low) / 2 * constant - self.coef_ @ ((low + high) / 2)
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of `predict` on rows X (n, d) and target y (n,).

        It looks at them without privacy, and no ledger pays: for rows that are public, or for your own eyes.
        """
        return float(super().score(X, y, sample_weight))
