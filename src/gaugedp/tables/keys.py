"""Keys of an attribute and how many people have each.

A key is what a category is compared with: text unchanged, an integer in digits. Other numbers, empty texts, texts of
more than 200 letters or with control characters, and "other" are not keys: they count as "other" later.

A person has each of their keys once, and at most `max_rows` keys, chosen uniformly by a keyed hash of person and key.
The limit holds for every hash, and the choice depends on nobody else.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from gaugedp.domain.attributes import OTHER
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import UnreadableTable
from gaugedp.tables.bounding import PERSON, RANK, in_bucket, over, person_number, row_number
from gaugedp.tables.cells import ColumnExpression, number_of, read_person, text_of
from gaugedp.tables.engine import SPELT, Column, Kind, Sql
from gaugedp.tables.spelling import EXACT
from gaugedp.tables.statement import source
from gaugedp.tables.table import Table

LONGEST_KEY = 200  # characters of a key
_KEY = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{LONGEST_KEY}}}")
_NAME, _READ = "key_text", "x"


@dataclass(frozen=True)
class KeyCounting:
    """Statement that counts the people of each key of `column`. Its result has the columns `key_text` and `n`."""

    unit: PrivacyUnit
    types: Mapping[str, Column]
    column: str
    bucket: tuple[int, int] | None = None

    def statement(self, row_key: bytes) -> Sql:
        """Return the statement, which reads the table `SOURCE`."""
        rows = self._rows() if self.unit.column is None else self._bounded(row_key)
        key: Sql = exp.column(_NAME)
        if self.types[self.column].kind in SPELT:  # as bytes before grouping: a collation may treat texts as equal
            key = exp.Encode(this=key, charset=exp.Literal.string("utf-8"))
        spelt = over(rows, key.as_(_NAME))
        return over(spelt, _NAME, exp.Count(this=exp.Star()).as_("n")).group_by(_NAME, copy=False)

    def _rows(self) -> Sql:
        readings = [_read_key(self.types[self.column])]
        columns: list[Sql] = [readings[0].code.as_(_NAME)]
        if self.unit.column is not None:
            readings.append(read_person(self.types[self.unit.column], PERSON))
            columns.append(exp.column(PERSON))
        rows = over(source(readings), *columns, name="source_columns")
        return rows.where(*(reading.inside for reading in readings), copy=False)

    def _bounded(self, row_key: bytes) -> Sql:
        assert self.unit.column is not None
        kind = self.types[self.unit.column].kind
        rows = self._rows() if self.bucket is None else in_bucket(self._rows(), kind, self.bucket, row_key)
        pairs = over(rows, _NAME, PERSON).distinct(copy=False)
        place = row_number(_hash(kind, row_key), _NAME)
        first = ((exp.column(RANK) - 1) // self.unit.max_rows).eq(0)
        return over(over(pairs, _NAME, place.as_(RANK)), _NAME).where(first, copy=False)


def count_keys(table: Table, name: str, row_key: bytes) -> tuple[list[str], np.ndarray]:
    """Read the rows once; return sorted keys and counts of people."""
    counting = KeyCounting(table.unit, table._engine.columns, table.domain.source(name))
    counts: Counter[str] = Counter()
    for bucket in table._buckets.of_people(table.unit):
        result = table._engine.run(replace(counting, bucket=bucket).statement(row_key))
        counts.update(dict(zip(map(_text, result[_NAME].tolist()), result["n"].tolist(), strict=True)))
    keys = sorted(filter(is_key, counts))
    return keys, np.array([counts[key] for key in keys], dtype=np.int64)


def check_source(table: Table) -> None:
    """Refuse a source whose invalid text would make reading fail."""
    if not table._engine.gives_texts:
        raise UnreadableTable(
            "The database does not specify how its texts are encoded (SQL_ASCII).",
            "Use a database with UTF8, or a file, to release keys.",
        )


def is_key(text: str) -> bool:
    """Return True if a text can be a key."""
    return text != OTHER and _KEY.fullmatch(text) is not None


def _read_key(column: Column) -> ColumnExpression:
    value = exp.column(_READ)
    there = exp.not_(value.is_(exp.null()))
    if column.kind in SPELT:
        short = exp.Length(this=value.copy()) <= LONGEST_KEY
        return ColumnExpression({_READ: text_of(column)}, exp.and_(there, short), value)
    if column.kind is Kind.INTEGER:
        return ColumnExpression({_READ: exp.column(column.name, quoted=True)}, there, value)
    is_small = exp.Abs(this=value.copy()) < exp.Literal.number(f"{float(EXACT)!r}e0")
    is_whole = exp.and_(is_small, value.eq(exp.func("FLOOR", value.copy())))
    integer = exp.TryCast(this=value, to=exp.DataType.build("BIGINT"))
    return ColumnExpression({_READ: number_of(column)}, is_whole, integer)


def _text(value: object) -> str:
    if not isinstance(value, bytes | bytearray):
        return str(value)
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return ""


def _hash(kind: Kind, row_key: bytes) -> Sql:
    person = exp.cast(person_number(kind), "VARCHAR")
    colon = exp.Literal.string(":")
    return exp.func("MD5", exp.func("CONCAT", exp.Literal.string(row_key.hex()), person, colon, exp.column(_NAME)))
