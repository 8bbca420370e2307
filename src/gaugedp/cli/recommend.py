"""`gaugedp recommend`: the items that one user would rate highest, by a model of ratings and the user's own ratings."""

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
@click.option("--model", "model_path", required=True, metavar="FILE", help="What `gaugedp fit --model ratings` wrote.")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="What is public, as for the fit.")
@click.option("-n", "--count", default=10, metavar="NUMBER", help="How many items; 10 where nothing is given.")
@click.option("--out", metavar="FILE", help="Write the items and their predicted ratings as CSV; else print them.")
def recommend(own: str, model_path: str, domain_path: str, count: int, out: str | None) -> None:
    """Recommend items to the user whose ratings are in OWN (a .csv, .tsv or .parquet file). Nothing is spent.

    Items that the user has rated are left out. What is printed is for that user alone: it tells of their ratings.
    """
    from gaugedp.estimators.stored_model import load_model

    whole(minimum=1, count=count)
    domain, _ = load(domain_path)
    check_files({"own ratings": own, "domain file": domain_path, "model": model_path}, out=(out, ".csv"))
    model = load_model(model_path, domain)
    best = model.recommend(*_ratings(own, domain, model), count)
    if out is None:
        rows = [{"item": item, "rating": rating} for item, rating in best]
        show_table(rows, f"{model.design.target}: what this user would rate highest, for this user's eyes only")
        return

    def written(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([("item", f"predicted_{model.design.target}"), *best])

    save(out, written)
    click.echo(f"{out} has {len(best):,} items: for this user's eyes only.")


def _ratings(path: str, domain: Domain, model: "StoredModel") -> tuple[np.ndarray, np.ndarray]:
    """Return cells (k, 2) and steps (k,) of one user's ratings; refuse those of several, who would see one another."""
    from gaugedp.tables.lines import FileLines

    lines = FileLines.open(path, domain, model.design.attributes, (model.design.target,))
    place = lines.names.index(domain.source(model.design.attributes[0]))
    batches = list(lines.batches())
    users = {(fields[place] or "").strip() for batch in batches for fields in batch.fields}
    if "" in users:
        raise InvalidRequest("A line has no user.", "Name the user in each line: it could be of somebody else.", "")
    if len(users) > 1:
        raise InvalidRequest(
            "The ratings are of several users.", "Give a file for each: what is recommended tells of their ratings.", ""
        )
    cells = [batch.cells for batch in batches] or [np.empty((0, 2), dtype=int)]
    steps = [batch.steps[:, 0] for batch in batches] or [np.empty(0, dtype=int)]
    return np.concatenate(cells), np.concatenate(steps)
