"""The types of columns in PostgreSQL: what can be done with them, and their names in plain words."""

from gaugedp.tables.engine import Kind, Types

KINDS = {
    "timestamptz": Kind.INSTANT,
    **dict.fromkeys(("int2", "int4", "int8"), Kind.INTEGER),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "uuid"), Kind.TEXT),
    **dict.fromkeys(("bool", "date", "time", "timestamp"), Kind.LABEL),
    "numeric": Kind.WIDE,
    "float8": Kind.REAL,
    "float4": Kind.SHORT_REAL,
}
WORDS = {
    "bool": "true or false", "date": "dates", "time": "times of day", "timestamp": "points in time",
    "timestamptz": "points in time with a time zone", "bytea": "bytes", "json": "records", "jsonb": "records",
    "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS)
