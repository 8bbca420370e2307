"""Choice of the engine that reads a source."""

from collections.abc import Mapping, Sequence

from gaugedp.tables.engine import Engine


def open_source(source: object, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]]) -> Engine:
    """Return the engine that shows the `needed` columns.

    Only names and types are read. `truths` are the texts for "true" and "false" among the Python objects of a pandas
    column, if they differ.
    """
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.postgres import engine as postgres
    from gaugedp.tables.spark import engine as spark

    if postgres.reads(source):
        return postgres.open_source(source, needed)
    return spark.open_source(source, needed) if spark.reads(source) else duckdb.open_source(source, needed, truths)


def file_columns(path: str) -> list[str]:
    """Return the names of a file's columns, reading nothing else."""
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.files import File

    file = File.find(path)
    return [name for name, _ in duckdb.file_types(file)] if file.format == "Parquet" else file.header()
