"""Row weights, up to a public bound."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gaugedp._internal.validate import moderate
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.rows import read_target


@dataclass(eq=False, repr=False)
class WeightedEstimator(PrivateEstimator):
    """An estimator whose `fit` accepts `sample_weight`.

    A row's contribution to any sum is multiplied by its weight over the bound, in [0, 1].

    weight_bound : public bound on the weights. A larger weight counts as the bound, a negative or invalid one as 0.
        A bound that is too wide reduces the influence of all rows.

    Theorem. With `sample_weight`, `fit` has the same guarantee as without, and a neighbour's row may also have another
    weight. docs/theory/weights.md
    """

    _: KW_ONLY
    weight_bound: float = 1.0

    def _weights(self, sample_weight: Any, n_rows: int) -> np.ndarray:
        """Return weights (n,) over their bound, ones by default; refuse by type and shape."""
        moderate(weight_bound=self.weight_bound)
        self._weights_up_to = 0.0 if sample_weight is None else float(self.weight_bound)
        if sample_weight is None:
            return np.broadcast_to(1.0, (n_rows,))
        weights = read_target(sample_weight, n_rows, "sample_weight")
        clipped: np.ndarray = np.clip(np.nan_to_num(weights, nan=0.0), 0.0, self.weight_bound) / self.weight_bound
        return clipped


def check_no_weights(solver: str, has_weights: bool) -> None:
    """Refuse weights for a solver whose ridge depends on the number of rows."""
    if solver == "gibbs" and has_weights:
        raise InvalidRequest('solver="gibbs" does not support weights.', "Omit the weights, or choose another solver.")


def weighed(numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return numbers (n,) or (n, d) times the roots of weights."""
    if (weights == 1).all():
        return numbers
    return numbers * np.sqrt(weights).reshape(-1, *[1] * (numbers.ndim - 1))
