"""A table of Python rows that counts one row at a time: the reference that questions are evaluated on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.aggregate import Aggregate, Rows

Row = Mapping[str, "int | Fraction | None"]


@dataclass(frozen=True)
class StubTable(Rows):
    """Rows name → cell number for attributes (None: outside), → value for bounded columns (None: missing)."""

    domain: Domain
    rows: Sequence[Row]
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    name: str = "stub"

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Count and sum as the docstring of Total says: sums centred, in half steps."""
        assert isinstance(row_key, bytes)
        used = {name for total in totals for name in total.attributes}
        kept = [cells for row in self.rows if (cells := self._cells(row, used)) is not None]
        return [self._total(total, kept) for total in totals]

    def _cells(self, row: Row, used: set[str]) -> dict | None:
        """The row with its cells numbered, None where a rule leaves it out."""
        cells = dict(row)
        for name in used:
            attribute = self.domain.attribute(name)
            if cells[name] is None:
                cells[name] = attribute.n_inside if attribute.outside == "other" else None
            if cells[name] is None:
                return None
        return cells

    def _total(self, total: Aggregate, kept: list[dict]) -> np.ndarray:
        table = dict.fromkeys(product(*map(range, self.domain.shape(total.attributes))), 0)
        for row in kept:
            measure = self._measure(total, row)
            if measure is not None:
                table[tuple(row[name] for name in total.attributes)] += measure
        counts = (total.column is None or total.present) and not total.weighted
        return np.array(list(table.values()), dtype=np.int64 if counts else object)

    def _measure(self, total: Aggregate, row: dict) -> int | None:
        """The number that a row adds, times the steps of its clipped weight; None where it is left out."""
        measure = self._unweighted(total, row)
        if not total.weighted or measure is None:
            return measure
        facts = self.domain.column(self.domain.weights)
        weight = facts.missing if row[self.domain.weights] is None else row[self.domain.weights]
        return (
            None
            if weight is None
            else int(min(max(weight, facts.low), facts.high) / facts.step) ** total.weighted * measure
        )

    def _unweighted(self, total: Aggregate, row: dict) -> int | None:
        if total.column is None:
            return 1
        facts = self.domain.column(total.column)
        value = facts.missing if row[total.column] is None else row[total.column]
        if value is None:
            return None
        steps = Fraction(min(max(value, facts.low), facts.high)) / facts.step
        assert steps.denominator == 1, "the stub takes values on the grid only"
        centred = 2 * int(steps) - facts.low_steps - facts.high_steps
        if total.weighted == 2 and not total.squared and not total.present:
            assert (facts.high_steps - facts.low_steps) < 2**12, "the stub does not coarsen"
        if total.squared:
            return 2 * centred**2 - (facts.high_steps - facts.low_steps) ** 2
        return 1 if total.present else centred


def every_row(domain: Domain, names: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Every row there is: each cell or outside, each value of a grid of the bounds or missing."""
    cells = [[*range(domain.attribute(name).n_inside), None] for name in names]
    values = [_values(domain, column) for column in columns]
    return [dict(zip([*names, *columns], row, strict=True)) for row in product(*cells, *values)]


def _values(domain: Domain, column: str) -> list[Fraction | None]:
    facts = domain.column(column)
    middle = facts.low + facts.step * ((facts.high_steps - facts.low_steps) // 3)
    return [facts.low, middle, facts.high, None]


def contributions(query, rows: Sequence[Row]) -> np.ndarray:
    """What each row alone adds to the answer: shape (n_rows, d), distinct, floats of exact integers."""
    key = bytes(16)
    added = [query.evaluate(StubTable(query.domain, [row]), key) for row in rows]
    nothing = query.evaluate(StubTable(query.domain, []), key)
    assert not nothing.any()
    return np.unique(np.array(added, dtype=object).astype(float), axis=0)
