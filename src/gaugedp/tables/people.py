"""One row per person, aggregated within each statement.

Nothing is stored, and nothing is read before. A row holds the values of a person that `Domain.made` names. It depends
only on the rows of that person, and neither on their order nor on where they are: counts, sums, largest and smallest of
integers. The last value by an order is the largest of order · (number of values) + value. A sum is clipped to ±2^62,
far beyond all bounds.

Theorem (docs/theory/persons.md). Tables that differ in the rows of one person have tables of persons that differ in one
row: it is added, removed or replaced, as the person is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sqlglot import exp

from gaugedp.domain.domain import Domain
from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.tables.bounding import PERSON, in_bucket, over, within
from gaugedp.tables.cells import ColumnExpression, in_units, missing_steps, read_attribute, read_person, read_steps
from gaugedp.tables.engine import SOURCE, Column, Engine, Kind, Of, Sql, T, bottom_up
from gaugedp.tables.statement import source

LARGEST_TOTAL = 2**62


@dataclass(frozen=True)
class PeopleEngine(Engine):
    """Persons of the rows on another engine, as `domain` describes."""

    description: str
    rules: tuple[str, ...]
    columns: Mapping[str, Column]
    sql_products: int
    _below: Engine = field(repr=False)
    _domain: Domain = field(repr=False)
    _person: str
    in_process: bool = False
    _bucket: tuple[tuple[int, int], bytes] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, engine: Engine, domain: Domain, person: str) -> "PeopleEngine":
        """Return the persons of `engine`, whose rows `domain.rows` describes."""
        per_person = {name: Column(name, _kind(domain, each), "") for name, each in domain.made.items()}
        words = f"{engine.description}, one row per {person}"
        return cls(words, engine.rules, per_person, engine.sql_products, engine, domain, person, engine.in_process)

    @property
    def below(self) -> Engine:
        """See Engine."""
        return self._below

    def of_bucket(self, bucket: tuple[int, int] | None, row_key: bytes) -> "PeopleEngine":
        """See Engine."""
        return self if bucket is None else replace(self, _bucket=(bucket, row_key))

    def limited(self, memory_bytes: int) -> "PeopleEngine":
        """See Engine."""
        return replace(self, _below=self._below.limited(memory_bytes))

    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        return self._below._run(self._of_rows(statement))

    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        return self._below._added(self._of_rows(statement), of)

    def _finished(self, work: Callable[[], T]) -> T:
        return self._below._finished(work)

    def _of_rows(self, statement: Sql) -> Sql:
        used = {column.name for column in statement.find_all(exp.Column) if column.this.args.get("quoted")}
        per_person = [name for name in self._domain.made if name in used]
        places = {name: exp.column(f"made{i}") for i, name in enumerate(per_person)}

        def replaced(node: Sql) -> Sql:
            if isinstance(node, exp.Column) and node.this.args.get("quoted"):
                return places[node.name].copy()
            return self._persons(per_person) if isinstance(node, exp.Table) and node.name == SOURCE else node

        return bottom_up(statement.copy(), replaced)

    def _persons(self, names: Sequence[str]) -> Sql:
        per_person = [self._domain.made[name] for name in names]
        sources = list(dict.fromkeys(name for each in per_person for name in each.sources))
        person = read_person(self._below.columns[self._person], PERSON)
        pairs = [self._code(name, f"x{i}") for i, name in enumerate(sources)]
        codes = [code.as_(f"code{i}") for i, (_, code) in enumerate(pairs)]
        rows = over(source([*(reading for reading, _ in pairs), person]), *codes, PERSON, name="source_columns")
        columns = {name: f"code{i}" for i, name in enumerate(sources)}
        values = [self._value(each, columns).as_(f"made{i}") for i, each in enumerate(per_person)]
        rows = rows.where(person.inside, copy=False)
        if self._bucket is not None:
            (bucket, row_key), kind = self._bucket, self._below.columns[self._person].kind
            rows = in_bucket(rows, kind, bucket, row_key)
        return within(over(rows, PERSON, *values).group_by(PERSON, copy=False), "persons")

    def _code(self, name: str, alias: str) -> tuple[ColumnExpression, Sql]:
        rows, types = self._domain.rows or self._domain, self._below.columns
        if name in rows.columns:
            bounded = rows.columns[name]
            reading, missing = read_steps(bounded, types[bounded.column or name], alias), missing_steps(bounded)
        else:
            reading, missing = read_attribute(rows.attributes[name], types[rows.source(name)], alias), None
        return reading, exp.cast(reading.otherwise(missing), "BIGINT")

    def _value(self, each: PerPerson, codes: Mapping[str, str]) -> Sql:
        rows = self._domain.rows or self._domain
        bounded = rows.columns.get(each.of or "")
        code: Sql = exp.column(codes[each.of]) if each.of is not None else exp.null()
        if each.cells:
            labels = rows.attribute(each.of or "").labels
            code = exp.Case().when(code.isin(*(labels.index(cell) for cell in each.cells)), exp.convert(1))
        match each.kind:
            case "count":
                return exp.Count(this=code if each.cells else exp.Star())
            case "any":
                return exp.func("COALESCE", exp.Max(this=code), exp.convert(0))
            case "last":
                n_values = _n_codes(rows, each.of or "")
                both = exp.column(codes[each.order or ""]) * exp.convert(n_values) + code
                value: Sql = exp.paren(exp.Max(this=both)) % n_values
            case "sum":
                value = _sum(code + (bounded.low_steps if bounded else 0))
            case kind:
                value = exp.Max(this=code) if kind == "max" else exp.Min(this=code)
        if bounded is None:
            return value
        return in_units(value if each.kind == "sum" else value + bounded.low_steps, bounded.step)


def _kind(domain: Domain, each: PerPerson) -> Kind:
    rows = domain.rows or domain
    if each.kind == "count" or (each.of in rows.columns and rows.column(each.of or "").step == 1):
        return Kind.INTEGER
    return Kind.REAL if each.of in rows.columns else Kind.READ


def _n_codes(rows: Domain, name: str) -> int:
    if name in rows.columns:
        return rows.columns[name].high_steps - rows.columns[name].low_steps + 1
    return rows.attribute(name).n_cells


def _sum(number: Sql) -> Sql:
    total = exp.func("COALESCE", exp.Sum(this=number), exp.convert(0))
    clipped = exp.func("LEAST", exp.func("GREATEST", total, exp.convert(-LARGEST_TOTAL)), exp.convert(LARGEST_TOTAL))
    return exp.cast(clipped, "BIGINT")
