"""Layouts of charts: the place of each answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from gaugedp._internal.language import dated, say
from gaugedp.domain.attributes import OTHER
from gaugedp.queries.outline import CELLS
from gaugedp.report.terms import MOST_DRAWN, ReportTerm, labels

MARKS = "●■▲◆▼✚"  # one for each series, in addition to its colour
_MOST_ROWS = {False: 40, True: 24}  # rows of a dot plot, by compact
_MOST_TICKS = {False: 16, True: 7}  # labels along a dense chart


@dataclass(frozen=True, eq=False)
class Dots:
    """Answers as dots in rows; `row` and `series` place each answer."""

    form: ClassVar[str] = "dots"
    rows: list[str]
    row_title: str
    row: np.ndarray
    series: tuple[str, ...]
    series_title: str
    of_series: np.ndarray
    remark: str = ""


@dataclass(frozen=True, eq=False)
class DenseLayout:
    """Adjacent answers with a few `ticks` (position, label) and borders."""

    form: ClassVar[str] = "wide"
    ticks: Sequence[tuple[float, str]]
    title: str
    borders: list[float]
    series: tuple[str, ...] = ("",)
    series_title: str = ""
    remark: str = ""


@dataclass(frozen=True, eq=False)
class LineLayout:
    """Answers along time, with a line for each series.

    `at` is the position of each answer, `ticks` label positions. `joined` marks the answers on the lines: a cell of
    other values is not a time.
    """

    form: ClassVar[str] = "line"
    ticks: Sequence[tuple[float, str]]
    title: str
    at: np.ndarray
    series: tuple[str, ...]
    series_title: str
    of_series: np.ndarray
    joined: np.ndarray
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts as areas over cells of true widths.

    `left` and `right` are the ends of cells, `per_count` the heights per count. `unit` is the width for which heights
    equal counts. `cut` is the end of a last cell that is too long to draw. A last cell of other values has no place on
    the line.
    """

    form: ClassVar[str] = "histogram"
    left: np.ndarray
    right: np.ndarray
    per_count: np.ndarray
    title: str
    unit: float
    cut: float | None
    series: tuple[str, ...] = ("",)
    series_title: str = ""
    remark: str = ""


Layout = Dots | DenseLayout | LineLayout | Histogram


def arrange(term: ReportTerm, compact: bool) -> Layout | None:
    """Return the layout of a term's chart, or None."""
    n_cells = len(term.cells)
    if n_cells > MOST_DRAWN:
        return None
    if (layout := _line(term, compact) or _histogram(term)) is not None:
        return layout
    axis = _series_axis(term)
    limit = _MOST_ROWS[compact]
    if axis is not None and n_cells <= 1.5 * limit:
        return _dots_in_series(term, axis)
    return _dots(term) if n_cells <= limit else _dense(term, compact)


def _series_axis(term: ReportTerm) -> int | None:
    """Return the attribute shown by colours and marks, if any.

    It is the first or the last one, with fewer levels, at most six.
    """
    ends = (0, len(term.names) - 1) if len(term.names) > 1 else ()
    few = [axis for axis in ends if 1 < len(term.levels[axis]) <= len(MARKS)]
    return min(few, key=lambda axis: len(term.levels[axis]), default=None)


def _line(term: ReportTerm, compact: bool) -> LineLayout | None:
    """Return a layout along time, if one attribute is dates."""
    times = [place for place, axis in enumerate(term.axes) if axis.form == CELLS and axis.values == "dates"]
    others = [place for place in range(len(term.names)) if place not in times]
    if len(times) != 1 or len(others) > 1 or len(term.levels[times[0]]) < 3:
        return None
    (time,) = times
    if others and len(term.levels[others[0]]) > len(MARKS):
        return None
    places = np.indices([len(levels) for levels in term.levels]).reshape(len(term.levels), -1)
    ticks = _dated_ticks(list(enumerate(_short_dates(term, time))), _MOST_TICKS[compact])
    joined = np.array(term.axes[time].texts)[places[time]] != OTHER
    if not others:
        return LineLayout(
            ticks, term.names[time], places[time], ("",), "", np.zeros(len(term.cells), dtype=int), joined
        )
    other = others[0]
    return LineLayout(
        ticks, term.names[time], places[time], term.levels[other], term.names[other], places[other], joined
    )


def _short_dates(term: ReportTerm, time: int) -> list[str]:
    """Return short names of the cells of dates; labels of the domain stay."""
    pairs = zip(term.axes[time].texts, term.levels[time], strict=True)
    return [dated(text, short=True) if level == dated(text) else level for text, level in pairs]


def _dated_ticks(ticks: Sequence[tuple[float, str]], limit: int) -> Sequence[tuple[float, str]]:
    """Return the ticks that fit, years only where they change."""
    longest = max(len(text) for _, text in list(_dated(ticks))[1:])
    return list(_dated(ticks[:: _apart(len(ticks), longest, limit)]))


def _dated(ticks: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """Yield the ticks, years only where they change."""
    before = ""
    for place, text in ticks:
        name, _, year = text.rpartition(" ")
        yield place, name if name and year == before else text
        before = year


def _histogram(term: ReportTerm) -> Histogram | None:
    """Return a histogram, if the cells have widths."""
    borders = np.array(term.axes[0].borders if len(term.axes) == 1 else ())
    n_cells = len(borders) - 1
    if not term.counts or not 3 <= n_cells <= 60 or len(term.cells) - n_cells > 1:  # positions on a line
        return None
    widths = np.diff(borders)
    is_long = widths[-1] > 4 * widths[-2]  # the widest last cell drawn
    shown = np.append(borders[:-1], borders[-2] + widths[-2]) if is_long else borders
    unit = float(widths.min())
    beside = say("charts.beside", cell=term.levels[0][-1]) if len(term.cells) > n_cells else ""
    cut = float(borders[-1]) if is_long else None
    title = say("terms.with_unit", measure=term.names[0], unit=term.unit) if term.unit else term.names[0]
    return Histogram(shown[:-1], shown[1:], unit / widths, title, unit, cut, remark=beside)


def _dots(term: ReportTerm) -> Dots:
    n_cells = len(term.cells)
    title = " · ".join(term.names)
    return Dots(list(labels(term)), title, np.arange(n_cells), ("",), "", np.zeros(n_cells, dtype=int))


def _dots_in_series(term: ReportTerm, axis: int) -> Dots:
    shape = tuple(len(levels) for levels in term.levels)
    places = np.indices(shape).reshape(len(shape), -1)
    others = [index for index in range(len(shape)) if index != axis]
    row = np.ravel_multi_index(tuple(places[index] for index in others), tuple(shape[index] for index in others))
    rows = [" · ".join(levels) for levels in product(*(term.levels[index] for index in others))]
    title = " · ".join(term.names[index] for index in others)
    return Dots(rows, title, row, term.levels[axis], term.names[axis], places[axis])


def _dense(term: ReportTerm, compact: bool) -> DenseLayout:
    n_cells, limit = len(term.cells), _MOST_TICKS[compact]
    depth = _group_depth(term)
    if depth:
        groups = [" · ".join(levels) for levels in product(*term.levels[:depth])]
        size = n_cells // len(groups)
        middles = [((index + 0.5) * size - 0.5, group) for index, group in enumerate(groups)]
        outer, inner = (" · ".join(names) for names in (term.names[:depth], term.names[depth:]))
        borders = [index * size - 0.5 for index in range(1, len(groups))]
        return DenseLayout(_thinned(middles, limit), say("charts.within", outer=outer, inner=inner), borders)
    places = [(float(index), label) for index, label in enumerate(labels(term))]
    return DenseLayout(_thinned(places, limit), " · ".join(term.names), [])


def _group_depth(term: ReportTerm) -> int:
    """Return the number of leading attributes that form groups. At most 60 groups result."""
    sizes = np.cumprod([len(levels) for levels in term.levels[:-1]]) if len(term.names) > 1 else np.array([])
    return int((sizes <= 60).sum())  # groups at most


def _thinned(ticks: Sequence[tuple[float, str]], limit: int) -> Sequence[tuple[float, str]]:
    return ticks[:: _apart(len(ticks), max(len(label) for _, label in ticks), limit)]


def _apart(n_ticks: int, longest: int, limit: int) -> int:
    """Return every how many ticks a label fits."""
    fitting = max(2, min(limit, 110 * limit // 16 // max(longest, 3)))
    return -(-n_ticks // fitting)
