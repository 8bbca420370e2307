"""Lines of a file in order, for prediction; not private."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from gaugedp.domain.domain import Domain
from gaugedp.tables.cells import ColumnExpression, other_cell, read_attribute, read_steps
from gaugedp.tables.duckdb.engine import DuckDBEngine, open_whole
from gaugedp.tables.engine import SOURCE, Sql
from gaugedp.tables.refusals import check_names, stopped
from gaugedp.tables.sources import file_columns
from gaugedp.tables.table import check_type


@dataclass(frozen=True)
class Lines:
    """Fields, cells (n, attributes) and steps (n, columns); −1 if missing."""

    fields: list[tuple[Any, ...]]
    cells: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True)
class FileLines:
    """Lines of a file in order; `names` are its columns."""

    names: list[str]
    _engines: tuple[DuckDBEngine, DuckDBEngine]
    _statement: Sql
    _n_attributes: int

    @classmethod
    def open(cls, path: str, domain: Domain, attributes: Sequence[str], columns: Sequence[str]) -> "FileLines":
        """Open the file, reading only names and types of columns."""
        names = file_columns(path)
        numbers = [domain.column(name) for name in columns]
        sources = [bounded.column or name for name, bounded in zip(columns, numbers, strict=True)]
        for name in (*map(domain.source, attributes), *sources):
            check_names(names, [name])
        engines, types = open_whole(path, names)
        read = list[tuple[ColumnExpression, int | None]]()
        for name in attributes:
            attribute, source = domain.attribute(name), domain.source(name)
            check_type(replace(types[source], name=source), attribute)
            read.append((read_attribute(attribute, types[source], f"x{len(read)}"), other_cell(attribute)))
        for name, bounded in zip(sources, numbers, strict=True):
            check_type(replace(types[name], name=name), bounded)
            read.append((read_steps(bounded, types[name], f"x{len(read)}"), None))
        return cls(names, engines, _statement(len(names), read), len(attributes))

    def batches(self) -> Iterator[Lines]:
        """Yield the lines in order; a broken one raises UnreadableTable."""
        strict, failing = self._engines
        ((n_lines,),) = next(failing.fetched(exp.select(exp.Count(this=exp.Star())).from_(SOURCE)))
        for rows in strict.fetched(self._statement):
            codes = np.array([row[len(self.names) :] for row in rows], dtype=np.int64)
            fields = [row[: len(self.names)] for row in rows]
            n_lines -= len(rows)
            yield Lines(fields, codes[:, : self._n_attributes], codes[:, self._n_attributes :])
        if n_lines:
            raise stopped()


def _statement(n_fields: int, read: Sequence[tuple[ColumnExpression, int | None]]) -> Sql:
    """Return the statement: fields as text, then cells and steps."""
    aliases = [sql.as_(alias) for reading, _ in read for alias, sql in reading.reads.items()]
    fields = [exp.cast(exp.column(f"f{i}"), "VARCHAR").as_(f"t{i}") for i in range(n_fields)]
    inner = exp.select(*fields, *aliases, copy=False).from_(SOURCE, copy=False)
    codes = [reading.otherwise(-1 if fallback is None else fallback) for reading, fallback in read]
    texts = [exp.column(f"t{i}") for i in range(n_fields)]
    return exp.select(*texts, *codes, copy=False).from_(inner.subquery("lines", copy=False), copy=False)
