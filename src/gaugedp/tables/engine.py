"""The interface of an engine to a table: the types of its columns, and the integers of one statement."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gaugedp.tables.files import File

Sql: TypeAlias = Any  # a sqlglot expression; the names of its base classes differ between versions
Of: TypeAlias = Callable[[Mapping[str, np.ndarray]], np.ndarray]  # int64 columns of some rows to a sum over them, int64
T = TypeVar("T")
SOURCE = "gaugedp_source"  # the name under which a statement reads the rows


class Kind(Enum):
    """The kind of a column: its possible uses, whichever engine holds it."""

    INTEGER = "whole numbers"  # that fit 64 bits with a sign
    REAL = "numbers"
    WIDE = "wide numbers"  # beyond 64 bits, and decimals: 64-bit floats, but text where they name a person
    SHORT_REAL = "short numbers"  # 32-bit floats: 0.7 is the number that prints as 0.7
    TEXT = "text"
    BOOLEAN = "true or false"  # compared with two categories, as `spelling.truths` says
    UUID = "UUIDs"  # as the dates and times below: compared by their text, never used as numbers
    DATE = "dates"
    TIME = "times of day"
    TIMESTAMP = "points in time"
    INSTANT = "points in time with a time zone"  # read as dates, by a text that ends in their offset
    READ = "cells"  # of an attribute, NULL for none
    UNUSABLE = "values"


SPELT = frozenset({Kind.TEXT, Kind.BOOLEAN, Kind.UUID, Kind.DATE, Kind.TIME, Kind.TIMESTAMP})  # compared by their text
NUMBERS = frozenset({Kind.INTEGER, Kind.REAL, Kind.WIDE, Kind.SHORT_REAL})


@dataclass(frozen=True)
class Column:
    """A column as the engine describes it: its kind, its type in the engine's words, and whether texts can be enums.

    Where `has_marks`, its texts may be `spelling.MARKS`, which stand for true and false.
    """

    name: str
    kind: Kind
    type_name: str
    has_enums: bool = False
    has_marks: bool = False


@dataclass(frozen=True)
class Types:
    """The types of an engine, by its own names for them: what can be done with a column, and plain words."""

    kinds: Mapping[str, Kind]
    words: Mapping[str, str]
    has_enums: bool = False

    def column(self, name: str, family: str, type_name: str) -> Column:
        """Return the column `name`, whose type is one of a `family`, and `type_name` in full."""
        kind = self.kinds.get(family, Kind.UNUSABLE)
        return Column(name, kind, f"{self.words.get(family, kind.value)} ({type_name})", self.has_enums)


class Engine(ABC):
    """A source of rows on an engine.

    `description`: what the rows come from, such as "a Parquet file"; never a row. `rules`: what happens to rows that
    cannot be read, in sentences that are the same whatever the rows are. `columns`: the needed ones by name, found
    without looking at a row. `sql_products`: up to how many columns sums of products are faster as one statement than
    by `add_up`. `in_process`: whether the rows are read in this process, so that moving them costs nothing.
    """

    description: str
    rules: tuple[str, ...]
    columns: Mapping[str, Column]
    sql_products: int
    in_process: bool = False
    text_file: File | None = None  # that the rows are the lines of
    gives_texts: bool = True  # whether texts can come back, whatever bytes they are

    @abstractmethod
    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        """Run a statement; errors are the engine's own."""

    @abstractmethod
    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        """Add up over the rows of a statement; errors are the engine's own."""

    @abstractmethod
    def _finished(self, work: Callable[[], T]) -> T:
        """Return what `work` gives, or raise UnreadableTable in place of the engine's own errors."""

    def run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        """Run one statement that reads the table `SOURCE` and gives int64 columns without NULL, or texts as bytes.

        Raises UnreadableTable, with nothing of the engine's own message, when the engine fails.
        """
        return self._finished(lambda: self._run(statement))

    def add_up(self, statement: Sql, of: Of) -> np.ndarray:
        """Run one statement, of the same kind, and return Σ of(batch), flat int64, over batches of its rows.

        `of` gives whole numbers that are sums over the rows, of the same shape for each batch, so that the total does
        not depend on the batches; it may run on another machine. Without any row there is no batch: the total is then
        empty, or 0. Raises as `run`.
        """
        return self._finished(lambda: self._added(statement, of))

    def of_bucket(self, bucket: tuple[int, int] | None, row_key: bytes) -> "Engine":  # noqa: ARG002
        """Return the engine for statements about the people of a bucket, where rows are made of theirs; else itself."""
        return self

    @property
    def below(self) -> "Engine":
        """The engine over the rows that these rows are made of: itself where they are as they were."""
        return self

    def limited(self, memory_bytes: int) -> "Engine":  # noqa: ARG002
        """Return the engine such that it takes at most about so much memory; itself where its settings are not ours."""
        return self


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def added_up(batches: Iterable[Mapping[str, np.ndarray]], of: Of) -> np.ndarray:
    """Return Σ of(batch), flat int64; empty, or 0, where there is no batch."""
    total: np.ndarray = np.zeros(0, dtype=np.int64)
    for batch in batches:
        part = of(batch).ravel()
        total = total + part if len(total) else part
    return np.asarray(total)


def bottom_up(node: Sql, replaced: Callable[[Sql], Sql]) -> Sql:
    """Return the expression with every node replaced, children first: no replacement is looked at again."""
    for child in list(node.iter_expressions()):
        replacement = bottom_up(child, replaced)
        if replacement is not child:
            child.replace(replacement)
    return replaced(node)
