"""Types of DuckDB's columns."""

from typing import Any

from gaugedp.tables.engine import Column, Kind, Types

_NULLS = ("sqlnull", "null", '"null"')
KINDS = {
    "timestamp with time zone": Kind.INSTANT,
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"), Kind.INTEGER),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint", "decimal"), Kind.WIDE),
    **dict.fromkeys(("varchar", "enum", *_NULLS), Kind.TEXT),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), Kind.TIMESTAMP),
    **dict.fromkeys(("time", "time_ns"), Kind.TIME),
    "boolean": Kind.BOOLEAN,
    "uuid": Kind.UUID,
    "date": Kind.DATE,
    "double": Kind.REAL,
    "float": Kind.SHORT_REAL,
}
WORDS = {
    "blob": "bytes", "list": "lists", "array": "lists", "struct": "records", "map": "records",
    "union": "values of several types", "interval": "lengths of time",
}  # fmt: skip
_COMMON = {
    frozenset({Kind.INTEGER}): (Kind.INTEGER, "BIGINT"),
    frozenset({Kind.INTEGER, Kind.REAL}): (Kind.MIXED, "DOUBLE"),
}
TYPES = Types(KINDS, WORDS, has_enums=True)


def column_of(name: str, kind: Any) -> Column:
    """Return the column `name` of a type."""
    return TYPES.column(name, kind.id.lower(), str(kind))


def value_at(place: int, kind: Any) -> str:
    """Return the column at a place of a type; floats within TRY.

    The minimum and maximum of Parquet exclude NaN, which DuckDB would assume to be between them; outside of TRY it uses
    this range.
    """
    return f"TRY(#{place + 1})" if kind.id in ("double", "float") else f"#{place + 1}"


def merged(name: str, kinds: list[Any]) -> tuple[Column, str] | None:
    """Return the column that holds values of all types as they are, and its type in SQL; None if there is none.

    Integers may stand among integers and floats, and missing values among all.
    """
    some = {str(kind): kind for kind in kinds if kind.id.lower() not in _NULLS} or {str(kinds[0]): kinds[0]}
    columns = {text: column_of(name, kind) for text, kind in some.items()}
    found = frozenset(column.kind for column in columns.values())
    if len(columns) == 1:
        text, column = columns.popitem()
        return column, text
    if found not in _COMMON:
        return None
    kind, text = _COMMON[found]
    return Column(name, kind, f"{kind.value} ({text})", has_enums=True), text
