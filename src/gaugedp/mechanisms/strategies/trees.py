"""Weighted trees for prefix sums and ranges under Laplace noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.mechanisms.strategies.base import UP, PrefixStrategy
from gaugedp.mechanisms.strategies.weights import best_weights


@dataclass(frozen=True, eq=False)
class TreeStrategy(PrefixStrategy):
    """L = F·A⁺, A the weighted block counts of a tree.

    Levels 0 … h have weights c_l; a block of level l has s_l = k^(h − l) cells, k^h ≥ n. Let Q_l average over the
    blocks of level l and P_l = Q_l − Q_{l−1}. AᵀA = Σ_l c_l²·s_l·Q_l has on the image of P_l the eigenvalue λ_l = Σ_{m
    ≥ l} c_m²·s_m (docs/theory/matrix.md, section 5; Hay, Rastogi, Miklau and Suciu 2010). Cells beyond n are empty.
    """

    n_cells: int
    branching: int
    weights: np.ndarray
    radius: float

    @property
    def n_noise(self) -> int:
        """The number of blocks of all levels."""
        return sum(self._counts)

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return running sums of Σ_l λ_l⁻¹·P_l·Aᵀ·unit, by tree passes."""
        size, levels = len(unit), np.split(unit, np.cumsum(self._counts)[:-1], axis=1)
        totals = [np.zeros((size, 0))] * len(levels)
        below = np.zeros((size, self._counts[-1]))
        for level in range(len(levels) - 1, -1, -1):
            totals[level] = below + self.weights[level] * self._sizes[level] * levels[level]
            below = totals[level].reshape(size, -1, self.branching if level else 1).sum(axis=2)
        means = totals[0] / (self._sizes[0] * self._eigenvalues[0])
        for level in range(1, len(levels)):
            siblings = totals[level].reshape(size, -1, self.branching)
            apart = siblings - siblings.mean(axis=2, keepdims=True)
            means = np.repeat(means, self.branching, axis=1)
            means += apart.reshape(size, -1) / (self._sizes[level] * self._eigenvalues[level])
        return np.cumsum(means[:, : self.n_cells], axis=1)

    def cells(self) -> np.ndarray:
        """Return the weighted block counts."""
        place, n = np.arange(self.n_cells), self.n_cells
        return np.vstack([
            weight * (np.arange(count)[:, None] == place // size)
            for weight, count, size in zip(self.weights, self._counts, self._sizes, strict=True)
        ]).reshape(-1, n)  # fmt: skip

    @cached_property
    def squares(self) -> np.ndarray:
        """Σ_l λ_l⁻¹·‖P_l f‖² for each prefix f."""
        ends = np.arange(1.0, self.n_cells + 1)
        return self._summed(lambda size: size * (ends // size) + (ends % size) ** 2 / size)

    @cached_property
    def largest(self) -> np.ndarray:
        """max_l c_l·s_l·Σ_{m ≤ l} 1/λ_m, as projected prefixes have no entry above 1."""
        return np.full(self.n_cells, float((self.weights * self._sizes * np.cumsum(1 / self._eigenvalues)).max()))

    def covariance(self) -> np.ndarray:
        """Return Σ_l λ_l⁻¹·⟨P_l f, P_l g⟩ over prefix pairs."""
        ends = np.arange(1.0, self.n_cells + 1)
        first, last = np.minimum.outer(ends, ends), np.maximum.outer(ends, ends)

        def products(size: int) -> np.ndarray:
            blocks = first // size
            reach = np.minimum(last - size * blocks, size) / size  # of the later prefix, in the first one's last block
            return size * blocks + first % size * reach

        return self._summed(products)

    def describe(self) -> str:
        """Return its shape."""
        return f"a tree of {len(self.weights)} levels, branching {self.branching}"

    @property
    def _sizes(self) -> list[int]:
        return block_sizes(self.branching, len(self.weights) - 1)

    @property
    def _counts(self) -> list[int]:
        return self._sizes[::-1]

    @cached_property
    def _eigenvalues(self) -> np.ndarray:
        return np.cumsum((self.weights**2 * self._sizes)[::-1])[::-1]

    def _summed(self, inner: Callable[[int], np.ndarray]) -> np.ndarray:
        """Return Σ_l λ_l⁻¹·(inner(s_l) − inner(s_{l−1})) for products of block averages."""
        inverse = 1 / self._eigenvalues
        steps = inverse - np.append(inverse[1:], 0.0)
        parts = (step * inner(size) for step, size in zip(steps, self._sizes, strict=True))
        return np.asarray(sum(parts, np.zeros(1)))


def block_sizes(branching: int, height: int) -> list[int]:
    """Return k^h, …, k, 1."""
    return [branching**level for level in range(height, -1, -1)]


def best_tree(n: int, ranges: bool, coefficient_radius: float = 1.0) -> TreeStrategy:
    """Return the best tree for prefix sums, or ranges."""
    trees = [(weighted_levels(sizes, _demand(n, sizes, ranges)), sizes) for sizes in shapes(n)]
    (_, weights), sizes = min(trees, key=lambda tree: tree[0][0])
    return TreeStrategy(n, sizes[-2] if len(sizes) > 1 else 2, weights, coefficient_radius * float(weights.sum()) * UP)


def shapes(n_cells: int) -> list[list[int]]:
    """Return the block sizes k^h, …, k, 1 of trees to try."""
    branchings = {max(2, math.ceil(n_cells ** (1 / height) - 1e-9)) for height in range(1, 18)}
    return [block_sizes(branching, height_for(n_cells, branching)) for branching in sorted(branchings)]


def height_for(n_cells: int, branching: int) -> int:
    """Return the least h with branching^h ≥ n."""
    height = 0
    while branching**height < n_cells:
        height += 1
    return height


def weighted_levels(sizes: list[int], demand: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the least (Σc)²·Σ_l demand_l/λ_l and its weights c. demand_l = tr(F·P_l·Fᵀ)."""
    parts = np.triu(np.tile(np.array(sizes, dtype=float), (len(sizes), 1)))
    weights = best_weights(parts, np.maximum(demand, 0.0))
    cost = float(weights.sum()) ** 2 * float((demand / (parts @ weights**2)).sum())
    return cost, weights


def _demand(n_cells: int, sizes: list[int], ranges: bool) -> np.ndarray:
    return np.diff([_averaged_trace(n_cells, size, ranges) for size in sizes], prepend=0.0)


def _averaged_trace(n_cells: int, size: int, ranges: bool) -> float:
    """Return tr(F·Q·Fᵀ) for averages Q over blocks of `size`."""
    place = np.arange(n_cells, dtype=float)
    ahead = place % size
    pairs = 2 * ahead + 1.0
    if ranges:
        pairs = place + 1 + 2 * (ahead * (place - ahead) + ahead * (ahead + 1) / 2)
    return float(((n_cells - place) * pairs).sum()) / size
