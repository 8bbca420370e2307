"""Totals, or the remaining rows, as one SQL statement.

The statement reads each needed column once, computes the cells and steps of every row, applies the row rules, bounds
the rows of each person, and groups. Its result has a row for each cell that occurs in each grouping: `cell<i>` is the
cell of place i (−1 if the grouping has no such place), `n` the rows, `present<j>` those that have a value in column j,
and the sum of its steps is `sum<j>_high` · 2^32 + `sum<j>_low`, that of squares likewise `sum_squares<j>_…`: every
number fits 64 bits. `sum_weights_1_…` is the sum of the rows' weights, in steps, `sum_weights_1_<j>_…` that of the rows
that have a value in column j, and `sum_products_1_<j>_…` and `sum_weighted_squares_1_<j>_…` those of products; with a 2
those of squared weights.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest

import numpy as np
from sqlglot import exp

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.aggregate import Aggregate, Coarse
from gaugedp.tables.bounding import PERSON, Field, in_bucket, keep_some, over, within
from gaugedp.tables.cells import ColumnExpression, missing_steps, other_cell, read_attribute, read_person, read_steps
from gaugedp.tables.engine import SOURCE, Column, Sql
from gaugedp.tables.tuning import TUNED

HALF = 2**32
PRODUCT_ENTRIES = 2**22  # per matrix product; float32 represents integers up to 2^24
_UNWEIGHTED = "present", "sum", "sum_squares"  # names of the numbers of a column, as below
_WEIGHTED = "sum_weights", "sum_products", "sum_weighted_squares"


@dataclass(frozen=True)
class Aggregation:
    """Totals of one request; `bucket` (count, index) restricts the people."""

    domain: Domain
    unit: PrivacyUnit
    types: Mapping[str, Column]
    totals: tuple[Aggregate, ...]
    bucket: tuple[int, int] | None = None

    @cached_property
    def attributes(self) -> list[str]:
        """Attributes in use; attribute i is `a<i>`."""
        return list(dict.fromkeys(name for total in self.totals for name in total.attributes))

    @cached_property
    def columns(self) -> list[str]:
        """Bounded columns in use, the weight last; column j is `s<j>`."""
        weights = [self.domain.weights for total in self.totals if total.weighted]
        names = [*(total.column for total in self.totals), *weights]
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def person(self) -> str | None:
        """Column of the person, or None if rows are units."""
        return None if self.domain.rows is not None else self.unit.column

    @cached_property
    def places(self) -> dict[str, int]:
        """Grouping keys with their numbers of cells.

        Attribute i is `a<i>`; the values of column j, and a last cell for none, are `h<j>`.
        """
        listed = {total.column for total in self.totals if total.each}
        cells = {f"a{i}": size for i, size in enumerate(self.domain.shape(self.attributes))}
        spans = {f"h{j}": self._span(name) + 1 for j, name in enumerate(self.columns) if name in listed}
        return cells | spans

    @cached_property
    def groupings(self) -> list[tuple[int, ...]]:
        """Sets of places to group by, each in increasing order."""
        place = {name: i for i, name in enumerate(self.places)}
        return list(dict.fromkeys(tuple(sorted(place[name] for name in self._places(total))) for total in self.totals))

    @property
    def tallies(self) -> "Tallies | None":
        """Counter for many large tables of counts, if only these are requested."""
        is_large = len(self.groupings) >= TUNED.many_tables and math.prod(self.places.values()) > TUNED.joint_cells
        if not is_large or self.columns:
            return None
        place = {name: i for i, name in enumerate(self.attributes)}
        tables = tuple(tuple(place[name] for name in total.attributes) for total in self.totals)
        return Tallies(self.domain.shape(self.attributes), tables)

    def statement(self, row_key: bytes) -> Sql:
        """Return the statement, which reads the table `SOURCE`."""
        return self._grouped(self._kept(row_key, self._drops_late))

    def listing(self, row_key: bytes) -> Sql:
        """Return the sorted list of remaining rows; −1 if missing."""
        listed = self.listed(row_key)
        return exp.select("*").from_(within(listed, "listed"), copy=False).order_by(*listed.named_selects, copy=False)

    def listed(self, row_key: bytes) -> Sql:
        """Return the statement that lists them in any order."""
        cells = {f"a{i}": exp.column(f"a{i}") for i in range(len(self.attributes))}
        steps = {f"s{j}": exp.func("COALESCE", exp.column(f"s{j}"), exp.convert(-1)) for j in range(len(self.columns))}
        numbers = [exp.cast(number, "BIGINT").as_(name) for name, number in {**cells, **steps}.items()]
        return over(self._kept(row_key), *numbers)

    def arrays(self, result: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the array of each total from the statement's result."""
        return [self._array(total, result) for total in self.totals]

    def _places(self, total: Aggregate) -> list[str]:
        names = [f"a{self.attributes.index(name)}" for name in total.attributes]
        return [*names, f"h{self.columns.index(total.column)}"] if total.each and total.column else names

    def _span(self, column: str) -> int:
        """Return the number of values low … high."""
        bounded = self.domain.column(column)
        return bounded.high_steps - bounded.low_steps + 1

    @property
    def _drops_late(self) -> bool:
        """True if rows without a cell are dropped after grouping."""
        return self.person is None and (len(self.groupings) == 1 or self._is_joint)

    @property
    def _is_joint(self) -> bool:
        return len(self.groupings) > 1 and math.prod(self.places.values()) <= TUNED.joint_cells

    def _kept(self, row_key: bytes, drops_late: bool = False) -> Sql:
        rows = self._rows(drops_late)
        if self.person is None:
            return rows
        kind = self.types[self.person].kind
        rows = rows if self.bucket is None else in_bucket(rows, kind, self.bucket, row_key)
        return keep_some(rows, self._fields(), kind, (self.unit.max_rows, row_key))

    def _rows(self, drops_late: bool) -> Sql:
        columns, readings, conditions = [], [], []
        for i, name in enumerate(self.attributes):
            reading, fallback = self._attribute(name, f"x{i}")
            if drops_late and reading.is_dear and fallback is None:
                fallback = self._outside(name)
            readings.append(reading)
            is_kept = fallback is None or (drops_late and self._is_marked(reading))
            columns.append((reading.kept() if is_kept else reading.otherwise(fallback)).as_(f"a{i}"))
            conditions += [reading.inside] if fallback is None else []
        for j, name in enumerate(self.columns):
            reading, missing = self._column(name, f"y{j}")
            readings.append(reading)
            columns.append(reading.otherwise(missing).as_(f"s{j}"))
        if self.person is not None:
            readings.append(read_person(self.types[self.person], PERSON))
            columns.append(exp.column(PERSON))
            conditions.append(readings[-1].inside)
        rows = over(source(readings), *columns or [exp.convert(1).as_("one")], name="source_columns")
        return rows.where(*conditions, copy=False) if conditions else rows

    def _attribute(self, name: str, alias: str) -> tuple[ColumnExpression, int | None]:
        attribute = self.domain.attribute(name)
        return read_attribute(attribute, self.types[self.domain.source(name)], alias), other_cell(attribute)

    def _outside(self, name: str) -> int:
        other = other_cell(self.domain.attribute(name))
        return self.domain.attribute(name).n_cells if other is None else other

    def _is_marked(self, reading: ColumnExpression) -> bool:
        """Return True if NULL becomes a cell after grouping."""
        return self._drops_late and len(self.groupings) == 1 and reading.is_null_outside

    def _column(self, name: str, alias: str) -> tuple[ColumnExpression, int | None]:
        bounded = self.domain.column(name)
        return read_steps(bounded, self.types[bounded.column or name], alias), missing_steps(bounded)

    def _fields(self) -> list[Field]:
        sizes = self.domain.shape(self.attributes)
        may_miss = [self.domain.column(name).missing is None for name in self.columns]
        cells = [Field(f"a{i}", size) for i, size in enumerate(sizes)]
        return cells + [Field(f"s{j}", self._span(name), may_miss[j]) for j, name in enumerate(self.columns)]

    def _grouped(self, rows: Sql) -> Sql:
        places, added, rows = list(self.places), self._added(), self._with_values(rows)
        if self._is_joint:
            rows = over(rows, *places, *(add.as_(name) for name, add in added.items())).group_by(*places, copy=False)
            added = {name: exp.Sum(this=self._if_in_cells(name)) for name in added}
        marks = [self._mark(place).as_(f"cell{i}") for i, place in enumerate(places)]
        numbers = [number for name, add in added.items() for number in _as_integers(name, add)]
        return self._group_by(over(rows, *marks, *numbers))

    def _if_in_cells(self, name: str) -> Sql:
        """Return a sum, NULL outside the cells; cheaper than a condition."""
        in_cells = [exp.column(place) < size for place, size in self.places.items() if place.startswith("a")]
        return exp.Case().when(exp.and_(*in_cells), exp.column(name)) if in_cells else exp.column(name)

    def _with_values(self, rows: Sql) -> Sql:
        listed = {name: size for name, size in self.places.items() if name.startswith("h")}
        if not listed:
            return rows
        columns = [f"a{i}" for i in range(len(self.attributes))] + [f"s{j}" for j in range(len(self.columns))]
        steps = {name: exp.column(f"s{name[1:]}") for name in listed}
        values = [exp.func("COALESCE", steps[name], exp.convert(size - 1)).as_(name) for name, size in listed.items()]
        return over(rows, *columns, *values)

    def _added(self) -> dict[str, Sql]:
        added: dict[str, Sql] = {"n": exp.Count(this=exp.Star())}
        totals = [total for total in self.totals if not total.weighted]
        summed = {total.column for total in totals if not total.each}
        squared = {total.column for total in totals if total.squared}
        for j in (j for j, name in enumerate(self.columns) if name in summed):
            added[f"present{j}"] = exp.Count(this=exp.column(f"s{j}"))
            added[f"sum{j}"] = exp.Sum(this=exp.column(f"s{j}"))
            if self.columns[j] in squared:
                added[f"sum_squares{j}"] = exp.Sum(this=self._square(j, 0))
        return added | self._weighted(1) | self._weighted(2) | self._coarse_sums()

    def _coarse_sums(self) -> dict[str, Sql]:
        added: dict[str, Sql] = {}
        for power, column in dict.fromkeys((total.weighted, total.column) for total in self.totals if total.coarse):
            j = self.columns.index(str(column))
            weight = self._weight(power) if power else exp.convert(1)
            added[f"sum_coarse_{power}_{j}"] = exp.Sum(this=weight * self._centred(j, power))
        return added

    def _weighted(self, power: int) -> dict[str, Sql]:
        totals = [total for total in self.totals if total.weighted == power]
        if not totals:
            return {}
        weight, zero = self._weight(power), exp.convert(0)
        added: dict[str, Sql] = {f"sum_weights_{power}_": exp.Sum(this=weight.copy())}
        for j, name in enumerate(self.columns):
            if name in {total.column for total in totals if not total.each}:
                is_there = exp.Case().when(exp.column(f"s{j}") >= zero.copy(), weight.copy())
                steps = self._steps(j) if power == 1 else self._centred(j, power)
                added[f"sum_weights_{power}_{j}"] = exp.Sum(this=is_there)
                added[f"sum_products_{power}_{j}"] = exp.Sum(this=weight.copy() * steps)
            if name in {total.column for total in totals if total.squared}:
                added[f"sum_weighted_squares_{power}_{j}"] = exp.Sum(this=weight.copy() * self._square(j, power))
        return added

    def _weight(self, power: int) -> Sql:
        name = str(self.domain.weights)
        if power == 2:
            return exp.paren(self._weight(1) * self._weight(1))
        return exp.paren(self._steps(self.columns.index(name)) + exp.convert(self.domain.column(name).low_steps))

    def _steps(self, j: int) -> Sql:
        return exp.cast(exp.column(f"s{j}"), "BIGINT")

    def _square(self, j: int, power: int) -> Sql:
        centred = self._centred(j, power)
        return centred * centred.copy()

    def _centred(self, j: int, power: int) -> Sql:
        coarse, steps = self._coarse(self.columns[j], power), self._steps(j)
        cut = steps if not coarse.bits else (steps + coarse.half) // (1 << coarse.bits)
        return exp.paren(cut * 2 - coarse.reach)

    def _coarse(self, column: str, power: int) -> Coarse:
        heavy = self.domain.column(str(self.domain.weights)).high_steps ** power if power else 1
        return Coarse(self._span(column) - 1, heavy)

    def _mark(self, place: str) -> Sql:
        cell = exp.column(place)
        if len(self.groupings) > 1:
            return exp.func("COALESCE", cell, exp.convert(-1))
        if place.startswith("h") or not self._is_marked(self._attribute(self.attributes[int(place[1:])], place)[0]):
            return cell
        return exp.func("COALESCE", cell, exp.convert(self._outside(self.attributes[int(place[1:])])))

    def _group_by(self, result: Sql) -> Sql:
        names = list(self.places)
        if len(self.groupings) == 1:
            return result.group_by(*(names[i] for i in self.groupings[0]), copy=False)
        sets = [exp.Tuple(expressions=[exp.column(names[i]) for i in places]) for places in self.groupings]
        result.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return result

    def _array(self, total: Aggregate, result: Mapping[str, np.ndarray]) -> np.ndarray:
        in_group = self._chosen(total, result)
        names, sizes = list(self.places), self.places
        codes = tuple(result[f"cell{names.index(name)}"][in_group] for name in self._places(total))
        shape = [sizes[name] for name in self._places(total)]
        values = self._values(total, result, in_group)
        flat = np.full(shape, 0, dtype=values.dtype)
        flat[codes if codes else ...] = values if codes else values.sum()
        return (flat[..., :-1] if total.each else flat).reshape(-1)  # without the rows that have no value

    def _chosen(self, total: Aggregate, result: Mapping[str, np.ndarray]) -> np.ndarray:
        in_group = np.ones(len(result["n"]), dtype=bool)
        for i, (name, size) in enumerate(self.places.items()):
            in_group &= (result[f"cell{i}"] >= 0) == (name in self._places(total))
            in_group &= result[f"cell{i}"] < size
        return in_group

    def _values(self, total: Aggregate, result: Mapping[str, np.ndarray], in_group: np.ndarray) -> np.ndarray:
        power = total.weighted
        number, plain, squares = (f"{name}_{power}_" for name in _WEIGHTED) if power else _UNWEIGHTED
        if total.column is None or total.each:
            return _number(number if power else "n", result, in_group)
        j = self.columns.index(total.column)
        n_present = _number(f"{number}{j}", result, in_group)
        if total.present:
            return n_present
        name = f"sum_coarse_{power}_" if total.coarse else squares if total.squared else plain
        steps = _number(f"{name}{j}", result, in_group)
        coarse = self._coarse(total.column, power)
        if total.is_rounded:  # centred already
            return steps
        return 2 * steps - (coarse.reach**2 if total.squared else coarse.span) * n_present.astype(object)


def _number(name: str, result: Mapping[str, np.ndarray], in_group: np.ndarray) -> np.ndarray:
    if name in result:
        return result[name][in_group]
    high, low = (result[f"{name}_{half}"][in_group].astype(object) for half in ("high", "low"))
    return np.asarray(high * HALF + low)


def source(readings: Sequence[ColumnExpression]) -> Sql:
    """Return the rows with the aliases of each column."""
    reads = [read.as_(alias) for reading in readings for alias, read in reading.reads.items()]
    rows = exp.select(*reads or [exp.convert(1).as_("one")], copy=False).from_(SOURCE, copy=False)
    for step in zip_longest(*(reading.steps for reading in readings), fillvalue={}):
        added = [expression.as_(alias) for columns in step for alias, expression in columns.items()]
        rows = over(rows, exp.Star(), *added)
    return rows


def _as_integers(name: str, add: Sql) -> Sequence[Sql]:
    number = exp.func("COALESCE", add, exp.convert(0))
    if not name.startswith("sum"):
        return [exp.cast(number, "BIGINT").as_(name)]
    return [
        exp.cast(number // HALF, "BIGINT").as_(f"{name}_high"),
        exp.cast(number % HALF, "BIGINT").as_(f"{name}_low"),
    ]


@dataclass(frozen=True)
class Tallies:
    """Tables over sets of attributes, concatenated; `sizes` are their cells."""

    sizes: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]

    def __call__(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """Count a batch in the cells of all tables, int64."""
        # one matrix product is faster than separate counts
        is_narrow = sum(self.sizes) ** 2 <= TUNED.product_cells * sum(len(table) == 2 for table in self.tables)
        if not is_narrow:
            return np.concatenate([self._counted(table, batch) for table in self.tables])
        crossed, ends = self._crossed(batch), np.cumsum([0, *self.sizes]).tolist()
        cells = [slice(*pair) for pair in pairwise(ends)]
        counts = [
            crossed[cells[table[0]], cells[table[1]]].ravel() if len(table) == 2 else self._counted(table, batch)
            for table in self.tables
        ]
        return np.concatenate(counts)

    def cut(self, counts: np.ndarray) -> list[np.ndarray]:
        """Split the sum over all batches into the tables."""
        ends = np.cumsum([self._n_cells(table) for table in self.tables])
        return np.split(counts if len(counts) == ends[-1] else np.zeros(ends[-1], dtype=np.int64), ends[:-1])

    def _crossed(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return co-occurrence counts of cells, (sum of sizes, sum of sizes)."""
        width, n_rows = sum(self.sizes), len(batch["a0"])
        total, size = np.zeros((width, width), dtype=np.int64), -(-PRODUCT_ENTRIES // width)
        for rows in (slice(start, start + size) for start in range(0, n_rows, size)):
            columns = (batch[f"a{i}"][rows] for i in range(len(self.sizes)))
            marks = [column == cell for column, n in zip(columns, self.sizes, strict=True) for cell in range(n)]
            cells = np.array(marks, dtype=np.float32)
            total += (cells @ cells.T).astype(np.int64)
        return total

    def _counted(self, table: tuple[int, ...], batch: Mapping[str, np.ndarray]) -> np.ndarray:
        cells = np.zeros(len(batch["a0"]), dtype=np.int64)
        for place in table:
            cells = cells * self.sizes[place] + batch[f"a{place}"]
        return np.bincount(cells, minlength=self._n_cells(table))

    def _n_cells(self, table: tuple[int, ...]) -> int:
        return math.prod(self.sizes[place] for place in table)
