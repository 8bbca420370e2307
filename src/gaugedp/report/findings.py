"""Sentences about the answers of a term."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, islice, product

import numpy as np

from gaugedp._internal.language import catalogue, current, listed, period, say, template
from gaugedp.domain.attributes import OTHER
from gaugedp.queries.outline import CELLS, SHARES, Axis
from gaugedp.report import figures
from gaugedp.report.markup import Html, tag
from gaugedp.report.terms import ReportTerm, labels
from gaugedp.statistics.comparison import Change
from gaugedp.statistics.share import Share

_MONTH = re.compile(r"\d{4}-\d{2}")
_FLAGGED = re.compile("⟦(.*?)⟧")  # a quality flag after a number
_UNSURE = {(True, False): "first_unsure", (False, True): "last_unsure", (True, True): "both_unsure"}


def said(term: ReportTerm) -> Html:
    """Return `finding` as a paragraph with quality flags, or ""."""
    return with_flags("p", text) if (text := finding(term)) else Html("")


def with_flags(name: str, text: str) -> Html:
    """Return an element with a text in which `flagged` numbers have their marks."""
    return Html(_FLAGGED.sub(r"<sup>\1</sup>", tag(name, text)))


def flagged(term: ReportTerm, place: int) -> str:
    """Return the quality flag of an answer for a sentence, or ""."""
    return f"⟦{term.marks[place]}⟧" if term.marks and term.marks[place] else ""


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
    pairs = list(zip(term.axes, term.levels, strict=True))[int(_compares_shares(term)) :]
    left_out = [say("findings.left_out", cell=levels[-1]) for axis, levels in pairs if _has_other(axis)]
    hidden = [say("findings.hidden")] * (len(term.shown) < len(term.estimate))
    return " ".join([_comparison(term, at), *left_out, *hidden])


def _comparison(term: ReportTerm, at: np.ndarray) -> str:
    """Describe the largest and the smallest estimate of the places `at`, and whether it is sure which they are."""
    lower, upper, estimate = (column[at] for column in (term.lower, term.upper, term.estimate))
    top, bottom = int(np.argmax(estimate)), int(np.argmin(estimate))
    overlaps, is_pair = bool(lower[top] <= upper[bottom]), len(at) == 2
    subject = _subject(term, at[0])
    ends, those = at[[top, bottom]], replace(term, rows=say("findings.those") or term.rows)
    named = those if f" {term.rows}" in subject else term
    places = {"top": _placed(named, ends[0]), "bottom": _placed(named, ends[1])}
    are_groups = term.of_rows and _is_group(term, ends[0]) and _is_group(term, ends[1])
    if term.kind == Change.kind and term.subject and lower[top] > 0 > upper[bottom]:
        said = _changed(term, ends, places)
    elif is_pair and term.of_rows and (counted := _counted(term, ends)):
        said = say("findings.counted", high=counted[0], low=counted[1])
    elif overlaps and not is_pair:
        low, high = numbers(term, ends[::-1])
        said = say("findings.range", subject=subject, high=high, low=low, **places)
    else:
        high, low = numbers(term, ends)
        form = "both" if is_pair else "groups" if are_groups else "ranked"
        groups = {"top": _bare(term, ends[0]), "bottom": _bare(those, ends[1])} if form == "groups" else places
        said = say(f"findings.{form}", subject=subject, high=high, low=low, **groups)
    said = said[0].upper() + said[1:]
    if not overlaps:
        unsure = bool(np.delete(upper, top).max() >= lower[top]), bool(np.delete(lower, bottom).min() <= upper[bottom])
        return f"{said} {say(f'findings.{_UNSURE[unsure]}')}" if any(unsure) and not is_pair else said
    more, less = int(np.argmax(lower)), int(np.argmin(upper))
    if lower[more] > upper[less]:
        return f"{said} {say('findings.overlap_partly', more=_placed(term, at[more]), less=_placed(term, at[less]))}"
    errors = say(f"findings.errors_{term.errors}")
    return f"{said} {say('findings.overlap_pair' if is_pair else 'findings.overlap', errors=errors)}"


def _changed(term: ReportTerm, at: np.ndarray, places: Mapping[str, str]) -> str:
    """Describe the largest rise and the largest fall."""
    axis = term.axes[0]
    before = say(f"findings.before_{period(axis.texts[-1]) if axis.values == 'dates' else 'value'}")
    high, low = numbers(term, at, np.array([1, -1]))
    counted = say("subjects.count", rows=term.rows)
    return say("findings.changed", before=before, counted=counted, high=high, low=low, **places)


def _counted(term: ReportTerm, at: np.ndarray) -> list[str]:
    """Return counts with nouns and phrases, such as "9 stops in the north (…)", or [] if a cell has no phrase.

    The noun of the rows is not repeated, if the language allows it.
    """
    cells = [_cells(term, place) for place in at]
    if not all(own and all(term.phrases[axis][i] for axis, i in own) for own in cells):
        return []
    repeats = template("findings.counted_group") != "{group}"
    units: list[str] = []
    for own in cells:
        nouns, phrases, _ = _words(term, own)
        rows = [term.rows] * (not nouns and (repeats or not units))
        units.append(say("findings.counted_group", group=" ".join([*rows, *nouns, *phrases])))
    return numbers(term, at, units=units)


def _is_group(term: ReportTerm, place: int) -> bool:
    """Return True if a cell is a group of rows, such as "women aged 20 to 39", and not only a place or a time."""
    cells, _ = _split(term, place)
    phrases = [term.phrases[axis][i] for axis, i in cells]
    return bool(phrases) and all(phrases) and not all(map(_has_preposition, phrases))


def _parts(term: ReportTerm, at: np.ndarray) -> list[np.ndarray]:
    """Return the places `at` of each cell of the first attribute, whose shares are compared between groups."""
    part = at // (len(term.cells) // len(term.levels[0]))
    return [at[part == place] for place in np.unique(part)]


def _gap(term: ReportTerm, places: np.ndarray) -> float:
    """Return the distance between the intervals of the largest and the smallest estimate, negative if they overlap."""
    top, bottom = places[np.argmax(term.estimate[places])], places[np.argmin(term.estimate[places])]
    return float(term.lower[top] - term.upper[bottom])


def _subject(term: ReportTerm, place: int) -> str:
    """Return the subject of a sentence: the measure, of one cell of the first attribute if shares are compared."""
    if _compares_shares(term):
        at = place // (len(term.cells) // len(term.levels[0]))
        if term.phrases[0][at]:
            return say("findings.shares_of", rows=term.rows, phrase=term.phrases[0][at])
        return say("findings.shares", rows=term.rows, name=term.names[0], part=term.levels[0][at])
    if term.subject:
        return term.subject
    measure = term.measure.removesuffix(f" ({term.answer_unit})")
    if template("findings.values").endswith("{measure}"):  # not in quotation marks
        measure = measure[0].lower() + measure[1:]
    return say("findings.values", measure=measure)


def _compares_shares(term: ReportTerm) -> bool:
    return term.kind == Share.kind and len(term.axes) > 1


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
    last = [_has_other(axis) for axis in term.axes]
    named = [
        not any(
            is_other and place == len(levels) - 1
            for is_other, place, levels in zip(last, cell, term.levels, strict=True)
        )
        for cell in np.ndindex(*map(len, term.levels))
    ]
    is_named = np.array(named) if term.levels else np.ones(len(term.cells), dtype=bool)
    lengths = term.upper - term.lower
    # an interval that spans the range, up to rounding, shows nothing
    at = np.flatnonzero(is_named & ~np.isnan(term.estimate) & (lengths > 0) & ~(lengths >= term.span * (1 - 1e-9)))
    if _compares_shares(term):
        return max(_parts(term, at), key=lambda places: round(_gap(term, places)), default=at)
    return at


def _has_other(axis: Axis) -> bool:
    return axis.form == CELLS and axis.texts[len(axis.texts) - 1] == OTHER


def _placed(term: ReportTerm, place: int) -> str:
    """Return a cell with its preposition, such as "for men" or "for men in January 2017"."""
    cells, month = _split(term, place)
    group = _group(term, cells) if term.levels else next(islice(labels(term), int(place), None))
    return " ".join(filter(None, [_of_group(group), month]))


def _bare(term: ReportTerm, place: int) -> str:
    """Return a cell without a preposition, such as "men aged 20 to 39"."""
    cells, month = _split(term, place)
    return " ".join(filter(None, [_group(term, cells), month]))


def _cells(term: ReportTerm, place: int) -> list[tuple[int, int]]:
    """Return the attributes of a cell with their places; a share is of a cell of the first attribute."""
    at = np.unravel_index(place, [len(levels) for levels in term.levels]) if term.levels else ()
    return list(enumerate(map(int, at)))[int(_compares_shares(term)) :]


def _split(term: ReportTerm, place: int) -> tuple[list[tuple[int, int]], str]:
    """Return the attributes of a cell with their places, and its month in words, "" if there is none."""
    cells = _cells(term, place)
    months = [(axis, i) for axis, i in cells if _is_month(term.axes[axis], i)][:1]
    said = [say("findings.in_month", month=term.levels[axis][i]) for axis, i in months]
    return [pair for pair in cells if pair not in months], "".join(said)


def _group(term: ReportTerm, cells: Sequence[tuple[int, int]]) -> str:
    """Return a group in words: nouns first, such as "women", then phrases, such as "aged 20 to 40"; then what is left.

    A phrase that begins with a preposition, such as "in the city", needs no noun.
    """
    nouns, phrases, others = _words(term, cells)
    needs_noun = not nouns and not all(map(_has_preposition, phrases))
    head = " ".join([*[term.rows] * needs_noun, *[", ".join(nouns)] * bool(nouns), *phrases])
    return ", ".join([*[head] * bool(head), *others])


def _words(term: ReportTerm, cells: Sequence[tuple[int, int]]) -> tuple[list[str], list[str], list[str]]:
    """Return the nouns, the phrases and the other words of a group of cells.

    A phrase that is only the label is a noun for the rows. One that begins with a preposition comes last.
    """
    nouns: list[str] = []
    phrases: list[str] = []
    others: list[str] = []
    for axis, i in cells:
        level, phrase = term.levels[axis][i], term.phrases[axis][i]
        text, is_noun = _named(term.axes[axis], term.names[axis], level)
        if phrase and not (is_noun and phrase == level):
            phrases.append(phrase)
        else:
            (nouns if is_noun else others).append(text)
    return nouns, sorted(phrases, key=_has_preposition), others


def _has_preposition(text: str) -> bool:
    return text.startswith(tuple(catalogue(current())["lists.prepositions"]))


def _is_month(axis: Axis, place: int) -> bool:
    return axis.values == "dates" and _MONTH.fullmatch(axis.texts[place]) is not None


def _named(axis: Axis, name: str, level: str) -> tuple[str, bool]:
    """Return a level, with its attribute if it needs it, and whether it is a noun, such as "men", or a date."""
    has_digit = any(map(str.isdigit, level))
    is_vague = len(level) == 1 or level in catalogue(current())["lists.vague"] or has_digit
    if not is_vague or axis.values == "dates":
        return level, True
    return say("findings.cell" if has_digit else "findings.word", name=name, level=level), False


def numbers(
    term: ReportTerm, at: np.ndarray, signs: np.ndarray | int = 1, units: Sequence[str] | None = None
) -> list[str]:
    """Return estimates with their intervals and units, perhaps with another sign; a count is at least 0."""
    least = 0.0 if term.counts else -np.inf
    estimate, *ends = (np.maximum(least, signs * column[at]) for column in (term.estimate, term.lower, term.upper))
    columns = estimate, np.minimum(*ends), np.maximum(*ends)
    written = figures.in_a_sentence(*zip(*(column.tolist() for column in columns), strict=True))
    said, key = [], "number"
    for place, texts, name in zip(at, written, units or [term.answer_unit] * len(at), strict=True):
        unit = f" {name}" * bool(name)
        middle, low, high = (f"{text}{term.sign}" for text in texts)
        middle += flagged(term, place)
        is_cut = term.counts and term.upper[place] <= 0  # the interval is cut at 0, too
        whole = say(f"findings.{key}", estimate=middle, unit=unit, low=low, high=high, level=term.level)
        said.append(f"{middle}{unit}" if is_cut else whole)
        key = key if is_cut else "next_number"  # only the first interval is named
    return said


def _medians(term: ReportTerm) -> str:
    """Describe the median of each group, if there are few."""
    *groups, _ = [range(len(levels)) for levels in term.levels] or [range(0)]
    named, shares = list(product(*groups)), list(term.axes[-1].texts)
    if term.axes[-1].form != SHARES or "0.5" not in shares or len(named) > 6:
        return ""
    places = np.arange(shares.index("0.5"), len(named) * len(shares), len(shares))
    is_shown = ~np.isnan(term.estimate[places])
    if not is_shown.any():
        return ""
    written = numbers(term, places[is_shown])
    said = [
        " ".join(filter(None, [number, _of_group(_group(term, list(enumerate(cells))))]))
        for cells, number in zip(compress(named, is_shown), written, strict=True)
    ]
    sentence = say("findings.median", subject=term.subject, list=listed(said))
    return sentence[0].upper() + sentence[1:]


def _of_group(group: str) -> str:
    """Return a group with its preposition, such as "for women"."""
    return group if not group or _has_preposition(group) else say("findings.of_group", group=group)
