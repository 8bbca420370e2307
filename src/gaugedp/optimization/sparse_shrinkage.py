"""Numbers of which many may be noise alone, shrunk: a function of released numbers."""

import numpy as np

_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0])  # of numbers that are not noise alone
_LEAST_VARIANCE, _N_VARIANCES = 0.25, 16  # of those, over that of the noise; the largest is that of the largest number
_FARTHEST = 1e12


def shrink_factors(scores: np.ndarray) -> np.ndarray:
    """Return factors (k,) in [0, 1] for numbers (k,) given in standard deviations of their noise.

    Empirical Bayes: a share w of the true numbers is N(0, t) and the others are 0. (w, t) is the pair of a grid with
    the largest likelihood under unit normal noise, and factor·number is the posterior mean (Johnstone and Silverman
    2004, with a normal slab). One number alone says nothing about w: its factor is 1.
    """
    if len(scores) < 2:
        return np.ones(len(scores))
    scores = np.clip(scores, -_FARTHEST, _FARTHEST)
    variances = np.geomspace(_LEAST_VARIANCE, max(4.0, float((scores**2).max())), _N_VARIANCES)
    total = 1 + variances
    log_slab = -(scores[:, None] ** 2) / (2 * total) - np.log(total) / 2  # (k, number of variances)
    log_spike = np.repeat(-(scores[:, None] ** 2) / 2, len(total), axis=1)
    with np.errstate(divide="ignore"):  # where w is 1, no number is noise alone
        logs = np.logaddexp(np.log(_SHARES) + log_slab[:, :, None], np.log1p(-_SHARES) + log_spike[:, :, None])
    place, share = np.unravel_index(logs.sum(axis=0).argmax(), logs.shape[1:])
    chance = np.exp(np.log(_SHARES[share]) + log_slab[:, place] - logs[:, place, share])
    return chance * variances[place] / total[place]
