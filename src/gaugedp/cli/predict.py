"""`gaugedp predict`: what a model says of each line of a file."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gaugedp.cli.shared import check_apart, check_writable, load
from gaugedp.cli.write import write_beside
from gaugedp.errors import UnreadableTable

if TYPE_CHECKING:
    from gaugedp.estimators.table_model import TableModel
    from gaugedp.tables.lines import FileLines


@click.command()
@click.argument("table")
@click.option("--model", "model_path", required=True, metavar="FILE", help="What `gaugedp fit --out` wrote.")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="What is public, as for the fit.")
@click.option("--out", metavar="FILE", help="Write the lines, each with its prediction, as CSV; else print them.")
def predict(table: str, model_path: str, domain_path: str, out: str | None) -> None:
    """Predict for each line of TABLE (a .csv, .tsv or .parquet file). It needs no ledger: nothing is spent.

    A line without a cell in one of the model's attributes gets no prediction. What is written is as private as TABLE.
    """
    from gaugedp.estimators.table_model import TableModel
    from gaugedp.tables.lines import FileLines

    domain, _ = load(domain_path)
    check_apart({"table": table, "domain file": domain_path, "model": model_path}, {"out": out})
    check_writable(out)
    model = TableModel.load(model_path, domain)
    lines = FileLines.open(table, domain, model.design.attributes, model.design.columns)
    name = f"predicted_{model.design.target}"
    if name in lines.names:
        raise UnreadableTable(f"The table has a column {name!r}.", "Rename it, or leave it out.")
    click.echo("Predicting: reading the lines ...", err=True)
    if out is None:
        _write(sys.stdout, name, model, lines)
        return

    def save(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            _write(file, name, model, lines)

    write_beside(Path(out), save)
    click.echo(f"{out} has the lines of {table} and their predictions: it is as private as they are.")


def _write(file: Any, name: str, model: "TableModel", lines: "FileLines") -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*lines.names, name])
    writer.writerows(_predicted(model, lines))


def _predicted(model: "TableModel", lines: "FileLines") -> Iterator[tuple[Any, ...]]:
    for batch in lines.batches():
        for fields, one in zip(batch.fields, model.predict(batch.cells, batch.steps), strict=True):
            yield (*fields, one)
