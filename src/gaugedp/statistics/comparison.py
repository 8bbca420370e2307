"""Counts and means compared with those of another cell.

Comparisons are differences, ratios, index numbers and changes. Let x = c + e be a released count and X = C + E the one
that it is compared with. The pivots are x − m·X for ratios m ≤ 1, and X − x/m for those above. Means are compared only
in a release, from their centred sums and counts. docs/theory/derived.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.statistics.base import Ends, Influence, Statistic, Terms, Wording, inverse, longest_half
from gaugedp.statistics.forms import FormQuotient, Quadratic
from gaugedp.statistics.inversion import quotients_within
from gaugedp.statistics.pairs import NoisePairs, PairWidths, are_alike, pair_draws, pair_kinds, share_places
from gaugedp.statistics.quantile import WithEnds

_OF_PLAN = (0.0, 0.5, 1.0)  # counts of a plan, relative to the reference count


@dataclass(frozen=True)
class CountRatio(Statistic):
    """Ratios of counts to the count of the first or the previous cell.

    The counts are a table (parts, groups), and the answer is factor·ratio + shift. If the reference count is below 1,
    both counts are raised to at least 1. An upper end is infinite if the reference count may be 0.
    """

    parts: int
    pivot = "comparisons"
    takes_all_widths = True
    first_cell = 1
    has_counts = True
    to_part_before: ClassVar[bool] = False
    factor: ClassVar[float] = 1.0
    shift: ClassVar[float] = 0.0
    least: ClassVar[float] = 0.0

    @classmethod
    def of_cells(cls, n_cells: int, n_parts: int, names: Sequence[str]) -> "CountRatio":
        """Return the comparisons of two or more cells of `names`."""
        if n_parts == 1:
            what = f"{names[0]} has only one cell, so there is nothing to compare."
            raise InvalidRequest(what, "Compare cells of another attribute.")
        return cls(n_cells // n_parts * (n_parts - 1), n_parts)

    @property
    def n_released(self) -> int:
        """The number of counts."""
        return self.n_answers // (self.parts - 1) * self.parts

    def compared(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the compared and the reference `cells`, (…, n_answers) each."""
        table = cells.reshape(*cells.shape[:-1], self.parts, -1)
        own = table[..., 1:, :]
        others = table[..., :-1, :] if self.to_part_before else np.broadcast_to(table[..., :1, :], own.shape)
        return own.reshape(*cells.shape[:-1], -1), others.reshape(*cells.shape[:-1], -1)

    @property
    def range(self) -> tuple[float, float]:
        """The range of a comparison."""
        return self.least, np.inf

    def influence(self, values: np.ndarray) -> Influence:
        """Return that of factor·(own/other + shift): factor·w·(1[row in own] − own/other·1[row in other])/other."""
        own, other = self.compared(values)
        return self._influence(self.factor * inverse(other), np.maximum(own, 0) / np.maximum(other, 1.0))

    def _influence(self, scale: np.ndarray, ratios: np.ndarray, is_total: bool = False) -> Influence:
        own, others = (partial(self._side, place=place) for place in (0, 1))
        return Influence(scale, np.zeros(len(scale)), ratios, is_total, own, others)

    def _side(self, cells: np.ndarray, place: int) -> np.ndarray:
        return self.compared(cells)[place]

    def answers(self, values: np.ndarray) -> np.ndarray:
        """Return the comparisons."""
        return self._values(*self.compared(values))

    def intervals(self, values: np.ndarray, widths: np.ndarray, curves: np.ndarray | None = None) -> Ends:
        """Return intervals; curves (n_answers, 2k) concatenate both pivots."""
        return self._ends(*self.compared(values), *self.compared(widths), curves)

    def half_length(self, widths: np.ndarray, count: float, curves: np.ndarray | None = None) -> float:
        """Return half the longest interval for none, half or all of `count` reference rows."""
        around, beside = self.compared(widths)
        other = np.full(len(around), count)
        return longest_half(self._ends(share * other, other, around, beside, curves) for share in _OF_PLAN)

    def _values(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self._shown(np.maximum(own, np.where(other < 1, 1.0, 0.0)) / np.maximum(other, 1.0))

    def _shown(self, ratios: np.ndarray) -> np.ndarray:
        return self.factor * (ratios + self.shift)

    def _ends(
        self, own: np.ndarray, other: np.ndarray, around: np.ndarray, beside: np.ndarray, curves: np.ndarray | None
    ) -> Ends:
        middle = self._values(own, other)
        low, high = _of_box(own, other, around, beside) if curves is None else _of_curves(own, other, curves)
        return np.minimum(self._shown(low), middle), np.maximum(self._shown(high), middle)

    @classmethod
    def trials(cls, noise: AdditiveNoise, units: np.ndarray, terms: Terms) -> PairWidths | None:
        """Return the widths of |e − p·E| and of |E − p·e|."""
        places = [term.compared(start + np.arange(term.n_released)) for start, term in terms]
        one_tells = are_alike(noise, [np.concatenate(pair) for pair in places])
        rows = pair_draws(noise, units, 2 * (len(terms) if one_tells else sum(len(own) for own, _ in places)))
        if rows is None:
            return None
        pairs = [(own, other, pair_kinds(noise, own, other)) for own, other in places]
        below = [NoisePairs(rows, rows, own, other, kind) for own, other, kind in pairs]
        above = [NoisePairs(rows, rows, other, own, kind) for own, other, kind in pairs]
        return PairWidths([*below, *above], one_tells, n_ways=2)


class Difference(CountRatio, kind="difference"):
    """Differences of counts from the first cell, in integers."""

    word = "difference"
    least = -np.inf
    wording = Wording("{rows}, less those of {}", "comparisons", from_zero=True)

    def influence(self, values: np.ndarray) -> Influence:
        """Return that of a total: w·(1[row in own] − 1[row in other])."""
        ones = np.ones(len(self.compared(values)[0]))
        return self._influence(ones, ones, is_total=True)

    def _values(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        return own - other

    def _ends(
        self, own: np.ndarray, other: np.ndarray, around: np.ndarray, beside: np.ndarray, curves: np.ndarray | None
    ) -> Ends:
        reach = around + beside if curves is None else np.floor(curves[:, curves.shape[1] // 2 - 1])
        return own - other - reach, own - other + reach


class Ratio(CountRatio, kind="ratio"):
    """Ratios of counts to the first cell."""

    word = "ratio"
    wording = Wording("{rows}, divided by those of {}", "comparisons", from_zero=True)


class IndexNumber(CountRatio, kind="index"):
    """Index numbers of counts, with the first cell at 100."""

    word = "index"
    factor = 100.0
    wording = Wording("Index of the number of {rows} ({} = 100)", "comparisons")


class Change(CountRatio, kind="change"):
    """Percentage changes of counts from the cell before."""

    word = "change"
    to_part_before = True
    factor, shift, least = 100.0, -1.0, -100.0
    wording = Wording(
        "Percentage change in the number of {rows} from the previous value", "comparisons", sign="%", from_zero=True
    )


class MeanRatio(WithEnds, kind="ratio of means"):
    """Ratios of means to the mean of the first cell."""

    of_counts: ClassVar[type[CountRatio]] = Ratio
    wording = Wording("Mean {}, divided by that of {}", from_zero=True)

    @classmethod
    def quotient(cls, middle: float, half_range: float, step: float) -> FormQuotient:
        """Return the ratio for means within half_range of the middle. A sum that is not 0 is at least a step."""
        low, high = middle - half_range, middle + half_range
        tops = _products([(0, 3, 1.0), (1, 3, middle)])
        bottoms = _products([(2, 1, 1.0), (3, 1, middle)])
        return FormQuotient(tops, bottoms, low / high, high / low if low > 0 else np.inf, max(low, step))


class MeanIndex(MeanRatio, kind="index of means"):
    """Index numbers of means, with the first cell at 100."""

    of_counts = IndexNumber
    wording = Wording("Index of the mean {} ({} = 100)", from_zero=True)


class MeanChange(MeanRatio, kind="change of means"):
    """Percentage changes of means from the cell before."""

    of_counts = Change
    wording = Wording("Percentage change in the mean {} from the previous value", sign="%", from_zero=True)


class MeanDifference(MeanRatio, kind="difference of means"):
    """Differences of means from the first cell."""

    of_counts = Difference
    wording = Wording("Mean {}, less that of {}", from_zero=True, in_units=True)

    @classmethod
    def quotient(cls, middle: float, half_range: float, step: float) -> FormQuotient:  # noqa: ARG003
        """Return the form m − m′."""
        tops = _products([(0, 3, 1.0), (2, 1, -1.0)])
        return FormQuotient(tops, _products([(1, 3, 1.0)]), -2 * half_range, 2 * half_range, 1.0)


COMPARISONS: dict[str, type[CountRatio]] = {kind.kind: kind for kind in (Difference, Ratio, IndexNumber, Change)}


def _of_curves(own: np.ndarray, other: np.ndarray, curves: np.ndarray) -> Ends:
    below, above = np.split(curves, 2, axis=1)
    places = share_places(below.shape[1])
    low, high = quotients_within(own, other, below, places)
    least, most = quotients_within(other, own, above, places)
    with np.errstate(divide="ignore"):
        inverses = 1 / np.maximum(most, 0.0), 1 / np.maximum(least, 0.0)
    is_above = least <= most
    low = np.minimum(low, np.where(is_above, inverses[0], np.inf))
    return low, np.maximum(high, np.where(is_above, inverses[1], -np.inf))


def _of_box(own: np.ndarray, other: np.ndarray, around: np.ndarray, beside: np.ndarray) -> Ends:
    fewest, most = np.maximum(own - around, 0), np.maximum(own + around, 0)
    least, largest = np.maximum(other - beside, 0), np.maximum(other + beside, 0)
    low = np.divide(fewest, largest, out=np.zeros(len(own)), where=largest > 0)
    return low, np.divide(most, least, out=np.full(len(own), np.inf), where=least > 0)


def _products(terms: Sequence[tuple[int, int, float]]) -> Quadratic:
    """Return the form Σ factor·c_i·c_j of four numbers."""
    squares = np.zeros((4, 4))
    for i, j, factor in terms:
        squares[i, j] += factor
        squares[j, i] += factor
    return Quadratic(squares)
