"""Lines of a file or frame in order, for prediction and features; not private."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from gaugedp.domain.domain import Domain
from gaugedp.errors import UnreadableTable
from gaugedp.tables.bounding import over
from gaugedp.tables.cells import ColumnExpression, missing_steps, other_cell, read_attribute, read_steps
from gaugedp.tables.duckdb.engine import DuckDBEngine, open_frame, open_whole
from gaugedp.tables.engine import SOURCE, Column, Sql
from gaugedp.tables.files import File
from gaugedp.tables.frames import library
from gaugedp.tables.refusals import check_names, stopped
from gaugedp.tables.sources import file_columns
from gaugedp.tables.statement import source
from gaugedp.tables.table import check_type, spelt_truths


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
        names = file_columns(path, domain.text_format)
        for name in _sources(domain, attributes, columns):
            check_names(names, [name])
        engines, types = open_whole(File.find(path, domain.text_format), names)
        return cls(names, engines, _statement(len(names), _read(domain, attributes, columns, types)), len(attributes))

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


def frame_lines(
    frame: Any, domain: Domain, attributes: Sequence[str], columns: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return cells (n, attributes) and steps (n, columns) of a frame's rows, in order; −1 if missing.

    A missing number counts as the domain names for it. Each row is read independently of the others.
    """
    if library(frame) is None:
        raise UnreadableTable("The rows are not in a data frame.", "Pass a pandas or polars frame, or an arrow table.")
    needed = list(dict.fromkeys(_sources(domain, attributes, columns)))
    facts = [(domain.source(name), domain.attribute(name)) for name in attributes]
    truths = spelt_truths([*facts, *((name, domain.column(name)) for name in columns)])
    engine = open_frame(frame, needed, truths, domain.text_format)
    read = _read(domain, attributes, columns, engine.columns)
    for place, name in enumerate(columns, len(attributes)):
        read[place] = read[place][0], missing_steps(domain.column(name))
    rows = [row for batch in engine.fetched(_statement(0, read)) for row in batch]
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(read))
    return codes[:, : len(attributes)], codes[:, len(attributes) :]


def _sources(domain: Domain, attributes: Sequence[str], columns: Sequence[str]) -> list[str]:
    return [*map(domain.source, attributes), *(domain.column(name).column or name for name in columns)]


def _read(
    domain: Domain, attributes: Sequence[str], columns: Sequence[str], types: Mapping[str, Column]
) -> list[tuple[ColumnExpression, int | None]]:
    """Return the expression of each code, and the code of other values; refuse unusable types."""
    read = list[tuple[ColumnExpression, int | None]]()
    for name in attributes:
        attribute, source = domain.attribute(name), domain.source(name)
        check_type(replace(types[source], name=source), attribute)
        read.append((read_attribute(attribute, types[source], f"x{len(read)}"), other_cell(attribute)))
    for name in columns:
        bounded = domain.column(name)
        source = bounded.column or name
        check_type(replace(types[source], name=source), bounded)
        read.append((read_steps(bounded, types[source], f"x{len(read)}"), None))
    return read


def _statement(n_fields: int, read: Sequence[tuple[ColumnExpression, int | None]]) -> Sql:
    """Return the statement: fields as text, then cells and steps."""
    fields = {f"t{i}": exp.cast(exp.column(f"f{i}"), "VARCHAR") for i in range(n_fields)}
    rows = source([ColumnExpression(fields, exp.true(), exp.null()), *(reading for reading, _ in read)])
    codes = [reading.otherwise(-1 if fallback is None else fallback) for reading, fallback in read]
    return over(rows, *map(exp.column, fields), *codes)
