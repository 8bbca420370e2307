"""Tables of one row, which show what a row contributes."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gaugedp._internal.trial_stream import trial_stream
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.aggregate import Aggregate, Coarse, Rows

if TYPE_CHECKING:
    from gaugedp.queries.base import Query

_TRIED = 16  # a column with so few values is tried completely


class PossibleRow(NamedTuple):
    """Cells of the finest attributes, and steps above lower bounds. A step is None for a missing value."""

    cells: Mapping[str, int]
    values: Mapping[str, int | None]


class TriedRows(NamedTuple):
    """Rows that are tried. `are_enough` means that the contribution of every other row lies in the hull of theirs."""

    rows: list[PossibleRow]
    are_enough: bool


class SingleRow(Rows):
    """Table of one `row`, or of none.

    `is_curved` is set once a total that is not linear in each column was requested; `n_totals` counts those of the last
    call.
    """

    name = "a single row"

    def __init__(self, domain: Domain, unit: PrivacyUnit, row: PossibleRow | None) -> None:
        self.domain, self.unit, self.row, self.is_curved, self.n_totals = domain, unit, row, False, 0

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:  # noqa: ARG002
        """Return each total of this row, from its definition."""
        self.is_curved = self.is_curved or any(map(self._is_curved, totals))
        self.n_totals = len(totals)
        return [self._total(total) for total in totals]

    def _is_curved(self, total: Aggregate) -> bool:
        is_of_weights = total.weighted > 0 and not total.present and total.column == self.domain.weights
        return total.squared or total.each or is_of_weights

    def _total(self, total: Aggregate) -> np.ndarray:
        span = 0 if total.column is None else _span(self.domain, total.column)
        size = self.domain.n_cells(total.attributes) * (span + 1 if total.each else 1)
        cells = np.zeros(size, dtype=np.int64 if span < 2**31 else object)
        value = 0 if self.row is None or total.column is None else self.row.values[total.column]
        times = self._times(total.weighted)
        if self.row is None or value is None or times is None:
            return cells
        place = 0
        for name in total.attributes:
            place = place * self.domain.attribute(name).n_cells + self._cell(name, self.row)
        if total.each:
            cells[place * (span + 1) + value] = times
        else:
            heavy = _heavy(self.domain) ** total.weighted if total.weighted else 1
            cells[place] = times * (1 if total.column is None else _number(total, value, Coarse(span, heavy)))
        return cells

    def _times(self, power: int) -> int | None:
        if not power:
            return 1
        name = str(self.domain.weights)
        steps = None if self.row is None else self.row.values[name]
        return None if steps is None else (self.domain.column(name).low_steps + steps) ** power

    def _cell(self, name: str, row: PossibleRow) -> int:
        if name in row.cells:
            return row.cells[name]
        finest = next(other for other in row.cells if self.domain.tree(other) == self.domain.tree(name))
        return bisect_right(self.domain.starts(name, finest), row.cells[finest]) - 1


def _heavy(domain: Domain) -> int:
    return domain.column(str(domain.weights)).high_steps


def _number(total: Aggregate, value: int, coarse: Coarse) -> int:
    if total.present:
        return 1
    if not total.squared and not total.is_rounded:
        return 2 * value - coarse.span
    centred = 2 * ((value + coarse.half) >> coarse.bits) - coarse.reach
    return 2 * centred**2 - coarse.reach**2 if total.squared else centred


def _span(domain: Domain, column: str) -> int:
    bounded = domain.column(column)
    return bounded.high_steps - bounded.low_steps


def rows_to_try(query: "Query", most: int, seed: int, curved: bool) -> TriedRows:
    """Return the rows whose differences are tried.

    They are all cells with all ends of bounds, or a sample of at most `most`. If the query is `curved`, that is not
    linear in a column, values between the bounds are tried too.
    """
    domain = query.domain
    names = domain.finest([name for name in domain.attributes if name in query.attributes])
    values = {name: _values(domain, name, curved) for name in query.columns}
    sizes = [*domain.shape(names), *map(len, values.values())]
    are_all = math.prod(sizes) <= most
    # 32: rows, where not all are tried: so a check takes some milliseconds
    places = product(*map(range, sizes)) if are_all else _sample(sizes, min(most, 32), seed)
    rows = [
        PossibleRow(
            dict(zip(names, place, strict=False)),
            {name: options[i] for (name, options), i in zip(values.items(), place[len(names) :], strict=True)},
        )
        for place in places
    ]
    are_covered = not curved or all(_span(domain, name) < _TRIED for name in query.columns)
    return TriedRows(rows, are_all and are_covered)


def _values(domain: Domain, column: str, curved: bool) -> list[int | None]:
    """Return steps above the lower bound, ends included. None is added if a row may have no value."""
    span = _span(domain, column)
    between = range(span + 1) if span < _TRIED else sorted({span // 4, span // 2, span - span // 2, span - span // 4})
    inner = [value for value in between if 0 < value < span] if curved else []
    return [0, *dict.fromkeys(inner), *([None] if domain.column(column).missing is None else []), span]


def _sample(sizes: Sequence[int], most: int, seed: int) -> Iterator[tuple[int, ...]]:
    rng = trial_stream(seed)
    yield (0,) * len(sizes)
    yield tuple(size - 1 for size in sizes)
    drawn = rng.integers(0, sizes, (most - 2, len(sizes)))
    yield from map(tuple, drawn.tolist())
