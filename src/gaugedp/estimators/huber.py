"""Linear regression that far targets hardly move."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._validate import moderate
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.descent_regressor import DescentRegressor
from gaugedp.optimization.losses import Huber

_NARROWEST = 0.05  # slopes are whole multiples of 2^−12 of what rows may add: narrower ones would be few


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

    epsilon: float = 1.0
    delta: float = 0.0
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
