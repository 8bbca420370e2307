"""The types of columns in Spark: what can be done with them, and their names in plain words."""

from gaugedp.tables.engine import Kind, Types

KINDS = {
    "timestamp": Kind.INSTANT,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("string", "char", "varchar", "void"), Kind.TEXT),
    **dict.fromkeys(("boolean", "date", "time", "timestamp_ntz"), Kind.LABEL),
    "decimal": Kind.WIDE,
    "double": Kind.REAL,
    "float": Kind.SHORT_REAL,
}
WORDS = {
    "boolean": "true or false", "date": "dates", "time": "times of day", "timestamp_ntz": "points in time",
    "binary": "bytes", "timestamp": "points in time with a time zone", "array": "lists", "struct": "records",
    "map": "records", "interval": "lengths of time",
}  # fmt: skip
TYPES = Types(KINDS, WORDS)
