"""Measures and cells in the words of a language, for pages and workbooks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from gaugedp._internal.language import dated, listed, measured, say, template, translated, typeset, understood
from gaugedp.domain.attributes import OTHER
from gaugedp.domain.captions import Captions
from gaugedp.queries.outline import CELLS, COUNT, PREFIX, RANGES, SHARES, SUM, Axis, Outline
from gaugedp.statistics import KINDS

RUNS = {PREFIX: "prefix", RANGES: "ranges"}  # forms of axes, and sentences about them
_RANGE = re.compile(r"\[([^,]+),([^,]+)([)\]])")


def measure(outline: Outline, captions: Captions) -> str:
    """Describe the numbers of a term, with their unit."""
    said = _worded(outline, captions, "measures", ("_dates", "") if _is_of_dates(outline) else ("",))
    if outline.weights:
        small = said if template("terms.weighted").startswith("{measure}") else said[0].lower() + said[1:]
        said = say("terms.weighted", measure=small)
    said, unit = said[0].upper() + said[1:], answer_unit(outline, captions)
    return say("terms.with_unit", measure=said, unit=unit) if unit else said


def subject(outline: Outline, captions: Captions) -> str:
    """Return the measure as the subject of a sentence, such as "the mean income"; "" if it has no such words."""
    forms = ("_weighted",) if outline.weights else ("_dates", "") if _is_of_dates(outline) else ("",)
    return _worded(outline, captions, "subjects", forms)


def meaning(outline: Outline, captions: Captions) -> str:
    """Return the title of a term, or describe its numbers and attributes."""
    names, about = listed(list(map(captions.name, outline.names))), measure(outline, captions)
    return captions.terms.get(outline.text) or (say("terms.by", measure=about, names=names) if names else about)


def _worded(outline: Outline, captions: Captions, section: str, forms: Sequence[str]) -> str:
    reference = outline.reference and cell(outline.axes[0], captions, outline.reference)
    name = "" if outline.column is None else captions.name(outline.column)
    is_count = outline.measure == SUM and outline.column is None  # weighted, a count is the sum of the weights
    wording = KINDS[COUNT if is_count else outline.measure].wording
    has_shares = any(axis.form == SHARES for axis in outline.axes)
    title = wording.title if has_shares else wording.title_alone or wording.title
    names = (*filter(None, (name, reference)), "")
    rows = captions.rows or say("terms.rows")
    return measured(title, *names, section=section, forms=forms, rows=rows, text=outline.text)


def _is_of_dates(outline: Outline) -> bool:
    return bool(outline.axes) and outline.axes[0].values == "dates"


def rules(facts: Mapping[str, Any], captions: Captions, terms: Sequence[Outline]) -> list[str]:
    """Return the rules for rows in sentences with the domain's labels: by table, which rows are left out; and others.

    `facts` are those of a release, and `terms` its terms.
    """
    dropped: dict[tuple[str, ...], dict[str, None]] = {}  # names of attributes, by the titles of tables
    others, has_other = [], False
    for rule in facts.get("rules", ()):
        key, slots = understood(str(rule))
        if key == "facts.outside_dropped":
            dropped.setdefault(_titles(slots["place"], captions, terms), {})[captions.name(slots["name"])] = None
        else:
            has_other |= key == "facts.outside_other"
            others.append(translated(str(rule), partial(_labelled, captions, key.startswith("facts.clipped"))))
    tables: dict[tuple[str, ...], list[str]] = {}  # titles, by the names of attributes
    for titles, names in dropped.items():
        tables.setdefault(tuple(names), []).extend(titles)
    said = [_dropped(titles, names) for names, titles in tables.items()]
    if len(said) > 1 and captions.terms and all(dropped) and not has_other:  # each table by all of its own attributes
        said = [say("rules.dropped_each")]
    return [*said, *dict.fromkeys(others)]


def apart(facts: Mapping[str, Any], captions: Captions, terms: Sequence[Outline]) -> str:
    """Return which tables of a publication do not add up with each other, and why, or ""."""
    agreement = facts.get("agreement", {})
    if not agreement.get("because"):
        return ""
    counted = {term.text: term for term in terms if term.measure in (COUNT, SUM)}
    parts = [[texts[0] for texts in each if counted.keys() & set(texts)] for each in agreement["sets"]]
    titled = [[_titled(text, captions, terms) for text in each] for each in parts if each]
    groups = say("lists.semicolon").join(map(listed, titled))
    return " ".join([say("rules.apart", groups=groups), *(say(f"rules.apart_{why}") for why in agreement["because"])])


def _titled(text: str, captions: Captions, terms: Sequence[Outline]) -> str:
    """Return the title of a term in quotation marks."""
    return say("lists.quoted", text=next((meaning(term, captions) for term in terms if term.text == text), text))


def _titles(place: str, captions: Captions, terms: Sequence[Outline]) -> tuple[str, ...]:
    """Return the titles of the terms of a part of the query; that of its table, in a publication; () for all terms."""
    outlines = {term.text: term for term in terms}
    titles = [meaning(outlines[text], captions) for text in place.split("; ") if text in outlines]
    unknown = [] if place == "the whole query" else [place]
    return tuple((titles[:1] if captions.terms else titles) or unknown)


def _dropped(titles: Sequence[str], names: Sequence[str]) -> str:
    if not titles:
        return say("rules.dropped_all", names=_quoted(names))
    return say("rules.dropped", len(titles), tables=_quoted(titles, "and"), names=_quoted(names))


def _quoted(names: Iterable[str], between: str = "or") -> str:
    return listed([say("lists.quoted", text=name) for name in names], between)


def _labelled(captions: Captions, with_unit: bool, name: str) -> str:
    """Return the label of a column, perhaps with its unit."""
    label, unit = captions.name(name), captions.unit(name)
    return say("terms.with_unit", measure=label, unit=unit) if unit and with_unit else label


def answer_unit(outline: Outline, captions: Captions) -> str:
    """Return the unit of the answers to a term, or ""."""
    in_units = outline.column is not None and KINDS[outline.measure].wording.in_units
    return captions.unit(str(outline.column)) if in_units else ""


def cell(axis: Axis, captions: Captions, text: str) -> str:
    """Return a cell's label, with ranges and runs in words.

    Examples are "0 to under 10", "to [0,10)", "a to b" and "January 2017".
    """
    label = captions.cell(axis.name, text)
    if axis.form in RUNS:
        low, _, high = label.rpartition("..")
        return say("terms.to" if low else "terms.up_to", low=low, high=high)
    if label != text:
        return label
    if axis.form == SHARES:
        return say("numbers.percent", number=typeset(f"{100 * float(text):.12g}"))
    if axis.values == "dates":
        return dated(text)
    if text == OTHER and axis.form == CELLS and axis.texts[len(axis.texts) - 1] == OTHER:
        return say("terms.other")
    ends = _RANGE.fullmatch(text) if axis.values == "numbers" else None
    if ends is None:
        return text
    return say("terms.under" if ends[3] == ")" else "terms.to", low=_number(ends[1]), high=_number(ends[2]))


def _number(text: str) -> str:
    """Format a number, with the digits that it has."""
    return typeset(f"{int(text):,}" if text.lstrip("-").isdigit() else text)
