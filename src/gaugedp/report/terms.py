"""Terms of a release for display, with cells by attribute."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product, takewhile
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.language import listed, say
from gaugedp.domain.captions import Captions
from gaugedp.queries.outline import CELLS, COUNT, SHARES, SUM, Axis, Outline
from gaugedp.releases.tidy.in_words import RUNS, answer_unit, cell, measure, subject
from gaugedp.report.figures import percent
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import split_answers

if TYPE_CHECKING:
    from gaugedp.releases.answer import Release

MOST_DRAWN = 2000  # cells of one chart


@dataclass(frozen=True, eq=False)
class ReportTerm:
    """One term: its cells, estimates and individual 95 % intervals.

    If the estimates are `processed`, the intervals are still those of the raw answers. With `ends`, a level, the
    intervals were released with the answers, and hold at that level; those of old releases are `simultaneous`.

    `measure` describes the numbers. The cells are all combinations of `levels` in product order, of the attributes
    `names`; both are empty if there are too many for a chart. `runs` describes runs of cells. `areas` are the outlines
    of the cells of one attribute, if known, by their texts in `axes`. `unit` is that of the numbers in the cells of one
    attribute. `sign` follows a number in a sentence. If `from_zero`, the axis of a chart includes 0. `axes` describe
    the cells of each attribute, and `kind` is that of the statistic. `marks` are the quality flags of the cells, if
    any; suppressed numbers are NaN. An interval of length `span` is the whole range. `rows` is what is counted,
    `of_rows` is true if the numbers count them, perhaps weighted, `answer_unit` is the unit of the answers, and
    `errors` names what intervals contain: "noise" or "total". In sentences, `subject` is the measure, and `phrases` are
    the cells of each attribute, "" for those without a phrase.
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
    span: float = np.inf
    rows: str = "rows"
    of_rows: bool = False
    answer_unit: str = ""
    errors: str = "noise"
    subject: str = ""
    phrases: tuple[tuple[str, ...], ...] = ()

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
        return percent(self.ends or 0.95)

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
    columns = [np.where(hidden, np.nan, column) for column in (release.values, *release.interval(0.95))]
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
            span=KINDS[term.kind].wording.scale * (estimate.range[1] - estimate.range[0]),
        )
        for term, estimate, flag in zip(terms, release.estimates, flags, strict=True)
    ]
    if release.intervals == "total":
        shown = [
            replace(term, errors="total") if errors.any() or "derived" in release.facts else term
            for term, errors in zip(shown, release.sampling_errors, strict=True)
        ]
    asked = takewhile(lambda pair: not pair[1].of_sampling, zip(shown, release.estimates, strict=True))
    return [term for term, _ in asked] or shown


def _term(outline: Outline, captions: Captions, cells: Sequence[str], parts: tuple[np.ndarray, ...]) -> ReportTerm:
    wording = KINDS[outline.measure].wording
    estimate, lower, upper = (wording.scale * part for part in parts)
    axes = outline.axes if len(cells) <= MOST_DRAWN else ()
    levels = tuple(tuple(cell(axis, captions, text) for text in axis.texts) for axis in axes)
    return ReportTerm(
        outline.text,
        cells,
        estimate,
        lower,
        upper,
        captions.terms.get(outline.text, ""),
        measure(outline, captions),
        next((RUNS[axis.form] for axis in axes if axis.form in RUNS), ""),
        tuple(say("terms.quantile") if axis.form == SHARES else captions.name(axis.name) for axis in axes),
        levels,
        axes,
        outline.measure,
        wording.from_zero,
        unit=captions.unit(axes[0].name) if len(axes) == 1 else "",
        areas=captions.areas(axes[0].name) if len(axes) == 1 and axes[0].form == CELLS else {},
        sign=wording.sign and say("numbers.percent", number=""),
        rows=captions.rows or say("terms.rows"),
        of_rows=outline.column is None and outline.measure in (COUNT, SUM),
        answer_unit=answer_unit(outline, captions),
        subject=subject(outline, captions),
        phrases=tuple(
            tuple(captions.phrase(axis.name, *pair) for pair in zip(axis.texts, own, strict=True))
            for axis, own in zip(axes, levels, strict=True)
        ),
    )


def labels(term: ReportTerm) -> Iterator[str]:
    """Yield a short text for each cell, without attribute names."""
    return (" · ".join(levels) for levels in product(*term.levels)) if term.levels else iter(term.cells)
