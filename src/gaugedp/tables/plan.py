"""Totals as one statement, and the arrays that its result stands for.

The statement reads each needed column once, gives every row its cells and its steps, leaves out what the row rule
leaves out, keeps some rows of each person, and groups. Its result has a row for each cell that occurs in each grouping:
`a<i>` the cell of attribute i (−1 where the grouping has no such attribute), `n` the rows, and for the sum of steps of column j
the two halves `high<j>` · 2^32 + `low<j>`, so that every number fits 64 bits and none is rounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.bounding import PERSON, Field, keep_some
from gaugedp.tables.cells import Reading, missing_steps, other_cell, read_attribute, read_person, read_steps
from gaugedp.tables.engine import SOURCE, Column, Total

HALF = 2**32
JOINT_CELLS = 2**20  # below this many joint cells one grouping by all attributes, then regrouping, is the faster way


@dataclass(frozen=True)
class Plan:
    """The totals of one request over known columns, for a domain and a unit."""

    domain: Domain
    unit: PrivacyUnit
    types: Mapping[str, Column]
    totals: tuple[Total, ...]

    @property
    def attributes(self) -> list[str]:
        """The attributes in use, each once; attribute i is `a<i>` in the statement."""
        return list(dict.fromkeys(name for total in self.totals for name in total.attributes))

    @property
    def columns(self) -> list[str]:
        """The bounded columns in use, each once; column j is `s<j>` in the statement."""
        return list(dict.fromkeys(total.column for total in self.totals if total.column is not None))

    @property
    def groupings(self) -> list[tuple[int, ...]]:
        """The sets of attributes to group by, as increasing places in `attributes`."""
        place = {name: i for i, name in enumerate(self.attributes)}
        return list(dict.fromkeys(tuple(sorted(place[name] for name in total.attributes)) for total in self.totals))

    def statement(self, row_key: bytes) -> exp.Select:
        """Return the statement; it reads the table `SOURCE`."""
        rows = self._rows()
        if self.unit.column is not None:
            kind = self.types[self.unit.column].kind
            rows = keep_some(rows, self._fields(), kind, (self.unit.max_rows, row_key))
        return self._grouped(rows)

    def arrays(self, result: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the array of each total, given the columns of the statement's result."""
        return [self._array(total, result) for total in self.totals]

    def _rows(self) -> exp.Select:
        """Every row in question: its cells `a<i>`, its steps `s<j>` and its person."""
        chosen, reads, conditions = [], [], []
        for alias, reading, outside in self._readings():
            reads += [read.as_(name) for name, read in reading.reads.items()]
            chosen.append(reading.cell(outside).as_(alias))
            conditions += [reading.inside] if outside is None else []
        if self.unit.column is not None:
            reading = read_person(self.types[self.unit.column], PERSON)
            reads += [read.as_(name) for name, read in reading.reads.items()]
            chosen.append(reading.code.as_(PERSON))
            conditions.append(reading.inside)
        source = exp.select(*reads or [exp.convert(1).as_("one")]).from_(SOURCE)
        rows = exp.select(*chosen or ["one"]).from_(source.subquery("source_columns"))
        return rows.where(*conditions) if conditions else rows

    def _readings(self) -> list[tuple[str, Reading, int | None]]:
        """For each attribute and column: its alias, its reading, and the code of its misfits (None: dropped)."""
        readings: list[tuple[str, Reading, int | None]] = []
        for i, name in enumerate(self.attributes):
            attribute = self.domain.attribute(name)
            reading = read_attribute(attribute, self.types[name], f"x{i}")
            readings.append((f"a{i}", reading, other_cell(attribute)))
        for j, name in enumerate(self.columns):
            bounded = self.domain.column(name)
            readings.append((f"s{j}", read_steps(bounded, self.types[name], f"y{j}"), missing_steps(bounded)))
        return readings

    def _fields(self) -> list[Field]:
        sizes = self.domain.shape(self.attributes)
        bounds = [self.domain.column(name) for name in self.columns]
        spans = [bounded.high_steps - bounded.low_steps + 1 for bounded in bounds]
        cells = [Field(f"a{i}", size) for i, size in enumerate(sizes)]
        return cells + [Field(f"s{j}", span) for j, span in enumerate(spans)]

    def _grouped(self, rows: exp.Select) -> exp.Select:
        places, counted = [f"a{i}" for i in range(len(self.attributes))], exp.Count(this=exp.Star())
        sums = [exp.Sum(this=exp.column(f"s{j}")) for j in range(len(self.columns))]
        if len(self.groupings) > 1 and self.domain.n_cells(self.attributes) <= JOINT_CELLS:
            joint = exp.select(*places, counted.as_("n"), *(add.as_(f"s{j}") for j, add in enumerate(sums)))
            rows = joint.from_(rows.subquery("rows")).group_by(*places)
            counted = exp.func("COALESCE", exp.Sum(this=exp.column("n")), exp.convert(0))
        halves = [half for j, add in enumerate(sums) for half in _halves(add, j)]
        marks = [self._mark(place).as_(f"cell{i}") for i, place in enumerate(places)]
        result = exp.select(*marks, exp.cast(counted, "BIGINT").as_("n"), *halves).from_(rows.subquery("rows"))
        return self._group_by(result)

    def _mark(self, place: str) -> exp.Expression:
        cell = exp.column(place)
        return cell if len(self.groupings) == 1 else exp.func("COALESCE", cell, exp.convert(-1))

    def _group_by(self, result: exp.Select) -> exp.Select:
        if len(self.groupings) == 1:
            return result.group_by(*(f"a{i}" for i in self.groupings[0]))
        sets = [exp.Tuple(expressions=[exp.column(f"a{i}") for i in places]) for places in self.groupings]
        result.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return result

    def _array(self, total: Total, result: Mapping[str, np.ndarray]) -> np.ndarray:
        chosen = self._chosen(total, result)
        codes = tuple(result[f"cell{self.attributes.index(name)}"][chosen] for name in total.attributes)
        shape = self.domain.shape(total.attributes)
        values = self._values(total, result, chosen)
        flat = np.full(shape, 0, dtype=values.dtype)
        flat[codes if codes else ...] = values if codes else values.sum()
        return flat.reshape(-1)

    def _chosen(self, total: Total, result: Mapping[str, np.ndarray]) -> np.ndarray:
        """The rows of the result that belong to the grouping of `total`."""
        chosen = np.ones(len(result["n"]), dtype=bool)
        for i, name in enumerate(self.attributes):
            chosen &= (result[f"cell{i}"] >= 0) == (name in total.attributes)
        return chosen

    def _values(self, total: Total, result: Mapping[str, np.ndarray], chosen: np.ndarray) -> np.ndarray:
        n_rows = result["n"][chosen]
        if total.column is None:
            return n_rows
        j, bounded = self.columns.index(total.column), self.domain.column(total.column)
        steps = result[f"high{j}"][chosen].astype(object) * HALF + result[f"low{j}"][chosen].astype(object)
        return 2 * steps - (bounded.high_steps - bounded.low_steps) * n_rows.astype(object)


def _halves(add: exp.Expression, j: int) -> Sequence[exp.Expression]:
    """The two halves of a sum that is not negative."""
    known = exp.func("COALESCE", add, exp.convert(0))
    return exp.cast(known // HALF, "BIGINT").as_(f"high{j}"), exp.cast(known % HALF, "BIGINT").as_(f"low{j}")
