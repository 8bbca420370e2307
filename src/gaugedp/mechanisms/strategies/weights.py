"""The split of a pure budget among the parts of a strategy."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def best_weights(parts: "np.ndarray | csr_array", demand: np.ndarray) -> np.ndarray:
    """Return c > 0 of sum 1 with small Σ_t demand_t/λ_t, λ = parts·c²."""
    import scipy.optimize

    def log_cost(logs: np.ndarray) -> tuple[float, np.ndarray]:
        c = np.exp(logs - logs.max())
        terms = demand / (parts @ c**2)
        cost = float(terms.sum())
        slope = -2 * c**2 * ((terms / (parts @ c**2)) @ parts) / cost
        return float(np.log(cost) + 2 * np.log(c.sum())), slope + 2 * c / c.sum()

    size = parts.shape[1]
    starts = [np.zeros(size), np.where(np.arange(size) == size - 1, 0.0, -4.0)]
    method = "BFGS" if size <= 64 else "L-BFGS-B"  # parts up to which a full Hessian is stored
    minima = [scipy.optimize.minimize(log_cost, start, jac=True, method=method) for start in starts]
    logs = min(minima, key=lambda minimum: float(minimum.fun)).x  # of any length: the cost does not depend on it
    c = np.exp(np.maximum(logs - logs.max(), -600.0))
    return c / c.sum()
