"""Totals over coarse levels of a tree, added up from those over finer levels, which the engine counts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaugedp.domain import Domain
from gaugedp.tables.aggregate import Aggregate
from gaugedp.trees import summed

_FEW_CELLS = 2**20  # up to so many, cells of the finest levels are counted, and coarser ones added up


def finer(total: Aggregate, totals: Sequence[Aggregate], domain: Domain) -> Aggregate:
    """Return the total that `total` can be added up from: the finest that is asked too, or has few cells; or itself."""
    columns = [domain.tree(name) for name in total.attributes]
    if total.each or columns == list(total.attributes) or len(set(columns)) < len(columns):
        return total
    finest = {domain.tree(name): name for name in domain.finest(tuple(domain.attributes))}
    lowest = replace(total, attributes=tuple(finest[column] for column in columns))
    few = [lowest] if domain.n_cells(lowest.attributes) <= _FEW_CELLS else []
    options = [other for other in [total, *totals, *few] if _tells(other, total, domain)]
    return max(options, key=lambda option: domain.n_cells(option.attributes))


def added_up(total: Aggregate, cells: np.ndarray, finer: Aggregate, domain: Domain) -> np.ndarray:
    """Return `total` from the cells of a finer one, or its own."""
    if total == finer:
        return cells
    starts = [domain.starts(*pair) for pair in zip(total.attributes, finer.attributes, strict=True)]
    return summed(cells.reshape(domain.shape(finer.attributes)), starts).ravel()


def _tells(finer: Aggregate, total: Aggregate, domain: Domain) -> bool:
    """Whether the cells of one total are sums of cells of the other, in the same order of attributes."""
    if replace(finer, attributes=()) != replace(total, attributes=()) or len(finer.attributes) != len(total.attributes):
        return False
    pairs = zip(total.attributes, finer.attributes, strict=True)
    return all(coarse in domain.levels(fine) for coarse, fine in pairs)
