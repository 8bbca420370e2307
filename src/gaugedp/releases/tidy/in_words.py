"""Measures and cells in the words of a language, for pages and workbooks."""

import re

from gaugedp._internal.language import dated, measured, say, template, typeset
from gaugedp.domain.attributes import OTHER
from gaugedp.domain.captions import Captions
from gaugedp.queries.outline import CELLS, COUNT, PREFIX, RANGES, SHARES, SUM, Axis, Outline
from gaugedp.statistics import KINDS

RUNS = {PREFIX: "prefix", RANGES: "ranges"}  # forms of axes, and sentences about them
_RANGE = re.compile(r"\[([^,]+),([^,]+)([)\]])")


def measure(outline: Outline, captions: Captions) -> str:
    """Describe the numbers of a term, with their unit."""
    reference = outline.reference and cell(outline.axes[0], captions, outline.reference)
    name = "" if outline.column is None else captions.name(outline.column)
    is_count = outline.measure == SUM and outline.column is None  # weighted, a count is the sum of the weights
    wording = KINDS[COUNT if is_count else outline.measure].wording
    has_shares = any(axis.form == SHARES for axis in outline.axes)
    title = wording.title if has_shares else wording.title_alone or wording.title
    rows = captions.rows or say("terms.rows")
    said = measured(title, *filter(None, (name, reference)), "", rows=rows, text=outline.text)
    if outline.weights:
        small = said if template("terms.weighted").startswith("{measure}") else said[0].lower() + said[1:]
        said = say("terms.weighted", measure=small)
    said, unit = said[0].upper() + said[1:], answer_unit(outline, captions)
    return say("terms.with_unit", measure=said, unit=unit) if unit else said


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
        return _number(text)
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
