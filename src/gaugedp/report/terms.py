"""A release cut into its terms, and each term's cells into attributes and levels."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._names import parts, plain
from gaugedp.queries.estimates import split_answers
from gaugedp.report.figures import percent

if TYPE_CHECKING:
    from gaugedp.answer import Release

LEVEL = 0.95  # of the intervals that are shown
MOST_DRAWN = 2000  # cells of one chart
_TERM = re.compile(
    r"(?P<word>sum|mean|share|median|quantiles|prefix|ranges|matrix)\((?P<name>.*?)\)(?: by (?P<by>.+))?"
)
_MEASURES = {
    "sum": "Sum of {}",
    "mean": "Mean of {}",
    "share": "Share of rows",
    "median": "Median of {}",
    "quantiles": "Quantiles of {}",
    "matrix": "Combination of counts",
}


@dataclass(frozen=True, eq=False)
class Term:
    """One question: its cells, estimates, 95 % intervals (each alone; all answers of the release at once).

    Where the estimates are `processed`, the intervals are still those of the raw answers. With `ends`, a level, the
    intervals were released with the answers: both kinds are those, and all of them hold at once at that level.

    Where the cells are all combinations of `levels` in product order, `names` are the attributes; else both are
    empty, or `names` is empty and `levels` holds one shorter text for each cell.
    """

    text: str
    cells: Sequence[str]
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    names: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    processed: bool = False
    ends: float | None = None
    alone: bool = True

    @property
    def level(self) -> str:
        """The probability of an interval, as a percentage."""
        return percent(self.ends or LEVEL)

    @property
    def bars(self) -> str:
        """What the intervals speak of, to be put after "intervals": nothing more for raw answers, each alone."""
        raw = " of the raw answers" if self.processed else ""
        return raw + (" (simultaneous)" if not self.alone and len(self.cells) > 1 else "")

    @property
    def measure(self) -> str:
        """What the numbers are, in words."""
        match = _TERM.fullmatch(self.text)
        if not match or match["word"] not in _MEASURES:
            return "Number of rows"
        return _MEASURES[match["word"]].format(plain(parts(match["name"], ",")[0]))

    @property
    def meaning(self) -> str:
        """One sentence: which numbers these are."""
        match = _TERM.fullmatch(self.text)
        if match and match["word"] in ("prefix", "ranges"):
            where = "up to and with each cell" if match["word"] == "prefix" else "in each run of neighbouring cells"
            return f"{self.measure} {where} of {plain(match['name'])}"
        if not self.names:
            return self.measure + (" in all" if len(self.cells) == 1 else "")
        return f"{self.measure} for each {'combination' if len(self.names) > 1 else 'cell'} of {_and(self.names)}"


def read_terms(release: "Release") -> list[Term]:
    """Return the terms in the order of the question."""
    columns = [release.values, *release.interval(LEVEL), *release.interval(LEVEL, simultaneous=True)]
    pieces = zip(*(split_answers(release.estimates, column) for column in columns), strict=True)
    terms = [_term(text, cells, parts) for (text, cells), parts in zip(release.labels.terms, pieces, strict=True)]
    return [
        replace(
            term,
            processed=bool(release.processing),
            ends=estimate.ends,
            alone=estimate.alone or estimate.ends is None,
        )
        for term, estimate in zip(terms, release.estimates, strict=True)
    ]


def _term(text: str, cells: Sequence[str], parts: tuple[np.ndarray, ...]) -> Term:
    names, levels = _factored(text, cells) if len(cells) <= MOST_DRAWN else ((), ())
    estimate, lower, upper, lowest, highest = parts
    return Term(text, cells, estimate, lower, upper, lowest, highest, names, levels)


def _factored(text: str, cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the attributes and their levels, checked against the cells; a text may look like what it is not."""
    match = _TERM.fullmatch(text)
    if match and match["word"] in ("prefix", "ranges"):
        return (), (tuple(_shortened(cell, plain(match["name"])) for cell in cells),)
    of = match["name"] if match and match["word"] == "share" else ""
    by = (match["by"] or "") if match else text
    names = tuple(plain(name) for crossed in (of, by) for name in parts(crossed, "*") if name)
    names += ("quantile",) * (match is not None and match["word"] == "quantiles")
    cut = [_parted(cell, names) for cell in cells]
    levels = tuple(tuple(dict.fromkeys(column)) for column in zip(*filter(None, cut), strict=True))
    return (names, levels) if levels and cut == list(product(*levels)) else ((), ())


def _parted(cell: str, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the levels of a cell such as "SEX=1, AGEP=[0,10)"."""
    pattern = ", ".join(f"{re.escape(name)}=(.*?)" for name in names)
    match = re.fullmatch(pattern, cell, re.DOTALL)
    return match.groups() if match else None


def _shortened(cell: str, name: str) -> str:
    """Return "to [0,10)" for a prefix and "[0,10) to [20,30)" for a range."""
    return " to ".join(part.removeprefix(f"{name}=") for part in cell.split("..", 1)).strip()


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def labels(term: Term) -> Iterator[str]:
    """Yield a short text for each cell: the levels without the attributes' names."""
    return (" · ".join(levels) for levels in product(*term.levels)) if term.levels else iter(term.cells)
