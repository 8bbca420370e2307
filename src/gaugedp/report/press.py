"""Page for the press: findings, one picture, and the noise."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.language import say, written_in
from gaugedp.releases.tidy.flags import legends
from gaugedp.report.answers import chart
from gaugedp.report.findings import numbers, said, strength, with_flags
from gaugedp.report.html import imprint, warnings
from gaugedp.report.layout import arrange
from gaugedp.report.maps import area_map
from gaugedp.report.markup import Html, heading, join, listing, tag, titled
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed
from gaugedp.report.terms import ReportTerm, read_terms

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release


def press(release: "Release") -> str:
    """Return the page, deterministically."""
    check_installed()
    with written_in(release.language):
        return _page(release)


def _page(release: "Release") -> str:
    terms = sorted(read_terms(release), key=strength, reverse=True)
    title = release.captions.title or say("press.statistics", table=release.facts["table"])
    head = heading(say("press.kicker"), title)
    found = [sentence for term in terms if (sentence := _found(term))]
    more = tag("p", say("press.more")) if len(found) > 6 else ""
    sentences = titled(say("press.findings"), listing(found[:6]), more) if found else Html("")
    body = [head, warnings(release.facts), tag("main", sentences, _picture(terms), _noise(release, terms[0]))]
    return document(title, body, say("page.from_release"))


def _found(term: ReportTerm) -> Html:
    """Return the finding of a term after its title, if short."""
    if len(term.cells) == 1 and not len(term.shown):
        return Html("")
    if len(term.cells) > 1:
        sentence = said(term)
    else:  # also below 0, as in the report
        sentence = with_flags("p", say("press.answer", number=numbers(replace(term, kind=""), np.array([0]))[0]))
    return join([tag("p", tag("strong", term.title or term.meaning)), sentence]) if sentence else Html("")


def _picture(terms: list[ReportTerm]) -> Html:
    """Return one picture: a map if possible, else a chart."""
    charts = [(term, layout) for term in terms if len(term.shown) > 1 and (layout := arrange(term, compact=False))]
    if not charts:
        return Html("")
    term, layout = next((pair for pair in charts if pair[0].areas), charts[0])
    picture = area_map(term) if term.areas else chart(term, layout, "picture")
    return titled(term.title or term.meaning, tag("div", picture, class_="card picture"))


def _noise(release: "Release", term: ReportTerm) -> Html:
    captions = release.captions
    source = say("press.source", source=captions.source.removesuffix(".")) if captions.source else ""
    intervals = say("press.simultaneous" if term.simultaneous else "press.individual", level=term.level)
    meanings = " ".join(legends(release.flags, [outline.text for outline in release.terms]))
    texts = (
        say("press.weighted") if any(outline.weights for outline in release.terms) else "",
        say("press.noise", intervals=intervals, covered=say(f"press.covers_{release.intervals}")),
        meanings,
        say("press.processed") if release.processing else "",
        captions.footnote,
        source,
        *imprint(captions),
    )
    return titled(say("press.about"), *(tag("p", text) for text in texts if text))
