"""Which engine reads a source."""

from collections.abc import Sequence

from gaugedp.tables.engine import Engine


def open_source(source: object, needed: Sequence[str]) -> Engine:
    """Return the engine over `source` that shows the `needed` columns; only names and types are looked at."""
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.postgres import engine as postgres
    from gaugedp.tables.spark import engine as spark

    if postgres.reads(source):
        return postgres.open_source(source, needed)
    return spark.open_source(source, needed) if spark.reads(source) else duckdb.open_source(source, needed)


def file_columns(path: str) -> list[str]:
    """Return the names of a file's columns, and look at nothing else."""
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.files import File

    file = File.find(path)
    return list(duckdb.file_types(file)) if file.format == "Parquet" else file.header()
