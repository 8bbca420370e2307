"""Charts as SVG text; matplotlib is imported when drawing. No other module imports it."""

import importlib.util
import math
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gaugedp._internal.visible import visible
from gaugedp.errors import MissingExtra
from gaugedp.report.markup import Html
from gaugedp.report.palette import COLOURS, FAINT, INK, PALE, SOFT
from gaugedp.report.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHAPES = "os^DvP"
_BROAD = "mwMW%@—…"


@dataclass(frozen=True)
class Sizes:
    """Lengths in points; the page scales them."""

    width: float
    font: float
    row: float
    height: float = 0.0


NORMAL, COMPACT = Sizes(340, 10.5, 17, 200), Sizes(300, 10.5, 14, 165)
WIDE = Sizes(760, 10.5, 17, 240)


def check_installed() -> None:
    """Refuse to continue if the packages for charts are missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra.needed_for("A report", "report")


@contextmanager
def settings(name: str) -> Iterator[None]:
    """Set reproducible drawing parameters temporarily. A missing glyph is left to the browser."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        mpl.rcdefaults()
        mpl.rcParams.update(
            {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "DejaVu Sans", "path.simplify": False}
        )
        yield


def new_figure(sizes: Sizes, height: float, margins: tuple[float, float, float, float]) -> tuple[Any, "Axes"]:
    """Return a figure and axes; margins are left, right, bottom, top. They are in points."""
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


def written(figure: Any) -> str:
    """Return the drawing as SVG text."""
    text = StringIO()
    figure.canvas.print_svg(text, metadata={"Date": None})
    return text.getvalue()


Curves = dict[str, list[tuple[float, float]]]


def draw_curves(curves: Curves, bound: list[tuple[float, float]], title: str) -> str:
    """Plot expected errors against ε on log axes. There is one line per name; `bound` is dashed."""
    with _sheet("curves") as axes:
        _lines(axes, curves)
        if bound:
            axes.plot(*zip(*bound, strict=True), color=INK, linestyle="--", label="lower bound")
        axes.set(yscale="log", xlabel="ε", ylabel="expected error")
        return _finished(axes, title, "both")


def draw_power(curves: Curves, ceilings: dict[str, float], title: str) -> str:
    """Plot true-positive rates against rows; `ceilings` are dashed."""
    with _sheet("power") as axes:
        _lines(axes, curves)
        for name, colour in zip(curves, COLOURS, strict=False):
            if ceilings.get(name, 1.0) < 1:
                axes.axhline(ceilings[name], color=colour, linestyle="--", linewidth=1, label=f"ceiling, {name}")
        axes.set(ylim=(-0.02, 1.02), xlabel="rows", ylabel="true-positive rate")
        return _finished(axes, title)


def draw_tradeoff(curves: Curves, title: str) -> str:
    """Plot false-negative against false-positive rates; guessing is dashed."""
    with _sheet("tradeoff") as axes:
        for (label, points), colour in zip(curves.items(), COLOURS, strict=False):
            axes.plot(*zip(*points, strict=True), label=visible(label), color=colour)
        axes.plot([0, 1], [1, 0], color=INK, linestyle="--", linewidth=1, label="guessing")
        axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="false-positive rate", ylabel="false-negative rate")
        return _finished(axes, title)


def draw_renyi(curves: Curves, limits: dict[str, float], title: str) -> str:
    """Plot divergences against orders; finite `limits` are dotted."""
    with _sheet("renyi") as axes:
        for (label, points), colour in zip(curves.items(), COLOURS, strict=False):
            words = visible(label)
            if math.isfinite(limits[label]):
                axes.axhline(limits[label], color=colour, linestyle=":", linewidth=1)
                words += f", pure ε {limits[label]:.2f}"
            axes.plot(*zip(*points, strict=True), label=words, color=colour)
        axes.set(ylim=(0, None), xlabel="order α", ylabel="divergence ζ in nats")
        return _finished(axes, title)


def draw_months(names: Sequence[str], spent: np.ndarray, title: str) -> Html:
    """Draw each month's share of the budget, for a page."""
    check_installed()
    with settings("months"):
        wide, narrow = (_months(names, spent, sizes) for sizes in (WIDE, COMPACT))
        return inline(wide, "months", title, "chart wide", narrow)


def _months(names: Sequence[str], spent: np.ndarray, sizes: Sizes) -> str:
    places, zero = np.arange(len(names)), np.zeros(len(names))
    figure, axes = new_figure(sizes, sizes.height, (48, 12, 2 * sizes.font + 8, sizes.font))
    width = 22.0 * sizes.width / WIDE.width
    bars(axes, places, (zero, spent[:-1]), (PALE[0], width, True))
    bars(axes, places, (spent[:-1], spent[1:]), (COLOURS[0], width, True))
    axes.axhline(1, color=INK, linestyle="--", linewidth=0.9)
    axes.axhline(0, color=INK, linewidth=0.9)
    axes.set(xlim=(-0.6, len(names) - 0.4), ylim=(0, 1.02))
    every = 1 if sizes is WIDE else 3
    set_names(axes.set_xticks, places[::every], list(names[::every]), sizes)
    set_names(axes.set_yticks, [0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"], sizes)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    return written(figure)


@dataclass(frozen=True, eq=False)
class Shadow:
    """Projection of a body: edge (k, 2), noise (n, 2), axis names."""

    edge: np.ndarray
    noise: np.ndarray
    names: tuple[str, str]


def draw_shadows(planes: Iterable[tuple[np.ndarray, np.ndarray, tuple[str, str]]], words: tuple[str, str]) -> str:
    """Draw projections side by side, with noise as dots.

    `planes` holds edge, noise and names of each `Shadow`; `words` are the title and the noise's name.
    """
    shadows = [Shadow(*plane) for plane in planes]
    check_installed()
    with settings("shadows"):
        figure, axes = new_figure(WIDE, 310, (8, 8, 8, 8))
        axes.set_axis_off()
        figure.patch.set_visible(True)
        write_words(figure, (10 / WIDE.width, 290 / 310), shortened(words[0], 110), WIDE)
        for index, shadow in enumerate(shadows):
            panel = figure.add_axes(((46 + 246 * index) / WIDE.width, 60 / 310, 190 / WIDE.width, 216 / 310))
            panel.spines[:].set_visible(False)
            reach = 1.05 * max(np.quantile(np.abs(shadow.noise), 0.98), np.abs(shadow.edge).max())
            x, y = shadow.noise[(np.abs(shadow.noise) < reach).all(axis=1)].T
            bars(panel, x, (y, y + reach / 1000), (COLOURS[1], 2.0, True), cap="round")
            panel.plot([], [], ".", color=COLOURS[1], label=words[1])
            panel.fill(
                *shadow.edge.T, color=COLOURS[0], alpha=0.6, zorder=4, label="the body: possible changes by one unit"
            )
            panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            panel.set_xlabel(shadow.names[0], fontsize=WIDE.font, color=SOFT)
            panel.set_ylabel(shadow.names[1], fontsize=WIDE.font, color=SOFT, labelpad=0)
            panel.tick_params(length=0, labelsize=WIDE.font - 1.5, labelcolor=SOFT)
            panel.grid(color=FAINT, linewidth=0.7)
        handles = panel.get_legend_handles_labels()
        figure.legend(*handles, loc="lower left", ncols=2, frameon=False, fontsize=WIDE.font, markerscale=3)
        return written(figure)


Shape = tuple[str, np.ndarray, list[str] | None, np.ndarray, np.ndarray | None]  # name, edges, labels, values, widths


def draw_shapes(shapes: Iterable[Shape], title: str) -> str:
    """Draw functions with one value per bin (K, B), and bands of half-widths, as one drawing for each."""
    check_installed()
    drawings: list[str] = []
    for name, edges, labels, values, widths in shapes:
        with settings(f"shape-{name}"):
            figure, axes = new_figure(NORMAL, NORMAL.height, (48, 10, 44, 22))
            for index, (line, colour) in enumerate(zip(values, COLOURS * len(values), strict=False)):
                steps = np.append(line, line[-1])
                axes.step(edges, steps, where="post", color=colour)
                if widths is not None:
                    band = np.append(widths[index], widths[index][-1])
                    axes.fill_between(edges, steps - band, steps + band, step="post", color=colour, alpha=0.25)
            axes.axhline(0, color=INK, linewidth=0.7)
            axes.set_title(shortened(name, 40), fontsize=NORMAL.font, color=INK, loc="left", parse_math=False)
            if labels is not None:
                texts = [shortened(label, 8) for label in labels]
                set_names(axes.set_xticks, edges[:-1] + np.diff(edges) / 2, texts, NORMAL)
            axes.tick_params(length=0, labelsize=NORMAL.font - 1.5, labelcolor=SOFT)
            axes.grid(color=FAINT, linewidth=0.7)
            drawings.append(str(inline(written(figure), f"shape-{len(drawings)}", f"{title}: {name}", "chart")))
    return "".join(drawings)


@contextmanager
def _sheet(name: str) -> Iterator["Axes"]:
    """Yield the axes of a stand-alone drawing with a legend."""
    check_installed()
    with settings(name):
        figure, axes = new_figure(WIDE, WIDE.height + 60, (56, 170, 44, 26))
        figure.patch.set_visible(True)
        yield axes


def _lines(axes: "Axes", curves: Curves) -> None:
    """Draw a line per name over a log axis, all points ticked."""
    looks: list[dict[str, Any]] = [
        {"marker": shape, "color": colour} for shape, colour in zip(SHAPES, COLOURS, strict=True)
    ]
    for index, (label, points) in enumerate(curves.items()):
        axes.plot(*zip(*points, strict=True), label=visible(label), markersize=4.6, **looks[index % len(looks)])
    axes.set(xscale="log")
    places = sorted({place for points in curves.values() for place, _ in points})
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.set_xticks([], minor=True)


def _finished(axes: "Axes", title: str, grid: Literal["major", "both"] = "major") -> str:
    """Add title, grid and legend, and return the drawing."""
    axes.set_title(shortened(title, 90), fontsize=WIDE.font, color=INK, loc="left", parse_math=False)
    axes.grid(which=grid, color=FAINT, linewidth=0.7)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=WIDE.font)
    return written(axes.figure)


def bars(
    axes: "Axes",
    at: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    style: tuple[str, float, bool],
    cap: str = "butt",
) -> None:
    """Draw all bars as one path, for a small page."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colour, width, upright = style
    along, across = np.column_stack(ends).ravel(), np.repeat(at, 2)
    points = np.column_stack((across, along) if upright else (along, across)).astype(float)
    path = Path(points, np.tile([Path.MOVETO, Path.LINETO], len(at)))
    axes.add_patch(
        PathPatch(path, fill=False, edgecolor=colour, linewidth=width, capstyle=cap, clip_on=False, zorder=3)
    )


def round_places(low: float, high: float) -> np.ndarray:
    """Return about five round numbers from low to high."""
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(5 if high > 0 > low else 4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3)
    places = np.asarray(locator.tick_values(low, high))
    return places[(places >= low) & (places <= high)]


def set_names(set_ticks: Any, places: Sequence[float] | np.ndarray | range, texts: list[str], sizes: Sizes) -> None:
    """Set ticks with literal texts: "$" starts no formula."""
    set_ticks(list(places), texts, fontsize=sizes.font, color=INK, parse_math=False)
    axis = set_ticks.__self__
    axis.tick_params(length=0, pad=4)


def write_words(figure: Any, at: tuple[float, float], text: str, sizes: Sizes, **style: Any) -> None:
    """Write a text at relative coordinates of the figure."""
    figure.text(*at, text, fontsize=sizes.font, color=SOFT, parse_math=False, **style)


def shortened(text: str, length: int) -> str:
    """Return a displayable text, cut to a length."""
    shown = visible(text)
    return shown if len(shown) <= length else shown[: length - 1] + "…"


def text_length(text: str) -> float:
    """Estimate the width of a text in font sizes."""
    return sum(
        1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.9 if letter in _BROAD else 0.6 for letter in text
    )
