"""Terms of a release for display, with cells by attribute."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.language import dated, listed, measured, say, template
from gaugedp.domain.attributes import OTHER
from gaugedp.domain.captions import Captions
from gaugedp.queries.outline import CELLS, COUNT, PREFIX, RANGES, SHARES, SUM, Axis, Outline
from gaugedp.report.figures import percent, typeset
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import split_answers

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

LEVEL = 0.95  # of the displayed intervals
MOST_DRAWN = 2000  # cells of one chart
_RANGE = re.compile(r"\[([^,]+),([^,]+)([)\]])")
_RUNS = {PREFIX: "prefix", RANGES: "ranges"}  # forms of axes, and sentences about them


@dataclass(frozen=True, eq=False)
class ReportTerm:
    """One term: its cells, estimates and individual 95 % intervals.

    If the estimates are `processed`, the intervals are still those of the raw answers. With `ends`, a level, the
    intervals were released with the answers, and hold at that level; those of old releases are `simultaneous`.

    `measure` describes the numbers. The cells are all combinations of `levels` in product order, of the attributes
    `names`; both are empty if there are too many for a chart. `runs` describes runs of cells. `areas` are the outlines
    of the cells of one attribute, if known, by their texts in `axes`. `unit` is that of the numbers in the cells of one
    attribute. `sign` follows a number in a sentence. If `from_zero`, the axis of a chart includes 0. `axes` describe
    the cells of each attribute, and `kind` is that of the statistic. `marks` are the quality flags of the
    cells, if any; suppressed numbers are NaN. `rows` is what is counted, `answer_unit` the unit of the answers, and
    `errors` names what intervals contain: "noise" or "total".
    """

    text: str
    cells: Sequence[str]
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    title: str = ""
    measure: str = "Number of rows"
    runs: str = ""
    names: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    axes: tuple[Axis, ...] = ()
    kind: str = ""
    from_zero: bool = False
    processed: bool = False
    ends: float | None = None
    simultaneous: bool = False
    unit: str = ""
    areas: Mapping[str, str] = field(default_factory=dict)
    sign: str = ""
    marks: tuple[str, ...] = ()
    rows: str = "rows"
    answer_unit: str = ""
    errors: str = "noise"

    @property
    def counts(self) -> bool:
        """True if the numbers are counts of rows."""
        return self.kind == COUNT

    @property
    def shown(self) -> np.ndarray:
        """Places of the cells whose numbers are not suppressed."""
        return np.flatnonzero(~np.isnan(self.estimate))

    @property
    def level(self) -> str:
        """Probability of an interval, as a percentage."""
        return percent(self.ends or LEVEL)

    @property
    def bars(self) -> str:
        """Description of the intervals, to follow "intervals"."""
        is_simultaneous = self.simultaneous and len(self.cells) > 1
        parts = (("answers.raw", self.processed), ("answers.simultaneous", is_simultaneous))
        return "".join(say(key) for key, applies in parts if applies)

    @property
    def meaning(self) -> str:
        """Description of the numbers."""
        if not self.names:
            return say("terms.overall", measure=self.measure) if len(self.cells) == 1 else self.measure
        return say(f"terms.{self.runs or 'by'}", measure=self.measure, names=listed(self.names))


def read_terms(release: "Release") -> list[ReportTerm]:
    """Return the terms of a release, in query order, without those that only serve sampling errors."""
    marks, hidden = release.marks() if release.flags else (None, False)
    columns = [np.where(hidden, np.nan, column) for column in (release.values, *release.interval(LEVEL))]
    pieces = zip(*(split_answers(release.estimates, column) for column in columns), strict=True)
    flags = split_answers(release.estimates, np.full(len(columns[0]), "") if marks is None else marks)
    labels = zip(release.terms, release.labels.terms, pieces, strict=True)
    terms = [_term(outline, release.captions, cells, parts) for outline, (_, cells), parts in labels]
    shown = [
        replace(
            term,
            processed=bool(release.processing),
            ends=estimate.ends,
            simultaneous=estimate.are_simultaneous,
            marks=tuple(flag),
        )
        for term, estimate, flag in zip(terms, release.estimates, flags, strict=True)
    ]
    if release.intervals == "total":
        shown = [
            replace(term, errors="total") if errors.any() else term
            for term, errors in zip(shown, release.sampling_errors, strict=True)
        ]
    few = [term for term, estimate in zip(shown, release.estimates, strict=True) if not estimate.of_sampling]
    return few or shown


def _term(outline: Outline, captions: Captions, cells: Sequence[str], parts: tuple[np.ndarray, ...]) -> ReportTerm:
    wording = KINDS[outline.measure].wording
    estimate, lower, upper = (wording.scale * part for part in parts)
    axes = outline.axes if len(cells) <= MOST_DRAWN else ()
    return ReportTerm(
        outline.text,
        cells,
        estimate,
        lower,
        upper,
        captions.terms.get(outline.text, ""),
        _measure(outline, captions),
        next((_RUNS[axis.form] for axis in axes if axis.form in _RUNS), ""),
        tuple(say("terms.quantile") if axis.form == SHARES else captions.name(axis.name) for axis in axes),
        tuple(tuple(_level(axis, captions, text) for text in axis.texts) for axis in axes),
        axes,
        outline.measure,
        wording.from_zero,
        unit=captions.unit(axes[0].name) if len(axes) == 1 else "",
        areas=captions.areas(axes[0].name) if len(axes) == 1 and axes[0].form == CELLS else {},
        sign=wording.sign and f"\u00a0{wording.sign}",
        rows=captions.rows or say("terms.rows"),
        answer_unit=captions.unit(outline.column) if outline.column is not None and wording.in_units else "",
    )


def _measure(outline: Outline, captions: Captions) -> str:
    reference = outline.reference and _level(outline.axes[0], captions, outline.reference)
    name = "" if outline.column is None else captions.name(outline.column)
    is_count = outline.measure == SUM and outline.column is None  # weighted, a count is the sum of the weights
    wording = KINDS[COUNT if is_count else outline.measure].wording
    has_shares = any(axis.form == SHARES for axis in outline.axes)
    title = wording.title if has_shares else wording.title_alone or wording.title
    rows = captions.rows or say("terms.rows")
    said = measured(title, *filter(None, (name, reference)), "", rows=rows, text=outline.text)
    unit = captions.unit(outline.column) if outline.column is not None and wording.in_units else ""
    if outline.weights:
        small = said if template("terms.weighted").startswith("{measure}") else said[0].lower() + said[1:]
        said = say("terms.weighted", measure=small)
    return say("terms.with_unit", measure=said, unit=unit) if unit else said[0].upper() + said[1:]


def _level(axis: Axis, captions: Captions, text: str) -> str:
    """Return a cell's label, with ranges and runs in words.

    Examples are "0 to under 10", "to [0,10)", "a to b" and "January 2017".
    """
    label = captions.cell(axis.name, text)
    if axis.form in _RUNS:
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


def labels(term: ReportTerm) -> Iterator[str]:
    """Yield a short text for each cell, without attribute names."""
    return (" · ".join(levels) for levels in product(*term.levels)) if term.levels else iter(term.cells)
