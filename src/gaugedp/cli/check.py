"""`gaugedp check`: out-of-domain values, for the custodian."""

import click

from gaugedp.cli.shared import load, show_table
from gaugedp.cli.stage import stage
from gaugedp.tables.custodian import NOT_PRIVATE, WHY
from gaugedp.tables.custodian import check as find
from gaugedp.tables.table import Table


@click.command()
@click.argument("table")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="Domain file (.toml) of the table.")
def check(table: str, domain_path: str) -> None:
    """Show values in TABLE that do not fit the domain file.

    Use it before the first release, to find mistakes in the domain file. The command is for the custodian of the data,
    because its output is not private. It reads all rows, uses no budget and writes no file. For a text file, it also
    reports lines that are not rows, such as those after an unclosed quote.

    Example: gaugedp check people.csv --domain domain.toml
    """
    domain, unit = load(domain_path)
    source = Table.scan(table, domain=domain, unit=unit)
    stage.begin("check")
    custody = find(source, on_progress=stage.draw)
    click.echo(NOT_PRIVATE)
    for sentence in custody.lines.sentences() if custody.lines else ():
        click.echo(sentence)
    rows, counted = custody.table(), "1 row" if custody.n_rows == 1 else f"{custody.n_rows:,} rows"
    if rows:
        show_table(rows, counted, numbers=("rows", "share"))
    else:
        click.echo(f"{counted}: every value is in the domain and within its bounds.")
    click.echo(WHY)
