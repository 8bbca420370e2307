"""`gaugedp predict`: predictions for each line of a file."""

import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gaugedp.cli.output import write_beside
from gaugedp.cli.shared import check_files, load
from gaugedp.errors import GaugedpError, InvalidRequest, UnreadableTable

if TYPE_CHECKING:
    from gaugedp.estimators.stored_model import StoredModel
    from gaugedp.tables.lines import FileLines


@click.command()
@click.argument("table")
@click.option("--model", "model_path", required=True, metavar="FILE", help="Model that gaugedp fit --out wrote.")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="Domain file that the fit used.")
@click.option("--scores", "with_scores", is_flag=True, help="Add a column per class, with its probability or score.")
@click.option("--out", metavar="FILE", help="Write the lines with their predictions as CSV, instead of printing them.")
def predict(table: str, model_path: str, domain_path: str, with_scores: bool, out: str | None) -> None:
    """Predict the target of each line of TABLE with a fitted model.

    TABLE is a .csv, .tsv or .parquet file. Nothing is spent. A line with an attribute outside the domain gets no
    prediction, and numbers outside their bounds are clipped. The predictions reveal the lines, so keep them as secret
    as TABLE.
    """
    from gaugedp.estimators.stored_model import load_model
    from gaugedp.tables.lines import FileLines

    domain, _ = load(domain_path)
    check_files({"table": table, "domain file": domain_path, "model": model_path}, out=(out, ".csv"))
    model = load_model(model_path, domain)
    lines = FileLines.open(table, domain, model.design.attributes, model.design.columns)
    if with_scores and not model.classes:
        raise InvalidRequest("The model predicts numbers, so it has no class scores.", "Omit --scores.")
    predictions = _Predictions(model, lines, model.classes if with_scores else ())
    clashes = [name for name in predictions.names if name in lines.names]
    if clashes:
        raise UnreadableTable(
            f"The table already has a column {clashes[0]!r}, the name under which a prediction would be written.",
            "Rename or remove this column.",
        )
    click.echo("Predicting: reading the lines ...", err=True)
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        _guarded(lambda: _write(sys.stdout, predictions))
        _say(predictions)
        return

    def save(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            _write(file, predictions)

    _guarded(lambda: write_beside(Path(out), save))
    _say(predictions)
    click.echo(f"{out} has the lines of {table} and their predictions: it is as private as they are.")


def _guarded(write: Callable[[], None]) -> None:
    try:
        write()
    except BrokenPipeError:  # the reader stopped early
        raise
    except OSError:
        raise GaugedpError(
            "The predictions could not be written.", "Free disk space and repeat the command.", "Nothing was spent."
        ) from None


class _Predictions:
    """Lines with their predictions, and counts of missing values."""

    def __init__(self, model: "StoredModel", lines: "FileLines", classes: Sequence[str]) -> None:
        self.model, self.lines = model, lines
        self.names = [f"predicted_{model.design.target}", *(f"score_{label}" for label in classes)]
        self.n_lines, self.n_predicted = 0, 0
        self.n_missing = dict.fromkeys(model.design.columns, 0)
        self.n_without = dict.fromkeys(model.design.attributes, 0)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.lines.batches():
            predictions = self.model.predict(batch.cells, batch.steps)
            self.n_lines += len(predictions)
            self.n_predicted += sum(prediction is not None for prediction in predictions)
            for counts, read in ((self.n_missing, batch.steps), (self.n_without, batch.cells)):
                for name, count in zip(counts, (read < 0).sum(axis=0).tolist(), strict=True):
                    counts[name] += count
            scores = self._scores(batch.cells, batch.steps)
            for fields, prediction, numbers in zip(batch.fields, predictions, scores, strict=True):
                yield (*fields, prediction, *numbers)

    def _scores(self, cells: np.ndarray, steps: np.ndarray) -> list[list[float | None]]:
        if len(self.names) == 1:
            return [[]] * len(cells)
        lines = self.model.scores(cells, steps).tolist()
        return [[None if math.isnan(score) else score for score in scores] for scores in lines]


def _write(file: Any, predictions: _Predictions) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*predictions.lines.names, *predictions.names])
    writer.writerows(predictions)


def _say(predictions: _Predictions) -> None:
    without = predictions.n_lines - predictions.n_predicted
    if without:
        names = ", ".join(name for name, count in predictions.n_without.items() if count)
        lines = f"{without:,} of {predictions.n_lines:,} lines"
        click.echo(f"{lines} have no prediction: out of domain in {names}.", err=True)
    for name, count in predictions.n_missing.items():
        if count:
            stand_in = f"{predictions.model.stand_in(name):g}"
            click.echo(
                f"{name}: {count:,} of {predictions.n_lines:,} lines have no number and count as {stand_in}.",
                err=True,
            )
