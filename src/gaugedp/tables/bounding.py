"""Contribution bounding: at most `max_rows` rows per person.

They are chosen by a keyed hash. The rows of a person are numbered in the order of their contents (equal rows are
interchangeable), the numbers are ordered by a keyed hash of (person, number), and the first `max_rows` remain. So under
a random key every subset of that size is equally likely, whatever the contents, and nothing depends on the order of the
file or on threads.

For every key and every hash, at most `max_rows` rows remain, and they depend on no other person; only the uniformity of
the choice depends on the hash. It is a polynomial over a prime field, composed of a linear function of (person, number)
and two cubes: integer arithmetic below 2^63, equal on every engine.
"""

import hashlib
from dataclasses import dataclass

from sqlglot import exp

from gaugedp.tables.engine import Kind, Sql

PRIME = 2**30 - 35  # PRIME − 1 is not a multiple of 3, so cubing is a permutation
PERSON, POSITION, HASH, RANK = "person", "person_row", "person_hash", "person_rank"


@dataclass(frozen=True)
class Field:
    """Column of integers below `size`, or NULL if `may_miss`."""

    name: str
    size: int
    may_miss: bool = False

    @property
    def n_digits(self) -> int:
        """Number of different contents, including NULL if possible."""
        return self.size + self.may_miss

    def digit(self) -> Sql:
        """Return the content below n_digits; NULL is 0."""
        content = exp.cast(exp.column(self.name), "BIGINT")
        return exp.func("COALESCE", content + 1, exp.convert(0)) if self.may_miss else content

    def content(self, digit: Sql) -> Sql:
        """Return the content of `digit`."""
        return (exp.func("NULLIF", digit, exp.convert(0)) - 1 if self.may_miss else digit).as_(self.name)


def keep_some(rows: Sql, fields: list[Field], kind: Kind, limit: tuple[int, bytes]) -> Sql:
    """Return at most max_rows rows per person; `limit` is (max_rows, key)."""
    max_rows, row_key = limit
    words = pack(fields)
    packed = over(rows, *(_packed(word).as_(f"w{i}") for i, word in enumerate(words)), PERSON)
    names = [f"w{i}" for i in range(len(words))]
    numbered = over(packed, *names, PERSON, row_number(*names).as_(POSITION))
    hashed = _hashed(numbered, names, kind, _constants(row_key))
    ranked = over(hashed, *names, row_number(HASH, POSITION).as_(RANK))
    # DuckDB turns "rank <= max_rows" into a heap per person, twice as slow as the sort, but not this form
    first = ((exp.column(RANK) - 1) // max_rows).eq(0)
    parts = [part for i, word in enumerate(words) for part in _unpacked(f"w{i}", word)]
    return over(ranked, *parts or names).where(first, copy=False)


def in_bucket(rows: Sql, kind: Kind, bucket: tuple[int, int], row_key: bytes) -> Sql:
    """Return the rows of a bucket of people, (count, index)."""
    count, index = bucket
    slopes = _constants(row_key + b"bucket")[:2]
    low, high = (digit * slope for digit, slope in zip(_digits(person_number(kind)), slopes, strict=True))
    return rows.where(((low + high) % PRIME % count).eq(index), copy=False)  # each product is below 2^61


def pack(fields: list[Field]) -> list[list[Field]]:
    """Group fields so that each group fits 62 bits."""
    words: list[list[Field]] = [[]]
    size = 1
    for item in fields:
        size *= item.n_digits
        if size > 2**62:
            words.append([])
            size = item.n_digits
        words[-1].append(item)
    return words


def _packed(word: list[Field]) -> Sql:
    total: Sql = exp.convert(0)
    size = 1
    for item in word:
        total = item.digit() if size == 1 else total * item.n_digits + item.digit()
        size *= item.n_digits
    return exp.cast(total, "INT" if size < 2**31 else "BIGINT")


def _unpacked(name: str, word: list[Field]) -> list[Sql]:
    parts, stride = [], 1
    for item in reversed(word):
        shifted = exp.column(name) if stride == 1 else exp.column(name) // stride
        parts.append(item.content(shifted % item.n_digits))
        stride *= item.n_digits
    return parts


def over(rows: Sql, *columns: str | Sql, name: str = "rows") -> Sql:
    """Select columns from the statement `rows`, without copying it."""
    return exp.select(*columns, copy=False).from_(within(rows, name), copy=False)


def within(rows: Sql, name: str) -> Sql:
    """Return the statement `rows` itself as a subquery."""
    return rows.subquery(name, copy=False)


def row_number(*order: str | Sql) -> Sql:
    """Return the row number within a person."""
    keys = [exp.column(key) if isinstance(key, str) else key for key in order]
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[exp.column(PERSON)],
        order=exp.Order(expressions=[exp.Ordered(this=key) for key in keys]),
    )


def _constants(row_key: bytes) -> list[int]:
    """Return five numbers 1 … PRIME − 1 from the key."""
    digests = (hashlib.sha256(row_key + bytes([i])).digest() for i in range(5))
    return [1 + int.from_bytes(digest[:16], "big") % (PRIME - 1) for digest in digests]


def _hashed(rows: Sql, names: list[str], kind: Kind, constants: list[int]) -> Sql:
    carried = [*names, PERSON, POSITION]
    start = _line(person_number(kind), constants[:3])
    rows = over(rows, *carried, start.as_(HASH))
    for shift in constants[3:]:  # one subquery per cube: a single expression would be 9 times as long
        value = exp.cast(exp.column(HASH), "BIGINT") + shift
        cube = (value * value % PRIME) * value % PRIME
        rows = over(rows, *carried, exp.cast(cube, "INT").as_(HASH))
    return rows


def _line(person: Sql, slopes: list[int]) -> Sql:
    digits = (*_digits(person), exp.column(POSITION) % PRIME)
    low, high, position = (digit * slope % PRIME for digit, slope in zip(digits, slopes, strict=True))
    return (low + high + position) % PRIME


def _digits(person: Sql) -> tuple[Sql, Sql]:
    return person % PRIME + PRIME, (person // PRIME) % PRIME + PRIME


def person_number(kind: Kind) -> Sql:
    """Return an integer for a hash; it need not be unique."""
    person = exp.column(PERSON)
    match kind:
        case Kind.INTEGER:
            return exp.cast(person, "BIGINT")
        case Kind.REAL | Kind.SHORT_REAL:
            whole = exp.TryCast(this=exp.func("FLOOR", person), to=exp.DataType.build("BIGINT"))
            return exp.func("COALESCE", whole, exp.convert(0))
    digits = exp.func("SUBSTRING", exp.func("MD5", person), exp.convert(1), exp.convert(15))
    return exp.cast(exp.func("CONCAT", exp.Literal.string("0x"), digits), "BIGINT")
