"""Rows of a law on a junction tree, drawn so that the counts of cells stray little from what is expected."""

import math
from collections.abc import Sequence

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import uniforms
from gaugedp.synthesis.junction_tree import JunctionTree, summed

_GOLDEN = (math.sqrt(5) - 1) / 2


def drawn(tree: JunctionTree, tables: Sequence[np.ndarray], n_rows: int, rng: Entropy) -> np.ndarray:
    """Return the cell of each variable in each row, shape (n_rows, n_variables), from the tables of the cliques.

    A variable is drawn given those of its clique that were drawn before it: by the junction tree it depends on no
    others. Within each group of rows that agree on these, a cell gets its expected number of rows, rounded down or up.
    """
    cells = np.zeros((n_rows, len(tree.sizes)), dtype=np.int64)
    drawn_axes = set[int]()
    for place in (0, *(edge.child for edge in tree.edges)):
        clique = tree.cliques[place]
        for name in clique:
            if name not in drawn_axes:
                before = tuple(other for other in clique if other in drawn_axes)
                table = summed(tables[place], clique, tuple(sorted((*before, name))))
                law = np.moveaxis(table, sum(other < name for other in before), -1).reshape(-1, tree.sizes[name])
                cells[:, name] = given(law, _groups(cells, before, tree.sizes), rng)
                drawn_axes.add(name)
    return cells


def _groups(cells: np.ndarray, names: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """Return the number of each row's combination of cells, in the order of a table over the variables."""
    groups = np.zeros(len(cells), dtype=np.int64)
    for name in names:
        groups = groups * sizes[name] + cells[:, name]
    return groups


def given(law: np.ndarray, groups: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return a cell for each row from the line of its group, by systematic sampling in each group, in random order.

    The starts of the groups' grids are golden steps apart: each is uniform, and neighbours stray to opposite sides.
    """
    there, sizes = np.unique(groups, return_counts=True)
    sums = np.cumsum(law[there], axis=1)
    shares = np.divide(sums, sums[:, -1:], out=np.ones_like(sums), where=sums[:, -1:] > 0)
    starts = (uniforms(1, rng) + _GOLDEN * np.arange(len(there))) % 1
    ends = np.ceil(sizes[:, None] * shares - starts[:, None]).astype(np.int64)
    counts = np.diff(ends, axis=1, prepend=0)
    cells = np.empty(len(groups), dtype=np.int64)
    order = np.lexsort((rng.words(len(groups)), groups))
    cells[order] = np.repeat(np.tile(np.arange(law.shape[1]), len(there)), counts.ravel())
    return cells
