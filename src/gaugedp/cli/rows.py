"""`gaugedp rows`: synthetic rows from stored releases, at no cost."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np

from gaugedp._internal.numbers import answers
from gaugedp.cli.output import save
from gaugedp.cli.shared import SHOWN, check_files, show_table, whole_number
from gaugedp.entropy import research_rng
from gaugedp.ledger import Ledger
from gaugedp.releases.answer import Release
from gaugedp.synthesis.rows import SyntheticRows, draw_rows

_SAVED: dict[str, Callable[[SyntheticRows, Path], None]] = {
    ".csv": SyntheticRows.save_csv,
    ".parquet": SyntheticRows.save_parquet,
}


@click.command()
@click.argument("path", metavar="LEDGER")
@click.option("--key", "keys", metavar="TEXT", required=True, multiple=True, help="Key of a release. May be repeated.")
@click.option("--out", required=True, metavar="FILE", help="Write the rows to this .csv or .parquet file.")
@click.option("--rows", "n_rows", metavar="N", help="Number of rows. [default: as the releases estimate]")
@click.option("--seed", metavar="N", help="Seed of the random numbers, for reproducible rows.")
@click.option("--beside", metavar="FILE", help="Write released and synthetic counts next to each other, as CSV.")
def rows(path: str, keys: Sequence[str], out: str, n_rows: str | None, seed: str | None, beside: str | None) -> None:
    """Write synthetic rows that match tables stored in LEDGER.

    Use it if you need rows instead of tables, for example to test a program. The rows follow from the tables of counts
    that were released under the keys. No table is read and nothing is spent. Each released count is printed with its 95
    % interval, next to the count of the synthetic rows.
    """
    ending = Path(out).suffix.lower()
    kind = ending if ending in _SAVED else ".csv"
    check_files({"ledger": path}, out=(out, kind), beside=(beside, ".csv"))
    count = None if n_rows is None else whole_number("rows", n_rows)
    stream = None if seed is None else research_rng(whole_number("seed", seed))
    account = Ledger.open(path)
    releases = [Release.from_json(account.stored(key).decode()) for key in keys]
    synthetic = draw_rows(releases, count, stream)
    save(out, lambda part: _SAVED[kind](synthetic, part))
    if beside is not None:
        save(beside, synthetic.save_beside)
    _show(synthetic)
    click.echo(
        f"Wrote {out}: {len(synthetic.cells):,} rows, {len(synthetic.columns)} columns. "
        "Nothing was read and nothing was spent."
    )
    click.echo("The rows reproduce these tables, including their noise; any other statistic of them is no evidence.")


def _show(synthetic: SyntheticRows) -> None:
    """Print counts of rows next to released ones, and their agreement."""
    lines = synthetic.beside
    inside = (lines["lower"] <= lines["rows"]) & (lines["rows"] <= lines["upper"])
    first = {name: column[:SHOWN] for name, column in lines.items()}
    texts = answers(first["estimate"], first["lower"], first["upper"])
    shown = [
        {"query": query, "cell": cell, "rows": count, "estimate": text[0], "lower": text[1], "upper": text[2]}
        for query, cell, count, text in zip(first["query"], first["cell"], first["rows"].tolist(), texts, strict=True)
    ]
    show_table(shown, "Synthetic and released counts with 95 % intervals", numbers=("estimate", "lower", "upper"))
    if len(inside) > SHOWN:
        click.echo(f"... and {len(inside) - SHOWN:,} more: write them with --beside")
    click.echo(f"{np.count_nonzero(inside):,} of {len(inside):,} counts of the rows lie within the intervals.")
