"""Interface of an engine: columns and integer results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.tables.files import File

Sql: TypeAlias = Any  # a sqlglot expression; the names of its base classes differ between versions
Of: TypeAlias = Callable[[Mapping[str, np.ndarray]], np.ndarray]  # from int64 columns of some rows to a sum, int64
T = TypeVar("T")
SOURCE = "gaugedp_source"  # name under which a statement reads the rows


class Kind(Enum):
    """Kind of a column: its possible uses, on any engine."""

    INTEGER = "integers"  # signed 64-bit
    REAL = "numbers"
    MIXED = "integers and numbers"  # in several files: 64-bit floats, never persons
    WIDE = "wide numbers"  # beyond 64 bits, and decimals: 64-bit floats, but text if they identify a person
    SHORT_REAL = "short numbers"  # 32-bit floats: 0.7 is the number that prints as 0.7
    TEXT = "text"
    BOOLEAN = "true or false"  # compared with two categories, as `spelling.truths` says
    UUID = "UUIDs"  # like the dates and times below: compared by their text, never used as numbers
    DATE = "dates"
    TIME = "times of day"
    TIMESTAMP = "points in time"
    INSTANT = "points in time with a time zone"  # read as dates, by a text with their offset
    READ = "cells"  # cells of an attribute, NULL for none
    UNUSABLE = "values"


SPELT = frozenset({Kind.TEXT, Kind.BOOLEAN, Kind.UUID, Kind.DATE, Kind.TIME, Kind.TIMESTAMP})  # compared by their text
NUMBERS = frozenset({Kind.INTEGER, Kind.REAL, Kind.MIXED, Kind.WIDE, Kind.SHORT_REAL})


@dataclass(frozen=True)
class Column:
    """Column of an engine: its kind, and its type in words.

    `has_enums` means that texts can be enums; if `has_marks`, texts may be `spelling.MARKS`, which mean true and false.
    Numbers and dates in text are written as in `text_format`. If only some values were text, `written` is the column of
    truth values that marks them; the others have the default form.
    """

    name: str
    kind: Kind
    type_name: str
    has_enums: bool = False
    has_marks: bool = False
    text_format: TextFormat = PLAIN
    written: str = ""


@dataclass(frozen=True)
class Types:
    """Types of an engine by name: kinds, and plain words."""

    kinds: Mapping[str, Kind]
    words: Mapping[str, str]
    has_enums: bool = False

    def column(self, name: str, family: str, type_name: str) -> Column:
        """Return the column `name` with a type of a `family`."""
        kind = self.kinds.get(family, Kind.UNUSABLE)
        return Column(name, kind, f"{self.words.get(family, kind.value)} ({type_name})", self.has_enums)


class Engine(ABC):
    """Source of rows on an engine.

    description : what the rows come from, such as "a Parquet file"; never a row
    rules : what happens to rows that cannot be read, in sentences that do not depend on the rows
    columns : the needed columns by name, found without reading a row
    sql_products : number of columns up to which sums of products are faster as one statement than by `add_up`
    in_process : whether the rows are read in this process, so that moving them costs nothing
    """

    description: str
    rules: tuple[str, ...]
    columns: Mapping[str, Column]
    sql_products: int
    in_process: bool = False
    text_file: File | None = None  # file whose lines are the rows
    gives_texts: bool = True  # whether any text can be returned, whatever its bytes

    @abstractmethod
    def _run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        """Run a statement."""

    @abstractmethod
    def _added(self, statement: Sql, of: Of) -> np.ndarray:
        """Add up over a statement's rows."""

    @abstractmethod
    def _finished(self, work: Callable[[], T]) -> T:
        """Return `work()`; replace the engine's errors by UnreadableTable."""

    def run(self, statement: Sql) -> Mapping[str, np.ndarray]:
        """Run one statement that reads the table `SOURCE`.

        It returns int64 columns without NULL, or texts as bytes. If the engine fails, it raises UnreadableTable without
        the engine's message.
        """
        return self._finished(lambda: self._run(statement))

    def add_up(self, statement: Sql, of: Of) -> np.ndarray:
        """Run one such statement, and return Σ of(batch), flat int64.

        `of` returns integers that are sums over the rows, of the same shape for each batch, so that the total does not
        depend on the batches; it may run on another machine. Without rows there is no batch, and the total is empty, or
        0. Raises as `run`.
        """
        return self._finished(lambda: self._added(statement, of))

    def of_bucket(self, bucket: tuple[int, int] | None, row_key: bytes) -> "Engine":  # noqa: ARG002
        """Return the engine for a bucket of people, if aggregating."""
        return self

    @property
    def below(self) -> "Engine":
        """Engine of the rows that these rows are aggregated from, or itself."""
        return self

    def limited(self, memory_bytes: int) -> "Engine":  # noqa: ARG002
        """Return the engine with a memory limit, if possible."""
        return self


def in_format(columns: Mapping[str, Column], text_format: TextFormat) -> dict[str, Column]:
    """Return the columns with the form of their numbers and dates in text."""
    return {name: replace(column, text_format=text_format) for name, column in columns.items()}


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def added_up(batches: Iterable[Mapping[str, np.ndarray]], of: Of) -> np.ndarray:
    """Return Σ of(batch), flat int64; empty, or 0, without batches."""
    total: np.ndarray = np.zeros(0, dtype=np.int64)
    for batch in batches:
        part = of(batch).ravel()
        total = total + part if len(total) else part
    return np.asarray(total)


def bottom_up(node: Sql, replaced: Callable[[Sql], Sql]) -> Sql:
    """Replace every node of an expression, children first, once."""
    for child in list(node.iter_expressions()):
        replacement = bottom_up(child, replaced)
        if replacement is not child:
            child.replace(replacement)
    return replaced(node)
