"""Answers: a card for each term, with its chart and table."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from gaugedp.domain.domain import PrivacyUnit
from gaugedp.releases.processing import remark, words
from gaugedp.report import figures
from gaugedp.report.figures import plain
from gaugedp.report.findings import finding
from gaugedp.report.layout import MARKS, Layout, arrange
from gaugedp.report.maps import area_map
from gaugedp.report.markup import Html, join, table, tag, titled
from gaugedp.report.term_charts import draw
from gaugedp.report.terms import MOST_DRAWN, ReportTerm, labels, read_terms

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release
from itertools import product

import numpy as np

from gaugedp.queries.outline import CELLS

_MOST_COLUMNS, _MOST_LINES = 6, 40
_FIRST_ROWS = 50  # shown of a table that is too long
_MOST_CARDS, _MOST_LARGE = 60, 12  # terms with a chart, and with a large chart
_HEADS = ("estimate", "lower", "upper")
_DOTS = "Dots are the released answers."
_ALONE = (
    "The error bars and intervals on this page are individual {level} confidence intervals: each contains its true "
    "answer with probability at least {level} over the noise, so some of many do not. To compare many answers, use the "
    "wider simultaneous intervals (lower_all, upper_all) of the CSV file, all of which contain their true answers."
)
_ENDS = (
    "The error bars and intervals on this page are simultaneous {level} confidence intervals: all contain their true "
    "quantiles with probability at least {level} over the noise. Their ends were released with the answers."
)
_SHORT = (
    "An error bar that is not visible is smaller than its dot. {covered} Rows that the rules below leave out are not "
    "part of the true answers."
)
_COVERED = {
    "noise": "Intervals contain the noise only, and not the sampling error of a survey.",
    "total": "The intervals of weighted counts, sums, means and shares contain the noise and the sampling error, which "
    "is estimated as for sampling with replacement; the others contain the noise only.",
}
_DIGITS = (
    "Numbers are shown to the precision of their intervals, whose ends are rounded outwards. The released numbers "
    "with all digits are in the CSV and JSON files."
)
_MARKS = "Marks of answers follow from the released numbers:"
_NEGATIVE = "Counts below 0, and cells that do not add up to their totals, come from the noise and are not mistakes."
_PROCESSED = (
    "Dots and estimates are processed: {steps}. Processing reads no data and costs nothing. The error bars and "
    "intervals are those of the raw answers, before processing: a dot may lie outside its interval. The raw answers "
    "are in the CSV and JSON files."
)


def is_wide(term: ReportTerm) -> bool:
    """Return True if a cross table of the term is narrow."""
    is_of_cells = len(term.axes) > 1 and all(axis.form == CELLS for axis in term.axes)
    few = len(term.cells) <= _MOST_LINES * len(term.levels[-1]) if term.levels else False
    return is_of_cells and few and 1 < len(term.levels[-1]) <= _MOST_COLUMNS


def wide_table(term: ReportTerm) -> Html:
    """Return a cross table of estimates and intervals, if narrow."""
    if not is_wide(term):
        return Html("")
    *along, across = term.levels
    heads = [f"{' · '.join(term.names[:-1])}, by {term.names[-1]}", *across]
    cells = [join([middle, tag("small", f"{low} to {high}")]) if low else middle for middle, low, high in _shown(term)]
    n = len(across)
    lines = [" · ".join(levels) for levels in product(*along)]
    rows = [[line, *cells[place * n : (place + 1) * n]] for place, line in enumerate(lines)]
    caption = f"Estimates with {term.level} intervals{term.bars}"
    return table(caption, heads, rows, class_="numbers crossed", about=term.meaning)


def answers(release: "Release", remarks: Sequence[str] = ()) -> Html:
    """Return the section of all answers, with `remarks` in the note."""
    terms = read_terms(release)
    compact = len(terms) > _MOST_LARGE
    cards = list(_cards(terms, compact))
    n_hidden = len(terms) - len(cards)
    names = "; ".join(term.text for term in terms[len(cards) :][:40])
    left_out = f"{n_hidden:,} more terms are in the CSV and JSON files: {names}{'; …' if n_hidden > 40 else ''}."
    note = tag("div", *(tag("p", text) for text in (*remarks, *_explained(release, terms))), class_="note")
    return titled(
        "Answers",
        tag("div", cards[0], note, *cards[1:], class_="cards compact" if compact else "cards"),
        tag("p", left_out) if n_hidden else "",
        class_="answers",
    )


def _explained(release: "Release", terms: list[ReportTerm]) -> list[str]:
    bars = dict.fromkeys((_ENDS if term.simultaneous else _ALONE).format(level=term.level) for term in terms)
    legends = [f"{_MARKS} {'; '.join(flag.legend for flag in release.flags)}."] if release.flags else []
    short = _SHORT.format(covered=_COVERED[release.intervals])
    meaning = " ".join([*bars, short, *PrivacyUnit.of(release.facts["unit"]).rules, *legends])
    if not release.processing:
        adds_up = any(estimate.is_plain for estimate in release.estimates)
        return [f"{_DOTS} {meaning}", _DIGITS, *[_NEGATIVE] * adds_up]
    done = release.facts["processing"]
    processed, undone = _PROCESSED.format(steps=words(done)), remark(done)
    return [processed, *([undone] if undone else []), meaning, _DIGITS]


def _cards(terms: list[ReportTerm], compact: bool) -> Iterator[Html]:
    rows_left = 8000  # rows on the page
    for index, term in enumerate(terms[:_MOST_CARDS]):
        n_rows = len(term.cells)
        whole = n_rows <= min(MOST_DRAWN, rows_left)
        rows_left -= n_rows if whole else min(n_rows, _FIRST_ROWS)
        yield _card(term, f"c{index + 1}", compact, n_rows if whole else min(n_rows, _FIRST_ROWS))


def _card(term: ReportTerm, name: str, compact: bool, n_rows: int) -> Html:
    is_single = len(term.cells) == 1
    layout = None if is_single or not len(term.shown) else arrange(term, compact)
    wide = layout is not None and layout.form != "dots" and not compact
    tables = [] if is_single else [wide_table(term), _numbers(term, n_rows, compact or is_wide(term))]
    above = [
        _single(term) if is_single else _said(term),
        *([] if is_single else [_pictures(term, layout, name, compact)]),
    ]
    body = [tag("h3", term.title or term.meaning), *above, *tables]
    return tag("article", *body, class_="card wide" if wide else "card", id=name)


def _said(term: ReportTerm) -> Html:
    said = finding(term)
    return tag("p", said) if said else Html("")


def _pictures(term: ReportTerm, layout: Layout | None, name: str, compact: bool) -> Html:
    """Return the chart and, if outlines are known, a map."""
    if not len(term.shown):
        return Html("")
    if layout is None:
        return tag("p", f"{len(term.cells):,} cells are too many for a chart. The CSV file has them all.")
    return join([area_map(term) if term.areas else "", chart(term, layout, name, compact)])


def chart(term: ReportTerm, layout: Layout, name: str, compact: bool = False) -> Html:
    """Return the chart with its key; a wide one scrolls."""
    box = {"class_": "paper"}
    if layout.form != "dots" and not compact:
        box = {"class_": "paper scroll", "tabindex": "0", "role": "region", "aria_label": f"Chart: {term.meaning}"}
    said = [tag("figcaption", f"{layout.remark}.")] if layout.remark else []
    key = _key(layout) if layout.series_title else ""
    return tag("figure", *said, key, tag("div", draw(term, layout, name, compact), **box))


def _key(layout: Layout) -> Html:
    """Return the legend of colours and marks."""
    items = [
        tag("span", tag("b", mark, style=f"color:var(--c{place})", aria_hidden="true"), f" {label}")
        for place, (mark, label) in enumerate(zip(MARKS, layout.series, strict=False))
    ]
    return tag("p", f"{layout.series_title}: ", *items, class_="key")


def _single(term: ReportTerm) -> Html:
    """Return one large number, its meaning and its interval."""
    middle, lower, upper = next(_shown(term))
    what = f"{term.meaning}. " if term.title else ""
    if not lower:
        return tag("p", tag("strong", middle), f" {what}Not shown.", class_="single")
    said = f" {what}{term.level} interval{term.bars}: {lower} to {upper}"
    return tag("p", tag("strong", middle), said, class_="single")


def _numbers(term: ReportTerm, n_rows: int, folded: bool) -> Html:
    total = len(term.cells)
    of_all = f"the first {n_rows:,} of {plain(total)} rows" if n_rows < total else f"{plain(total)} rows"
    rows = ((cell, *numbers) for cell, numbers in zip(labels(term), islice(_shown(term), n_rows), strict=False))
    heads = (" · ".join(term.names) or "cell", *_HEADS)
    written = table(f"Estimates with {term.level} intervals{term.bars}", heads, rows, about=term.meaning)
    if total <= 12 and not (folded and total > 1):  # longer tables are folded
        return written
    return tag("details", tag("summary", f"Table: {of_all}"), written)


def _shown(term: ReportTerm) -> Iterator[tuple[str, str, str]]:
    """Yield estimates with their marks and intervals; a suppressed one is its mark."""
    at = term.shown
    written = iter(figures.answers(term.estimate[at], term.lower[at], term.upper[at]) if len(at) else ())
    is_hidden = np.isnan(term.estimate).tolist()
    for hidden, mark in zip(is_hidden, term.marks or [""] * len(is_hidden), strict=True):
        middle, low, high = (mark, "", "") if hidden else next(written)
        yield (middle if hidden or not mark else join([middle, " ", tag("sup", mark)])), low, high
