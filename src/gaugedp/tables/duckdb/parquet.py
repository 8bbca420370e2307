"""Rows of a Parquet file, or of the files of a folder and its partitions.

A folder's files are read in groups of one schema, as the engine would read all with the types of the first file. The
values of partitions come from the folders' names below the given folder, and never from those above it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gaugedp.errors import UnreadableTable
from gaugedp.tables.duckdb.types import merged, value_at
from gaugedp.tables.engine import Column, Kind
from gaugedp.tables.files import File

if TYPE_CHECKING:
    import duckdb

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """Files with one schema: their paths, and the names and types of their columns."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    types: tuple[Any, ...]


@dataclass(frozen=True)
class ParquetRows:
    """Parts of a file or folder. A place is that of a column of the first part, or behind them of a partition."""

    file: File
    partitions: tuple[str, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, file: File, connection: "duckdb.DuckDBPyConnection") -> "ParquetRows":
        """Read the schemas; the connection gets no table."""
        paths = file.paths
        partitions = _partitions(file.path, paths) if file.path.is_dir() else ()
        fields = "file_name, name, num_children, type, converted_type, logical_type"
        files = dict[str, list[tuple[Any, ...]]]()
        for of, *facts in connection.execute(f"SELECT {fields} FROM parquet_schema({_list(paths)})").fetchall():
            files.setdefault(of, []).append(tuple(facts))
        groups = dict[tuple[tuple[Any, ...], ...], list[str]]()
        for path, listed in files.items():
            groups.setdefault(tuple(listed[1:]), []).append(path)
        parts = []
        for schema, alike in groups.items():
            types = connection.sql(f"SELECT * FROM read_parquet({_list(alike[:1])}, hive_partitioning = false)").types
            parts.append(Part(tuple(alike), tuple(_names(schema)), tuple(types)))
        if twice := [name for name in partitions if any(name in part.names for part in parts)]:
            raise UnreadableTable(
                f"{twice[0]!r} is both a partition of {str(file.path)!r} and a column of its files.",
                "Rename the folders of the partition, or remove the column.",
            )
        return cls(file, partitions, tuple(parts))

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns, with duplicates; those of partitions are last."""
        return [*self.parts[0].names, *self.partitions]

    def column(self, place: int) -> Column:
        """Return the column at a place, or refuse files that differ in it."""
        return self._column(place)[0]

    def select(self, names: Mapping[int, str]) -> str:
        """Return a statement of the columns at places under SQL names."""
        rows = []
        for part in self.parts:
            columns = [f"{self._value(part, place)} AS {name}" for place, name in names.items()]
            free = "f" * (1 + max(map(len, part.names), default=0))  # longer than the name of any column
            more = f", filename = {_text(free)}" if self.partitions else ""
            source = f"read_parquet({_list(part.paths)}, hive_partitioning = false{more})"
            rows.append(f"SELECT {', '.join(columns) or '1 AS one'} FROM {source}")
        return " UNION ALL ".join(rows)

    def _column(self, place: int) -> tuple[Column, str]:
        name = self.names[place]
        if place >= len(self.parts[0].names):
            return Column(name, Kind.TEXT, "text", has_enums=True), "VARCHAR"
        if all(part.names.count(name) == 1 for part in self.parts[1:]):
            found = merged(name, [part.types[self._place(part, place)] for part in self.parts])
            if found is not None:
                return replace(found[0], text_format=self.file.text_format), found[1]
        raise UnreadableTable(
            f"The Parquet files of {str(self.file.path)!r} have different columns or types: {name!r} differs.",
            "Write this column with one type in all files; only integers and floats, and empty columns, may be mixed.",
        )

    def _place(self, part: Part, place: int) -> int:
        return place if part is self.parts[0] else part.names.index(self.names[place])

    def _value(self, part: Part, place: int) -> str:
        """Return a column by position, case-sensitively."""
        if place >= len(self.parts[0].names):
            return self._partition(part, self.names[place])
        at, (_, common) = self._place(part, place), self._column(place)
        value = value_at(at, part.types[at])
        return value if str(part.types[at]) == common else f"CAST({value} AS {common})"

    def _partition(self, part: Part, name: str) -> str:
        """Return the value of a partition, from the part of the path below the folder."""
        below = f"SUBSTR(#{len(part.names) + 1}, {len(str(self.file.path)) + 1})"
        separator = re.escape(os.sep)
        pattern = f"(^|{separator}){re.escape(name)}=([^{separator}]*){separator}"
        value = f"REGEXP_EXTRACT({below}, {_text(pattern)}, 2)"
        if any("%" in path for path in part.paths):
            value = f"COALESCE(TRY(URL_DECODE({value})), {value})"
        return f"NULLIF({value}, {_text(_NO_VALUE)})"


def _partitions(folder: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the names before = in the folders below, which all files must have once."""
    folders = [path.relative_to(folder).parts[:-1] for path in paths]
    names = [sorted(part.partition("=")[0] for part in parts if part.find("=") > 0) for parts in folders]
    if any(each != names[0] or len({*each}) < len(each) for each in names):
        raise UnreadableTable(
            f"Some files of {str(folder)!r} lie outside the folders of its partitions, or in folders with other "
            "partitions.",
            "Move the other files, or pass a folder in which all do.",
        )
    return tuple(names[0])


def _names(schema: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return the names of the columns, without nested parts."""
    names, inner = list[str](), 0
    for name, n_children, *_ in schema:
        if not inner:
            names.append(name)
        inner = max(0, inner - 1) + (n_children or 0)
    return names


def _list(paths: Sequence[object]) -> str:
    return f"[{', '.join(map(path_text, paths))}]"


def path_text(path: object) -> str:
    """Return a path as an SQL text without patterns."""
    return _text(re.sub(r"[\[*?]", r"[\g<0>]", str(path)))


def _text(text: str) -> str:
    return exp.Literal.string(text).sql("duckdb")
