"""Choice of the engine that reads a source."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.errors import UnreadableTable
from gaugedp.tables.engine import Engine, in_format


def open_source(
    source: object, needed: Sequence[str], truths: Mapping[str, Mapping[str, str]], text_format: TextFormat = PLAIN
) -> Engine:
    """Return the engine that shows the `needed` columns.

    Only names and types are read. `truths` are the texts for "true" and "false" among the Python objects of a pandas
    column, if they differ. `text_format` describes text files, and numbers and dates in columns of text.
    """
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.postgres import engine as postgres
    from gaugedp.tables.spark import engine as spark

    if postgres.reads(source):
        if text_format.has_own_values:
            raise UnreadableTable(
                "The domain file has decimal, thousands or date_format, which do not apply to PostgreSQL.",
                "Remove them from [file], and give the table's columns suitable types.",
            )
        return postgres.open_source(source, needed)
    if spark.reads(source):
        rows = spark.open_source(source, needed)
        return replace(rows, columns=in_format(rows.columns, text_format))
    return duckdb.open_source(source, needed, truths, text_format)


def file_columns(path: str, text_format: TextFormat = PLAIN) -> list[str]:
    """Return the names of a file's columns, reading nothing else."""
    from gaugedp.tables.duckdb import engine as duckdb
    from gaugedp.tables.files import File

    file = File.find(path, text_format)
    return duckdb.file_names(file) if file.format == "Parquet" else file.header()
