"""Tables of a release as an office prints them, with notes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gaugedp._internal.displays import drawing
from gaugedp._internal.language import dated, say, translated, written_in
from gaugedp._internal.numbers import decimals as justified
from gaugedp.domain.captions import Captions
from gaugedp.guarantees import from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.queries.outline import CELLS, Outline
from gaugedp.releases.tidy.crosstabs import Crosstabs
from gaugedp.releases.tidy.flags import Flag, legends
from gaugedp.releases.tidy.in_words import apart, measure, rules
from gaugedp.releases.tidy.spreadsheet import Sheet, write_book
from gaugedp.statistics import KINDS

MOST_SHEETS = 40  # tables of a workbook
Columns = Mapping[str, Sequence[Any]]
_PLACES_FROM = 2.0**40  # added to places: a sum of two places is at least twice that, so it is no place
_TEXTS = ("source", "date", "footnote", "contact", "licence", "next_release")
_NOTES = {"query": "query", "table": "table", "protects": "protected", "digest": "digest"}  # keys of facts and words


class Answers(Protocol):
    """Answers that a workbook prints; see `Tabular`."""

    @property
    def language(self) -> str:
        """Language of the words around the answers."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Public facts."""

    @property
    def terms(self) -> tuple[Outline, ...]:
        """Outlines of the terms."""

    @property
    def captions(self) -> Captions:
        """Captions of attributes and cells."""

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Rules that mark answers."""

    def crosstabs(self, value: str, labels: bool) -> Crosstabs:
        """Return the cross tables of a column, with the domain's labels or with codes."""

    def number_columns(self) -> dict[str, np.ndarray]:
        """Return the numeric columns, shape (n_answers,) each."""

    def marks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mark of each answer, and which are suppressed."""


def sheets(answers: Answers, columns: Columns, labels: str, wanted: Collection[str] | None = None) -> list[Sheet]:
    """Return a sheet for each table of the `wanted` terms, and one of all answers (`columns`)."""
    terms = [term for term in answers.terms if wanted is None or term.text in wanted]
    places = np.arange(sum(term.size for term in answers.terms)) + _PLACES_FROM
    with_labels = labels != "codes"
    estimates = replace(answers.crosstabs("estimate", with_labels), in_words=with_labels)
    printed = [term for term in terms if _is_printed(term, terms, estimates)][:MOST_SHEETS]
    indices = replace(estimates, numbers=places)
    alone, with_intervals = _decimals(answers, 1), _decimals(answers, 3)
    hundredths = {term.text: with_intervals[term.text] + 2 * (_sign(term) == "%") for term in terms}
    return [
        *(_sheet(answers, term, (estimates, indices), alone[term.text]) for term in printed),
        Sheet(say("notes.answers"), columns, decimals=[hundredths[text] for text in columns["query"]]),
    ]


def _decimals(answers: Answers, digits: int) -> dict[str, int]:
    """Return the decimals of each term by text: down to `digits` of the half-widths; of percentages times 100."""
    numbers, start, found = answers.number_columns(), 0, {}
    for term in answers.terms:
        scale = KINDS[term.measure].wording.scale
        middle, low, high = (
            scale * numbers[name][start : start + term.size] for name in ("estimate", "lower", "upper")
        )
        found[term.text], start = max(0, justified(middle, low, high, digits)), start + term.size
    return found


def save_book(
    path: str | Path, answers: Answers, columns: Columns, labels: str, wanted: Collection[str] | None = None
) -> None:
    """Write a workbook of the `wanted` terms, or of all; `columns` are the answers one below another."""
    with written_in(answers.language):
        write_book(path, sheets(answers, columns, labels, wanted), list(notes(answers, wanted)))


def notes(answers: Answers, wanted: Collection[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the lines of notes on the `wanted` terms, or on all: what a table must state about itself."""
    facts, captions = answers.facts, answers.captions
    terms = [term.text for term in answers.terms] if wanted is None else wanted
    yield say("notes.title"), captions.title or str(facts.get("query", ""))
    yield from ((say(f"notes.{key}"), dated(text)) for key in _TEXTS if (text := getattr(captions, key)))
    if "asked" in facts:
        guarantee = drawing("amount")(rounded_up(from_dict(facts["asked"])))
        yield say("notes.guarantee"), say("notes.privacy", guarantee=guarantee)
    if mechanism := facts.get("mechanism"):
        noise = "; ".join(map(translated, mechanism["noise"].split("; ")))
        exactness = say(f"exactness.{mechanism['exactness']}")
        yield say("notes.method"), say("notes.mechanism", name=mechanism["name"], noise=noise, exactness=exactness)
    yield say("notes.intervals"), say(f"notes.covers_{answers.facts.get('intervals', 'noise')}")
    yield from ((say("notes.mark"), legend) for legend in legends(answers.flags, terms))
    yield from ((say(f"notes.{word}"), translated(str(facts[key]))) for key, word in _NOTES.items() if facts.get(key))
    said = [*rules(facts, captions, answers.terms), apart(facts, captions, answers.terms)]
    yield from ((say("notes.rule"), rule) for rule in said if rule)
    if "account" in facts:
        yield say("notes.entry"), str(facts["account"].get("entry", ""))


def _is_printed(term: Outline, terms: list[Outline], tables: Crosstabs) -> bool:
    """Return True for tables of cells that are not margins of others."""
    if not term.axes or any(axis.form != CELLS for axis in term.axes):
        return False
    return not any(
        tables.agree(other, term) and set(term.names) < set(other.names) and len(other.names) <= 2 for other in terms
    )


def _sheet(answers: Answers, term: Outline, tables: tuple[Crosstabs, Crosstabs], decimals: int) -> Sheet:
    """Return the sheet of a term: its title, what its numbers are, the table, the marks and the source."""
    names, captions, cell_captions = _ordered(term), answers.captions, tables[0].captions
    about = measure(term, captions)
    shown, places = (table.of(term, names, about if len(names) == 1 else "estimate") for table in tables)
    title = captions.terms.get(term.text) or term.text
    marks, _ = answers.marks()
    marked = {name: _marks(column, marks) for name, column in places.items() if column.dtype.kind in "if"}
    source = [say("head.source", source=captions.source)] if captions.source else []
    margins = [
        each.text for each in answers.terms if tables[0].agree(term, each) and set(each.names) <= set(term.names)
    ]
    below = [*legends(answers.flags, margins), *source]
    lines = [decimals] * len(next(iter(shown.values())))
    *along, across = map(cell_captions.name, names)
    head = say("page.colon", name=about) + say("answers.across", rows=" · ".join(along), columns=across)
    marked = marked if answers.flags else {}
    return Sheet(title, shown, (title, head if along else ""), _sign(term), marked, lines, below)


def _sign(term: Outline) -> str:
    return KINDS[term.measure].wording.sign


def _marks(places: np.ndarray, marks: np.ndarray) -> list[str]:
    numbers = places.astype(float) - _PLACES_FROM
    return [str(marks[int(number)]) if 0 <= number < len(marks) else "" for number in numbers.tolist()]


def _ordered(term: Outline) -> tuple[str, ...]:
    """Return the attributes, one with few cells last: it runs across."""
    if term.shape[-1] <= 8:  # columns
        return term.names
    least = int(np.argmin(term.shape))
    return (*term.names[:least], *term.names[least + 1 :], term.names[least])
