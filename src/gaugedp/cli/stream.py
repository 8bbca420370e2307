"""`gaugedp stream`: open a stream, and answer its periods."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gaugedp._internal.postgres import is_address
from gaugedp.cli.output import write_beside, written
from gaugedp.cli.shared import (
    SHOWN,
    Payment,
    check_files,
    guarantee_options,
    load,
    numbers,
    payment_options,
    question_options,
    show_table,
    signature_options,
    whole_number,
)
from gaugedp.cli.stage import stage
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import UNTOUCHED, InvalidRequest
from gaugedp.guarantees.parse_guarantee import chargeable, guarantee_asked
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger import Ledger
from gaugedp.queries import query
from gaugedp.releases.streams import Stream, StreamAnswer
from gaugedp.releases.streams.noise import StreamNoise
from gaugedp.releases.streams.state import StateFile
from gaugedp.releases.streams.stream import factor_for
from gaugedp.tables.table import Table


@click.group()
def stream() -> None:
    """Publish answers for each period, such as a month, for one charge.

    Use it for statistics that are published regularly: open the stream once, and then publish the answers of each
    period.
    """


@stream.command("open")
@click.argument("state")
@question_options
@guarantee_options
@payment_options("these tables")
@click.option("--periods", required=True, metavar="N", help="Number of periods, such as 60 months or 365 days.")
@click.option(
    "--periods-per-person",
    default="1",
    metavar="K",
    help="The largest number of periods in which one person appears. [default: 1]",
)
def open_stream(
    state: str,
    domain_path: str,
    text: str,
    payment: Payment,
    periods: str,
    periods_per_person: str,
    **options: str | None,
) -> None:
    """Charge the ledger for all periods and write the file STATE.

    STATE holds the noise of all periods, so keep it as secret as the tables. Repeating the command with the same
    options costs nothing. The guarantee needs --epsilon with --delta, or --rho, or --mu.
    """
    domain, unit = load(domain_path)
    question, guarantee = query(domain, text), numbers(**options)
    horizon, per_person = whole_number("periods", periods), whole_number("periods-per-person", periods_per_person)
    check_files({"domain file": domain_path, "ledger": payment.ledger}, state=(state, ".stream"))
    requested = guarantee_asked(**guarantee)
    factor = factor_for(StateFile.at(state).load(), horizon, per_person)
    noise = StreamNoise.calibrate(question, unit, requested, factor)  # refuses before a ledger is created
    payment.check(chargeable(noise.guarantee, requested))
    account = payment.open(domain.name, unit)
    stage.show("pay")
    opened = Stream.open(
        state,
        question,
        unit,
        ledger=account,
        periods=horizon,
        periods_per_person=per_person,
        places={"domain": os.path.abspath(domain_path), "ledger": _place(payment.ledger)},
        **guarantee,
    )
    _show_opened(state, opened, account)


@stream.command("next")
@click.argument("state")
@click.argument("table")
@click.option("--period", metavar="N", help="Number of the period. An earlier period returns its stored answer.")
@click.option("--ledger", "ledger_path", metavar="FILE", help="New path of the ledger, if it was moved.")
@click.option("--domain", "domain_path", metavar="FILE", help="New path of the domain file, if it was moved.")
@signature_options
@click.option("--out", metavar="FILE", help="Write this period's answers and the running totals as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def next_period(
    state: str,
    table: str,
    period: str | None,
    ledger_path: str | None,
    domain_path: str | None,
    by: str | None,
    purpose: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Publish the answers for the next period, at no further cost.

    TABLE is a .csv, .tsv or .parquet file with the rows of that period.
    """
    facts = StateFile.at(state).existing().facts
    domain_path, ledger_path = domain_path or _noted(facts, "domain"), ledger_path or _noted(facts, "ledger")
    domain, unit = load(domain_path)
    read = {"table": table, "domain file": domain_path, "ledger": ledger_path, "state": state}
    check_files(read, out=(out, ".csv"))
    which = None if period is None else whole_number("period", period)
    account = Ledger.open(ledger_path).signed(by=by, purpose=purpose)
    opened = Stream.load(state, query(domain, facts["query"]), unit, ledger=account)
    source = Table.scan(table, domain=domain, unit=unit)
    stage.show("period")
    answer = opened.next(source, period=which, on_progress=stage.draw)
    with written("answer", f"--period {answer.period}", "The answer is stored in the ledger; it costs nothing."):
        if out is not None:
            write_beside(Path(out), answer.save_csv)
        click.echo(answer.to_json()) if as_json else _show(answer, domain, unit)


def _place(path: str) -> str:
    return path if is_address(path) else os.path.abspath(path)


def _noted(facts: Mapping[str, Any], name: str) -> str:
    places = facts["places"]
    if name not in places:
        raise InvalidRequest(f"The stream does not record the path of its {name}.", f"Pass --{name}.", UNTOUCHED)
    return str(places[name])


def _show_opened(state: str, opened: Stream, account: Ledger) -> None:
    now = account.balance
    click.echo(f"{state}: {opened.answered} of {opened.periods} periods answered. {rounded_up(opened.guarantee)}")
    click.echo(f"A person may be in at most {opened.periods_per_person} of the periods; this is not checked.")
    spent, left = rounded_up(now["spent"]), rounded_left(now["remaining"], now["budget"])
    click.echo(f"Spent {spent} of {rounded_up(now['budget'])}; {left} is left.")
    first, last = (float(opened.deviations(period)[1].max()) for period in (1, opened.periods))
    click.echo(f"Standard error of a running total: at most {first:.4g} in period 1, {last:.4g} in the last.")


def _show(answer: StreamAnswer, domain: Domain, unit: PrivacyUnit) -> None:
    columns = {name: column for name, column in answer.columns().items() if name != "period"}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    title = f"Period {answer.period} of {answer.facts['periods']} with 95 % intervals"
    about = f"({rounded_up(answer.guarantee)} for the whole stream, {answer.exactness})"
    show_table(rows, f"{title} {about}", most=SHOWN)
    click.echo(f"Protected: {unit}, in at most {answer.facts['periods_per_person']} periods. Table: {domain.name}.")
    click.echo(f"To get this answer again at no cost, add --period {answer.period}.")
