"""Chart of a term: dots, lines, areas or dense columns."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from gaugedp._internal.language import say
from gaugedp.report.figures import answers, plain
from gaugedp.report.layout import DenseLayout, Dots, Histogram, Layout, LineLayout, arrange
from gaugedp.report.markup import Html, visible
from gaugedp.report.palette import COLOURS, FAINT, INK, PALE
from gaugedp.report.plots import (
    COMPACT,
    NORMAL,
    SHAPES,
    WIDE,
    Sizes,
    bars,
    check_installed,
    new_figure,
    round_places,
    set_names,
    settings,
    shortened,
    text_length,
    write_words,
    written,
)
from gaugedp.report.svg import inline
from gaugedp.report.terms import ReportTerm, labels

_SCALES = ((1e10, 1e9, "terms.billions"), (1e7, 1e6, "terms.millions"), (0.0, 1.0, ""))


def draw(term: ReportTerm, layout: Layout, name: str, compact: bool) -> Html:
    """Return the chart of a term; `name` makes ids unique."""
    check_installed()
    with settings(name):
        draw_form, sizes, kind = _DRAWN[layout.form]
        drawing = draw_form(term, layout, COMPACT if compact else sizes)
        narrow = "" if compact or kind != "wide" else draw_form(term, arrange(term, compact=True), COMPACT)
    kind = "compact" if compact else kind
    return inline(drawing, name, describe(term), f"chart {kind}", narrow)


def describe(term: ReportTerm, kind: str = "charts.many") -> str:
    """Describe the chart in words, or a map."""
    shown = term.shown
    numbers = answers(term.estimate[shown], term.lower[shown], term.upper[shown])
    unit = term.sign or f" {term.answer_unit}".rstrip()
    texts, meaning = [f"{estimate}{unit}" for estimate, _, _ in numbers], say("lists.quoted", text=term.meaning)
    if len(term.cells) == 1:
        return visible(say("charts.one", meaning=meaning, estimate=texts[0], level=term.level, bars=term.bars))
    low, high = int(np.argmin(term.estimate[shown])), int(np.argmax(term.estimate[shown]))
    lowest, highest = (_cell(term, int(shown[place])) for place in (low, high))
    ends = say("charts.ends", low=texts[low], lowest=lowest, high=texts[high], highest=highest)
    facts = {"meaning": meaning, "count": plain(len(term.cells)), "level": term.level, "bars": term.bars}
    return visible(say(kind, **facts, ends=ends))


def _cell(term: ReportTerm, place: int) -> str:
    """Return a cell with the names of its attributes."""
    if not term.levels:
        return next(islice(labels(term), place, None))
    at = np.unravel_index(place, [len(levels) for levels in term.levels])
    pairs = zip(term.names, term.levels, at, strict=True)
    return say("lists.semicolon").join(say("page.colon", name=name) + levels[int(i)] for name, levels, i in pairs)


def _dots(term: ReportTerm, layout: Dots, sizes: Sizes) -> str:
    texts = [shortened(row, 30) for row in layout.rows]
    n_series = len(layout.series)
    height_of_row = max(sizes.row, sizes.row * 0.55 * n_series + 3)
    margin = max([text_length(text) for text in [*texts, shortened(layout.row_title, 30)]]) * sizes.font + 10
    top, bottom = 8 + (sizes.font + 4 if layout.row_title else 0), 2 * sizes.font + 18
    height = top + bottom + height_of_row * len(texts)
    right = max(14, 0.5 * text_length(_ticks(term)[1][-1]) * sizes.font)
    figure, axes = new_figure(sizes, height, (margin, right, bottom, top))
    places = layout.row + (layout.of_series - (n_series - 1) / 2) * 0.72 / n_series
    for series in range(n_series):
        mask = layout.of_series == series
        if term.counts:  # lengths are compared, so they are drawn
            axes.barh(places[mask], term.estimate[mask], 0.66 / n_series, color=PALE[series], zorder=2)
        _marks(axes, term, places, (mask, series), upright=False)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    set_names(axes.set_yticks, range(len(texts)), texts, sizes)
    _value_axis(axes, term, sizes, upright=False)
    if layout.row_title:
        x, y = 4 / sizes.width, 1 - (sizes.font + 4) / height
        write_words(figure, (x, y), shortened(layout.row_title, 40), sizes, weight="bold")
    return written(figure)


def _dense(term: ReportTerm, layout: DenseLayout, sizes: Sizes) -> str:
    axes, margin = _upright_axes(term, sizes)
    everything = np.ones(len(term.cells), dtype=bool)
    for border in layout.borders:
        axes.axvline(border, color=FAINT, linewidth=0.6, zorder=0)
    _marks(axes, term, np.arange(len(term.cells)), (everything, 0), upright=True)
    axes.set_xlim(-1, len(term.cells))
    return _finished(axes, term, sizes, margin, (layout.ticks, layout.title))


def _line(term: ReportTerm, layout: LineLayout, sizes: Sizes) -> str:
    """Draw a line for each series."""
    axes, margin = _upright_axes(term, sizes)
    places = layout.at
    for series in range(len(layout.series)):
        mask = layout.of_series == series
        on = mask & layout.joined
        axes.plot(places[on], term.estimate[on], color=COLOURS[series], linewidth=1.3, zorder=3, clip_on=False)
        _marks(axes, term, places, (mask, series), upright=True)
    axes.set_xlim(-0.6, layout.at.max() + 0.6)
    return _finished(axes, term, sizes, margin, (layout.ticks, layout.title))


def _histogram(term: ReportTerm, layout: Histogram, sizes: Sizes) -> str:
    """Draw counts as areas, with error bars in the middle."""
    measure = term.measure
    if np.ptp(layout.per_count):
        measure = say("terms.per", measure=measure, width=f"{plain(layout.unit)} {term.unit}".strip())
    heights = replace(_scaled(term, layout.per_count), measure=measure)
    ends = [(float(border), plain(float(border))) for border in np.append(layout.left, layout.right[-1])]
    if layout.cut is not None:
        ends[-1] = (ends[-1][0], f"… {plain(layout.cut)}")
    axes, margin = _upright_axes(heights, sizes, max(14.0, 0.5 * text_length(ends[-1][1]) * sizes.font))
    widths, middles = layout.right - layout.left, (layout.left + layout.right) / 2
    axes.bar(layout.left, heights.estimate, widths, align="edge", color=PALE[0], edgecolor="white", linewidth=0.8)
    inside = [np.clip(end, *_range(heights)) for end in (heights.lower, heights.upper)]
    bars(axes, middles, (inside[0], inside[1]), (COLOURS[0], 1.7, True))
    axes.set_xlim(layout.left[0], layout.right[-1])
    return _finished(axes, heights, sizes, margin, (_apart(ends, sizes), layout.title))


def _scaled(term: ReportTerm, factors: np.ndarray) -> ReportTerm:
    """Return the first answers and intervals, times factors."""
    first = slice(0, len(factors))
    return replace(
        term,
        estimate=term.estimate[first] * factors,
        lower=term.lower[first] * factors,
        upper=term.upper[first] * factors,
    )


def _apart(ticks: list[tuple[float, str]], sizes: Sizes) -> list[tuple[float, str]]:
    """Return the ticks that fit, including first and last."""
    scale = (ticks[-1][0] - ticks[0][0]) / sizes.width
    spaced = [ticks[0]]
    for tick in ticks[1:-1]:
        needed = (text_length(tick[1]) + text_length(spaced[-1][1]) + 2) / 2 * sizes.font * scale
        last = (text_length(tick[1]) + text_length(ticks[-1][1]) + 2) / 2 * sizes.font * scale
        if tick[0] - spaced[-1][0] >= needed and ticks[-1][0] - tick[0] >= last:
            spaced.append(tick)
    return [*spaced, ticks[-1]]


def _upright_axes(term: ReportTerm, sizes: Sizes, right: float = 14.0) -> tuple[Any, float]:
    """Return axes for adjacent answers, and their left margin."""
    margin = max(text_length(text) for text in _ticks(term)[1]) * sizes.font + 12
    _, axes = new_figure(sizes, sizes.height, (margin, right, 2 * sizes.font + 18, sizes.font + 14))
    return axes, margin


def _finished(
    axes: Any, term: ReportTerm, sizes: Sizes, margin: float, along: tuple[Sequence[tuple[float, str]], str]
) -> str:
    """Add ticks, title and value axis, and return the drawing."""
    ticks, title = along
    positions, labels = zip(*ticks, strict=True)
    set_names(axes.set_xticks, positions, [shortened(label, 24) for label in labels], sizes)
    axes.tick_params(axis="x", pad=8)  # below the number at the origin
    _value_axis(axes, term, sizes, upright=True)
    middle = (margin + sizes.width - 12) / 2 / sizes.width
    figure: Any = axes.figure
    write_words(figure, (middle, 6 / sizes.height), shortened(title, 60), sizes, ha="center")
    return written(figure)


def _marks(
    axes: Any, term: ReportTerm, places: np.ndarray, selection: tuple[np.ndarray, int], *, upright: bool
) -> None:
    """Draw the error bars and points of one series."""
    mask, series = selection
    at, n_cells = places[mask], len(places)
    thin = upright and n_cells > 60
    width = min(1.6, max(0.4, 160 / n_cells)) if thin else 1.7
    low, high = (np.clip(end[mask], *_range(term)) for end in (term.lower, term.upper))
    bars(axes, at, (low, high), (COLOURS[series], width, upright))
    values = term.estimate[mask]
    if thin:
        style = (COLOURS[series], min(3.6, max(1.2, 1000 / n_cells)), upright)
        bars(axes, at, (values, values), style, cap="round")
        return
    x, y = (at, values) if upright else (values, at)
    look: dict[str, Any] = {"color": COLOURS[series], "marker": SHAPES[series], "markersize": 4.6, "clip_on": False}
    axes.plot(x, y, linestyle="none", markeredgecolor="white", markeredgewidth=0.5, zorder=4, **look)


def _range(term: ReportTerm) -> tuple[float, float]:
    """Return the ends of the axis.

    It covers all intervals and points; 0 is included for counts, and unless all values are far from it.
    """
    shown = np.concatenate([term.lower, term.upper, term.estimate])
    shown = shown[np.isfinite(shown)]
    low, high = float(shown.min()), float(shown.max())
    if low > 0 and (term.from_zero or low < high / 2):
        low = 0.0
    if low / 2 < high < 0:
        high = 0.0
    pad = 0.03 * (high - low) or max(1.0, abs(high) / 2)  # a single number: a unit, or half of the number
    return (low if low == 0 else low - pad), (high if high == 0 > low else high + pad)


def _ticks(term: ReportTerm) -> tuple[np.ndarray, list[str], str]:
    """Return the positions and texts of the ticks, and their unit."""
    low, high = _range(term)
    places = round_places(low, high)
    scale, unit = next((s, u) for least, s, u in _SCALES if max(-low, high) >= least)
    shown = places / scale
    decimals = next((d for d in range(7) if np.allclose(shown, np.round(shown, d), rtol=0, atol=1e-9)), 7)
    return places, [plain(float(value), decimals) for value in shown], unit


def _value_axis(axes: Any, term: ReportTerm, sizes: Sizes, *, upright: bool) -> None:
    places, texts, unit = _ticks(term)
    limits = _range(term)
    (axes.set_ylim if upright else axes.set_xlim)(*limits)
    set_names(axes.set_yticks if upright else axes.set_xticks, places, texts, sizes)
    axes.grid(axis="y" if upright else "x", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    if limits[0] <= 0 <= limits[1]:
        (axes.axhline if upright else axes.axvline)(0, color=INK, linewidth=0.9, zorder=2, clip_on=False)
    title = shortened(term.measure, 40)
    title = say(unit, measure=title) if unit else title
    box = axes.get_position()
    figure: Any = axes.figure
    height = figure.get_figheight() * 72
    if upright:
        write_words(figure, (4 / sizes.width, 1 - (sizes.font + 2) / height), title, sizes)
    else:
        write_words(figure, ((box.x0 + box.x1) / 2, 5 / height), title, sizes, ha="center")


_DRAWN: dict[str, tuple[Any, Sizes, str]] = {
    "dots": (_dots, NORMAL, "dots"),
    "wide": (_dense, WIDE, "wide"),
    "line": (_line, WIDE, "wide"),
    "histogram": (_histogram, WIDE, "wide"),
}
