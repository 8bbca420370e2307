"""Sentences about the answers of a term."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from gaugedp._internal.language import catalogue, current, listed, say, template
from gaugedp.domain.attributes import OTHER
from gaugedp.queries.outline import CELLS, SHARES, Axis
from gaugedp.report import figures
from gaugedp.report.terms import ReportTerm, labels
from gaugedp.statistics.share import Share

_MOST_GROUPS = 6  # of whose medians a sentence tells
_SLACK = 1e-9  # share of a range that rounding may take from its whole interval
_UNSURE = {(True, False): "first_unsure", (False, True): "last_unsure", (True, True): "both_unsure"}


def finding(term: ReportTerm) -> str:
    """Describe the largest and the smallest estimate in sentences, or return "".

    Suppressed numbers, cells of other values, intervals that are the whole range, and answers without noise are left
    out.
    """
    if any(axis.form == SHARES for axis in term.axes):
        return _medians(term)
    at = _compared(term)
    if len(at) < 2:
        return ""
    cells, texts = _cells(term), [_number(term, int(place)) for place in at]
    lower, upper, estimate = (column[at] for column in (term.lower, term.upper, term.estimate))
    top, bottom = int(np.argmax(estimate)), int(np.argmin(estimate))
    slots = {"top": cells[at[top]], "bottom": cells[at[bottom]], "high": texts[top], "low": texts[bottom]}
    if term.kind == Share.kind and len(term.axes) > 1:
        slots["name"], slots["part"] = term.names[0], term.levels[0][at[0] // (len(cells) // len(term.levels[0]))]
    kind = "counts" if term.counts else "shares" if "part" in slots else "values"
    if lower[top] <= upper[bottom]:
        more, less = int(np.argmax(lower)), int(np.argmin(upper))
        apart = {"more": cells[at[more]], "less": cells[at[less]]}
        overlap = (
            say("findings.overlap_partly", **apart)
            if lower[more] > upper[less]
            else say("findings.overlap", errors=say(f"findings.errors_{term.errors}"))
        )
        return f"{_sentence(term, f'{kind}_range', slots)} {overlap}"
    unsure = bool(np.delete(upper, top).max() >= lower[top]), bool(np.delete(lower, bottom).min() <= upper[bottom])
    said = [_sentence(term, kind, slots), *([say(f"findings.{_UNSURE[unsure]}")] if any(unsure) else [])]
    return " ".join(said)


def _parts(term: ReportTerm, at: np.ndarray) -> list[np.ndarray]:
    """Return the places `at` of each cell of the first attribute, whose shares are compared between groups."""
    part = at // (len(term.cells) // len(term.levels[0]))
    return [at[part == place] for place in np.unique(part)]


def _gap(term: ReportTerm, places: np.ndarray) -> float:
    """Return the distance between the intervals of the largest and the smallest estimate, negative if they overlap."""
    top, bottom = places[np.argmax(term.estimate[places])], places[np.argmin(term.estimate[places])]
    return float(term.lower[top] - term.upper[bottom])


def _sentence(term: ReportTerm, key: str, slots: Mapping[str, str]) -> str:
    """Return a sentence about the measure of a term; within the sentence, it begins with a small letter."""
    measure = term.measure.removesuffix(f" ({term.answer_unit})")
    if not template(f"findings.{key}").startswith("{measure}"):
        measure = measure[0].lower() + measure[1:]
    said = say(f"findings.{key}", measure=measure, rows=term.rows, **slots)
    return said[0].upper() + said[1:]


def strength(term: ReportTerm) -> tuple[bool, bool, float]:
    """Return a sort key of findings: sure differences first, means and shares before counts, by signal and noise."""
    at = () if any(axis.form == SHARES for axis in term.axes) else _compared(term)
    if len(at) < 2:
        return False, False, 0.0
    spread = float(np.median(term.upper[at] - term.lower[at]))
    gap = _gap(term, np.asarray(at))
    return gap > 0, not term.counts, gap / spread


def _compared(term: ReportTerm) -> np.ndarray:
    """Return the places of the cells that a sentence may name."""
    last = [axis.form == CELLS and axis.texts[len(axis.texts) - 1] == OTHER for axis in term.axes]
    named = [
        not any(
            is_other and place == len(levels) - 1
            for is_other, place, levels in zip(last, cell, term.levels, strict=True)
        )
        for cell in np.ndindex(*map(len, term.levels))
    ]
    is_named = np.array(named) if term.levels else np.ones(len(term.cells), dtype=bool)
    lengths = term.upper - term.lower
    at = np.flatnonzero(is_named & ~np.isnan(term.estimate) & (lengths > 0) & ~(lengths >= term.span * (1 - _SLACK)))
    if term.kind == Share.kind and len(term.axes) > 1:
        return max(_parts(term, at), key=lambda places: round(_gap(term, places)), default=at)
    return at


def _cells(term: ReportTerm) -> list[str]:
    """Return the cells with the names of their attributes."""
    if not term.levels:
        return list(labels(term))
    axes = zip(term.axes, term.names, term.levels, strict=True)
    named = [[_named(axis, name, level) for level in levels] for axis, name, levels in axes]
    skipped = int(term.kind == Share.kind and len(named) > 1)  # a sentence is about one cell of the first attribute
    return [", ".join(parts[skipped:]) for parts in product(*named)]


def _named(axis: Axis, name: str, level: str) -> str:
    """Return a level with its attribute; words, such as "men", and dates stand alone."""
    is_vague = len(level) == 1 or level in catalogue(current())["lists.vague"] or any(map(str.isdigit, level))
    return level if not is_vague or axis.values == "dates" else say("findings.cell", name=name, level=level)


def _number(term: ReportTerm, place: int) -> str:
    """Return an estimate with its interval and unit."""
    numbers = figures.in_a_sentence(*(float(column[place]) for column in (term.estimate, term.lower, term.upper)))
    middle, low, high = (f"{text}{term.sign}" for text in numbers)
    unit = f" {term.answer_unit}" if term.answer_unit else ""
    return say("findings.number", estimate=middle, unit=unit, low=low, high=high)


def _medians(term: ReportTerm) -> str:
    """Describe the median of each group, if there are few."""
    *groups, _ = term.levels or ((),)
    named, shares = list(product(*groups)), list(term.axes[-1].texts)
    if term.axes[-1].form != SHARES or "0.5" not in shares or len(named) > _MOST_GROUPS:
        return ""
    places = range(shares.index("0.5"), len(named) * len(shares), len(shares))
    said = [
        _of_group(_number(term, place), ", ".join(map(_named, term.axes, term.names, group)))
        for group, place in zip(named, places, strict=True)
        if not np.isnan(term.estimate[place])
    ]
    return say("findings.median", list=listed(said)) if said else ""


def _of_group(number: str, group: str) -> str:
    return say("findings.of_group", number=number, group=group) if group else number
