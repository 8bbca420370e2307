"""Edges of bins, learned from noisy fine histograms."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import GaussianDP, PureDP
from gaugedp.mechanisms import Gaussian, Laplace
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import released


def cells_within(low: float, high: float, *, n_equal: int = 64, halvings: int = 15) -> np.ndarray:
    """Return the public edges of fine cells: equal widths, and halvings towards 0 or the end nearest to it."""
    base = min(max(low, 0.0), high)
    far = np.array([low, high]) - base
    halved = base + np.multiply.outer(far, 2.0 ** -np.arange(1, halvings + 1)).ravel()
    return np.unique(np.concatenate([np.linspace(low, high, n_equal + 1), halved, [base]]))


class LearnedBins(NamedTuple):
    """Edges (B + 1,) of bins, their noisy shares (B,) of the rows, and about the deviation of a share."""

    edges: np.ndarray
    weights: np.ndarray
    deviation: float = math.inf

    @property
    def groups(self) -> np.ndarray:
        """The groups (B,) of neighbouring bins, numbered from 0, whose shares exceed their noise."""
        sizes, lengths = (self.weights + TUNED.step_width / len(self.weights)).tolist(), [1] * len(self.weights)
        least = TUNED.step_deviations * self.deviation
        while len(sizes) > 1 and (len(sizes) > TUNED.steps or min(sizes) < least):
            j = int(np.argmin(sizes))
            i = j if j == 0 or (j + 1 < len(sizes) and sizes[j + 1] < sizes[j - 1]) else j - 1
            for of in (sizes, lengths):
                of[i : i + 2] = [of[i] + of[i + 1]]
        return np.repeat(np.arange(len(sizes)), lengths)


@dataclass(frozen=True, eq=False)
class BinSearch:
    """Bins of about equal noisy counts and widths.

    `cells` are the public fine cells of each column.

    Theorem. A row is in one cell of each of the m columns: all counts change by √m in the ℓ₂ norm and by m in the ℓ₁
    norm if it is added or removed, by √(2m) and 2m if it is replaced. Gaussian noise for the first is μ-GDP, Laplace
    noise for the second ε-DP; the edges are a function of the noisy counts. docs/theory/additive_models.md
    """

    cells: tuple[np.ndarray, ...]
    noise: AdditiveNoise

    @classmethod
    def calibrate(cls, cells: tuple[np.ndarray, ...], guarantee: GaussianDP | PureDP, neighbours: str) -> "BinSearch":
        """Return the search for fine cells of m columns."""
        size = sum(len(edges) - 1 for edges in cells)
        moved = len(cells) * (2.0 if neighbours == "replace" else 1.0)
        if isinstance(guarantee, GaussianDP):
            return cls(cells, Gaussian.calibrate(LpBall(size, 2, math.sqrt(moved) * (1 + 2.0**-40)), guarantee))
        return cls(cells, Laplace.calibrate(LpBall(size, 1, moved), guarantee))

    def find(self, columns: np.ndarray, n_bins: int, rng: Entropy) -> list[LearnedBins]:
        """Return at most about `n_bins` bins of each column (n, m) within its bounds."""
        exact = [
            np.bincount(np.searchsorted(edges[1:-1], column, side="right"), minlength=len(edges) - 1)
            for edges, column in zip(self.cells, columns.T, strict=True)
        ]
        noisy = released(np.concatenate(exact).astype(float), self.noise, rng)
        ends, spread = np.cumsum([len(counts) for counts in exact]), math.sqrt(float(self.noise.variances.max()))
        parts = zip(self.cells, np.split(noisy, ends[:-1]), strict=True)
        return [merged(edges, counts, spread, n_bins) for edges, counts in parts]


def merged(edges: np.ndarray, counts: np.ndarray, spread: float, n_bins: int) -> LearnedBins:
    """Return bins between quantiles of a mixture of noisy counts and widths.

    A cell that is itself more than a bin stays apart.
    """
    deviation = spread / max(float(counts.sum()), 1.0)
    noise = deviation * math.sqrt(len(counts))
    visible = np.maximum(counts - TUNED.count_deviations * spread, 0.0)
    if noise > TUNED.most_bin_noise or visible.sum() == 0:
        return LearnedBins(*equal_bins(float(edges[0]), float(edges[-1]), n_bins))
    shares, widths = visible / visible.sum(), np.diff(edges) / (edges[-1] - edges[0])
    mixed = shares + (TUNED.even_bins + TUNED.even_bins_by_noise * noise) * widths
    upto = np.append(0.0, np.cumsum(mixed)) / mixed.sum()
    heavy = np.flatnonzero(np.diff(upto) > 1 / n_bins)
    quantiles = np.searchsorted(upto, np.arange(1, n_bins) / n_bins)
    inside = np.unique(np.concatenate([quantiles, heavy, heavy + 1]))
    inside = np.concatenate([[0], inside[(inside > 0) & (inside < len(edges) - 1)], [len(edges) - 1]])
    return LearnedBins(edges[inside], np.add.reduceat(shares, inside[:-1]), deviation)


def equal_bins(low: float, high: float, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return edges of equal width, and uniform shares."""
    return np.linspace(low, high, n_bins + 1), np.full(n_bins, 1 / n_bins)
