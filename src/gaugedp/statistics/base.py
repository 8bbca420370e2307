"""The interface and the registry of statistics of released numbers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from gaugedp.domain.attributes import BoundedColumn
from gaugedp.mechanisms.base import AdditiveNoise

COUNTED, SUMMED, CENTRED, SQUARED = "counted", "summed", "centred", "squared"  # numbers of a bounded column, by cell
ROUNDED = "rounded"  # the centred values that are squared
Ends = tuple[np.ndarray, np.ndarray]  # the lower and the upper ends of intervals
Terms = Sequence[tuple[int, Any]]  # the place of the first released number of a term, and its statistic


class Part(NamedTuple):
    """Part of the weight of a row, also a number of a bounded column, by cell.

    A row whose value divides the column's bounds as t to 1 − t adds t^place·(1 − t)^(degree − place), times a binomial
    coefficient, to part number `place` ≤ `degree`; a row without a value adds 1 to the last part, degree + 1.
    """

    degree: int
    place: int

    @property
    def is_last(self) -> bool:
        """True for rows without a value."""
        return self.place > self.degree


class Wording(NamedTuple):
    """The wording of a statistic in reports."""

    title: str  # with the name of a column, and of the reference cell
    plural: str = ""  # the statistic, in a sentence of a plan
    scale: int = 1  # of the numbers that are shown
    sign: str = ""  # behind a number in a sentence
    from_zero: bool = False  # an axis has 0 on it: lengths are compared
    in_units: bool = False  # of the column
    title_alone: str = ""  # where no axis has shares of rows; empty where it is the same


class Noisy(NamedTuple):
    """Released numbers, and the standard deviations of their noise."""

    values: np.ndarray
    deviations: np.ndarray


class Influence(NamedTuple):
    """Contribution of a row of weight w to answers, to first order, shape (n_answers,) each.

    It is scale·w·(y − centre) in the answer's cell, with y = 1 or the value of a column, and −scale·w·other in other
    cells. `own` and `others` map numbers of the cells (…, n_cells) to those of each answer's cell, and of the others.
    """

    scale: np.ndarray
    centre: np.ndarray
    other: np.ndarray | None = None
    is_total: bool = False  # linear in the sums of weights, and not a quotient
    own: Callable[[np.ndarray], np.ndarray] = np.asarray
    others: Callable[[np.ndarray], np.ndarray] = np.zeros_like


class Widths(Protocol):
    """Widths of a pivot at public places, from noise draws."""

    def widths(self, level: float) -> np.ndarray | None:
        """Return widths (answers, places) for a level; None with too few draws."""


@dataclass(frozen=True)
class Statistic(ABC):
    """Interface of a statistic that is computed from released numbers.

    A statistic, such as a mean, turns noisy sums and counts into answers with intervals. It has `n_answers` answers of
    one kind. A subclass with a `kind` is registered under that name.
    """

    n_answers: int
    kind: ClassVar[str]  # the name in JSON, and the measure of a term
    word: ClassVar[str] = ""  # of a term in the text of a query; empty if no term has this kind
    wording: ClassVar[Wording]
    is_of_products: ClassVar[bool] = False  # whether the text of a query names several attributes, crossed
    is_of_pairs: ClassVar[bool] = False  # whether it lists two attributes
    # numbers of a bounded column; empty for counts of the cells of attributes
    moments: ClassVar[tuple[str | Part, ...]] = ()
    pivot: ClassVar[str] = ""  # the name of the curves of widths from which intervals follow, if any
    splits_misses: ClassVar[bool] = False  # whether an interval without curves follows from just two widths
    takes_all_widths: ClassVar[bool] = False  # whether it follows from simultaneous widths
    first_cell: ClassVar[int] = 0  # the first cell of the first attribute that has an answer
    skipped_axes: ClassVar[int] = 0  # attributes, from the first, over whose cells an answer is computed
    is_plain: ClassVar[bool] = False  # whether each released number is an answer with a symmetric error
    is_between_bounds: ClassVar[bool] = False  # of the column
    is_test: ClassVar[bool] = False  # whether it simulates the noise of a release: `concluded`
    of_sampling: ClassVar[bool] = False  # whether it only serves the sampling errors of other terms
    is_independent: ClassVar[bool] = False  # whether the noise of released numbers must be independent
    has_counts: ClassVar[bool] = False  # whether released numbers of rows can be processed as counts

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            cls.kind = kind
            KINDS[kind] = cls

    @classmethod
    def of_column(cls, n_cells: int, column: BoundedColumn) -> "Statistic":  # noqa: ARG003
        """Return the statistic of a bounded column in `n_cells` cells."""
        return cls(n_cells)

    def rounded(self, by: float) -> "Statistic":  # noqa: ARG002
        """Return the statistic of values rounded by at most `by`.

        They are rounded before they are squared.
        """
        return self

    @classmethod
    def of_cells(cls, n_cells: int, n_parts: int, names: Sequence[str]) -> "Statistic":  # noqa: ARG003
        """Return the statistic of counts: `n_parts` cells in each group."""
        return cls(n_cells)

    @classmethod
    def of_table(cls, shape: Sequence[int], names: Sequence[str]) -> "Statistic":
        """Return the statistic of counts shaped by `names`, then groups."""
        return cls.of_cells(math.prod(shape), math.prod(shape[: len(names)]), names)

    def concluded(self, values: np.ndarray, draws: Callable[[int, int], np.ndarray | None]) -> "Statistic":  # noqa: ARG002
        """Return the statistic with conclusions from released `values` and noise."""
        return self

    def without_squares(self) -> "Statistic":
        """Return the statistic without squares, if it can omit them."""
        return self

    @property
    def n_released(self) -> int:
        """The number of released numbers."""
        return self.n_answers * max(len(self.moments), 1)

    @property
    def n_widths(self) -> int:
        """The number of widths in a plan, without ends."""
        return self.n_answers if self.ends else self.n_released

    @property
    def n_kinds(self) -> int:
        """The number of kinds of widths: 2 for sums and counts."""
        return 1 if self.ends else max(len(self.moments), 1)

    @property
    def ends(self) -> float | None:
        """The level of released interval ends, or None."""
        return None

    @property
    def are_simultaneous(self) -> bool:
        """True if only simultaneous intervals were released."""
        return self.ends is not None and self.n_released == 3 * self.n_answers

    @property
    def span(self) -> float:
        """The length of the answers' own range; infinite without one."""
        return math.inf

    @abstractmethod
    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n_answers,), from released `values`."""

    def influence(self, values: np.ndarray) -> Influence | None:  # noqa: ARG002
        """Return the influence of a row on weighted answers.

        It is computed from released numbers, and is None if sampling errors are not estimated.
        """
        return None

    @property
    def range(self) -> tuple[float, float]:
        """Bounds on an answer."""
        return -math.inf, math.inf

    def of_widths(self, level: float) -> tuple[float, bool]:
        """Return the level of widths, and whether they are simultaneous."""
        return (1 + level) / 2 if self.splits_misses else level, self.takes_all_widths

    @abstractmethod
    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return intervals of the answers, given bounds on the noise.

        A release publishes noisy numbers, such as sums and counts. This method turns bounds on their noise into
        intervals of the answers, such as means, that are computed from them. The intervals contain the published
        answers too.

        Parameters
        ----------
        values : ndarray, shape (n_released,)
            The released numbers.
        widths : ndarray
            The bounds on the noise of these numbers. Without `curves`, an interval contains the answers for all numbers
            that are within their widths of the released ones.
        curves : ndarray, shape (n_answers, n), optional
            For n possible values of each answer, the bound on a combination of the noise, called a pivot. An interval
            then contains the values at which the pivot is within its bound.

        Returns
        -------
        (lower, upper) : ndarrays, shape (n_answers,)
            The ends of the intervals.
        """

    def simultaneous_intervals(self, values: np.ndarray, widths: np.ndarray) -> Ends:
        """Return simultaneous intervals, for simultaneous `widths`."""
        return self.intervals(values, widths)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:  # noqa: ARG002
        """Return half the longest interval in public cases.

        The cases are cells of `count` rows.
        """
        return float(widths.max())

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Terms) -> Widths | None:  # noqa: ARG003
        """Return the pivot's widths for all terms, or None.

        They are computed from draws of the noise; `units`, shape (d,), are the units of each number's noise.
        """
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the non-default fields, for JSON."""
        given = [(field.name, getattr(self, field.name), field.default) for field in fields(self)[1:]]
        facts = {name: value for name, value, default in given if value != default}
        return {"kind": self.kind, "answers": self.n_answers, **facts}


KINDS: dict[str, type[Statistic]] = {}  # by their names in JSON


def read_statistic(facts: Mapping[str, Any], measure: str) -> Statistic:
    """Return the statistic of `to_dict`, in a term of this `measure`, or raise an error that is no refusal."""
    given = facts if "kind" in facts else _of_old(facts, measure)
    kind = KINDS[given["kind"]]
    types: dict[str, Any] = {field.name: field.type for field in fields(kind)[1:]}
    values = {name: types[name](value) for name, value in given.items() if name not in ("kind", "answers")}
    signless = [value for name, value in values.items() if name not in ("middle", "no_end")]
    if not all(0 <= part < math.inf for value in signless for part in np.ravel(value)):
        raise ValueError
    return kind(int(given["answers"]), **values)


def _of_old(facts: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """Return the facts of an old release (up to 0.2), without kinds."""
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


def inverse(sums: np.ndarray) -> np.ndarray:
    """Return 1/sums, infinite where a sum is not positive."""
    return np.divide(1.0, sums, out=np.full(len(sums), np.inf), where=sums > 0)


def longest_half(intervals: Iterable[Ends]) -> float:
    """Return half the length of the longest interval."""
    return max(float((high - low).max()) for low, high in intervals) / 2


def all_answers(statistics: Sequence[Statistic], values: np.ndarray) -> np.ndarray:
    """Return the answers of all terms."""
    pairs = zip(statistics, split(statistics, values), strict=True)
    return np.concatenate([statistic.answers(part) for statistic, part in pairs])


def split(statistics: Sequence[Statistic], values: np.ndarray) -> list[np.ndarray]:
    """Split released numbers by term."""
    return np.split(values, np.cumsum([statistic.n_released for statistic in statistics])[:-1])


def split_answers(statistics: Sequence[Statistic], answers: Sequence[float] | np.ndarray) -> list[np.ndarray]:
    """Split a column of answers by term."""
    return np.split(np.asarray(answers), np.cumsum([statistic.n_answers for statistic in statistics])[:-1])


def for_released(statistics: Sequence[Statistic], widths: np.ndarray) -> np.ndarray:
    """Return a width per released number, 0 with ends."""
    parts = np.split(widths, np.cumsum([statistic.n_widths for statistic in statistics])[:-1])
    pairs = zip(statistics, parts, strict=True)
    return np.concatenate([np.zeros(statistic.n_released) if statistic.ends else part for statistic, part in pairs])


def in_units(statistics: Sequence[Statistic], widths: np.ndarray, runs: Sequence[tuple[Any, int]]) -> np.ndarray:
    """Convert widths from steps to units, except ranks.

    Terms with ends have ranks. `runs` are (step, number of released numbers), in order.
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
    """Split each pivot's curves (answers, k) by term, or None."""
    n_answers = {pivot: [term.n_answers for _, term in terms] for pivot, terms in by_pivot(statistics).items()}
    parts = {pivot: iter(np.split(curves[pivot], np.cumsum(n_answers[pivot])[:-1])) for pivot in curves}
    return [next(parts[statistic.pivot]) if statistic.pivot in parts else None for statistic in statistics]
