"""The types of columns in DuckDB: what can be done with them, and their names in plain words."""

from gaugedp.tables.engine import Kind, Types

KINDS = {
    "timestamp with time zone": Kind.INSTANT,
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"), Kind.INTEGER),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint", "decimal"), Kind.WIDE),
    **dict.fromkeys(("varchar", "enum", "uuid", "sqlnull", "null", '"null"'), Kind.TEXT),
    **dict.fromkeys(
        ("boolean", "date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), Kind.LABEL
    ),
    "double": Kind.REAL,
    "float": Kind.SHORT_REAL,
}
WORDS = {
    "boolean": "true or false", "date": "dates", "time": "times of day", "timestamp": "points in time",
    "timestamp_s": "points in time", "timestamp_ms": "points in time", "timestamp_ns": "points in time",
    "timestamp with time zone": "points in time with a time zone", "blob": "bytes", "list": "lists", "array": "lists",
    "struct": "records", "map": "records", "union": "values of several types", "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS, has_enums=True)
