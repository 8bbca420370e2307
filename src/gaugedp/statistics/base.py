"""The interface of a statistic, which is computed from released numbers alone, and the registry of all statistics."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.mechanisms.base import AdditiveNoise

COUNTED, SUMMED, CENTRED, SQUARED = "counted", "summed", "centred", "squared"  # numbers of a bounded column, by cell
Ends = tuple[np.ndarray, np.ndarray]  # the lower and the upper ends of intervals
Terms = Sequence[tuple[int, Any]]  # the place of the first released number of a term, and its statistic


class Wording(NamedTuple):
    """Words of a report."""

    title: str  # for the name of a column, and of the cell that others are compared with
    plural: str = ""  # the statistic, in a sentence of a plan
    scale: int = 1  # of the numbers that are shown
    sign: str = ""  # behind a number in a sentence
    from_zero: bool = False  # an axis has 0 on it: lengths are compared
    in_units: bool = False  # of the column
    title_alone: str = ""  # where no axis has shares of rows; empty where it is the same


class Widths(Protocol):
    """Widths of a pivot at public places, from sorted draws of noise."""

    def widths(self, level: float) -> np.ndarray | None:
        """Return them for a level, shape (answers, places); None where there are too few draws for it."""


@dataclass(frozen=True)
class Statistic(ABC):
    """`n_answers` answers of one kind, computed from released numbers. A subclass with a `kind` registers itself."""

    n_answers: int
    kind: ClassVar[str]  # the name in JSON, and what a term measures
    word: ClassVar[str] = ""  # of a term in the text of a query; empty where none is of this kind alone
    wording: ClassVar[Wording]
    is_of_products: ClassVar[bool] = False  # whether the text of a query names several attributes, crossed
    moments: ClassVar[tuple[str, ...]] = ()  # numbers of a bounded column; empty for counts of the cells of attributes
    pivot: ClassVar[str] = ""  # the name of the curves of widths that intervals follow from; empty where from none
    splits_misses: ClassVar[bool] = False  # whether an interval without curves follows from two widths alone
    takes_all_widths: ClassVar[bool] = False  # whether it follows from widths that hold all at once
    first_cell: ClassVar[int] = 0  # of the first attribute, that has an answer
    is_plain: ClassVar[bool] = False  # whether each released number is an answer, and as uncertain to both sides
    is_between_bounds: ClassVar[bool] = False  # of the column
    has_counts: ClassVar[bool] = False  # whether released numbers of rows can be processed as counts

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            cls.kind = kind
            KINDS[kind] = cls

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "Statistic":  # noqa: ARG003
        """Return the statistic of a bounded column, for each of `n_cells`."""
        return cls(n_cells)

    @classmethod
    def of_cells(cls, n_cells: int, n_parts: int, names: Sequence[str]) -> "Statistic":  # noqa: ARG003
        """Return the statistic of counts of `n_cells`: `n_parts` of the attributes `names`, in each group of others."""
        return cls(n_cells)

    @property
    def n_released(self) -> int:
        """The number of released numbers."""
        return self.n_answers * max(len(self.moments), 1)

    @property
    def n_widths(self) -> int:
        """The number of widths that a plan knows: one for each released number that is not an end."""
        return self.n_answers if self.ends else self.n_released

    @property
    def ends(self) -> float | None:
        """The level at which the ends of intervals were released with the answers; None where they were not."""
        return None

    @property
    def are_simultaneous(self) -> bool:
        """Return whether intervals that hold all at once were released, and no others."""
        return self.ends is not None and self.n_released == 3 * self.n_answers

    @property
    def span(self) -> float:
        """The length of the range that answers are kept in, where this is not a column's; infinite without one."""
        return math.inf

    @abstractmethod
    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n_answers,), of released numbers in their units, shape (n_released,)."""

    def of_widths(self, level: float) -> tuple[float, bool]:
        """Return the level of the widths that intervals follow from without curves; True: they hold all at once."""
        return (1 + level) / 2 if self.splits_misses else level, self.takes_all_widths

    @abstractmethod
    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return the least and the largest answers that released numbers leave open, which hold `answers` too.

        With `curves` (n_answers, places), those at which the pivot is within its width; without, those of numbers that
        are each within its width of the released one.
        """

    def simultaneous_intervals(self, values: np.ndarray, widths: np.ndarray) -> Ends:
        """Return intervals that hold all at once, as all `widths` do."""
        return self.intervals(values, widths)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return half the longest interval of `count` rows without noise, in public cases."""
        return float(widths.max())

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Terms) -> Widths | None:  # noqa: ARG003
        """Return widths of the pivot from draws, for all its terms; None where draws tell nothing.

        `units` (d,) are what the noise of each number is counted in.
        """
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the fields as JSON can hold them, without those that have their defaults."""
        given = [(field.name, getattr(self, field.name), field.default) for field in fields(self)[1:]]
        facts = {name: value for name, value, default in given if value != default}
        return {"kind": self.kind, "answers": self.n_answers, **facts}


KINDS: dict[str, type[Statistic]] = {}  # by their names in JSON


def read_statistic(facts: Mapping[str, Any], measure: str) -> Statistic:
    """Return what `to_dict` described, in a term of this `measure`; an error that is no refusal where that fails."""
    given = facts if "kind" in facts else _of_old(facts, measure)
    kind = KINDS[given["kind"]]
    types: dict[str, Any] = {field.name: field.type for field in fields(kind)[1:]}
    values = {name: types[name](value) for name, value in given.items() if name not in ("kind", "answers")}
    if not all(0 <= value < math.inf for name, value in values.items() if name not in ("middle", "no_end")):
        raise ValueError
    return kind(int(given["answers"]), **values)


def _of_old(facts: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """Return the facts of a release of version 0.2 or before, which names no kind."""
    ratio, ends, parts, deviation = (facts.get(name) for name in ("ratio", "ends", "parts", "deviation"))
    if sum(map(bool, (ratio, ends, parts, deviation))) > 1:
        raise ValueError
    given = {"answers": facts["answers"], "kind": measure}
    if ratio:
        return given | {"kind": "mean", "middle": ratio[0], "half_range": ratio[1]}
    if parts or "comparison" in facts:
        return given | {"kind": facts.get("comparison", "share"), "parts": parts}
    if ends:
        more = {name: facts[name] for name in ("alone", "no_end") if name in facts}
        return given | {"kind": "quantile" if measure == "count" else measure, "level": ends, "alone": False} | more
    return given | ({"kind": "standard deviation", "half_range": deviation} if deviation else {})


def longest_half(intervals: Iterable[Ends]) -> float:
    """Return half the length of the longest of intervals."""
    return max(float((high - low).max()) for low, high in intervals) / 2


def all_answers(statistics: Sequence[Statistic], values: np.ndarray) -> np.ndarray:
    """Return the answers of all terms."""
    pairs = zip(statistics, split(statistics, values), strict=True)
    return np.concatenate([statistic.answers(part) for statistic, part in pairs])


def split(statistics: Sequence[Statistic], values: np.ndarray) -> list[np.ndarray]:
    """Cut what was released for all terms into the parts of each term."""
    return np.split(values, np.cumsum([statistic.n_released for statistic in statistics])[:-1])


def split_answers(statistics: Sequence[Statistic], answers: Sequence[float] | np.ndarray) -> list[np.ndarray]:
    """Cut a column of all answers into the answers of each term."""
    return np.split(np.asarray(answers), np.cumsum([statistic.n_answers for statistic in statistics])[:-1])


def for_released(statistics: Sequence[Statistic], widths: np.ndarray) -> np.ndarray:
    """Return the widths that a plan knows as one for each released number: 0 for those of terms with ends."""
    parts = np.split(widths, np.cumsum([statistic.n_widths for statistic in statistics])[:-1])
    pairs = zip(statistics, parts, strict=True)
    return np.concatenate([np.zeros(statistic.n_released) if statistic.ends else part for statistic, part in pairs])


def in_units(statistics: Sequence[Statistic], widths: np.ndarray, runs: Sequence[tuple[Any, int]]) -> np.ndarray:
    """Return the widths that a plan knows in steps, in units: but those of terms with ends, which are ranks.

    `runs` are (step, how many released numbers), in order.
    """
    if all(step == 1 for step, _ in runs):
        return widths
    steps = np.repeat([float(step) for step, _ in runs], [count for _, count in runs])
    parts = np.split(widths, np.cumsum([statistic.n_widths for statistic in statistics])[:-1])
    terms = zip(statistics, parts, split(statistics, steps), strict=True)
    return np.concatenate([part if term.ends or (size == 1).all() else part * size for term, part, size in terms])


def by_pivot(statistics: Sequence[Statistic]) -> dict[str, list[tuple[int, Any]]]:
    """Return the terms of each pivot."""
    starts = np.cumsum([0, *(statistic.n_released for statistic in statistics)])[:-1].tolist()
    terms: dict[str, list[tuple[int, Any]]] = {}
    for start, statistic in zip(starts, statistics, strict=True):
        if statistic.pivot:
            terms.setdefault(statistic.pivot, []).append((start, statistic))
    return terms


def curves_of(statistics: Sequence[Statistic], curves: Mapping[str, np.ndarray]) -> list[np.ndarray | None]:
    """Cut curves (answers of all terms of a pivot, k), by their pivot, into those of each term; None where are none."""
    n_answers = {pivot: [term.n_answers for _, term in terms] for pivot, terms in by_pivot(statistics).items()}
    parts = {pivot: iter(np.split(curves[pivot], np.cumsum(n_answers[pivot])[:-1])) for pivot in curves}
    return [next(parts[statistic.pivot]) if statistic.pivot in parts else None for statistic in statistics]
