"""Answers: a card for each term, with its chart and table."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from gaugedp._internal.language import listed, say, translated
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.releases.processing import remark, words
from gaugedp.releases.sampling_error import design_of
from gaugedp.releases.tidy.flags import legends
from gaugedp.releases.tidy.in_words import apart
from gaugedp.report import figures
from gaugedp.report.figures import plain
from gaugedp.report.findings import said
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

_HEADS = ("estimate", "lower", "upper")


def is_wide(term: ReportTerm) -> bool:
    """Return True if a cross table of the term is narrow."""
    is_of_cells = len(term.axes) > 1 and all(axis.form == CELLS for axis in term.axes)
    across = min(map(len, term.levels), default=0)
    return is_of_cells and len(term.cells) <= 40 * across and 1 < across <= 6


def wide_table(term: ReportTerm) -> Html:
    """Return a cross table of estimates and intervals, if narrow: the attribute with the fewest cells runs across."""
    if not is_wide(term):
        return Html("")
    sizes = [len(levels) for levels in term.levels]
    last = max(range(len(sizes)), key=lambda axis: (-sizes[axis], axis))
    along = [axis for axis in range(len(sizes)) if axis != last]
    rows_are = " · ".join(term.names[axis] for axis in along)
    heads = [say("answers.across", rows=rows_are, columns=term.names[last]), *term.levels[last]]
    cells = [
        join([middle, tag("small", say("answers.range", low=low, high=high))], " ") if low else middle
        for middle, low, high in _shown(term)
    ]
    places = np.arange(len(cells)).reshape(sizes).transpose([*along, last]).reshape(-1, sizes[last])
    lines = [" · ".join(levels) for levels in product(*(term.levels[axis] for axis in along))]
    rows = [[line, *(cells[place] for place in own)] for line, own in zip(lines, places, strict=True)]
    caption = say("answers.estimates", level=term.level, bars=term.bars)
    return table(caption, heads, rows, class_="numbers crossed", about=term.meaning)


def answers(release: "Release", remarks: Sequence[str] = ()) -> Html:
    """Return the section of all answers, with `remarks` in the note."""
    terms = read_terms(release)
    compact = len(terms) > 12  # with smaller charts
    cards = list(_cards(terms, compact))
    n_hidden = len(terms) - len(cards)
    names = "; ".join(term.text for term in terms[len(cards) :][:40])
    names += "; …" * (n_hidden > 40)  # names at most
    left_out = say("answers.more", n_hidden, count=plain(n_hidden), names=names) if n_hidden else ""
    note = tag(
        "div", *(tag("p", text) for text in (*map(translated, remarks), *_explained(release, terms))), class_="note"
    )
    return titled(
        say("answers.title"),
        tag("div", *cards, note, class_="cards compact")
        if compact
        else tag("div", cards[0], note, *cards[1:], class_="cards"),
        tag("p", left_out) if n_hidden else "",
        class_="answers",
    )


def _explained(release: "Release", terms: list[ReportTerm]) -> list[str]:
    kinds = dict.fromkeys(("answers.ends" if term.simultaneous else "answers.alone", term.level) for term in terms)
    bars = [say(kind, level=level) for kind, level in kinds]
    unit_rules = map(translated, PrivacyUnit.of(release.facts["unit"]).rules)
    covers = say(f"answers.covers_{release.intervals}", design=say(f"answers.design_{design_of(release.terms)}"))
    weighted = [say("press.weighted")] * any(outline.weights for outline in release.terms)
    marks = legends(release.flags, [term.text for term in terms])
    meaning = " ".join([*bars, covers, *weighted, say("answers.short"), *unit_rules, *marks])
    digits = say("answers.digits")
    if not release.processing:
        adds_up = any(estimate.is_plain for estimate in release.estimates)
        return [meaning, digits, *[say("answers.negative")] * adds_up]
    done = release.facts["processing"]
    said = say("answers.processed", steps=_steps(done)), apart(release.facts, release.captions, release.terms)
    return [*filter(None, [*said, translated(remark(done))]), meaning, digits]


def _steps(done: Mapping[str, Any]) -> str:
    """Describe the processing of all tables, or of some."""
    if "parts" not in done:
        return say("answers.then").join(map(translated, words(done).split("; then ")))
    parts = [(list(map(str, part["tables"])), _steps(part)) for part in done["parts"]]
    return "; ".join(say("answers.in_tables", len(at), tables=listed(at), steps=steps) for at, steps in parts)


def _cards(terms: list[ReportTerm], compact: bool) -> Iterator[Html]:
    rows_left = 8000  # rows on the page
    for index, term in enumerate(terms[:60]):
        n_rows = len(term.cells)
        whole = n_rows <= min(MOST_DRAWN, rows_left)
        rows_left -= n_rows if whole else min(n_rows, 50)  # if it is too long
        yield _card(term, f"c{index + 1}", compact, n_rows if whole else min(n_rows, 50))


def _card(term: ReportTerm, name: str, compact: bool, n_rows: int) -> Html:
    is_single = len(term.cells) == 1
    layout = None if is_single or not len(term.shown) else arrange(term, compact)
    wide = layout is not None and layout.form != "dots" and not compact
    body: list[Html] = [tag("h3", term.title or term.meaning)]
    if is_single:
        body.append(_single(term))
    else:
        most_open = 1 if compact or is_wide(term) else 12 if wide else 24  # rows next to a chart fill their half
        tables = join([wide_table(term), _numbers(term, n_rows, most_open)])
        picture = _picture(term, layout, name, compact)
        map_ = area_map(term) if term.areas and layout is not None and len(term.shown) else ""
        left, right = (map_, join([picture, tables])) if map_ else (picture, tables)
        halves = "" if wide else "halves"  # next to each other if there is room
        body += [said(term), tag("div", tag("div", left), tag("div", right), class_=halves)]
    return tag("article", *body, class_="card wide" if wide or not compact else "card", id=name)


def _picture(term: ReportTerm, layout: Layout | None, name: str, compact: bool) -> Html:
    """Return the chart, or why there is none."""
    if not len(term.shown):
        return Html("")
    if layout is None:
        return tag("p", say("answers.many", count=plain(len(term.cells))))
    return chart(term, layout, name, compact)


def chart(term: ReportTerm, layout: Layout, name: str, compact: bool = False) -> Html:
    """Return the chart with its key."""
    said = [tag("figcaption", layout.remark)] if layout.remark else []
    key = _key(layout) if layout.series_title else ""
    return tag("figure", *said, key, tag("div", draw(term, layout, name, compact), class_="paper"))


def _key(layout: Layout) -> Html:
    """Return the legend of colours and marks."""
    items = [
        tag("span", tag("b", mark, style=f"color:var(--c{place})", aria_hidden="true"), f" {label}")
        for place, (mark, label) in enumerate(zip(MARKS, layout.series, strict=False))
    ]
    return tag("p", say("page.colon", name=layout.series_title), join(items, " "), class_="key")


def _single(term: ReportTerm) -> Html:
    """Return one large number, its meaning and its interval."""
    middle, lower, upper = next(_shown(term))
    hidden = say("answers.hidden")
    said = say("answers.interval", level=term.level, bars=term.bars, lower=lower, upper=upper) if lower else hidden
    what = f" {term.meaning}" if term.title else ""
    return join([tag("p", tag("strong", middle), what, class_="single"), tag("p", said)])


def _numbers(term: ReportTerm, n_rows: int, most_open: int) -> Html:
    total = len(term.cells)
    of_all = say("answers.first", total, first=plain(n_rows), count=plain(total))
    summary = of_all if n_rows < total else say("answers.table", total, count=plain(total))
    rows = ((cell, *numbers) for cell, numbers in zip(labels(term), islice(_shown(term), n_rows), strict=False))
    heads = (" · ".join(term.names) or say("answers.cell"), *(say(f"answers.{head}") for head in _HEADS))
    written = table(say("answers.estimates", level=term.level, bars=term.bars), heads, rows, about=term.meaning)
    if total <= most_open:  # longer tables are folded
        return written
    return tag("details", tag("summary", summary), written)


def _shown(term: ReportTerm) -> Iterator[tuple[str, str, str]]:
    """Yield estimates with their marks and intervals; a suppressed one is its mark."""
    at = term.shown
    written = iter(figures.answers(term.estimate[at], term.lower[at], term.upper[at]) if len(at) else ())
    is_hidden = np.isnan(term.estimate).tolist()
    for hidden, mark in zip(is_hidden, term.marks or [""] * len(is_hidden), strict=True):
        middle, low, high = (mark, "", "") if hidden else next(written)
        yield (middle if hidden or not mark else join([middle, " ", tag("sup", mark)])), low, high
