"""`gaugedp keys`: partition selection, charged to a ledger."""

from pathlib import Path

import click

from gaugedp.cli.output import checked_key, hand_over, show_payment
from gaugedp.cli.shared import SHOWN, Payment, check_files, load, numbers, payment_options, show_table
from gaugedp.cli.stage import stage
from gaugedp.domain.toml import with_keys
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.releases.partition_selection import KeyRelease, chances_in_words, least_counts, release_keys, selection
from gaugedp.tables.table import Table


@click.command()
@click.argument("table")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="Domain file (.toml) of the table.")
@click.option("--attribute", required=True, metavar="NAME", help='Attribute with { keys = "unknown", most = N }.')
@click.option("--epsilon", required=True, metavar="NUMBER", help="Privacy parameter epsilon of the selection.")
@click.option(
    "--delta",
    metavar="NUMBER",
    help="Privacy parameter delta (required). It bounds the probability of publishing a category of one person only.",
)
@payment_options()
@click.option(
    "--key",
    metavar="TEXT",
    help="Name of this request. If you repeat it with the same name, you get the stored keys at no cost.",
)
@click.option("--out", metavar="FILE", help="Write a domain file (.toml) with the published categories.")
@click.option("--report", metavar="FILE", help="Write a report, an HTML page that works offline.")
@click.option("--json", "as_json", is_flag=True, help="Print the keys as JSON.")
def keys(
    table: str,
    domain_path: str,
    attribute: str,
    epsilon: str,
    delta: str | None,
    payment: Payment,
    key: str | None,
    out: str | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Publish the categories of a column that enough people share.

    Use this command, known as partition selection, if you cannot list the categories in advance, such as cities. Later
    queries can use the published categories. Rare categories stay hidden and count as "other". The ledger is charged.
    """
    domain, unit = load(domain_path)
    guarantee = guarantee_asked(**numbers(epsilon=epsilon, delta=delta))
    stage.key = checked_key(key)
    read = {"table": table, "domain file": domain_path, "ledger": payment.ledger}
    check_files(read, out=(out, ".toml"), report=(report, ".html"))
    source = Table.scan(table, domain=domain, unit=unit)
    stage.show("plan")
    mechanism = selection(source, attribute, guarantee)  # refuses before a ledger is created
    with_keys(domain_path, attribute, ["-"])
    payment.check([mechanism.guarantee], mechanism.guarantee)
    click.echo(chances_in_words(least_counts(mechanism)), err=True)
    account = payment.open(source.name, unit)
    released = release_keys(source, attribute, guarantee, ledger=account, key=stage.key, on_stage=stage.follow)
    stored = account if stage.was_stored else None
    stage.show("write")
    _write(released, (domain_path, out, report), as_json, stored)


def show(released: KeyRelease, stored: Ledger | None = None) -> None:
    """Print the keys for people, by descending noisy count."""
    largest = sorted(zip(released.keys, released.counts.tolist(), strict=True), key=lambda pair: -pair[1])
    about = f"({rounded_up(released.guarantee)}, {released.exactness})"
    rows = [{"key": key, "noisy count": count} for key, count in largest]
    show_table(rows, f"{len(released.keys):,} keys of {released.attribute} {about}", most=SHOWN)
    for line in (*released.remarks(), f"Protected: {released.facts['protects']}.", *released.facts["rules"]):
        click.echo(line)
    show_payment("list of keys", released.facts["account"], stored)


def _write(
    released: KeyRelease, files: tuple[str, str | None, str | None], as_json: bool, stored: Ledger | None
) -> None:
    domain_path, out, report = files

    def printed() -> None:
        click.echo(released.to_json()) if as_json else show(released, stored)

    def domain_file(path: Path) -> None:
        path.write_bytes(with_keys(domain_path, released.attribute, released.keys).encode())

    hand_over("list of keys", [(domain_file, out if released.keys else None), (released.save_html, report)], printed)
    if out is not None:
        written = f"Wrote {out}: queries can now use {released.attribute}."
        click.echo(written if released.keys else f"Nothing was written to {out}.", err=True)
