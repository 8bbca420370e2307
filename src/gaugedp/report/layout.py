"""Where each answer stands in a chart, before anything is drawn."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from gaugedp.report.terms import MOST_DRAWN, Term, labels

MARKS = "●■▲◆▼✚"  # one for each series, beside its colour
_MOST_ROWS = {False: 40, True: 24}  # rows of a dot plot, by compact
_MOST_GROUPS = 60
_MOST_TICKS = {False: 16, True: 7}  # labels along a dense chart


@dataclass(frozen=True, eq=False)
class Dots:
    """Answers as dots in rows; `row` and `series` say where each answer stands."""

    rows: list[str]
    row_title: str
    row: np.ndarray
    series: tuple[str, ...]
    series_title: str
    of_series: np.ndarray


@dataclass(frozen=True, eq=False)
class Dense:
    """Answers side by side in their order, with a few `ticks` (position, label), and lines between groups."""

    ticks: list[tuple[float, str]]
    title: str
    borders: list[float]


def arrange(term: Term, compact: bool) -> Dots | Dense | None:
    """Return the form of a term's chart; None where it has too many cells for one."""
    n_cells = len(term.cells)
    if n_cells > MOST_DRAWN:
        return None
    axis = _series_axis(term)
    limit = _MOST_ROWS[compact]
    if axis is not None and n_cells <= 1.5 * limit:
        return _dots_in_series(term, axis)
    return _dots(term) if n_cells <= limit else _dense(term, compact)


def _series_axis(term: Term) -> int | None:
    """Return the attribute told by colours and marks: the first with at most six levels, of the first and the last."""
    ends = (0, len(term.names) - 1) if len(term.names) > 1 else ()
    return next((axis for axis in ends if 1 < len(term.levels[axis]) <= len(MARKS)), None)


def _dots(term: Term) -> Dots:
    n_cells = len(term.cells)
    title = " · ".join(term.names)
    return Dots(list(labels(term)), title, np.arange(n_cells), ("",), "", np.zeros(n_cells, dtype=int))


def _dots_in_series(term: Term, axis: int) -> Dots:
    shape = tuple(len(levels) for levels in term.levels)
    places = np.indices(shape).reshape(len(shape), -1)
    others = [index for index in range(len(shape)) if index != axis]
    row = np.ravel_multi_index(tuple(places[index] for index in others), tuple(shape[index] for index in others))
    rows = [" · ".join(levels) for levels in product(*(term.levels[index] for index in others))]
    title = " · ".join(term.names[index] for index in others)
    return Dots(rows, title, row, term.levels[axis], term.names[axis], places[axis])


def _dense(term: Term, compact: bool) -> Dense:
    n_cells, limit = len(term.cells), _MOST_TICKS[compact]
    depth = _group_depth(term)
    if depth:
        groups = [" · ".join(levels) for levels in product(*term.levels[:depth])]
        size = n_cells // len(groups)
        middles = [((index + 0.5) * size - 0.5, group) for index, group in enumerate(groups)]
        outer, inner = (" · ".join(names) for names in (term.names[:depth], term.names[depth:]))
        borders = [index * size - 0.5 for index in range(1, len(groups))]
        return Dense(_thinned(middles, limit), f"{outer}, and within it {inner}", borders)
    places = [(float(index), label) for index, label in enumerate(labels(term))]
    return Dense(_thinned(places, limit), " · ".join(term.names), [])


def _group_depth(term: Term) -> int:
    """Return by how many of the first attributes the cells are grouped: as many as leave at most 60 groups."""
    sizes = np.cumprod([len(levels) for levels in term.levels[:-1]]) if len(term.names) > 1 else np.array([])
    return int((sizes <= _MOST_GROUPS).sum())


def _thinned(ticks: list[tuple[float, str]], limit: int) -> list[tuple[float, str]]:
    longest = max(len(label) for _, label in ticks)
    fitting = max(2, min(limit, 110 * limit // 16 // max(longest, 3)))
    return ticks[:: -(-len(ticks) // fitting)]
