"""`gaugedp keys`: the keys of an attribute that nobody knows beforehand, paid from a ledger."""

from pathlib import Path

import click

from gaugedp.cli.output import checked_key, hand_over, show_account, stored_before
from gaugedp.cli.shared import (
    budget,
    budget_option,
    check_chargeable,
    check_files,
    load,
    numbers,
    open_ledger,
    remark_on_delta,
    show_table,
    signature_options,
)
from gaugedp.cli.stage import stage
from gaugedp.domain_file import with_keys
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.key_release import KeyRelease, chances_in_words, least_counts, release_keys, selection
from gaugedp.ledger import Ledger
from gaugedp.tables.table import Table

_SHOWN = 60


@click.command()
@click.argument("table")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="What is public: a TOML file.")
@click.option("--attribute", required=True, metavar="NAME", help='An attribute { keys = "unknown", most = N }.')
@click.option("--epsilon", required=True, metavar="NUMBER", help="epsilon, of the keys.")
@click.option("--delta", metavar="NUMBER", help="delta: at most the chance that a key of one person is shown. Needed.")
@click.option("--ledger", "ledger_path", required=True, metavar="FILE", help="The durable account of this table.")
@budget_option
@signature_options
@click.option("--key", metavar="TEXT", help="A name for this request: the same again returns the stored keys, free.")
@click.option("--out", metavar="FILE", help="Write the domain file in which the keys are public (.toml).")
@click.option("--report", metavar="FILE", help="Write the report: one page that needs no network.")
@click.option("--json", "as_json", is_flag=True, help="Print the keys as JSON.")
def keys(
    table: str,
    domain_path: str,
    attribute: str,
    epsilon: str,
    delta: str | None,
    ledger_path: str,
    budget_text: str | None,
    by: str | None,
    purpose: str | None,
    key: str | None,
    out: str | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Show the keys of TABLE that many people have, such as cities, and pay for it; then questions can be about them.

    Rare keys stay hidden: they count as "other" in every later question.
    """
    domain, unit = load(domain_path)
    guarantee = guarantee_asked(**numbers(epsilon=epsilon, delta=delta))
    total = budget(budget_text)
    stage.key = checked_key(key)
    read = {"table": table, "domain file": domain_path, "ledger": ledger_path}
    check_files(read, {"out": out, "report": report}, {"out": ".toml", "report": ".html"})
    source = Table.scan(table, domain=domain, unit=unit)
    stage.show("plan")
    chosen = selection(source, attribute, guarantee)  # refuses before a ledger is made
    with_keys(domain_path, attribute, ["-"])
    check_chargeable(total, [chosen.guarantee])
    remark_on_delta(chosen.guarantee, total)
    click.echo(chances_in_words(least_counts(chosen)), err=True)
    account = open_ledger(ledger_path, total, source.name, unit, by=by, purpose=purpose)
    found = release_keys(source, attribute, guarantee, ledger=account, key=stage.key, on_stage=stage.follow)
    stored = account if stage.was_stored else None
    stage.show("write")
    _write(found, (domain_path, out, report), as_json, stored)


def show(found: KeyRelease, stored: Ledger | None = None) -> None:
    """Print the keys for people, those with the largest noisy counts; where they were `stored`, with its balance."""
    largest = sorted(zip(found.keys, found.counts.tolist(), strict=True), key=lambda pair: -pair[1])
    about = f"({rounded_up(found.guarantee)}, {found.exactness})"
    rows = [{"key": key, "noisy count": count} for key, count in largest[:_SHOWN]]
    show_table(rows, f"{len(found.keys):,} keys of {found.attribute} {about}")
    if len(found.keys) > _SHOWN:
        click.echo(f"... and {len(found.keys) - _SHOWN:,} more: write them with --out")
    for line in (*found.remarks(), f"Protected: {found.facts['protects']}.", *found.facts["rules"]):
        click.echo(line)
    if stored is not None:
        click.echo(stored_before("list of keys", found.facts["account"]))
    show_account(found.facts["account"], stored)


def _write(found: KeyRelease, files: tuple[str, str | None, str | None], as_json: bool, stored: Ledger | None) -> None:
    domain_path, out, report = files

    def printed() -> None:
        click.echo(found.to_json()) if as_json else show(found, stored)

    def domain_file(path: Path) -> None:
        path.write_bytes(with_keys(domain_path, found.attribute, found.keys).encode())

    hand_over("list of keys", [(domain_file, out if found.keys else None), (found.save_html, report)], printed)
    if out is not None:
        written = f"Wrote {out}: questions about {found.attribute} can be asked with it."
        click.echo(written if found.keys else f"Nothing was written to {out}.", err=True)
