"""The lines of a file one after another, each with the cells and numbers that a domain gives it: to predict for them.

Nothing here is private: this is for rows that the caller may see, and pays for nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from gaugedp.domain import Domain
from gaugedp.errors import UnreadableTable
from gaugedp.tables import duckdb
from gaugedp.tables.cells import Reading, other_cell, read_attribute, read_steps
from gaugedp.tables.engine import SOURCE, Sql
from gaugedp.tables.refusals import stopped
from gaugedp.tables.sources import file_columns

_ALIAS = "gaugedp_"  # no column of the file may begin with it


@dataclass(frozen=True)
class Lines:
    """Some lines: their fields as they stand, their cells (n, attributes) and steps (n, columns), −1 where none."""

    fields: list[tuple[Any, ...]]
    cells: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True)
class FileLines:
    """All lines of a file, in its order; `names` are its columns."""

    names: list[str]
    _engines: tuple[duckdb.DuckDBEngine, duckdb.DuckDBEngine]
    _statement: Sql
    _n_attributes: int

    @classmethod
    def open(cls, path: str, domain: Domain, attributes: Sequence[str], columns: Sequence[str]) -> "FileLines":
        """Return the lines, having looked at the names and types of the columns only.

        Cells and steps are as in `Table.rows`, but a missing number is −1 whatever the domain says.
        """
        names = file_columns(path)
        if any(name.lower().startswith(_ALIAS) for name in names):
            raise UnreadableTable(f"A column's name begins with {_ALIAS!r}.", "Rename the column.")
        for name in (*attributes, *columns):
            duckdb.check_names(names, [name])
        engines = duckdb.open_whole(path, names)
        types, read = engines[0].columns, list[tuple[Reading, int | None]]()
        for name in attributes:
            attribute = domain.attribute(name)
            read.append((read_attribute(attribute, types[name], f"{_ALIAS}{len(read)}"), other_cell(attribute)))
        for name in columns:
            read.append((read_steps(domain.column(name), types[name], f"{_ALIAS}{len(read)}"), None))
        return cls(names, engines, _statement(names, read), len(attributes))

    def batches(self) -> Iterator[Lines]:
        """Yield the lines, in the order of the file. Raises UnreadableTable where one of them cannot be read."""
        strict, failing = self._engines
        ((n_lines,),) = next(failing.fetched(exp.select(exp.Count(this=exp.Star())).from_(SOURCE)))
        for rows in strict.fetched(self._statement):
            codes = np.array([row[len(self.names) :] for row in rows], dtype=np.int64)
            fields = [row[: len(self.names)] for row in rows]
            n_lines -= len(rows)
            yield Lines(fields, codes[:, : self._n_attributes], codes[:, self._n_attributes :])
        if n_lines:
            raise stopped()


def _statement(names: Sequence[str], read: Sequence[tuple[Reading, int | None]]) -> Sql:
    aliases = [sql.as_(alias) for reading, _ in read for alias, sql in reading.reads.items()]
    fields = [exp.column(name, quoted=True) for name in names]
    inner = exp.select(*fields, *aliases, copy=False).from_(SOURCE, copy=False)
    codes = [reading.otherwise(-1 if other is None else other) for reading, other in read]
    outer = [exp.column(name, quoted=True) for name in names]
    return exp.select(*outer, *codes, copy=False).from_(inner.subquery("lines", copy=False), copy=False)
