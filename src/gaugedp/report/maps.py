"""Maps of a term's answers in plain SVG. Amounts are circles, other numbers shades; both follow day and night."""

import re

import numpy as np

from gaugedp._internal.language import say
from gaugedp.report import figures
from gaugedp.report.markup import Html, join, tag
from gaugedp.report.term_charts import describe
from gaugedp.report.terms import ReportTerm

_NUMBERS = re.compile(r"-?\d+")
_LARGEST_RADIUS = 70  # radius of the largest circle, in the units of a map


def area_map(term: ReportTerm) -> Html:
    """Return the map with its caption. The table next to it has every number."""
    cells = [(at, text) for at, text in enumerate(term.axes[0].texts) if text in term.areas]
    places = np.array([_box(term.areas[text]) for _, text in cells])
    width, height = places[:, 2:].max(axis=0)
    indices = [at for at, _ in cells]
    is_amount = term.counts
    shades = np.zeros(len(cells), int) if is_amount else _shades(term.estimate[indices])
    areas = [
        tag("path", tag("title", _description(term, at)), d=term.areas[text], class_=f"area shade{shade}")
        for (at, text), shade in zip(cells, shades, strict=True)
    ]
    middles = (places[:, :2] + places[:, 2:]) / 2
    marks = [
        *(_circles(term.estimate[indices], middles) if is_amount else ()),
        *_names(term, indices, middles, is_amount),
    ]
    said = describe(term, "charts.map")
    drawing = tag("svg", tag("title", said), *areas, *marks, **_frame(width, height, said))
    words = _steps(term, shades, indices) if not is_amount and term.shown.size else say("charts.circles")
    return tag("figure", tag("figcaption", words), tag("div", drawing, class_="map"))


def _frame(width: float, height: float, said: str) -> dict[str, str]:
    box = f"-20 -20 {width + 40:g} {height + 40:g}"
    return {"viewBox": box, "class_": "chart", "role": "img", "aria_label": said}


def _box(outline: str) -> list[int]:
    points = np.array(_NUMBERS.findall(outline), int).reshape(-1, 2)
    return [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()]


def _shades(values: np.ndarray) -> np.ndarray:
    """Return a shade for each value; suppressed ones, which are NaN, have the first."""
    shown = values[~np.isnan(values)]
    low, spread = (shown.min(), np.ptp(shown) or 1.0) if shown.size else (0.0, 1.0)
    return np.minimum((np.nan_to_num(values, nan=low) - low) / spread * 5, 5 - 1).astype(int)


def _steps(term: ReportTerm, shades: np.ndarray, indices: list[int]) -> str:
    values = term.estimate[indices]
    low, high = (figures.short(float(end)) for end in (np.nanmin(values), np.nanmax(values)))
    return say("charts.shades", used=len(np.unique(shades[~np.isnan(values)])), shades=5, low=low, high=high)


def _circles(values: np.ndarray, middles: np.ndarray) -> list[Html]:
    sizes = np.maximum(np.nan_to_num(values), 0)
    radii = _LARGEST_RADIUS * np.sqrt(sizes / (sizes.max() or 1.0))
    return [
        tag("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{r:.1f}", class_="amount")
        for (x, y), r in zip(middles, radii, strict=True)
    ]


def _names(term: ReportTerm, indices: list[int], middles: np.ndarray, is_below: bool) -> list[Html]:
    """Return the labels of areas, if they are few. For amounts, they stand below the circles."""
    if len(indices) > 30:  # areas that are labelled on the map
        return []
    down = _LARGEST_RADIUS + 32 if is_below else 0
    texts = list(figures.answers(term.estimate, term.lower, term.upper))
    return [
        join(
            tag("text", word, x=f"{x:g}", y=f"{y + down + shift:g}", text_anchor="middle")
            for word, shift in ((term.levels[0][at], 0), (term.marks[at] if _is_hidden(term, at) else texts[at][0], 34))
        )
        for at, (x, y) in zip(indices, middles, strict=True)
    ]


def _is_hidden(term: ReportTerm, at: int) -> bool:
    return bool(np.isnan(term.estimate[at]))


def _description(term: ReportTerm, at: int) -> str:
    if _is_hidden(term, at):
        return f"{term.levels[0][at]}: {term.marks[at]}"
    middle, low, high = figures.answer(term.estimate[at], term.lower[at], term.upper[at])
    return say("charts.area", area=term.levels[0][at], estimate=middle, low=low, high=high)
