"""Weighted least squares over marginals in closed form, whatever the size of their joint table."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from gaugedp.domain import Domain

Names = tuple[str, ...]


def combined(domain: Domain, marginals: Sequence[Names], values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the consistent marginals nearest to `values` (the tables in a row, flattened), weighed by 1/variance.

    `variances` holds one number for each marginal. Theorem. A cosine transform of every marginal splits it into one
    block for each subset S of its attributes (the interactions of S). The block of S in the marginal over A ⊇ S, times
    √∏_{a ∈ A∖S} n_a, is the same number for all A; its noise has variance variance_A·∏_{a ∈ A∖S} n_a and does not
    correlate with other blocks where the noise of a marginal is independent with one variance. So the least squares
    split into weighted means, one for each S.
    """
    blocks = [_transformed(table) for table in _tables(domain, marginals, values)]
    means = _means(domain, marginals, blocks, variances)
    for names, block in zip(marginals, blocks, strict=True):
        for some in _subsets(domain, names):
            block[_place(names, some)] = _restored(means[some] / _root(domain, names, some), names, some)
    return np.concatenate([_transformed(block, back=True).ravel() for block in blocks])


def _means(
    domain: Domain, marginals: Sequence[Names], blocks: list[np.ndarray], variances: np.ndarray
) -> dict[Names, np.ndarray]:
    sums: dict[Names, np.ndarray] = {}
    weights: dict[Names, float] = {}
    for names, block, variance in zip(marginals, blocks, variances, strict=True):
        for some in _subsets(domain, names):
            root = _root(domain, names, some)
            weight = 1 / (float(variance) * root**2)
            part = _ordered(block[_place(names, some)], names, some) * root
            sums[some] = sums.get(some, np.float64(0)) + weight * part
            weights[some] = weights.get(some, 0.0) + weight
    return {some: total / weights[some] for some, total in sums.items()}


def _transformed(table: np.ndarray, back: bool = False) -> np.ndarray:
    from scipy.fft import dctn, idctn

    if table.ndim == 0:  # the number of rows
        return table
    return np.asarray((idctn if back else dctn)(table, norm="ortho"))


def _tables(domain: Domain, marginals: Sequence[Names], values: np.ndarray) -> list[np.ndarray]:
    shapes = [domain.shape(names) for names in marginals]
    parts = np.split(values, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return [part.astype(float).reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _subsets(domain: Domain, names: Names) -> list[Names]:
    """Return every subset of the attributes, each in the domain's order."""
    ordered = [name for name in domain.attributes if name in names]
    return [some for size in range(len(ordered) + 1) for some in combinations(ordered, size)]


def _root(domain: Domain, names: Names, some: Names) -> float:
    return math.sqrt(math.prod(domain.shape(tuple(name for name in names if name not in some))))


def _place(names: Names, some: Names) -> tuple[slice | int, ...]:
    """Return where the block of `some` is in the transform of the marginal over `names`."""
    return tuple(slice(1, None) if name in some else 0 for name in names)


def _ordered(block: np.ndarray, names: Names, some: Names) -> np.ndarray:
    """Bring a block's axes from the marginal's order into the domain's."""
    shared = [name for name in names if name in some]
    return np.transpose(block, [shared.index(name) for name in some])


def _restored(block: np.ndarray, names: Names, some: Names) -> np.ndarray:
    """Bring a block's axes from the domain's order into the marginal's."""
    return np.transpose(block, [some.index(name) for name in names if name in some])
