"""Strategies of block sums for large explicit queries.

The order of the cells affects the accuracy, but not the guarantee.
"""

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.strategies.dense import Dense
from gaugedp.mechanisms.strategies.toeplitz import square_root, toeplitz
from gaugedp.mechanisms.strategies.trees import shapes, weighted_levels


def carried_prefixes(body: Polytope, columns: np.ndarray) -> Dense:
    """Return L = F·P⁻¹·T, P = T·T the prefix sums: F·e_j = L·(T·e_j)."""
    closed_form = toeplitz(body)
    steps = columns - np.pad(columns[:, 1:], ((0, 0), (0, 1)))
    lags = np.subtract.outer(np.arange(closed_form.n_cells), np.arange(closed_form.n_cells))
    root = np.where(lags >= 0, square_root(closed_form.n_cells)[np.maximum(lags, 0)], 0.0)
    return Dense(steps @ root, closed_form.radius, f"{closed_form.describe()} of the prefix sums")


def levelled(body: Polytope, columns: np.ndarray, weights: np.ndarray | None) -> Dense:
    """Return L = F·Σ_l t_l·P_l for normal noise.

    P_l = Q_l − Q_{l−1}, Q_l the averages over nested blocks of s_l cells. F·e_j = L·u_j with u_j = Σ_l P_l·e_j/t_l and
    ‖P_l·e_j‖² = 1/s_l − 1/s_{l−1}for all cells. t_l and branching are optimal (docs/theory/matrix.md, section 4).
    """
    trees = [(_noise(columns, sizes, weights), sizes) for sizes in shapes(columns.shape[1])]
    (_, squares), sizes = min(trees, key=lambda tree: tree[0][0])
    factor = _levels(columns, sizes, np.sqrt(squares))
    return Dense(factor, _radius(body, sizes, squares), f"averages over blocks of {_in_words(sizes)} cells")


def laplace_blocks(body: Polytope, columns: np.ndarray, weights: np.ndarray | None) -> Dense:
    """Return L = F·A⁺ for Laplace noise, A block counts."""
    scaled = _scaled(columns, weights)
    trees = [(weighted_levels(sizes, _demand(scaled, sizes)), sizes) for sizes in shapes(columns.shape[1])]
    (_, levels), sizes = min(trees, key=lambda tree: tree[0][0])
    inverse = 1 / np.cumsum((levels**2 * sizes)[::-1])[::-1]
    middle = _levels(columns, sizes, inverse)
    factor = np.hstack([c * _sums(middle, size) for c, size in zip(levels, sizes, strict=True)])
    radius = body.coefficient_radius * float(levels.sum()) * UP
    return Dense(factor, radius, f"counts of blocks of {_in_words(sizes)} cells")


def block_sums(columns: np.ndarray) -> np.ndarray:
    """Return the block counts above the cells, in the best weights relative to these, shape (blocks, n)."""
    trees = [(weighted_levels(sizes, _demand(columns, sizes)), sizes) for sizes in shapes(columns.shape[1])]
    (_, levels), sizes = min(trees, key=lambda tree: tree[0][0])
    cells = np.eye(columns.shape[1])
    return np.hstack([c / levels[-1] * _sums(cells, size) for c, size in zip(levels[:-1], sizes[:-1], strict=True)]).T


def _noise(columns: np.ndarray, sizes: list[int], weights: np.ndarray | None) -> tuple[float, np.ndarray]:
    """Return (radius·‖W⁻¹L‖_F)² for added units, and its minimiser t_l² = (share_l/demand_l)^½."""
    demand = _demand(_scaled(columns, weights), sizes)
    shares = np.diff(1 / np.array(sizes, dtype=float), prepend=0.0)
    # 1e-12: share of the question below which a level counts as if it had that much
    positive = np.maximum(demand, 1e-12 * demand.sum())
    return float(np.sqrt(positive * shares).sum()) ** 2, np.sqrt(shares / positive)


def _radius(body: Polytope, sizes: list[int], squares: np.ndarray) -> float:
    """Return max ‖u_j‖; for replaced units, ‖u_i − u_j‖ over the levels."""
    inverse = 1 / np.array(sizes, dtype=float)
    parts = np.diff(inverse, prepend=0.0) / squares
    alone = float(parts.sum())
    if not body.differences:
        return body.factor * alone**0.5 * UP
    finer = np.append(np.cumsum(parts[::-1])[::-1][1:], 0.0)
    apart = max(float(square) for square in (2 * inverse / squares + 2 * finer)[1:])
    return body.factor * max(apart, alone if body.with_zero else 0.0) ** 0.5 * UP


def _demand(columns: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Return ‖F·P_l‖_F² for each level."""
    return np.maximum(np.diff([float((_sums(columns, size) ** 2).sum()) / size for size in sizes], prepend=0.0), 0.0)


def _levels(columns: np.ndarray, sizes: list[int], noise: np.ndarray) -> np.ndarray:
    """Return F·Σ_l noise_l·P_l, with the blocks' cells past the last one empty."""
    padded = np.pad(columns, ((0, 0), (0, sizes[0] - columns.shape[1])))
    steps = noise - np.append(noise[1:], 0.0)
    total = np.zeros_like(padded)
    for step, size in zip(steps, sizes, strict=True):
        total += np.repeat(_sums(padded, size) * (step / size), size, axis=1)
    return total


def _sums(columns: np.ndarray, size: int) -> np.ndarray:
    return np.add.reduceat(columns, np.arange(0, columns.shape[1], size), axis=1)


def _scaled(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return columns if weights is None else columns / np.asarray(weights, dtype=float)[:, None]


def _in_words(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes))
