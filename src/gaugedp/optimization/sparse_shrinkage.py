"""Shrinkage of noisy numbers, many of which may be 0."""

import numpy as np

_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0])  # of numbers that are not 0


def posterior_means(scores: np.ndarray) -> np.ndarray:
    """Return estimates (k,) of the true numbers. Post-processing.

    The numbers (k,) are given in standard deviations of their noise. Empirical Bayes: a share w of the true numbers is
    N(c, t) or N(−c, t), each sign as often, and the others are 0. (w, c, t) maximises over a grid the likelihood under
    unit normal noise, over e if c is not 0 (Akaike 1974), and the posterior mean is returned (Johnstone and Silverman
    2004, with a normal slab). A single number carries no information on w and is returned unchanged.
    """
    if len(scores) < 2:
        return scores
    farthest = 1e12  # beyond it, shrinkage is less than the rounding of floats
    return np.where(np.abs(scores) < farthest, _shrunk(np.clip(scores, -farthest, farthest)), scores)


def _shrunk(scores: np.ndarray) -> np.ndarray:
    centres, variances = _slabs(float(np.abs(scores).max()))
    off, total = scores[:, None, None] - centres[:, None] * [1, -1], 1 + variances[:, None]
    log_sides = -(off**2) / (2 * total) - np.log(4 * total) / 2  # (k, number of slabs, 2)
    log_slab = np.logaddexp(log_sides[..., 0], log_sides[..., 1])
    log_spike = -(scores[:, None, None] ** 2) / 2
    with np.errstate(divide="ignore"):  # at w = 1 no true number is 0
        logs = np.logaddexp(np.log(_SHARES) + log_slab[:, :, None], np.log1p(-_SHARES) + log_spike)
    place, share = np.unravel_index((logs.sum(axis=0) - (centres[:, None] > 0)).argmax(), logs.shape[1:])
    chances = np.exp(np.log(_SHARES[share]) + log_sides[:, place] - logs[:, place, share, None])  # (k, 2)
    return (chances * (scores[:, None] - off[:, place] / total[place])).sum(axis=1)


def _slabs(largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the c and t of the grid; for c > 0, t is small enough to separate the two signs."""
    variances = np.geomspace(0.25, max(4.0, largest**2), 16)
    centres = np.append(0.0, np.geomspace(1.5, max(2.0, largest), 10))
    c, t = (grid.ravel() for grid in np.meshgrid(centres, variances))
    is_real = (c == 0) | (4 * t <= c * c)
    return c[is_real], t[is_real]
