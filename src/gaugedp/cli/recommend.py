"""`gaugedp recommend`: the items that one user would rate highest."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.cli.output import save
from gaugedp.cli.shared import check_files, load, show_table
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest

if TYPE_CHECKING:
    from gaugedp.estimators.stored_model import StoredModel


@click.command()
@click.argument("own")
@click.option("--model", "model_path", required=True, metavar="FILE", help="Model from gaugedp fit --model ratings.")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="Domain file that the fit used.")
@click.option("-n", "--count", default=10, metavar="NUMBER", help="Number of items. [default: 10]")
@click.option("--out", metavar="FILE", help="Write the items and predicted ratings as CSV, instead of printing them.")
def recommend(own: str, model_path: str, domain_path: str, count: int, out: str | None) -> None:
    """Recommend items to one user, from a fitted model of ratings.

    OWN is a .csv, .tsv or .parquet file of the user's own ratings. Items that the user has rated are left out. Nothing
    is spent. Show the output to that user only, because it reveals their ratings.
    """
    from gaugedp.estimators.stored_model import load_model

    whole(minimum=1, count=count)
    domain, _ = load(domain_path)
    check_files({"own ratings": own, "domain file": domain_path, "model": model_path}, out=(out, ".csv"))
    model = load_model(model_path, domain)
    best = model.recommend(*_ratings(own, domain, model), count)
    if out is None:
        rows = [{"item": item, "rating": rating} for item, rating in best]
        show_table(rows, f"{model.design.target}: the items that this user would rate highest, for this user only")
        return

    def written(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([("item", f"predicted_{model.design.target}"), *best])

    save(out, written)
    click.echo(f"{out} has {len(best):,} items, for this user only.")


def _ratings(path: str, domain: Domain, model: "StoredModel") -> tuple[np.ndarray, np.ndarray]:
    """Return cells (k, 2) and steps (k,) of one user's ratings.

    Ratings of several users are refused, because they would see one another's.
    """
    from gaugedp.tables.lines import FileLines

    lines = FileLines.open(path, domain, model.design.attributes, (model.design.target,))
    place = lines.names.index(domain.source(model.design.attributes[0]))
    batches = list(lines.batches())
    users = {(fields[place] or "").strip() for batch in batches for fields in batch.fields}
    if "" in users:
        raise InvalidRequest(
            "At least one line of the file does not name a user, so its rating may belong to somebody else.",
            "Name the user in every line.",
            "",
        )
    if len(users) > 1:
        raise InvalidRequest(
            "The file contains ratings of several users, but recommendations reveal the ratings that they use.",
            "Pass one file per user.",
            "",
        )
    cells = [batch.cells for batch in batches] or [np.empty((0, 2), dtype=int)]
    steps = [batch.steps[:, 0] for batch in batches] or [np.empty(0, dtype=int)]
    return np.concatenate(cells), np.concatenate(steps)
