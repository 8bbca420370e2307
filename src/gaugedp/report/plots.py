"""Charts as SVG text. The only file that draws, and it loads what it draws with only when it draws."""

import importlib.util
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from gaugedp.errors import MissingExtra
from gaugedp.report.figures import answers, plain
from gaugedp.report.layout import Dense, Dots
from gaugedp.report.markup import Html, visible
from gaugedp.report.svg import inline
from gaugedp.report.terms import Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b5fa5", "#b93a0a", "#0b7a53", "#7a3fb0", "#8a6100", "#46525f")  # each 4.5:1 or more on white
_PALE = ("#b9d6ee", "#f3c9b8", "#b5e0cf", "#dcc9ee", "#ecd9a8", "#ccd3da")
_INK, _SOFT, _FAINT = "#1d232b", "#4d5864", "#e3e1da"
_SHAPES = "os^DvP"
_SCALES = ((1e10, 1e9, " (billions)"), (1e7, 1e6, " (millions)"), (0.0, 1.0, ""))


@dataclass(frozen=True)
class Sizes:
    """Lengths in points; the page scales them."""

    width: float
    font: float
    row: float
    height: float = 0.0


NORMAL, COMPACT = Sizes(340, 10.5, 17, 200), Sizes(300, 9.5, 13, 150)
WIDE = Sizes(760, 10.5, 17, 240)


def check_installed() -> None:
    """Refuse, before anything is read or spent, where charts cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra.needed_for("A report", "report")


def draw(term: Term, layout: Dots | Dense, name: str, compact: bool) -> Html:
    """Return the chart of a term for the inside of a page; `name` tells its ids from those of other charts."""
    check_installed()
    with _settings(name):
        if isinstance(layout, Dots):
            drawing = _dots(term, layout, COMPACT if compact else NORMAL)
        else:
            drawing = _dense(term, layout, COMPACT if compact else WIDE)
    kind = "compact" if compact else "dots" if isinstance(layout, Dots) else "wide"
    return inline(drawing, name, describe(term), f"chart {kind}")


def describe(term: Term) -> str:
    """Return what the chart shows, in words."""
    low, high = int(np.argmin(term.estimate)), int(np.argmax(term.estimate))
    texts = [estimate for estimate, _, _ in answers(term.estimate, term.lower, term.upper)]
    if len(term.cells) == 1:
        return visible(f"{term.meaning}: {texts[0]}, with the {term.level} error bar{term.bars}.")
    ends = " and ".join(
        f"the {word} estimate is {texts[at]} at {term.cells[at]}" for word, at in (("smallest", low), ("largest", high))
    )
    return visible(f"{term.meaning}: {len(term.cells):,} estimates with {term.level} error bars{term.bars}; {ends}.")


@contextmanager
def _settings(name: str) -> Iterator[None]:
    """Set what makes the same chart the same bytes everywhere, for a while. A missing glyph is the browser's matter."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        mpl.rcdefaults()
        mpl.rcParams.update(
            {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "DejaVu Sans", "path.simplify": False}
        )
        yield


def _figure(sizes: Sizes, height: float, margins: tuple[float, float, float, float]) -> tuple[Any, "Axes"]:
    """Return a figure and axes with margins left, right, bottom, top, in points."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    left, right, bottom, top = margins
    figure = Figure(figsize=(sizes.width / 72, height / 72))
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    box = (left / sizes.width, bottom / height, 1 - (left + right) / sizes.width, 1 - (bottom + top) / height)
    axes = figure.add_axes(box)
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    return figure, axes


def _written(figure: Any) -> str:
    text = StringIO()
    figure.canvas.print_svg(text, metadata={"Date": None})
    return text.getvalue()


Curves = dict[str, list[tuple[float, float]]]


def draw_curves(curves: Curves, bound: list[tuple[float, float]], title: str) -> str:
    """Return expected errors against ε on logarithmic axes, one line a name, `bound` dashed, as an SVG file's text."""
    with _lines(curves, title, "curves") as (figure, axes):
        if bound:
            axes.plot(*zip(*bound, strict=True), color=_INK, linestyle="--", label="lower bound")
        axes.set(yscale="log", xlabel="ε", ylabel="expected error")
        axes.grid(which="both", color=_FAINT, linewidth=0.7)
        _legend(axes)
        return _written(figure)


def draw_power(curves: Curves, ceilings: dict[str, float], title: str) -> str:
    """Return true-positive rates against the number of rows, one line a name, `ceilings` dashed, as an SVG's text."""
    with _lines(curves, title, "power") as (figure, axes):
        for name, colour in zip(curves, COLOURS, strict=False):
            if ceilings.get(name, 1.0) < 1:
                axes.axhline(ceilings[name], color=colour, linestyle="--", linewidth=1, label=f"ceiling, {name}")
        axes.set(ylim=(-0.02, 1.02), xlabel="rows", ylabel="true-positive rate")
        axes.grid(color=_FAINT, linewidth=0.7)
        _legend(axes)
        return _written(figure)


def draw_months(names: Sequence[str], spent: np.ndarray, title: str) -> Html:
    """Return what each month adds to the share of a budget that is spent, for the inside of a page.

    `spent` (n + 1,) are the shares before the first month and after each; `title` says them in words.
    """
    check_installed()
    with _settings("months"):
        places, zero = np.arange(len(names)), np.zeros(len(names))
        figure, axes = _figure(WIDE, WIDE.height, (48, 12, 2 * WIDE.font + 8, WIDE.font))
        _bars(axes, places, (zero, spent[:-1]), (_PALE[0], 22.0, True))
        _bars(axes, places, (spent[:-1], spent[1:]), (COLOURS[0], 22.0, True))
        axes.axhline(1, color=_INK, linestyle="--", linewidth=0.9)
        axes.axhline(0, color=_INK, linewidth=0.9)
        axes.set(xlim=(-0.6, len(names) - 0.4), ylim=(0, 1.02))
        _names(axes.set_xticks, places, list(names), WIDE)
        _names(axes.set_yticks, [0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"], WIDE)
        axes.grid(axis="y", color=_FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        return inline(_written(figure), "months", title, "chart wide")


@dataclass(frozen=True, eq=False)
class Shadow:
    """A shadow of a body: its edge (k, 2), draws of noise (n, 2), and the names of the two axes."""

    edge: np.ndarray
    noise: np.ndarray
    names: tuple[str, str]


def draw_shadows(shadows: list[Shadow], words: tuple[str, str]) -> str:
    """Return shadows side by side, noise as dots, as an SVG's text; `words` are the title and the noise's name."""
    check_installed()
    with _settings("shadows"):
        figure, axes = _figure(WIDE, 310, (8, 8, 8, 8))
        axes.set_axis_off()
        figure.patch.set_visible(True)
        _words(figure, (10 / WIDE.width, 290 / 310), _cut(words[0], 110), WIDE)
        for index, shadow in enumerate(shadows):
            panel = figure.add_axes(((46 + 246 * index) / WIDE.width, 60 / 310, 190 / WIDE.width, 216 / 310))
            panel.spines[:].set_visible(False)
            reach = 1.05 * max(np.quantile(np.abs(shadow.noise), 0.98), np.abs(shadow.edge).max())
            x, y = shadow.noise[(np.abs(shadow.noise) < reach).all(axis=1)].T
            _bars(panel, x, (y, y + reach / 1000), (COLOURS[1], 2.0, True), cap="round")
            panel.plot([], [], ".", color=COLOURS[1], label=words[1])
            panel.fill(
                *shadow.edge.T, color=COLOURS[0], alpha=0.6, zorder=4, label="the body: what one unit can change"
            )
            panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            panel.set_xlabel(shadow.names[0], fontsize=WIDE.font, color=_SOFT)
            panel.set_ylabel(shadow.names[1], fontsize=WIDE.font, color=_SOFT, labelpad=0)
            panel.tick_params(length=0, labelsize=WIDE.font - 1.5, labelcolor=_SOFT)
            panel.grid(color=_FAINT, linewidth=0.7)
        handles = panel.get_legend_handles_labels()
        figure.legend(*handles, loc="lower left", ncols=2, frameon=False, fontsize=WIDE.font, markerscale=3)
        return _written(figure)


@contextmanager
def _lines(curves: Curves, title: str, name: str) -> Iterator[tuple[Any, "Axes"]]:
    """Draw a line for each name over a logarithmic axis with a tick at every place that occurs."""
    check_installed()
    with _settings(name):
        figure, axes = _figure(WIDE, WIDE.height + 60, (56, 170, 44, 26))
        figure.patch.set_visible(True)  # a file of its own brings its own paper
        looks: list[dict[str, Any]] = [
            {"marker": shape, "color": colour} for shape, colour in zip(_SHAPES, COLOURS, strict=True)
        ]
        for index, (label, points) in enumerate(curves.items()):
            axes.plot(*zip(*points, strict=True), label=visible(label), markersize=4.6, **looks[index % len(looks)])
        axes.set(xscale="log")
        places = sorted({place for points in curves.values() for place, _ in points})
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.set_xticks([], minor=True)
        axes.set_title(_cut(title, 90), fontsize=WIDE.font, color=_INK, loc="left", parse_math=False)
        yield figure, axes


def _legend(axes: "Axes") -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=WIDE.font)


def _dots(term: Term, layout: Dots, sizes: Sizes) -> str:
    texts = [_cut(row, 24) for row in layout.rows]
    n_series = len(layout.series)
    height_of_row = max(sizes.row, sizes.row * 0.55 * n_series + 3)
    left = max([_length(text) for text in [*texts, _cut(layout.row_title, 24)]]) * sizes.font + 10
    top, bottom = 8 + (sizes.font + 4 if layout.row_title else 0), 2 * sizes.font + 18
    height = top + bottom + height_of_row * len(texts)
    right = max(14, 0.5 * _length(_ticks(term)[1][-1]) * sizes.font)
    figure, axes = _figure(sizes, height, (left, right, bottom, top))
    places = layout.row + (layout.of_series - (n_series - 1) / 2) * 0.72 / n_series
    for series in range(n_series):
        _marks(axes, term, places, (layout.of_series == series, series), upright=False)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    _names(axes.set_yticks, range(len(texts)), texts, sizes)
    _value_axis(axes, term, sizes, upright=False)
    if layout.row_title:
        x, y = 4 / sizes.width, 1 - (sizes.font + 4) / height
        _words(figure, (x, y), _cut(layout.row_title, 40), sizes, weight="bold")
    return _written(figure)


def _dense(term: Term, layout: Dense, sizes: Sizes) -> str:
    top, bottom = sizes.font + 14, 2 * sizes.font + 18
    texts = _ticks(term)[1]
    left = max(_length(text) for text in texts) * sizes.font + 12
    figure, axes = _figure(sizes, sizes.height, (left, 12, bottom, top))
    everything = np.ones(len(term.cells), dtype=bool)
    for border in layout.borders:
        axes.axvline(border, color=_FAINT, linewidth=0.6, zorder=0)
    _marks(axes, term, np.arange(len(term.cells)), (everything, 0), upright=True)
    axes.set_xlim(-1, len(term.cells))
    positions, labels = zip(*layout.ticks, strict=True)
    _names(axes.set_xticks, positions, [_cut(label, 24) for label in labels], sizes)
    _value_axis(axes, term, sizes, upright=True)
    middle = (left + sizes.width - 12) / 2 / sizes.width
    _words(figure, (middle, 6 / sizes.height), _cut(layout.title, 60), sizes, ha="center")
    return _written(figure)


def _marks(axes: "Axes", term: Term, places: np.ndarray, selection: tuple[np.ndarray, int], *, upright: bool) -> None:
    """Draw the wide pale bars (where they are others than the narrow), the narrow bars and the points of one series."""
    mask, series = selection
    at, n_cells = places[mask], len(places)
    thin = upright and n_cells > 60
    widths = (min(5.0, max(0.6, 380 / n_cells)), min(1.6, max(0.4, 160 / n_cells))) if thin else (5.0, 1.7)
    ends = [np.clip(end[mask], *_range(term)) for end in (term.lowest, term.highest, term.lower, term.upper)]
    if term.alone:
        _bars(axes, at, (ends[0], ends[1]), (_PALE[series], widths[0], upright))
    _bars(axes, at, (ends[2], ends[3]), (COLOURS[series], widths[1], upright))
    values = term.estimate[mask]
    if thin:
        style = (COLOURS[series], min(3.6, max(1.2, 1000 / n_cells)), upright)
        _bars(axes, at, (values, values), style, cap="round")
        return
    x, y = (at, values) if upright else (values, at)
    look: dict[str, Any] = {"color": COLOURS[series], "marker": _SHAPES[series], "markersize": 4.6, "clip_on": False}
    axes.plot(x, y, linestyle="none", markeredgecolor="white", markeredgewidth=0.5, zorder=4, **look)


def _bars(
    axes: "Axes",
    at: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    style: tuple[str, float, bool],
    cap: str = "butt",
) -> None:
    """Draw all bars as one path, which keeps the page small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colour, width, upright = style
    along, across = np.column_stack(ends).ravel(), np.repeat(at, 2)
    points = np.column_stack((across, along) if upright else (along, across)).astype(float)
    path = Path(points, np.tile([Path.MOVETO, Path.LINETO], len(at)))
    axes.add_patch(
        PathPatch(path, fill=False, edgecolor=colour, linewidth=width, capstyle=cap, clip_on=False, zorder=3)
    )


def _range(term: Term) -> tuple[float, float]:
    """Return the ends of the axis: all bars and points, and 0 for counts, and unless all lie far from it.

    A bar without an end ends where the axis does.
    """
    shown = np.concatenate([term.lowest, term.highest, term.estimate])
    shown = shown[np.isfinite(shown)]
    low, high = float(shown.min()), float(shown.max())
    if low > 0 and (term.from_zero or low < high / 2):
        low = 0.0
    if low / 2 < high < 0:
        high = 0.0
    pad = 0.03 * (high - low) or 1.0
    return (low if low == 0 else low - pad), (high if high == 0 else high + pad)


def _ticks(term: Term) -> tuple[np.ndarray, list[str], str]:
    """Return the places and texts of the ticks, and their unit."""
    from matplotlib.ticker import MaxNLocator

    low, high = _range(term)
    locator = MaxNLocator(5 if high > 0 > low else 4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3)
    places = np.asarray(locator.tick_values(low, high))
    places = places[(places >= low) & (places <= high)]
    scale, unit = next((s, u) for least, s, u in _SCALES if max(-low, high) >= least)
    shown = places / scale
    decimals = next((d for d in range(7) if np.allclose(shown, np.round(shown, d), rtol=0, atol=1e-9)), 7)
    return places, [plain(float(value), decimals) for value in shown], unit


def _value_axis(axes: "Axes", term: Term, sizes: Sizes, *, upright: bool) -> None:
    places, texts, unit = _ticks(term)
    limits = _range(term)
    (axes.set_ylim if upright else axes.set_xlim)(*limits)
    _names(axes.set_yticks if upright else axes.set_xticks, places, texts, sizes)
    axes.grid(axis="y" if upright else "x", color=_FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    if limits[0] <= 0 <= limits[1]:
        (axes.axhline if upright else axes.axvline)(0, color=_INK, linewidth=0.9, zorder=2, clip_on=False)
    title = _cut(term.measure, 40) + unit
    box = axes.get_position()
    figure: Any = axes.figure
    height = figure.get_figheight() * 72
    if upright:
        _words(figure, (4 / sizes.width, 1 - (sizes.font + 2) / height), title, sizes)
    else:
        _words(figure, ((box.x0 + box.x1) / 2, 5 / height), title, sizes, ha="center")


def _names(set_ticks: Any, places: Sequence[float] | np.ndarray | range, texts: list[str], sizes: Sizes) -> None:
    """Set ticks with texts that are taken as they are: a "$" starts no formula."""
    set_ticks(list(places), texts, fontsize=sizes.font, color=_INK, parse_math=False)
    axis = set_ticks.__self__
    axis.tick_params(length=0, pad=4)


def _words(figure: Any, at: tuple[float, float], text: str, sizes: Sizes, **style: Any) -> None:
    figure.text(*at, text, fontsize=sizes.font, color=_SOFT, parse_math=False, **style)


def _cut(text: str, length: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= length else shown[: length - 1] + "…"


def _length(text: str) -> float:
    """Return about how wide a text is, in font sizes."""
    return sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.6 for letter in text)
