"""Table: rows on an engine, with public facts about them."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import Attribute, Bins, BoundedColumn, Categories, EdgeBins, Integers, UnknownKeys
from gaugedp.domain.dates import Dates
from gaugedp.domain.hierarchies import finest_of
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
    """Rows with a domain and a privacy unit, for releases.

    Make it with `Table.scan`, and give it to `gd.release`. The rows stay where they are, in a file, a frame or a
    database. Only `totals`, `moments`, `vector_sum` and `rows` read them, and releases call these methods after the
    charge. Whether they succeed does not depend on the rows.
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
        """Return a table over a source, without reading its rows.

        This is the first step of every release. Only the names and types of the columns are read now. A release reads
        the rows after it has been charged. If the domain has a section [person], the rows are aggregated to one row per
        person (`gd.by_person`).

        Parameters
        ----------
        source : path, frame, relation or address
            The rows: a file that ends in .csv or .tsv (also with .gz or .zst) or in .parquet, a folder of Parquet
            files, a frame of pandas, polars (also lazy), pyarrow or Spark, a relation of DuckDB, or the address of a
            table on a PostgreSQL server.
        domain : Domain
            The description of the attributes and bounded columns, all of which must be in the source.
        unit : PrivacyUnit, optional
            Who is protected. The default is the unit of the domain file, or one row if it has none.
        name : str, optional
            The name of the table in ledgers and releases. By default it is the name of the domain.

        Raises
        ------
        InvalidRequest
            If `unit` differs from the unit of the domain file.
        UnreadableTable
            If the source cannot be read, or the type of a column does not fit its description.
        UnknownName
            If a column is missing.

        Examples
        --------
        A data frame becomes a table in which each row is protected:

        >>> import gaugedp as gd
        >>> import pandas as pd
        >>> domain = gd.Domain.of(sex=["1", "2"])
        >>> gd.Table.scan(pd.DataFrame({"sex": ["1", "2"]}), domain=domain, name="people")
        <Table 'people': a pandas DataFrame, 1 attributes, protecting one row, added or removed>
        """
        from gaugedp.tables.sources import open_source

        if not isinstance(domain, Domain):
            raise InvalidRequest(
                f"`domain` is of type {type(domain).__name__}, but must be a domain.",
                'Pass gd.Domain.load("domain.toml"), or gd.Domain.of(…).',
            )
        unit, described = domain.protected(unit), domain.rows or domain
        attributes = [(described.source(name), attribute) for name, attribute in described.attributes.items()]
        columns = [(bounded.column or name, bounded) for name, bounded in described.columns.items()]
        facts: list[tuple[str, Attribute | BoundedColumn]] = [*attributes, *columns]
        needed = list(dict.fromkeys([*(name for name, _ in facts), *([unit.column] if unit.column else [])]))
        if not needed:
            raise InvalidRequest("The domain describes neither an attribute nor a column.", "Describe at least one.")
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
        self, count: int | None = None, *, memory_bytes: int | None = None, folder: str | PathLike[str] | None = None
    ) -> "Table":
        """Return this table, to be read in several parts.

        Use it if reading the whole table at once would need too much memory. The answers are the same. For a large
        file, `scan` makes this choice by itself.

        Parameters
        ----------
        count : int, optional
            The number of parts into which the people are divided. By default it follows from the memory and the file
            size.
        memory_bytes : int, optional
            The approximate memory that may be used to read files and frames. By default it is half of the machine's
            memory.
        folder : path, optional
            A folder for the exact sums over finished parts, which are as private as the table. If a release is killed
            while it reads the table, the same request with the same `key` finishes it from there and is not charged
            again. By default nothing is stored.
        """
        buckets = self._buckets.sized(count, memory_bytes, folder)
        return replace(self, _engine=buckets.limited(self._engine), _buckets=buckets)

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        """Read the rows once and return exact counts and sums.

        Queries call it to compute their exact answers, which are not private. All totals of one call are over the same
        rows.

        Parameters
        ----------
        totals : sequence of Aggregate
            The counts and sums, each over the cells of some attributes.
        row_key : bytes
            A random key that determines which rows of a person count, if the person has more than `max_rows` rows.

        Returns
        -------
        list of ndarray
            For each total, a flat array over the cells of its attributes, the last attribute fastest. Without
            attributes it has one number. With `each`, the values of the column from its lower to its upper bound are
            one more axis, the fastest.

            Counts are int64. Sums are Python integers, in half steps from the middle of the bounds: a row whose clipped
            value is k steps adds 2·k − (low_steps + high_steps). Values are rounded half away from 0. In a weighted
            total, this number is multiplied by the row's weight in steps.

        Raises
        ------
        UnknownName, InvalidRequest
            If a total is wrong, or has more than 10^7 cells times values with `each`. Nothing is read then.
        UnreadableTable
            If the engine fails.

        Notes
        -----
        A row is left out if it has no person, or if it has no cell in an attribute of any total whose rule is "drop".
        Of the other rows, at most `max_rows` of each person count. They are chosen uniformly, whatever the order of
        rows. A row without a value in a bounded column whose rule is "drop" is left out only of the totals of that
        column.
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
        tallies, engine = part.tallies, self._engine.of_bucket(part.bucket, row_key)
        if tallies is None or not engine.in_process:
            return part.arrays(engine.run(part.statement(row_key)))
        return tallies.cut(engine.add_up(part.listed(row_key), tallies))

    def rows(self, attributes: Sequence[str], columns: Sequence[str], row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Read the rows once, into two integer arrays.

        Estimators call it if they need single rows, which are not private. The first array, of shape (n,
        len(attributes)), holds the cell of each attribute. The second, of shape (n, len(columns)), holds the clipped
        value of each bounded column in steps above its lower bound, rounded half away from 0, or −1 if it is missing.

        The rows are those that the rules of `totals` do not leave out, at most `max_rows` per person, chosen by
        `row_key`. They are sorted by their contents, so the order of the source has no influence. Their number n
        depends on the data.
        """
        aggregation = self._listing(attributes, columns)
        parts = (replace(aggregation, bucket=bucket) for bucket in self._buckets.of_people(self.unit))
        lines = joined([self._engine.of_bucket(part.bucket, row_key).run(part.listing(row_key)) for part in parts])
        return _parts(lines, len(attributes), len(columns))

    def vector_sum(self, names: tuple[Sequence[str], Sequence[str]], of: RowSum, row_key: bytes) -> np.ndarray:
        """Read the rows once and sum a function of them.

        Estimators use it for sums that `totals` and `moments` do not offer. The function `of`(cells, steps) is called
        with batches of rows in the form of `rows`, for `names` = (attributes, columns), in any order. It returns
        integers, summed over the batch, in the same shape for every batch, also for an empty one. The result, which is
        not private, is the sum over all batches. On Spark, the function runs where the rows are, so it must be
        picklable, and gaugedp must be installed there.
        """
        attributes, columns = names
        aggregation, on_batch = self._listing(attributes, columns), OnBatch(len(attributes), len(columns), of)
        nothing = np.empty(0, dtype=np.int64)
        none = on_batch({name: nothing for name in on_batch.names})
        parts = (replace(aggregation, bucket=bucket) for bucket in self._buckets.of_people(self.unit))
        sums = [self._engine.of_bucket(part.bucket, row_key).add_up(part.listed(row_key), on_batch) for part in parts]
        return sum((part.reshape(none.shape) for part in sums if len(part)), none)

    def moments(self, columns: Sequence[str], row_key: bytes, bits: int = 12, products: bool = True) -> "Moments":
        """Read the rows and return sums of columns and products.

        Estimators use it for regressions and principal components. Let x be the vector of a row's values in the bounded
        `columns`: clipped, scaled so that the bounds become ±2^`bits`, and rounded to integers, with 0 for a missing
        value. The result has the number of rows, the sum of x as `first` and, with `products`, the sum of the matrices
        x·xᵀ as `second`. It is not private. `bits` (default 12) is at most 22, or 12 with products. `row_key` is as for
        `totals`.
        """
        from gaugedp.tables.moments import Scaled

        aggregation, scaled = self._listing([], columns), Scaled.of(self.domain, columns, bits, products)
        if self._buckets.count > 1 or (products and len(columns) > self._engine.sql_products):
            return scaled.unpacked(self.vector_sum(([], columns), scaled, row_key))
        return scaled.read(self._engine.run(scaled.statement(aggregation.listed(row_key))))

    def _listing(self, attributes: Sequence[str], columns: Sequence[str]) -> "Aggregation":
        from gaugedp.tables.statement import Aggregation

        if len(set(columns)) < len(columns) or not (attributes or columns):
            raise InvalidRequest(
                f"Each column must be named once, but the columns are {tuple(columns)!r}.",
                "Name at least one column, and none twice.",
            )
        totals = [Aggregate(tuple(attributes)), *(Aggregate((), column) for column in columns)]
        for total in totals:
            _check_total(total, self.domain)
        return Aggregation(self.domain, self.unit, self._engine.columns, tuple(totals))

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules for unreadable rows, which do not depend on rows."""
        return self._engine.rules

    @property
    def can_resume(self) -> bool:
        """True if a folder stores sums of unfinished evaluations."""
        return self._buckets.folder is not None

    def reporting(self, on_progress: Progress) -> "Table":
        """Return this table, reporting progress if read in parts."""
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
        return self.of(*_parts(batch, self.n_attributes, self.n_columns))


def _parts(lines: Mapping[str, np.ndarray], n_attributes: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    cells = [lines[f"a{i}"] for i in range(n_attributes)]
    return _side_by_side(cells, lines), _side_by_side([lines[f"s{j}"] for j in range(n_columns)], lines)


def _side_by_side(columns: Sequence[np.ndarray], lines: Mapping[str, np.ndarray]) -> np.ndarray:
    n_rows = len(next(iter(lines.values())))
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0), dtype=np.int64)


def _check_total(total: Aggregate, domain: Domain) -> None:
    if total.weighted and domain.weights is None:
        raise InvalidRequest("The query is weighted, but the domain has no weights.", "Describe them under [weights].")
    for name in total.attributes:
        domain.attribute(name)
    if len(set(total.attributes)) < len(total.attributes):
        raise InvalidRequest(f"An attribute is named twice in {total.attributes!r}.", "Name each attribute once.")
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
            "Write the column with the same type in all files.",
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
