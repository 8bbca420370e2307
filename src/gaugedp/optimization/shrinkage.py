"""Shrinkage of noisy least squares towards a constant. Post-processing."""

import math

import numpy as np

from gaugedp.optimization.symmetric import repulsion
from gaugedp.optimization.tuning import TUNED

_RIDGES = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 81)])  # over the mean eigenvalue
_CUTS = np.geomspace(0.25, 16, 25)  # over the noise variance
_EXPLAINED = np.geomspace(3e-3, 0.5, 12)[:, None]  # a priori, of a mean square in [0, 1], equally likely


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
    left = cuts**2 / squares + 2 * TUNED.garrote_noise * variance * (1 + cuts / squares) - squares
    by_cut = np.where(squares > cuts, left / values, 0.0).sum(axis=1)
    if min(by_ridge.min(), by_cut.min()) >= 0:
        return second, np.zeros(len(first))
    if by_ridge.min() <= by_cut.min():
        ridge = max(float(ridges[by_ridge.argmin(), 0]) - given, 0.0)
        return second + ridge * np.eye(len(first)), first
    return second, vectors @ (along * np.maximum(1 - cuts[by_cut.argmin()] / squares, 0.0))


def of_likely_signal(
    second: np.ndarray, first: np.ndarray, variances: tuple[float, float], n_rows: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return (H′, b′) such that H′⁻¹b′ is the posterior mean of w if there is a signal, the chance of one, and by
    how much coordinates along eigenvectors shrink (the median).

    H and b = Hw have noise of these `variances` per entry of b and of H off its diagonal. Eigenvalues d are corrected
    for the noise, and shrink to their mean if their spread is that of noise. Along eigenvectors, w is normal a priori,
    about as explanatory in each direction. An error of H is noise of b that grows with w: in direction i, its variance
    is that of an entry times the mean of w_j²·(d_i − d_j)²/((d_i − d_j)² + variance) over j.
    """
    k, (of_first, of_second) = len(first), variances
    values, vectors = np.linalg.eigh(second)
    pushed = np.maximum(values - repulsion(values, of_second, 4 * of_second), 0.0)
    spread = max(float(((values - values.mean()) ** 2).sum()) - (k * (k + 1) - 2) * of_second, 0.0)
    around = pushed - pushed.mean()
    kept = min(1.0, math.sqrt(spread / max(float((around**2).sum()), 1e-300)))
    values = np.clip(pushed.mean() + kept * around, TUNED.least_eigenvalue * math.sqrt(of_second), None)
    along, mean = first @ vectors, float(values.mean())
    gaps = (values[:, None] - values) ** 2
    apart = (gaps / (gaps + of_second)).mean(axis=1)
    shape = 1 / (values / mean + TUNED.broadest_prior)
    prior = _EXPLAINED * n_rows * shape / (values @ shape)
    noise = of_first + of_second * np.minimum(_EXPLAINED * n_rows / mean, 4 * k) * apart
    whole = prior * values**2 + noise
    chances = -(np.log(whole) + along**2 / whole).sum(axis=1) / 2
    nothing = -float((math.log(of_first) + along**2 / of_first).sum()) / 2
    weights = np.exp(chances - chances.max())
    odds = TUNED.no_signal / (1 - TUNED.no_signal) * len(weights)
    odds = odds * math.exp(min(nothing - chances.max(), 50.0)) / weights.sum()
    shares = (weights / weights.sum()) @ (prior * values**2 / whole)
    return (vectors * values) @ vectors.T, vectors @ (shares * along), 1 / (1 + odds), 1 - float(np.median(shares))


def towards_mean(weights: np.ndarray, second: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return weights (d,) whose slopes shrink by the share of the explained mean square that noise explains.

    The last feature is constant. `second` (d, d) are second moments, `noise` (d, d) is the covariance of the weights'
    noise. The prediction at the mean of the features stays (James and Stein 1961).
    """
    means = second[:-1, -1] / second[-1, -1]
    around = second[:-1, :-1] - np.outer(means, means) * second[-1, -1]
    slopes = weights[:-1]
    explained, by_noise = float(slopes @ around @ slopes), float((around * noise[:-1, :-1]).sum())
    kept = max(0.0, 1 - by_noise / max(explained, 1e-300))
    return np.append(kept * slopes, weights[-1] + (1 - kept) * means @ slopes)


def averaged_noise(curvature: np.ndarray, steps: int) -> np.ndarray:
    """Return the noise of the mean of all points but the first two steps', over the noise of a step.

    `curvature` (d,) is over that of the metric. Where it is less, noise of later steps adds to that of earlier ones.
    """
    missed = 1 - np.clip(curvature, TUNED.least_curvature, 1)
    ages = np.arange(2, steps)[:, None] - np.arange(steps)  # of the noise of a step at one of the points
    left = np.where(ages >= 0, missed[:, None, None] ** np.maximum(ages, 0), 0.0).mean(axis=1)
    return np.sqrt(np.asarray((left**2).sum(axis=1)))


def bounded_mean(noisy: float, deviation: float) -> float:
    """Return the mean of a number in [−1, 1], uniform a priori, given its value with normal noise."""
    points = np.linspace(-1, 1, 1001)
    costs = ((points - noisy) / max(deviation, 1e-6)) ** 2 / 2
    weights = np.exp(costs.min() - costs)
    return float(points @ weights / weights.sum()) if deviation > 0.01 else min(max(noisy, -1.0), 1.0)


def signal_share(weights: np.ndarray, variance: float, doubt: float = 0.0) -> float:
    """Return the share of the squared length that noise of this variance per weight does not explain.

    Weights times this share are the estimate of James and Stein (1961), its positive part. With `doubt`, noise counts
    as longer by so many standard deviations of its squared length.
    """
    explained = (weights.size + doubt * math.sqrt(2 * weights.size)) * variance
    return max(0.0, 1 - explained / max(float((weights**2).sum()), 1e-300))
