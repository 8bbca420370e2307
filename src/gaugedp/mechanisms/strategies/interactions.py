"""Exact arithmetic for marginals: integer contrasts and rational radii."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.marginals import Axes, Interactions


def is_small(interactions: Interactions, n_noise: int) -> bool:
    """Return whether the noise is small enough to write out."""
    n_cells = sum(map(interactions.cells, interactions.sets))
    d = sum(map(interactions.cells, interactions.blocks))
    return max(n_cells, d, n_noise) <= 2**11 and max(d, n_noise) * n_cells <= 2**21


def contrasts(interactions: Interactions) -> tuple[np.ndarray, np.ndarray]:
    """Return integers Z (d, K) and N_S: Z/N_S is Σ_T (N_T/N_S)·∏_{a∈T}(1[i_a = t_a] − 1/n_a)."""
    sets, blocks = interactions.sets, interactions.blocks
    sizes = list(map(interactions.cells, blocks))
    rows, columns = _slices(interactions, blocks), _slices(interactions, sets)
    table = np.zeros((rows[-1].stop, columns[-1].stop))
    for row, block, places in zip(rows, blocks, interactions.inside_blocks, strict=True):
        for place in places:
            table[row, columns[place]] = _contrast(interactions, block, sets[place])
    return table, np.repeat(sizes, sizes).astype(float)


def _slices(interactions: Interactions, parts: list[Axes]) -> list[slice]:
    ends = np.cumsum([0, *map(interactions.cells, parts)]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def _contrast(interactions: Interactions, block: Axes, axes: Axes) -> np.ndarray:
    ordered = tuple(sorted(block))
    sizes = interactions.sizes(ordered)
    parts = [
        size * np.eye(size) - 1 if axis in axes else np.ones((size, 1))
        for axis, size in zip(ordered, sizes, strict=True)
    ]
    table = _product(parts).reshape(*sizes, -1)
    return table.transpose(*(ordered.index(axis) for axis in block), -1).reshape(-1, table.shape[-1])


def normal_square(body: Polytope, interactions: Interactions, factors: Sequence[float]) -> Fraction | None:
    """Return max ‖u‖² over the generators without factor, or None.

    u_T is the residual of cells over `factors`[T]. ‖P_T(e_i − e_j)‖² is 2·(∏(1 − 1/n_a) − ∏(1 − 1/n_a, or −1/n_a where
    i and j differ)), in rational numbers. None if there are too many ways to differ, or a move has no noise
    (differences need none of the total).
    """
    is_apart = body.differences and not body.with_zero
    if any(factor == 0 and (axes or not is_apart) for axes, factor in zip(interactions.sets, factors, strict=True)):
        return None
    squares = [1 / Fraction(factor) ** 2 if factor else Fraction(0) for factor in factors]
    alone = _total(interactions, squares, ())
    if not body.differences:
        return alone
    kinds = interactions.differences(64)  # kinds at most
    if kinds is None:
        return None
    apart = [2 * (alone - _total(interactions, squares, kind)) for kind in kinds]
    return max(apart + ([alone] if body.with_zero or not kinds else []))


def _total(interactions: Interactions, squares: list[Fraction], apart: Axes) -> Fraction:
    """Return Σ_T squares_T·∏_{a∈T}(1[a not apart] − 1/n_a)."""
    shape = interactions.structure.shape
    return sum(
        (
            square * math.prod((Fraction(int(a not in apart)) - Fraction(1, shape[a]) for a in axes), start=Fraction(1))
            for axes, square in zip(interactions.sets, squares, strict=True)
        ),
        Fraction(0),
    )


def spread(interactions: Interactions, factors: np.ndarray) -> np.ndarray:
    """Return H (K, k), factors[T, S] in row (T, t) and column (S, s ∈ t)."""
    sets = interactions.sets
    at = _slices(interactions, sets)
    table = np.zeros((at[-1].stop, at[-1].stop))
    for wider, places in enumerate(interactions.inside):
        for place in places:
            table[at[place], at[wider]] = _inside(interactions, sets[place], sets[wider]) * factors[place, wider]
    return table


def _inside(interactions: Interactions, axes: Axes, wider: Axes) -> np.ndarray:
    """Return 1[s_T = t] for cells t of T and s of S, T ⊆ S."""
    sizes = zip(wider, interactions.sizes(wider), strict=True)
    parts = [np.eye(size) if axis in axes else np.ones((1, size)) for axis, size in sizes]
    return _product(parts)


def _product(parts: list[np.ndarray]) -> np.ndarray:
    total = np.ones((1, 1))
    for part in parts:
        total = np.kron(total, part)
    return total
