"""Terms of a release for display, with cells by attribute."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.domain.captions import Captions
from gaugedp.queries.outline import CELLS, COUNT, PREFIX, RANGES, SHARES, Axis, Outline
from gaugedp.report.figures import percent, typeset
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import split_answers

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

LEVEL = 0.95  # of the displayed intervals
MOST_DRAWN = 2000  # cells of one chart
_RANGE = re.compile(r"\[([^,]+),([^,]+)([)\]])")
_RUNS = {PREFIX: "up to and including each cell", RANGES: "in each range of adjacent cells"}


@dataclass(frozen=True, eq=False)
class ReportTerm:
    """One term: its cells, estimates and individual 95 % intervals.

    If the estimates are `processed`, the intervals are still those of the raw answers. With `ends`, a level, the
    intervals were released with the answers, and hold at that level; those of old releases are `simultaneous`.

    `measure` describes the numbers. The cells are all combinations of `levels` in product order, of the attributes
    `names`; both are empty if there are too many for a chart. `runs` describes runs of cells. `areas` are the outlines
    of the cells of one attribute, if known, by their texts in `axes`. `unit` is that of the numbers in the cells of one
    attribute. `sign` follows a number in a sentence. If `from_zero`, the axis of a chart includes 0. `axes` describe
    the cells of each attribute, and `counts` means that rows are counted in them. `marks` are the quality flags of the
    cells, if any; suppressed numbers are NaN. `rows` is what is counted, `answer_unit` the unit of the
    answers, and `errors` what intervals contain.
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
    counts: bool = False
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
    errors: str = "the noise"

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
        raw = " of the raw answers" if self.processed else ""
        return raw + " (simultaneous)" * (self.simultaneous and len(self.cells) > 1)

    @property
    def meaning(self) -> str:
        """Description of the numbers."""
        if not self.names:
            return self.measure + (" overall" if len(self.cells) == 1 else "")
        if self.runs:
            return f"{self.measure} {self.runs} of {_and(self.names)}"
        return f"{self.measure} by {_and(self.names)}"


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
            replace(term, errors="noise and sampling") if errors.any() else term
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
        tuple(captions.name(axis.name) for axis in axes),
        tuple(tuple(_level(axis, captions, text) for text in axis.texts) for axis in axes),
        axes,
        outline.measure == COUNT,
        wording.from_zero,
        unit=captions.unit(axes[0].name) if len(axes) == 1 else "",
        areas=captions.areas(axes[0].name) if len(axes) == 1 and axes[0].form == CELLS else {},
        sign=wording.sign and f"\u00a0{wording.sign}",
        rows=captions.rows or "rows",
        answer_unit=captions.unit(outline.column) if outline.column is not None and wording.in_units else "",
    )


def _measure(outline: Outline, captions: Captions) -> str:
    reference = outline.reference and captions.cell(outline.axes[0].name, outline.reference)
    name = "" if outline.column is None else captions.name(outline.column)
    wording = KINDS[outline.measure].wording
    has_shares = any(axis.form == SHARES for axis in outline.axes)
    title = wording.title if has_shares else wording.title_alone or wording.title
    said = title.format(*filter(None, (name, reference)), "", rows=captions.rows or "rows", text=outline.text)
    unit = captions.unit(outline.column) if outline.column is not None and wording.in_units else ""
    if outline.weights:
        is_count = outline.column == outline.weights
        said = f"weighted number of {captions.rows or 'rows'}" if is_count else f"weighted {said[0].lower()}{said[1:]}"
        said = said[0].upper() + said[1:]
    return f"{said} ({unit})" if unit else said[0].upper() + said[1:]


def _level(axis: Axis, captions: Captions, text: str) -> str:
    """Return a cell's label, with ranges and runs in words.

    Examples are "0 to under 10", "to [0,10)" and "a to b".
    """
    label = captions.cell(axis.name, text)
    if axis.form in _RUNS:
        return label.replace("..", " to ").strip()
    ends = _RANGE.fullmatch(text) if label == text and axis.values == "numbers" else None
    return label if ends is None else f"{_number(ends[1])} to {'under ' * (ends[3] == ')')}{_number(ends[2])}"


def _number(text: str) -> str:
    """Format a number, with the digits that it has."""
    return typeset(f"{int(text):,}" if text.lstrip("-").isdigit() else text)


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def labels(term: ReportTerm) -> Iterator[str]:
    """Yield a short text for each cell, without attribute names."""
    return (" · ".join(levels) for levels in product(*term.levels)) if term.levels else iter(term.cells)
