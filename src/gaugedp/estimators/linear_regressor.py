"""What private linear regressions share: how they predict."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp.estimators.base import PrivateEstimator


class LinearRegressor(RegressorMixin, PrivateEstimator):
    """A regression by a linear function of the row; subclasses find `coef_` (d,) and `intercept_`."""

    coef_: np.ndarray
    intercept_: float

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions, shape (n,)."""
        found: np.ndarray = self._like_fitted(X) @ self.coef_ + self.intercept_
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of `predict` on rows X (n, d) and target y (n,).

        It looks at them without privacy, and no ledger pays: for rows that are public, or for your own eyes.
        """
        return float(super().score(X, y, sample_weight))
