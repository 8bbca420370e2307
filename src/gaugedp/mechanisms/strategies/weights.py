"""How much of a pure budget each part of a strategy gets."""

from collections.abc import Callable

import numpy as np

_FEW = 64  # parts up to which a full Hessian is kept
_MOST_STEPS, _FLAT = 500, 1e-7  # and a slope that is none
_LONGEST, _SHORTEST = 1.0, 1e-12  # of a step in log c, and a share of one
Cost = Callable[[np.ndarray], tuple[float, np.ndarray]]


def best_weights(parts: np.ndarray, demand: np.ndarray) -> np.ndarray:
    """Return c > 0 (m,), Σc = 1, for which Σ_t demand_t/λ_t is small, λ = parts·c² and `parts` (t, m) ≥ 0.

    λ are the eigenvalues of AᵀA for a strategy A whose part m counts every row c_m times. A local minimum of
    (Σc)²·Σ demand/λ, in log c; from equal parts and from mostly the last one, the finest.
    """

    def log_cost(logs: np.ndarray) -> tuple[float, np.ndarray]:
        c = np.exp(logs - logs.max())
        terms = demand / (parts @ c**2)
        cost = float(terms.sum())
        slope = -2 * c**2 * ((terms / (parts @ c**2)) @ parts) / cost
        return float(np.log(cost) + 2 * np.log(c.sum())), slope + 2 * c / c.sum()

    size = parts.shape[1]
    starts = [np.zeros(size), np.where(np.arange(size) == size - 1, 0.0, -4.0)]
    minimise = _minimum if size <= _FEW else _minimum_of_many
    logs = min((minimise(log_cost, start) for start in starts), key=lambda found: log_cost(found)[0])
    c = np.exp(np.maximum(logs - logs.max(), -600.0))
    return c / c.sum()


def _minimum_of_many(cost: Cost, start: np.ndarray) -> np.ndarray:
    import scipy.optimize

    return np.asarray(scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B").x)


def _minimum(cost: Cost, start: np.ndarray) -> np.ndarray:
    """Return a local minimum by BFGS with halved steps (Nocedal and Wright 2006, algorithm 6.1).

    scipy.optimize, which does the same, takes longer to import than this takes to run.
    """
    inverse, place = np.eye(len(start)), start
    value, slope = cost(place)
    for _ in range(_MOST_STEPS):
        move = -inverse @ slope
        descent = float(move @ slope)
        if np.abs(slope).max() < _FLAT or not descent < 0:
            break
        share = min(1.0, _LONGEST / float(np.abs(move).max()))
        while (new := cost(place + share * move))[0] > value + 1e-4 * share * descent and share > _SHORTEST:
            share /= 2
        if not new[0] <= value:
            break
        step, change = share * move, new[1] - slope
        place, (value, slope) = place + step, new
        curvature = float(step @ change)
        if curvature > 0:
            turned = np.eye(len(step)) - np.outer(step, change) / curvature
            inverse = turned @ inverse @ turned.T + np.outer(step, step) / curvature
    return place
