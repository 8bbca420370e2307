"""Shrinkage of noisy least squares towards a constant. Post-processing."""

import numpy as np

_RIDGES = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 81)])  # over the mean eigenvalue
_CUTS = np.geomspace(0.25, 16, 25)  # over the noise variance
_WARY = 2.0  # times the noise variance in the estimates of cuts, which err more than those of ridges
_CERTAIN = 0.01  # a deviation below which a number is only clipped


def of_least_risk(
    second: np.ndarray, first: np.ndarray, variance: float, given: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return (H′, b′) such that w = H′⁻¹b′ has the least estimated risk.

    H is positive definite, b has noise of this `variance` per coordinate, and the risk is ⟨w − w*, H(w − w*)⟩ for Hw* =
    E b. Either a multiple of the identity is added to H, or each coordinate g of b along an eigenvector becomes g −
    t/g, 0 if g² < t (Breiman's garrote), or b becomes 0. The estimates are Stein's (1981), unbiased for normal noise,
    less the risk of w = 0. A ridge is lessened by the one that is `given` and will be added.
    """
    values, vectors = np.linalg.eigh(second)
    along = first @ vectors
    squares = np.maximum(along**2, 1e-300)
    ridges, cuts = _RIDGES[:, None] * values.mean(), _CUTS[:, None] * variance
    raised = values + ridges
    by_ridge = (values * squares / raised**2 - 2 * (squares - variance) / raised).sum(axis=1)
    left = cuts**2 / squares + 2 * _WARY * variance * (1 + cuts / squares) - squares
    by_cut = np.where(squares > cuts, left / values, 0.0).sum(axis=1)
    if min(by_ridge.min(), by_cut.min()) >= 0:
        return second, np.zeros(len(first))
    if by_ridge.min() <= by_cut.min():
        ridge = max(float(ridges[by_ridge.argmin(), 0]) - given, 0.0)
        return second + ridge * np.eye(len(first)), first
    return second, vectors @ (along * np.maximum(1 - cuts[by_cut.argmin()] / squares, 0.0))


def bounded_mean(noisy: float, deviation: float) -> float:
    """Return the mean of a number in [−1, 1], uniform a priori, given its value with normal noise."""
    points = np.linspace(-1, 1, 1001)
    costs = ((points - noisy) / max(deviation, 1e-6)) ** 2 / 2
    weights = np.exp(costs.min() - costs)
    return float(points @ weights / weights.sum()) if deviation > _CERTAIN else min(max(noisy, -1.0), 1.0)


def signal_share(weights: np.ndarray, variance: float) -> float:
    """Return the share of the squared length that noise of this variance per weight does not explain.

    Weights times this share are the estimate of James and Stein (1961), its positive part.
    """
    return max(0.0, 1 - weights.size * variance / max(float((weights**2).sum()), 1e-300))
