"""Table: rows on an engine, with public facts about them."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.domain.attributes import Attribute, Bins, BoundedColumn, Categories, EdgeBins, Integers, UnknownKeys
from gaugedp.domain.dates import Dates
from gaugedp.domain.domain import Domain
from gaugedp.domain.hierarchies import finest_of
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest, UnknownName, UnreadableTable
from gaugedp.tables.aggregate import Aggregate, Rows, added_up, check_values, finer
from gaugedp.tables.buckets import Buckets, joined
from gaugedp.tables.engine import NUMBERS, SPELT, Column, Engine, Kind
from gaugedp.tables.frames import library
from gaugedp.tables.spelling import EXACT, EXAMPLES, MARKS, can_match, category_numbers, truths

if TYPE_CHECKING:
    from gaugedp.tables.moments import Moments
    from gaugedp.tables.statement import Aggregation

__all__ = ["Aggregate", "Table"]

_NOT_THERE = "If the table has no such column, remove it from the domain."
RowSum = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of cells and steps, as `rows` returns them

_OF_PEOPLE = set(Kind) - {Kind.UNUSABLE, Kind.INSTANT, Kind.MIXED}


@dataclass(frozen=True)
class Table(Rows):
    """Rows with a domain and a privacy unit.

    They are in a file, a frame or a relation. `totals`, `moments`, `vector_sum` and `rows` are the only methods that
    read the rows. Whether they succeed does not depend on their content.
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
        """Return the table over `source`, without reading rows.

        Only the names and types of its columns are read. If the domain has [person], the rows are aggregated to one row
        per person (`gaugedp.by_person`).

        source : path of a file (.csv, .tsv, either with .gz or .zst, or .parquet) or of a folder of Parquet files, a
            pandas or polars frame, a polars LazyFrame, a pyarrow Table, a DuckDB relation, a Spark frame or the address
            of a PostgreSQL table, whose rows stay where they are
        domain : describes attributes and bounded columns, all of which must be in the source, as the person column
        unit : by default that of the domain file, else a row

        Raises
        ------
        InvalidRequest
            The domain file protects others than `unit`.
        UnreadableTable
            The source or the type of a column does not fit.
        UnknownName
            A missing column.

        Examples
        --------
        >>> import gaugedp as gd
        >>> import pandas as pd
        >>> domain = gd.Domain.of(sex=["1", "2"])
        >>> gd.Table.scan(pd.DataFrame({"sex": ["1", "2"]}), domain=domain, name="people")
        <Table 'people': a pandas DataFrame, 1 attributes, protecting one row, added or removed>
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
            engine = open_source(source, needed, spelt_truths(facts), described.text_format)
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
        """Return the table with one row per person; see `by_person`."""
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
        """Return this table, read in `count` parts of its people.

        The numbers are the same, with less memory. DuckDB uses at most about `memory_bytes` for files and frames
        (default: half of the machine's); `count` defaults by this limit and the size of the file. `scan` does so by
        itself for a large file.

        In `folder`, the exact sums over finished parts are stored while `totals` reads the table: they are as private
        as the table. After a kill, the same evaluation resumes from there, with the row key that it began with. A
        release that was killed during its evaluation is finished by the same request with the same `key`, and is not
        charged again.
        """
        buckets = self._buckets.sized(count, memory_bytes, folder)
        return replace(self, _engine=buckets.limited(self._engine), _buckets=buckets)

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Read the rows once and return each total, flat.

        The array runs over the cells of `attributes` in itertools.product order (last fastest; one cell for none). With
        `each`, the values low … high of the column, in steps, are one more axis, the fastest. Counts are int64. Sums,
        and those of weights, are Python integers: a row's measure is 2 k − (low_steps + high_steps), where k is the
        clipped value in steps, rounded half away from 0; so |measure| ≤ high_steps − low_steps. If weighted, it is
        multiplied by the row's weight in steps, found alike.

        All totals of one call describe the same rows. A row is left out if an attribute used by any of them has outside
        = "drop" and no cell for it, or if the unit has a person column and the row has no person. Of the rest, at most
        `max_rows` rows of a person remain; `row_key` chooses them uniformly, whatever the order of rows. A row without
        a value in a bounded column with missing = "drop" is left out only of the totals of that column.

        Raises UnknownName or InvalidRequest for a wrong total, or for more than 10^7 cells times values with `each`,
        before anything is read, and UnreadableTable if the engine fails.
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
        """Return a part's totals, by statement or from rows."""
        tallies, engine = part.tallies, self._engine.of_bucket(part.bucket, row_key)
        if tallies is None or not engine.in_process:
            return part.arrays(engine.run(part.statement(row_key)))
        return tallies.cut(engine.add_up(part.listed(row_key), tallies))

    def rows(self, attributes: Sequence[str], columns: Sequence[str], row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Read the remaining rows once, as (cells, steps), int64.

        cells (n, len(attributes)) are the cells of the attributes; steps (n, len(columns)) the clipped values of the
        columns in integer steps above their lower bounds, rounded half away from 0, −1 if missing.

        Which rows remain, and what is refused, is as in `totals`: a person adds at most `max_rows` lines, which depend
        on nobody else. Lines are sorted by their contents, so that the order of the source has no influence. Their
        number depends on the data.
        """
        aggregation = self._listing(attributes, columns)
        parts = self._buckets.parts(aggregation)
        lines = joined([self._engine.of_bucket(part.bucket, row_key).run(part.listing(row_key)) for part in parts])
        return _parts(lines, len(attributes), len(columns))

    def vector_sum(self, names: tuple[Sequence[str], Sequence[str]], of: RowSum, row_key: bytes) -> np.ndarray:
        """Read the rows once; return Σ of(cells, steps), int64.

        The sum is over batches of the remaining rows. `names` are attributes and columns; the batches are lines as in
        `rows`, in any order. `of` returns integers, each a sum over the lines, in the same shape for every batch, an
        empty one included, so that the total depends only on the lines. On Spark it runs where the rows are: it must be
        picklable, and gaugedp must be installed there.
        """
        attributes, columns = names
        aggregation, on_batch = self._listing(attributes, columns), OnBatch(len(attributes), len(columns), of)
        nothing = np.empty(0, dtype=np.int64)
        none = on_batch({name: nothing for name in on_batch.names})
        buckets = ((self._engine.of_bucket(part.bucket, row_key), part) for part in self._buckets.parts(aggregation))
        parts = [engine.add_up(part.listed(row_key), on_batch) for engine, part in buckets]
        return sum((part.reshape(none.shape) for part in parts if len(part)), none)

    def moments(self, columns: Sequence[str], row_key: bytes, bits: int = 12, products: bool = True) -> "Moments":
        """Read the rows once; return first and second moments.

        They are Σ x and, with `products`, Σ x xᵀ, where x are the clipped values of the bounded columns, scaled to
        ±2^bits, missing ones 0, rounded to integers: the same on every engine (gaugedp.tables.moments). `bits` is at
        most 22, with products 12. If there are more columns than the engine adds up fast, the products come from
        batches, as in `vector_sum`.
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
        """True if there is a folder for sums of unfinished evaluations."""
        return self._buckets.folder is not None

    def reporting(self, on_progress: Progress) -> "Table":
        """See Rows."""
        return replace(self, _buckets=replace(self._buckets, on_progress=on_progress))

    def __repr__(self) -> str:
        n = len(self.domain.attributes)
        return f"<Table {self.name!r}: {self._engine.description}, {n} attributes, protecting {self.unit}>"


def is_elsewhere(table: Table) -> bool:
    """Return True if the rows are outside this process."""
    return not table._engine.in_process


@dataclass(frozen=True)
class OnBatch:
    """Sum over listed rows, from columns `a<i>` and `s<j>`."""

    n_attributes: int
    n_columns: int
    of: RowSum

    @property
    def names(self) -> list[str]:
        """Columns of a batch."""
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
    if total.weighted and domain.weights is None:
        raise InvalidRequest("The domain has no weights.", "Describe them under [weights].")
    for name in total.attributes:
        domain.attribute(name)
    if len(set(total.attributes)) < len(total.attributes):
        raise InvalidRequest(f"The attributes {total.attributes!r} name one twice.", "Name each once.")
    if total.column is not None:
        domain.column(total.column)
    if total.each:
        check_values(domain, total)


def spelt_truths(facts: Sequence[tuple[str, Attribute | BoundedColumn]]) -> dict[str, dict[str, str]]:
    """Return how each column's categories write true and false."""
    spelt: dict[str, dict[str, str]] = {}
    for name, fact in facts:
        if words := truths(categories_of(fact)):
            spelt[name] = words if spelt.get(name, words) == words else MARKS
    return spelt


def _named_by(unit: PrivacyUnit, refusal: UnknownName) -> UnknownName:
    """Return the refusal of a missing column, with its role."""
    if refusal.what == f"There is no column {unit.column!r}.":
        return UnknownName(f"{refusal.what[:-1]}, which [unit] names as the person column.", refusal.do)
    return UnknownName(
        f"{refusal.what[:-1]}, which the domain describes.",
        refusal.do if refusal.do.endswith("?") else f"{refusal.do} {_NOT_THERE}",
    )


def check_type(column: Column, fact: Attribute | BoundedColumn) -> None:
    """Refuse a column whose type cannot fit its description."""
    if column.kind is Kind.MIXED and _largest(fact) >= EXACT:
        raise UnreadableTable(
            f"Column {column.name!r} holds {column.type_name}, and integers from 2^53 on would be rounded.",
            "Write the column with one type in all files.",
        )
    if fact.column or isinstance(fact, Categories | UnknownKeys):
        _refuse_unless(column, SPELT | NUMBERS, "compared with categories")
        categories = categories_of(fact)
        if categories and not can_match(column.kind, categories):
            raise UnreadableTable(
                f"Column {column.name!r} holds {column.type_name}, but none of its categories is such a value.",
                f"Write categories such as {EXAMPLES[column.kind]}, or convert the column to text.",
            )
    elif isinstance(fact, Dates):
        _refuse_unless(column, {Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT}, "read as dates")
    else:
        _refuse_unless(column, NUMBERS | {Kind.TEXT}, "read as numbers")


def _largest(fact: Attribute | BoundedColumn) -> Fraction | float:
    """Return the largest number that a fact distinguishes; a bounded column has at most 2^40 steps."""
    match fact:
        case Integers():
            return max(abs(fact.first), abs(fact.last))
        case EdgeBins():
            return max(map(abs, fact.edges))
        case Bins():
            return max(abs(fact.low), abs(fact.high))
        case UnknownKeys():
            return math.inf
    return max(map(abs, category_numbers(categories_of(fact), whole=False)), default=0)


def categories_of(fact: Attribute | BoundedColumn) -> Sequence[str]:
    """Return the texts that values are compared with, if any."""
    if isinstance(fact, BoundedColumn):
        return [text for text, _ in fact.by_key]
    return finest_of(fact)[0] if isinstance(fact, Categories) else ()


def _refuse_unless(column: Column, accepted: Set[Kind], use: str) -> None:
    if column.kind not in accepted:
        raise UnreadableTable(
            f"Column {column.name!r} holds {column.type_name}, which cannot be {use}.",
            "Convert the column, or remove it from the domain.",
        )
