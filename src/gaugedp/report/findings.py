"""Sentences about the answers of a term."""

from itertools import product

import numpy as np

from gaugedp.domain.attributes import OTHER
from gaugedp.queries.outline import CELLS, SHARES
from gaugedp.report import figures
from gaugedp.report.terms import ReportTerm, labels

_MOST_GROUPS = 6  # of whose medians a sentence tells
_DOUBTS = (
    " Another interval reaches above the lower end of the largest, so the first place is not certain.",
    " Another interval reaches below the upper end of the smallest, so the last place is not certain.",
)


def finding(term: ReportTerm) -> str:
    """Describe the largest and the smallest estimate in sentences, or return "".

    Suppressed numbers, cells of other values and answers without noise are left out.
    """
    if any(axis.form == SHARES for axis in term.axes):
        return _medians(term)
    at = _compared(term)
    if len(at) < 2:
        return ""
    cells, texts = _cells(term), [_number(term, int(place)) for place in at]
    lower, upper, estimate = (column[at] for column in (term.lower, term.upper, term.estimate))
    top, bottom = int(np.argmax(estimate)), int(np.argmin(estimate))
    names = cells[at[top]], cells[at[bottom]]
    if lower[top] <= upper[bottom]:
        return (
            f"{_subject(term)} from {texts[bottom]} for {names[1]} to {texts[top]} for {names[0]}. The intervals of "
            f"these two overlap, so {term.errors} may explain all differences."
        )
    said = (
        f"{_of(term)} is largest for {names[0]}, at {texts[top]}, and smallest for {names[1]}, at {texts[bottom]}."
        if not term.counts
        else f"{_capital(names[0])} has the most {term.rows}, {texts[top]}, and {names[1]} the fewest, {texts[bottom]}."
    )
    if np.delete(upper, top).max() >= lower[top]:
        said += _DOUBTS[0]
    if np.delete(lower, bottom).min() <= upper[bottom]:
        said += _DOUBTS[1]
    return said


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
    return np.flatnonzero(is_named & ~np.isnan(term.estimate) & (term.upper > term.lower))


def _cells(term: ReportTerm) -> list[str]:
    """Return the cells with the names of their attributes."""
    if not term.levels:
        return list(labels(term))
    named = [[_named(name, level) for level in levels] for name, levels in zip(term.names, term.levels, strict=True)]
    return [", ".join(parts) for parts in product(*named)]


def _named(name: str, level: str) -> str:
    """Return a level with its attribute; words, such as "men", stand alone."""
    return level if level.replace(" ", "").isalpha() and len(level) > 1 else f"{name} {level}"


def _number(term: ReportTerm, place: int) -> str:
    """Return an estimate with its interval and unit."""
    numbers = figures.answer(*(float(column[place]) for column in (term.estimate, term.lower, term.upper)))
    middle, low, high = (f"{text}{term.sign}" for text in numbers)
    unit = f" {term.answer_unit}" if term.answer_unit else ""
    return f"{middle}{unit} (between {low} and {high})"


def _of(term: ReportTerm) -> str:
    """Return the measure as the subject of a sentence."""
    measure = term.measure.removesuffix(f" ({term.answer_unit})")
    return f"The {measure[0].lower()}{measure[1:]}"


def _subject(term: ReportTerm) -> str:
    return f"The numbers of {term.rows} range" if term.counts else f"{_of(term)} ranges"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _medians(term: ReportTerm) -> str:
    """Describe the median of each group, if there are few."""
    *groups, shares = term.levels or ((),)
    named = list(product(*groups))
    if term.axes[-1].form != SHARES or "0.5" not in shares or len(named) > _MOST_GROUPS:
        return ""
    places = range(shares.index("0.5"), len(named) * len(shares), len(shares))
    said = [
        f"{_number(term, place)}{' for ' * bool(group)}{', '.join(map(_named, term.names, group))}"
        for group, place in zip(named, places, strict=True)
        if not np.isnan(term.estimate[place])
    ]
    return f"The median is {_listed(said)}." if said else ""


def _listed(texts: list[str]) -> str:
    """Join texts by commas and "and"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
