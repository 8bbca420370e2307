"""Table: rows somewhere, with the public facts about them."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.domain.attributes import Attribute, BoundedColumn, Categories, UnknownKeys
from gaugedp.domain.dates import Dates
from gaugedp.domain.domain import Domain, PrivacyUnit
from gaugedp.domain.hierarchies import finest_of
from gaugedp.errors import InvalidRequest, UnknownName, UnreadableTable
from gaugedp.tables.aggregate import Aggregate, Rows, added_up, check_values, finer
from gaugedp.tables.buckets import Buckets, joined
from gaugedp.tables.engine import NUMBERS, SPELT, Column, Engine, Kind
from gaugedp.tables.frames import library
from gaugedp.tables.spelling import EXAMPLES, MARKS, can_match, truths

if TYPE_CHECKING:
    from gaugedp.tables.moments import Moments
    from gaugedp.tables.statement import Aggregation

__all__ = ["Aggregate", "Table"]

_NOT_THERE = "Where the table has no such column, take it out of the domain."
RowSum = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of cells and steps, as `rows` gives them, to int64 numbers

_OF_PEOPLE = set(Kind) - {Kind.UNUSABLE, Kind.INSTANT}


@dataclass(frozen=True)
class Table(Rows):
    """Rows in a file, a frame or a relation, that have a domain and a privacy unit.

    `totals`, `moments`, `vector_sum` and `rows` are the only ways to the rows. Whether they succeed does not depend on
    what is in them.
    """

    name: str
    domain: Domain
    unit: PrivacyUnit
    _engine: Engine = field(repr=False, compare=False)
    _buckets: Buckets = field(default=Buckets(), repr=False, compare=False)
    frame: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def scan(
        cls, source: object, *, domain: Domain, unit: PrivacyUnit | None = None, name: str | None = None
    ) -> "Table":
        """Return the table over `source`, having looked at the names and types of its columns only.

        Where the domain has [person], the rows are made one row a person (`gaugedp.by_person`).

        `source` is the path of a file (.csv, .tsv, either with .gz, or .parquet), a pandas or polars frame, a polars
        LazyFrame, a pyarrow Table, a DuckDB relation or a Spark frame, whose rows stay where they are. Each attribute,
        bounded column and person column must be in it. `unit` is that of the domain file where it is left out, and a
        row where the domain has none.

        Raises InvalidRequest where the domain file protects others than `unit`, UnreadableTable where the source or the
        type of a column does not fit, UnknownName for a missing column.
        """
        from gaugedp.tables.sources import open_source

        if not isinstance(domain, Domain):
            raise InvalidRequest(
                f"The domain is of type {type(domain).__name__}.",
                'Give gd.Domain.load("domain.toml"), or gd.Domain.of(…).',
            )
        unit, described = domain.protected(unit), domain.rows or domain
        attributes = [(described.source(name), attribute) for name, attribute in described.attributes.items()]
        columns = [(bounded.column or name, bounded) for name, bounded in described.columns.items()]
        facts: list[tuple[str, Attribute | BoundedColumn]] = [*attributes, *columns]
        needed = list(dict.fromkeys([*(name for name, _ in facts), *([unit.column] if unit.column else [])]))
        if not needed:
            raise InvalidRequest("The domain has no attributes and no columns.", "Describe at least one.")
        try:
            engine = open_source(source, needed, _spelt_truths(facts))
        except UnknownName as refusal:
            raise _named_by(unit, refusal) from None
        for fact_name, fact in facts:
            check_type(engine.columns[fact_name], fact)
        if unit.column is not None:
            _refuse_unless(engine.columns[unit.column], _OF_PEOPLE, "used to tell people apart")
        buckets = Buckets.of(source)
        name = domain.name if name is None else name
        table = cls(name, described, unit, buckets.limited(engine), buckets, library(source))
        return table if domain.rows is None else table.of_people(domain)

    def of_people(self, domain: Domain) -> "Table":
        """Return the table with one row a person, as `domain`, made of this table's own, says; see `by_person`."""
        from gaugedp.tables.people import PeopleEngine

        unit = domain.protected(self.unit)
        return replace(self, domain=domain, unit=unit, _engine=PeopleEngine.of(self._engine, domain, unit.column or ""))

    def in_buckets(
        self,
        count: int | None = None,
        *,
        memory_bytes: int | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> "Table":
        """Return this table, looked at in `count` parts, a part of the people at a time: the same numbers, less memory.

        DuckDB then takes at most about `memory_bytes` for files and frames (half of the machine's where it is not
        given); `count` follows from it and the size of the file. `scan` does so by itself for a file that is large.

        In `folder` the exact sums over finished parts are kept while `totals` looks: as private as the table. After a
        kill, the same look goes on from there, with the row key that it began with. A release that was killed as it
        looked is finished by the same request with the same `key`, and is not paid again.
        """
        buckets = self._buckets.sized(count, memory_bytes, folder)
        return replace(self, _engine=buckets.limited(self._engine), _buckets=buckets)

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Look at the rows, once, and return each total as a flat array.

        The array runs over the cells of `attributes` in itertools.product order (last fastest; one cell for none).
        With `each`, the values low … high of the column, in steps, are one more axis, the fastest.
        Counts are int64. Sums of a column are Python integers: a row's measure is 2 k − (low_steps + high_steps), where
        k is the clipped value in steps, rounded half away from 0; so |measure| ≤ high_steps − low_steps.

        All totals of one call speak of the same rows. A row is left out when an attribute used by any of them has
        outside = "drop" and no cell for it, or when the unit has a person column and the row has no person. Of the
        rest, at most `max_rows` rows of a person stay; `row_key` chooses which, evenly, whatever the order of rows.
        A row without a value in a bounded column with missing = "drop" is left out of the totals of that column alone.

        Raises UnknownName or InvalidRequest for a wrong total, or for more than 10^7 cells times values with `each`,
        before anything is read, and UnreadableTable where the engine fails.
        """
        from gaugedp.tables.statement import Aggregation

        for total in totals:
            _check_total(total, self.domain)
        if not totals:
            return []
        sources = [finer(total, totals, self.domain) for total in totals]
        needed = tuple(dict.fromkeys(sources))
        aggregation = Aggregation(self.domain, self.unit, self._engine.columns, needed)
        cells = dict(zip(needed, self._buckets.totals(aggregation, self._read, row_key), strict=True))
        pairs = zip(totals, sources, strict=True)
        return [added_up(total, cells[source], source, self.domain) for total, source in pairs]

    def _read(self, part: "Aggregation", row_key: bytes) -> list[np.ndarray]:
        """Return the totals of a part, by the engine; where there are many tables of counts, from its rows."""
        tallies, engine = part.tallies, self._engine.of_bucket(part.bucket, row_key)
        if tallies is None or not engine.in_process:
            return part.arrays(engine.run(part.statement(row_key)))
        return tallies.cut(engine.add_up(part.listed(row_key), tallies))

    def rows(self, attributes: Sequence[str], columns: Sequence[str], row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Look at the rows, once, and return (cells, steps) of those that are kept, int64, one line a row.

        cells (n, len(attributes)) are the cells of the attributes; steps (n, len(columns)) the clipped values of the
        columns in whole steps above their lower bounds, rounded half away from 0, −1 where there is none.

        Which rows are kept, and what is refused, is as in `totals`: a person adds at most `max_rows` lines, which
        depend on nobody else. Lines are sorted by their contents, so that the order of the source tells nothing. How
        many there are does: it depends on the data.
        """
        aggregation = self._listing(attributes, columns)
        parts = self._buckets.parts(aggregation)
        lines = joined([self._engine.of_bucket(part.bucket, row_key).run(part.listing(row_key)) for part in parts])
        return _parts(lines, len(attributes), len(columns))

    def vector_sum(self, names: tuple[Sequence[str], Sequence[str]], of: RowSum, row_key: bytes) -> np.ndarray:
        """Look at the rows, once, and return Σ of(cells, steps) over batches of those that are kept, int64.

        `names` are attributes and columns; the batches are lines as in `rows`, in any order. `of` gives whole numbers,
        each a sum over the lines, in the same shape for every batch, an empty one included, so that the total depends
        on the lines alone. On Spark it runs where the rows are: it must be picklable, and gaugedp be installed there.
        """
        attributes, columns = names
        aggregation, on_batch = self._listing(attributes, columns), OnBatch(len(attributes), len(columns), of)
        nothing = np.empty(0, dtype=np.int64)
        none = on_batch({name: nothing for name in on_batch.names})
        buckets = ((self._engine.of_bucket(part.bucket, row_key), part) for part in self._buckets.parts(aggregation))
        parts = [engine.add_up(part.listed(row_key), on_batch) for engine, part in buckets]
        return sum((part.reshape(none.shape) for part in parts if len(part)), none)

    def moments(self, columns: Sequence[str], row_key: bytes, bits: int = 12, products: bool = True) -> "Moments":
        """Look at the rows, once, and return Σ x and, with `products`, Σ x xᵀ of the bounded columns.

        x are the clipped values, bounds brought to ±2^bits, missing ones at 0, rounded to whole numbers: the same ones
        on every engine (gaugedp.tables.moments). `bits` is at most 22, with products 12. Above as many columns as the
        engine adds up well, the products come from batches, as in `vector_sum`.
        """
        from gaugedp.tables.moments import Scaled

        aggregation, scaled = self._listing([], columns), Scaled.of(self.domain, columns, bits, products)
        if self._buckets.count > 1 or (products and len(columns) > self._engine.sql_products):
            return scaled.unpacked(self.vector_sum(([], columns), scaled, row_key))
        return scaled.read(self._engine.run(scaled.statement(aggregation.listed(row_key))))

    def _listing(self, attributes: Sequence[str], columns: Sequence[str]) -> "Aggregation":
        from gaugedp.tables.statement import Aggregation

        if len(set(columns)) < len(columns) or not (attributes or columns):
            raise InvalidRequest(f"The columns {tuple(columns)!r} cannot be listed.", "Name each once, at least one.")
        totals = [Aggregate(tuple(attributes)), *(Aggregate((), column) for column in columns)]
        for total in totals:
            _check_total(total, self.domain)
        return Aggregation(self.domain, self.unit, self._engine.columns, tuple(totals))

    @property
    def rules(self) -> tuple[str, ...]:
        """See Rows."""
        return self._engine.rules

    @property
    def can_resume(self) -> bool:
        """Return whether there is a folder for the sums of an unfinished look."""
        return self._buckets.folder is not None

    def reporting(self, on_progress: Progress) -> "Table":
        """See Rows."""
        return replace(self, _buckets=replace(self._buckets, on_progress=on_progress))

    def __repr__(self) -> str:
        n = len(self.domain.attributes)
        return f"<Table {self.name!r}: {self._engine.description}, {n} attributes, protecting {self.unit}>"


def is_elsewhere(table: Table) -> bool:
    """Return whether the rows are on another engine than DuckDB in this process, so that they had better stay."""
    return not table._engine.in_process


@dataclass(frozen=True)
class OnBatch:
    """A sum over listed rows, from the columns `a<i>` and `s<j>` of a batch."""

    n_attributes: int
    n_columns: int
    of: RowSum

    @property
    def names(self) -> list[str]:
        """The columns of a batch."""
        return [f"a{i}" for i in range(self.n_attributes)] + [f"s{j}" for j in range(self.n_columns)]

    def __call__(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the sum over a batch."""
        return self.of(*_parts(batch, self.n_attributes, self.n_columns))


def _parts(lines: Mapping[str, np.ndarray], n_attributes: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells and the steps of listed rows."""
    cells = [lines[f"a{i}"] for i in range(n_attributes)]
    return _side_by_side(cells, lines), _side_by_side([lines[f"s{j}"] for j in range(n_columns)], lines)


def _side_by_side(columns: Sequence[np.ndarray], lines: Mapping[str, np.ndarray]) -> np.ndarray:
    n_rows = len(next(iter(lines.values())))
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0), dtype=np.int64)


def _check_total(total: Aggregate, domain: Domain) -> None:
    for name in total.attributes:
        domain.attribute(name)
    if len(set(total.attributes)) < len(total.attributes):
        raise InvalidRequest(f"The attributes {total.attributes!r} name one twice.", "Name each once.")
    if total.column is not None:
        domain.column(total.column)
    if total.each:
        check_values(domain, total)


def _spelt_truths(facts: Sequence[tuple[str, Attribute | BoundedColumn]]) -> dict[str, dict[str, str]]:
    """Return how the categories of each column write true and false, where they do; `MARKS` where two disagree."""
    spelt: dict[str, dict[str, str]] = {}
    for name, fact in facts:
        if words := truths(categories_of(fact)):
            spelt[name] = words if spelt.get(name, words) == words else MARKS
    return spelt


def _named_by(unit: PrivacyUnit, refusal: UnknownName) -> UnknownName:
    """Return the refusal of a missing column, which says where the column is named."""
    if refusal.what == f"There is no column {unit.column!r}.":
        return UnknownName(f"{refusal.what[:-1]}, which [unit] names as the person's.", refusal.do)
    return UnknownName(
        f"{refusal.what[:-1]}, which the domain describes.",
        refusal.do if refusal.do.endswith("?") else f"{refusal.do} {_NOT_THERE}",
    )


def check_type(column: Column, fact: Attribute | BoundedColumn) -> None:
    """Refuse a column whose values, by its type, can be in no cell and no number."""
    if fact.column or isinstance(fact, Categories | UnknownKeys):
        _refuse_unless(column, SPELT | NUMBERS, "compared with categories")
        categories = categories_of(fact)
        if categories and not can_match(column.kind, categories):
            raise UnreadableTable(
                f"Column {column.name!r} holds {column.type_name}, and none of its categories is such a value.",
                f"Write categories such as {EXAMPLES[column.kind]}, or convert the column to text.",
            )
    elif isinstance(fact, Dates):
        _refuse_unless(column, {Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT}, "read as dates")
    else:
        _refuse_unless(column, NUMBERS | {Kind.TEXT}, "read as numbers")


def categories_of(fact: Attribute | BoundedColumn) -> Sequence[str]:
    """Return the texts that values of the column are compared with; none where it has no categories, or no known."""
    if isinstance(fact, BoundedColumn):
        return [text for text, _ in fact.by_key]
    return finest_of(fact)[0] if isinstance(fact, Categories) else ()


def _refuse_unless(column: Column, accepted: Set[Kind], use: str) -> None:
    if column.kind not in accepted:
        raise UnreadableTable(
            f"Column {column.name!r} holds {column.type_name}, which cannot be {use}.",
            "Convert the column, or leave it out of the domain.",
        )
