"""Page for the press: findings, one picture, and the noise."""

from typing import TYPE_CHECKING

from gaugedp.report import figures
from gaugedp.report.answers import chart
from gaugedp.report.findings import finding
from gaugedp.report.html import imprint, warnings
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
    "Every statistic includes random noise, so that it reveals almost nothing about any one person. {intervals} "
    "{covered}"
)
_COVERED = {
    "noise": "They do not include the sampling error of a survey.",
    "total": "Those of weighted statistics include the sampling error of the survey, and contain the value of the "
    "population with about this probability.",
}
_SIMULTANEOUS = "The intervals are simultaneous: all contain the statistics without noise with probability {level}."
_INDIVIDUAL = "The intervals are individual: each contains its statistic without noise with probability {level}."
_PROCESSED = "The intervals are those before the statistics were made consistent."


def press(release: "Release") -> str:
    """Return the page, deterministically."""
    check_installed()
    terms = read_terms(release)
    title = release.captions.title or f"Statistics from {release.facts['table']}"
    head = heading("For the press", title)
    said = [said for term in terms if (said := _said(term))]
    more = [escape("More tables are in the full report.")] if len(said) > _MOST_FINDINGS else []
    sentences = titled("Main findings", listing([*said[:_MOST_FINDINGS], *more])) if said else Html("")
    body = [head, warnings(release.facts), tag("main", sentences, _picture(terms), _noise(release, terms[0]))]
    return document(title, body, "Made from a release; no row was read for it.")


def _said(term: ReportTerm) -> Html:
    """Return the finding of a term after its title, if short."""
    if len(term.cells) == 1 and not len(term.shown):
        return Html("")
    if len(term.cells) == 1:
        middle, low, high = figures.answer(term.estimate[0], term.lower[0], term.upper[0])
        unit = f" {term.answer_unit}" if term.answer_unit else ""
        said = f"The answer is {middle}{term.sign}{unit} (between {low} and {high}{term.sign})."
    else:
        said = finding(term)
    return join([tag("strong", f"{term.title or term.meaning}."), f" {said}"]) if said else Html("")


def _picture(terms: list[ReportTerm]) -> Html:
    """Return one picture: a map if possible, else a chart."""
    charts = [(term, layout) for term in terms if len(term.shown) > 1 and (layout := arrange(term, compact=False))]
    if not charts:
        return Html("")
    term, layout = next((pair for pair in charts if pair[0].areas), charts[0])
    picture = area_map(term) if term.areas else chart(term, layout, "picture")
    return titled(term.title or term.meaning, tag("div", picture, class_="card"))


def _noise(release: "Release", term: ReportTerm) -> Html:
    captions = release.captions
    source = f"Source: {captions.source.removesuffix('.')}." if captions.source else ""
    intervals = (_SIMULTANEOUS if term.simultaneous else _INDIVIDUAL).format(level=term.level)
    said = (
        _NOISE.format(intervals=intervals, covered=_COVERED[release.intervals]),
        _PROCESSED if release.processing else "",
        captions.footnote,
        source,
        *imprint(captions),
    )
    return titled("About these statistics", *(tag("p", text) for text in said if text))
