"""Where the best weights are, told by noisy moments and noisy steps: a normal law, of post-processing."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri

_DOUBT = 0.9  # deviations of E that an eigenvalue may be off, beside its vector's; chosen by coverage


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal weights: their mean (d,) and covariance (d, d)."""

    mean: np.ndarray
    covariance: np.ndarray

    def mapped(self, matrix: np.ndarray, shift: np.ndarray) -> "Normal":
        """Return the law of matrix·w + shift."""
        return Normal(matrix @ self.mean + shift, matrix @ self.covariance @ matrix.T)

    @property
    def deviations(self) -> np.ndarray:
        """The standard errors (d,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (lower, upper), each (d,): every one of them holds its weight with probability `level`."""
        half_widths = float(ndtri((1 + level) / 2)) * self.deviations
        return self.mean - half_widths, self.mean + half_widths


@dataclass(frozen=True)
class Leg:
    """Steps in one metric: their number, what its eigenvalues are raised to, the deviation of a gradient's noise."""

    n_steps: int
    least: float
    noise: float


@dataclass(frozen=True, eq=False)
class Seen:
    """What was released: `second` = H + E, and mean gradients `gradient` = H·point − b + e at the mean `point`.

    The steps start at 0 and go in `legs`; the means leave out the first `skipped` of the last leg. `deviation` is that
    of a coordinate of E, in the Frobenius norm's.
    """

    second: np.ndarray
    point: np.ndarray
    gradient: np.ndarray
    deviation: float
    legs: tuple[Leg, ...]
    skipped: int

    def within(self, span: np.ndarray) -> "Seen":
        """Return the same for rows that lie in the range of `span` (d, r), whose columns are orthonormal."""
        seen = span.T @ self.second @ span, span.T @ self.point, span.T @ self.gradient
        return Seen(*seen, self.deviation, self.legs, self.skipped)

    def best(self, mean_square: float, bend: float = 0.0) -> Normal:
        """Return the law of β in t = ⟨β, x⟩ + a residual of mean square `mean_square` that does not depend on x.

        `bend` says by which share logistic weights come out too long: of the mean of vᵀHv, v how far steps are off.
        Steps go on as their noise, H and the raised eigenvalues say; what they leave of the way from 0 is made up for.
        docs/theory/least_squares.md, newton.md
        """
        values, vectors = np.linalg.eigh(self.second)
        curvature, last = self._curvature(values), np.maximum(values, self.legs[-1].least)
        off, kept = self._off(values, curvature, mean_square), self.legs[-1].n_steps - self.skipped
        before, after = off[-1 - kept : -1], off[-kept:].mean(axis=0)
        gone = 1 - after[:, 0]
        middle = (vectors.T @ self.point - vectors.T @ self.gradient / last) / gone
        spread = (before[:, :, 1:] ** 2).sum(axis=2) + (before[:, :, 0] * middle) ** 2
        longer = bend * (spread @ curvature).mean() * curvature / last * middle / gone
        told = np.diag((after[:, 1:] ** 2).sum(axis=1) / gone**2)
        mean, inverse = vectors @ middle, (vectors / (last * gone)) @ vectors.T
        away = np.outer(self.point - mean, self.point - mean) + vectors @ told @ vectors.T
        moved = self.deviation**2 / 2 * (np.trace(away) * np.eye(len(mean)) + away)
        told += np.outer(longer, longer)
        return Normal(mean, vectors @ told @ vectors.T + inverse @ moved @ inverse)

    def _curvature(self, values: np.ndarray) -> np.ndarray:
        """Return the means of eigenvalues of H, none below 0, given those of H + E."""
        doubt = max(_DOUBT * self.deviation, 1e-300)
        ratio = np.clip(values / doubt, -30.0, 30.0)
        above = np.exp(-(ratio**2) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(ratio))
        return np.asarray(np.maximum(values, -30 * doubt) + doubt * above)

    def _off(self, values: np.ndarray, curvature: np.ndarray, mean_square: float) -> np.ndarray:
        """Return how far each point is off along each eigenvector: its parts of −β, the rows, and the gradients' noise.

        Shape (points, d, 2 + steps).
        """
        found = [np.zeros((len(values), 2 + sum(leg.n_steps for leg in self.legs)))]
        found[0][:, 0] = 1.0
        for leg in self.legs:
            for _ in range(leg.n_steps):
                slope = curvature[:, None] * found[-1]
                slope[:, 1] += np.sqrt(mean_square * curvature)
                slope[:, 1 + len(found)] += leg.noise
                found.append(found[-1] - slope / np.maximum(values, leg.least)[:, None])
        return np.array(found)
