"""Numbers about noise that take draws or sums, and are asked for again: kept for as long as the mechanism lives."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np


def remembered(error: Callable[..., float]) -> Callable[..., float]:
    """Return a method error(norm, weights) that computes the same number once."""

    @wraps(error)
    def recalled(self: Any, norm: float = 2, weights: np.ndarray | None = None) -> float:
        known = vars(self).setdefault("_known_errors", {})
        key = norm, None if weights is None else np.asarray(weights, dtype=float).tobytes()
        if key not in known:
            known[key] = error(self, norm, weights)
        return float(known[key])

    return recalled
