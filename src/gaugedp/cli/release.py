"""`gaugedp release`: a private answer, paid from a ledger."""

import click

from gaugedp.cli.shared import (
    budget,
    check_writable,
    load,
    numbers,
    promise_options,
    question_options,
    show_table,
    stage,
)
from gaugedp.entropy import system_rng
from gaugedp.errors import GaugedpError
from gaugedp.guarantees.asked import promise_asked
from gaugedp.ledger import Ledger
from gaugedp.queries import query
from gaugedp.release import Release
from gaugedp.release import release as make_release
from gaugedp.tables.table import Table

_SHOWN = 60


@click.command()
@click.argument("table")
@question_options
@promise_options
@click.option("--ledger", "ledger_path", required=True, metavar="FILE", help="The durable account of this table.")
@click.option("--budget", "budget_text", metavar="B", help='Opens the ledger: "2", "2,1e-6", "rho=0.5" or "mu=1".')
@click.option("--key", metavar="TEXT", help="A name for this request: the same again returns the stored answer, free.")
@click.option("--out", metavar="FILE", help="Write the answers as CSV: query, cell, estimate, lower, upper.")
@click.option("--report", metavar="FILE", help="Write the report: one page that needs no network.")
@click.option("--save", metavar="FILE", help="Write the release as JSON, to be read back.")
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
def release(
    table: str,
    domain_path: str,
    text: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    mu: str | None,
    ledger_path: str,
    budget_text: str | None,
    key: str | None,
    out: str | None,
    report: str | None,
    save: str | None,
    as_json: bool,
) -> None:
    """Answer a question from TABLE (a .csv, .tsv or .parquet file) and pay for it."""
    domain, unit = load(domain_path)
    question = query(domain, text)
    promise = numbers(epsilon=epsilon, delta=delta, rho=rho, mu=mu)
    promise_asked(*promise)  # what cannot be asked is refused before a ledger is made
    total = budget(budget_text)
    source = Table.scan(table, domain=domain, unit=unit)
    for path in (out, report, save):
        check_writable(path)
    if report:
        _check_report()
    key = key or system_rng().bytes(16).hex()
    account = Ledger.open(ledger_path, total, table=source.name, unit=unit)
    answer = make_release(
        question,
        source,
        ledger=account,
        epsilon=promise[0],
        delta=promise[1],
        rho=promise[2],
        mu=promise[3],
        key=key,
        on_stage=stage.show,
    )
    stage.show("write")
    _write(answer, {out: "save_csv", report: "save_html"}, save, key)
    click.echo(answer.to_json() if as_json else "", nl=as_json)
    if not as_json:
        show(answer, account)


def show(answer: Release, account: Ledger) -> None:
    """Print the answers for people."""
    columns = answer.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    show_table(rows[:_SHOWN], f"Answers with 95 % intervals ({answer.guarantee!r}, {answer.exactness})")
    if len(rows) > _SHOWN:
        click.echo(f"... and {len(rows) - _SHOWN:,} more: write them with --out")
    click.echo(f"Spent {account.spent!r} of {account.budget!r}; {account.remaining!r} is left. Tip {account.tip}")


def _check_report() -> None:
    from gaugedp.report.plots import check_installed

    check_installed()


def _write(answer: Release, files: dict[str | None, str], save: str | None, key: str) -> None:
    try:
        for path, method in files.items():
            if path is not None:
                getattr(answer, method)(path)
        if save is not None:
            with open(save, "w", encoding="utf-8") as file:
                file.write(answer.to_json())
    except OSError as error:
        raise GaugedpError(
            f"A file could not be written ({error.strerror}).",
            f"Make room and run this again with --key {key}.",
            "The answer is paid for and kept in the ledger; under that key it costs nothing.",
        ) from None
