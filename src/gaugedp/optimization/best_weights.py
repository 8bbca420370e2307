"""Where the best weights are, told by noisy moments and noisy gradients: a normal law, of post-processing."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri


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


@dataclass(frozen=True, eq=False)
class Seen:
    """What was released: `second` = H + E, and mean gradients `gradient` = H·point − b + e at the mean `point`.

    `raised` is `second` with its eigenvalues raised above noise.
    """

    second: np.ndarray
    raised: np.ndarray
    point: np.ndarray
    gradient: np.ndarray

    def within(self, span: np.ndarray) -> "Seen":
        """Return the same for rows that lie in the range of `span` (d, r), whose columns are orthonormal."""
        second, raised = (span.T @ matrix @ span for matrix in (self.second, self.raised))
        return Seen(second, raised, span.T @ self.point, span.T @ self.gradient)

    def best(self, of_moments: float, of_gradient: float, mean_square: float, bend: float = 0.0) -> Normal:
        """Return the law of β in t = ⟨β, x⟩ + a residual of mean square `mean_square` that does not depend on x.

        `of_moments` and `of_gradient` are the variances of a coordinate of E, in the Frobenius norm's, and of e.
        `bend` bounds how fast H changes along a row of norm 1, as a share of H: 0 for squares, 1 for logistic loss.
        (H + E)(w − β) = −e + E(point − β) + Σ x·residual for w = point − (H + E)⁻¹·gradient.
        docs/theory/least_squares.md
        """
        inverse, d = np.linalg.pinv(self.second), len(self.point)
        mean = self.point - inverse @ self.gradient
        right = of_gradient * np.eye(d) + mean_square * self.raised
        away = np.outer(self.point - mean, self.point - mean) + inverse @ right @ inverse
        right += of_moments / 2 * (np.trace(away) * np.eye(d) + away)
        right += (bend / 2 * np.trace(self.raised @ away)) ** 2 / d * np.eye(d)
        return Normal(mean, inverse @ right @ inverse)
