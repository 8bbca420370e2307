"""Table: rows somewhere, with the public facts about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gaugedp.attributes import Attribute, BoundedColumn, Categories
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest, UnreadableTable
from gaugedp.tables.engine import Column, Engine, Kind
from gaugedp.tables.total import Total, check_values

__all__ = ["Table", "Total"]

ONE_ROW = PrivacyUnit()


@dataclass(frozen=True)
class Table:
    """Rows in a file, a frame or a relation, that have a domain and a privacy unit.

    `totals` and `rows` are the only ways to the rows. Whether they succeed does not depend on what is in them.
    """

    name: str
    domain: Domain
    unit: PrivacyUnit
    _engine: Engine = field(repr=False, compare=False)

    @classmethod
    def scan(cls, source: object, *, domain: Domain, unit: PrivacyUnit = ONE_ROW, name: str | None = None) -> "Table":
        """Return the table over `source`, having looked at the names and types of its columns only.

        `source` is the path of a file (.csv, .tsv, either with .gz, or .parquet), a pandas or polars frame, a polars
        LazyFrame, a pyarrow Table or a DuckDB relation. Each attribute, bounded column and person column must be in it.

        Raises UnreadableTable where the source or the type of a column does not fit, UnknownName for a missing column.
        """
        from gaugedp.tables.duckdb import open_source

        needed = list(dict.fromkeys([*domain.attributes, *domain.columns, *([unit.column] if unit.column else [])]))
        if not needed:
            raise InvalidRequest("The domain has no attributes and no columns.", "Describe at least one.")
        engine = open_source(source, needed)
        facts: dict[str, Attribute | BoundedColumn] = {**domain.attributes, **domain.columns}
        for fact_name, fact in facts.items():
            _check_type(engine.columns[fact_name], fact)
        if unit.column is not None:
            _check_person(engine.columns[unit.column])
        return cls(domain.name if name is None else name, domain, unit, engine)

    def totals(self, totals: Sequence[Total], row_key: bytes) -> list[np.ndarray]:
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
        from gaugedp.tables.plan import Plan

        for total in totals:
            _check_total(total, self.domain)
        if not totals:
            return []
        plan = Plan(self.domain, self.unit, self._engine.columns, tuple(totals))
        return plan.arrays(self._engine.run(plan.statement(row_key)))

    def rows(self, attributes: Sequence[str], columns: Sequence[str], row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Look at the rows, once, and return (cells, steps) of those that are kept, int64, one line a row.

        cells (n, len(attributes)) are the cells of the attributes; steps (n, len(columns)) the clipped values of the
        columns in whole steps above their lower bounds, rounded half away from 0, −1 where there is none.

        Which rows are kept, and what is refused, is as in `totals`: a person adds at most `max_rows` lines, which
        depend on nobody else. Lines are sorted by their contents, so that the order of the source tells nothing. How
        many there are does: it depends on the data.
        """
        from gaugedp.tables.plan import Plan

        if len(set(columns)) < len(columns) or not (attributes or columns):
            raise InvalidRequest(f"The columns {tuple(columns)!r} cannot be listed.", "Name each once, at least one.")
        asked = [Total(tuple(attributes)), *(Total((), column) for column in columns)]
        for total in asked:
            _check_total(total, self.domain)
        plan = Plan(self.domain, self.unit, self._engine.columns, tuple(asked))
        found = self._engine.run(plan.listing(row_key))
        cells, steps = (
            [f"{letter}{i}" for i in range(len(names))] for letter, names in (("a", attributes), ("s", columns))
        )
        n_rows = len(next(iter(found.values())))
        return _table(found, cells, n_rows), _table(found, steps, n_rows)

    def __repr__(self) -> str:
        n = len(self.domain.attributes)
        return f"<Table {self.name!r}: {self._engine.description}, {n} attributes, protecting {self.unit}>"


def _table(found: Mapping[str, np.ndarray], names: Sequence[str], n_rows: int) -> np.ndarray:
    return np.stack([found[name] for name in names], axis=1) if names else np.empty((n_rows, 0), dtype=np.int64)


def _check_total(total: Total, domain: Domain) -> None:
    for name in total.attributes:
        domain.attribute(name)
    if len(set(total.attributes)) < len(total.attributes):
        raise InvalidRequest(f"The attributes {total.attributes!r} name one twice.", "Name each once.")
    if total.column is not None:
        domain.column(total.column)
    if total.each:
        check_values(domain, total)


def _check_type(column: Column, fact: Attribute | BoundedColumn) -> None:
    accepted = {Kind.INTEGER, Kind.REAL, Kind.WIDE, Kind.SHORT_REAL, Kind.TEXT}
    if isinstance(fact, Categories):
        _refuse_unless(column, accepted | {Kind.LABEL}, "compared with categories")
    else:
        _refuse_unless(column, accepted, "read as numbers")


def _check_person(column: Column) -> None:
    _refuse_unless(column, set(Kind) - {Kind.UNUSABLE}, "used to tell people apart")


def _refuse_unless(column: Column, accepted: set[Kind], use: str) -> None:
    if column.kind not in accepted:
        raise UnreadableTable(
            f"Column {column.name!r} holds {column.type_name}, which cannot be {use}.",
            "Convert the column, or leave it out of the domain.",
        )
