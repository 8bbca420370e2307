"""The page for the press: what was found in sentences, one picture, and what the noise means, from a release alone."""

from typing import TYPE_CHECKING

from gaugedp.report import figures
from gaugedp.report.answers import chart, finding
from gaugedp.report.html import warnings
from gaugedp.report.layout import arrange
from gaugedp.report.maps import area_map
from gaugedp.report.markup import Html, escape, heading, join, listing, tag, titled
from gaugedp.report.page import document
from gaugedp.report.plots import check_installed
from gaugedp.report.terms import ReportTerm, read_terms

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

_MOST_FINDINGS = 6  # findings
_NOISE = (
    "Every figure includes random noise, so that it tells almost nothing about any one person. {intervals} "
    "They do not tell how far a survey is off."
)
_SIMULTANEOUS = "The intervals are simultaneous: all contain the figures without noise with a probability of {level}."
_INDIVIDUAL = "The intervals are individual: each contains its figure without noise with a probability of {level}."
_PROCESSED = "The intervals are those from before the figures were made to fit one another."


def press(release: "Release") -> str:
    """Return the page; the same release gives the same bytes."""
    check_installed()
    terms = read_terms(release)
    title = release.captions.title or f"Figures from {release.facts['table']}"
    head = heading("For the press", title)
    said = [said for term in terms if (said := _said(term))]
    more = [escape("Further tables are in the full report.")] if len(said) > _MOST_FINDINGS else []
    sentences = titled("In sentences", listing([*said[:_MOST_FINDINGS], *more])) if said else Html("")
    body = [head, warnings(release.facts), tag("main", sentences, _picture(terms), _noise(release, terms[0]))]
    return document(title, body, "Made from a release; no row was read for it.")


def _said(term: ReportTerm) -> Html:
    """Return what a term says, after its title; nothing where it has no short sentence."""
    if len(term.cells) == 1:
        middle, low, high = figures.answer(term.estimate[0], term.lower[0], term.upper[0])
        said = f"{middle}{term.sign}, between {low} and {high}{term.sign}."
    else:
        said = finding(term)
    return join([tag("strong", f"{term.title or term.meaning}."), f" {said}"]) if said else Html("")


def _picture(terms: list[ReportTerm]) -> Html:
    """Return one picture: of the first term with a map, or else of the first that has a chart."""
    charts = [(term, layout) for term in terms if len(term.cells) > 1 and (layout := arrange(term, compact=False))]
    if not charts:
        return Html("")
    term, layout = next((pair for pair in charts if pair[0].areas), charts[0])
    picture = area_map(term) if term.areas else chart(term, layout, "picture")
    return titled(term.title or term.meaning, tag("div", picture, class_="card"))


def _noise(release: "Release", term: ReportTerm) -> Html:
    captions = release.captions
    source = f"Source: {captions.source.removesuffix('.')}." if captions.source else ""
    intervals = (_SIMULTANEOUS if term.simultaneous else _INDIVIDUAL).format(level=term.level)
    said = (_NOISE.format(intervals=intervals), _PROCESSED if release.processing else "", captions.footnote, source)
    return titled("About these figures", *(tag("p", text) for text in said if text))
