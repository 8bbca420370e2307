"""Maps over coarse cells, as maps over finer cells of the same trees."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from gaugedp.domain.domain import Domain
from gaugedp.domain.hierarchies import summed
from gaugedp.domain.nesting import Nesting, Place
from gaugedp.queries.labels import Words
from gaugedp.queries.maps import CellMap, Identity
from gaugedp.queries.piece import Piece
from gaugedp.queries.steps import StepRuns

_ALL = ""  # name of the level of all areas together


@dataclass(frozen=True)
class Folded(CellMap):
    """Map `inner` of sums over runs of cells along each axis.

    Coarse cell k begins at `starts[axis][k]`; `sizes` are the numbers of fine cells along the axes. A row is in one
    coarse cell of each axis, so its contribution is that of `inner` for that cell.
    """

    inner: CellMap
    sizes: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]
    injective = False

    @property
    def n_cells(self) -> int:
        """Number of fine cells."""
        return math.prod(self.sizes)

    @property
    def step_runs(self) -> StepRuns:
        """Step runs of the inner map."""
        return self.inner.step_runs

    @property
    def n_released(self) -> int:
        """Number of released values of the inner map."""
        return self.inner.n_released

    @cached_property
    def _coarse(self) -> np.ndarray:
        """Coarse cell of each fine cell, shape (n_cells,)."""
        axes = [
            np.repeat(np.arange(len(starts)), np.diff([*starts, size]))
            for starts, size in zip(self.starts, self.sizes, strict=True)
        ]
        shape = tuple(map(len, self.starts))
        return np.ravel_multi_index(np.ix_(*axes), shape).ravel()

    def apply(self, cells: np.ndarray) -> np.ndarray:
        """Apply the inner map to the sums."""
        ahead = cells.shape[:-1]
        return self.inner.apply(summed(cells.reshape(*ahead, *self.sizes), self.starts).reshape(*ahead, -1))

    def adjoint(self, rows: np.ndarray) -> np.ndarray:
        """Return the inner map's transpose at each fine cell."""
        return np.asarray(self.inner.adjoint(rows)[self._coarse])

    def powers(self, p: float) -> np.ndarray:
        """Return the powers of the coarse cells."""
        return self.inner.powers(p)[self._coarse]

    def largest_difference_power(self, p: float) -> float:
        """Return the inner map's: every coarse cell has a fine one."""
        return self.inner.largest_difference_power(p)

    def labels(self, columns: Sequence[Sequence[str]]) -> tuple[Words, ...]:
        """Return the labels of the inner map."""
        return self.inner.labels(columns)


def folded(piece: Piece, domain: Domain, finest: Sequence[str]) -> Piece:
    """Rewrite a piece over the `finest` levels of its trees."""
    if set(piece.attributes) <= set(finest):
        return piece
    by_tree = {domain.tree(name): name for name in finest}
    names = tuple(by_tree[domain.tree(name)] for name in piece.attributes)
    starts = tuple(domain.starts(*pair) for pair in zip(piece.attributes, names, strict=True))
    return replace(piece, attributes=names, cells=Folded(piece.cells, domain.shape(names), starts))


def nested(domain: Domain, pieces: Sequence[Piece]) -> Nesting | None:
    """Return the counted levels of one tree, or None. Each level is crossed with the same attributes."""
    if not all(isinstance(piece.cells, Identity) and piece.counts and piece.column is None for piece in pieces):
        return None
    named = [{domain.tree(name): name for name in piece.attributes} for piece in pieces]
    occurring = Counter(pair for names in named for pair in names.items())
    unlike = {column for (column, _), count in occurring.items() if count < len(named)}
    if len(unlike) != 1:
        return None
    (column,) = unlike
    levels = [names.get(column, _ALL) for names in named]
    ladder = [_ALL, *max(map(domain.levels, filter(None, levels)), key=len)]
    if len(set(levels)) < len(levels) or not domain.attribute(ladder[-1]).column:
        return None
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + piece.cells.n_released)
    order = sorted(range(len(pieces)), key=lambda place: ladder.index(levels[place]))
    places = tuple(_place(domain, pieces[i].attributes, levels[i], ends[i]) for i in order)
    pairs = pairwise(levels[i] for i in order)
    return Nesting(places, tuple((0,) if coarse == _ALL else domain.starts(coarse, fine) for coarse, fine in pairs))


def _place(domain: Domain, attributes: Sequence[str], level: str, start: int) -> Place:
    """Return the place of a piece's counts, areas first. The other attributes follow by name."""
    names, shape = tuple(attributes), domain.shape(attributes)
    if level == _ALL:
        names, shape = (_ALL, *names), (1, *shape)
    ordered = [level, *sorted(name for name in names if name != level)]
    return Place(start, shape, tuple(names.index(name) for name in ordered))
