"""What private linear regressions share: how they predict."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.rows import read_rows


class LinearRegressor(RegressorMixin, PrivateEstimator):
    """A regression by a linear function of the row; subclasses find `coef_` (d,) and `intercept_`."""

    coef_: np.ndarray
    intercept_: float

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions, shape (n,)."""
        rows = read_rows(X)
        if not hasattr(self, "coef_") or rows.shape[1] != len(self.coef_):
            raise InvalidRequest("The rows do not fit the model.", "Fit first, and give the same columns.", "")
        found: np.ndarray = rows @ self.coef_ + self.intercept_
        return found
