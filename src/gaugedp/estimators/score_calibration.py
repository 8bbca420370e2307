"""Calibration of class scores by noisy counts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp.estimators.tuning import TUNED

_EDGES = np.array([-2.5, -1.3, -0.5, 0.0, 0.5, 1.3, 2.5])  # of differences of compressed scores
_MIDDLES = np.array([-3.0, -1.9, -0.9, -0.25, 0.25, 0.9, 1.9, 3.0])
_SLOPES, _OFFSETS = np.geomspace(TUNED.least_slope, 4.0, 10), np.linspace(-2, 2, 17)
_SWEEPS = 2  # over the offsets


def compressed(scores: np.ndarray) -> np.ndarray:
    """Return scores (n, K) relative to the largest, about logarithmic where they are large; their order stays."""
    return -np.arcsinh((scores.max(axis=1, keepdims=True) - scores) / 2)


def n_cells(n_classes: int) -> int:
    """Return the number of cells: pairs of classes × labels × intervals."""
    return n_classes * (n_classes - 1) * len(_MIDDLES)


def cells_of(scores: np.ndarray, log_priors: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the cell (n,) of each row: its two likeliest classes, which of them its label is, and their difference.

    It is −1 if its label is neither. A row's cell depends on that row, and on its scores (K,) and log-priors, only.
    """
    n_classes, places = scores.shape[1], np.arange(len(scores))
    likeliest = np.argsort(-(scores + log_priors), axis=1, kind="stable")[:, :2]
    first, second = np.sort(likeliest, axis=1).T
    levels = compressed(scores)
    interval = np.searchsorted(_EDGES, levels[places, second] - levels[places, first])
    pair = first * (2 * n_classes - first - 1) // 2 + second - first - 1
    cells = (2 * pair + (codes == second)) * len(_MIDDLES) + interval
    return np.where((codes == first) | (codes == second), cells, -1)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds of the classes: slope · compressed scores + offsets (K,)."""

    slope: float
    offsets: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return calibrated scores (n, K); two classes keep their order, as the slope is positive."""
        return self.slope * compressed(scores) + self.offsets

    @classmethod
    def fitted(cls, counts: np.ndarray, deviation: float, log_priors: np.ndarray) -> "Calibration":
        """Return the posterior mean, given noisy counts (`n_cells`,) and the deviation of their noise.

        A priori the log-odds of two classes with equal scores are those of `log_priors`, up to a normal offset, and all
        slopes are equally likely. Each interval shows the share of one class there, with noise of its own.
        """
        cells = _Cells(counts, deviation, log_priors)
        each = [cells.offsets(slope) for slope in _SLOPES]
        chances = np.array([chance for chance, _ in each])
        weights = np.exp(chances - chances.max())
        weights /= weights.sum()
        return cls(float(weights @ _SLOPES), weights @ np.array([offsets for _, offsets in each]))


class _Cells:
    """Noisy counts by pair of classes, and their likelihood."""

    def __init__(self, counts: np.ndarray, deviation: float, log_priors: np.ndarray) -> None:
        self.n_classes, self.noise = len(log_priors), deviation**2
        self.first, self.second = np.triu_indices(self.n_classes, 1)
        self.counts = counts.reshape(len(self.first), 2, len(_MIDDLES))
        self.rows = np.maximum(self.counts.sum(axis=1), 0.0)
        self.odds = log_priors[self.second] - log_priors[self.first]

    def likelihood(self, slope: float, shifts: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the log-likelihood (...) of log-odds with a slope and shifts (..., pairs)."""
        share = scipy.special.expit(slope * _MIDDLES + (self.odds[pairs] + shifts)[..., None])
        counts = self.counts[pairs]
        left = (1 - share) * counts[:, 1] - share * counts[:, 0]
        variance = self.noise * ((1 - share) ** 2 + share**2) + self.rows[pairs] * share * (1 - share) + 1e-3
        return np.asarray(-(left**2 / variance + np.log(variance)).sum(axis=(-1, -2)) / 2)

    def offsets(self, slope: float) -> tuple[float, np.ndarray]:
        """Return the chance of a slope and the offsets (K,): posterior means of each in turn, given the others."""
        offsets = np.zeros(self.n_classes)
        shifts: Callable[[], np.ndarray] = lambda: offsets[self.second] - offsets[self.first]  # noqa: E731
        prior = _OFFSETS**2 / (2 * TUNED.offset_deviation**2)
        for k in (1,) if self.n_classes == 2 else list(range(self.n_classes)) * _SWEEPS:
            offsets[k] = 0.0
            pairs = np.flatnonzero((self.first == k) | (self.second == k))
            signs = np.where(self.second[pairs] == k, 1.0, -1.0)
            chances = self.likelihood(slope, shifts()[pairs] + _OFFSETS[:, None] * signs, pairs) - prior
            weights = np.exp(chances - chances.max())
            offsets[k] = weights @ _OFFSETS / weights.sum()
        unlikely = float((offsets**2).sum()) / (2 * TUNED.offset_deviation**2)
        return float(self.likelihood(slope, shifts(), np.arange(len(self.first)))) - unlikely, offsets
