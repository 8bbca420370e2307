"""Empirical Bayes group means from noisy sums and counts."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.optimization.tuning import TUNED

LEAST_VARIANCE = 1e-12  # of noise: that of rounded noise may be 0


@dataclass(frozen=True)
class Groups:
    """Released sums and counts per group, with noise variances."""

    sums: np.ndarray
    counts: np.ndarray
    variance: float
    count_variance: float

    def with_more(self, second: "Groups") -> "Groups":
        """Return the precision-weighted mean of two releases."""
        weight = second.variance / (self.variance + second.variance)
        complement = 1 - weight
        sums, counts = (
            weight * a + complement * b for a, b in ((self.sums, second.sums), (self.counts, second.counts))
        )
        return Groups(sums, counts, weight * self.variance, weight * self.count_variance)

    @property
    def sizes(self) -> np.ndarray:
        """Counts shrunk to their mean, at least 0."""
        mean = max(float(self.counts.mean()), 0.0)
        spread = max(float(self.counts.var()) - self.count_variance, 0.0)
        factor = spread / (spread + self.count_variance + LEAST_VARIANCE)
        return np.maximum(mean + factor * (self.counts - mean), 0.0)

    def means(self, centre: float, within: float) -> tuple[np.ndarray, float]:
        """Return shrunk offsets of the means from `centre`, and τ².

        With n values of variance `within` in a group whose mean is off by a ~ N(0, τ²), the sum less n·centre is n·a +
        N(0, n·within + noise); the first array is the posterior mean of a. τ² is estimated by the method of moments and
        shrunk to within/20 ± within/10 according to its noise.
        """
        sizes = self.sizes
        off = self.sums - centre * self.counts
        noise = self.variance + centre * centre * self.count_variance
        squares = float((self.counts**2).sum()) - len(sizes) * self.count_variance
        squares = max(squares, float((sizes**2).sum()), LEAST_VARIANCE)
        estimate = float((off**2).sum() - (sizes * within + noise).sum()) / squares
        doubt = (2 * noise * math.sqrt(len(sizes)) / squares) ** 2
        guess, width = within / TUNED.values_per_mean, (2 * within / TUNED.values_per_mean) ** 2
        spread = min(max((estimate * width + guess * doubt) / (width + doubt), 0.0), 1.0)
        return sizes * spread * off / (sizes**2 * spread + sizes * within + noise + LEAST_VARIANCE), spread


def gain(sizes: np.ndarray, spread: float, within: float, noise: float) -> float:
    """Return the reduction of a value's mean square error by such estimates of the groups' means.

    It is n²τ⁴/(n²τ² + n·within + noise), averaged over values in groups of n, whose means have variance τ² = `spread`.
    """
    total = float(sizes.sum())
    gains = sizes**2 * spread**2 / (sizes**2 * spread + sizes * within + noise + LEAST_VARIANCE)
    return float((sizes * gains).sum()) / max(total, LEAST_VARIANCE)
