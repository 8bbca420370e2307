"""Least second moment of noise whose Kullback–Leibler divergence from its shift by 1 is bounded."""

import math
from functools import lru_cache

import numpy as np

_N_OFFSETS = 33  # of the lattice, in [0, ½]; the bound loses (1/128)² with them


@lru_cache(maxsize=64)
def least_second_moment(divergence: float) -> float:
    """Return a lower bound on E X² over real X with KL(X‖X + 1) and KL(X + 1‖X) at most `divergence`.

    Lagrangian duality and a recursion over the lattice (docs/theory/certificates.md, theorem 3). Every multiplier gives
    a bound; the search only improves it. The least Lagrangian ν(c + t) is at least g(t) = inf_p Σ ((k + c)² + 2(k +
    c)t)·p_k + multiplier·J(p), which is concave in t. So on an interval of length 2h, ν is at least its smaller end
    value minus h². By symmetry offsets in [0, ½] suffice.
    """
    import scipy.optimize  # of which releases of one table load nothing

    n_steps = math.ceil(9.0 / math.sqrt(2 * divergence)) + 4  # beyond, the cost is bounded by 0
    offsets = np.linspace(0, 0.5, _N_OFFSETS)
    natural = 1 / (4 * divergence**2)

    def bound(log_factor: float, places: np.ndarray) -> float:
        multiplier = natural * math.exp(log_factor)
        return float(_least_lagrangians(multiplier, places, n_steps).min()) - 2 * multiplier * divergence

    # a multiplier within a factor of 2 of that of Gaussian noise, which is best for small divergences
    widest, few = math.log(2.0), offsets[:: _N_OFFSETS // 2]
    search = {"bounds": (-widest, widest), "method": "bounded", "options": {"xatol": 1e-3}}
    best = 0.0 if divergence < 0.1 else float(scipy.optimize.minimize_scalar(lambda x: -bound(x, few), **search).x)
    loss = (offsets[1] / 2) ** 2
    return max(0.0, (bound(best, offsets) - loss) * (1 - 1e-9))


def _least_lagrangians(multiplier: float, offsets: np.ndarray, n_steps: int) -> np.ndarray:
    """Return ν ≤ Σ_k p_k·(k + u)² + multiplier·Σ_k (p_{k+1} − p_k)·log(p_{k+1}/p_k) for all p, for each offset u.

    ν is valid if the costs beyond 0 on both sides and u² − ν add up to at least 0. The recursion for the costs starts
    with 0 where (k + u)² ≥ ν, since all costs beyond are nonnegative.
    """
    steps = np.arange(n_steps + 1)[:, None]
    right, left = (steps + offsets) ** 2, (steps - offsets) ** 2
    low, high = np.zeros(len(offsets)), np.full(len(offsets), float(n_steps - 1) ** 2)
    for _ in range(40):
        middle = (low + high) / 2
        total = _cost_beyond(right - middle, multiplier) + _cost_beyond(left - middle, multiplier)
        holds = total + right[0] - middle >= 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


def _cost_beyond(states: np.ndarray, multiplier: float) -> np.ndarray:
    """Return the least cost beyond the first state, per unit of its mass; negative infinity if there is none.

    For a cost R beyond, min_r multiplier·(r − 1)·log r + r·R is at r = 1/s, s + log s = 1 + R/multiplier.
    """
    from scipy.special import wrightomega

    cost = np.zeros(states.shape[1])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for state in states[:0:-1]:
            inverse = wrightomega(1 + (cost + state) / multiplier)
            cost = multiplier * (1 + np.log(inverse) - 1 / inverse)
    return cost
