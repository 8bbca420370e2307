"""`gaugedp ledger`: open, show, verify, report."""

import json
from collections.abc import Iterator
from typing import Any

import click

from gaugedp._internal.numbers import digits_up
from gaugedp.cli.commands import LedgerCommands, without_password
from gaugedp.cli.output import save
from gaugedp.cli.shared import budget, check_files, load, number, show_table, whole_number
from gaugedp.guarantees import ApproxDP
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger import Entry, Ledger, Report
from gaugedp.ledger.entries import SEEDED, UNANSWERED, states
from gaugedp.report.words import plain

_REFUSED = 3
_DELTA = 1e-6


@click.group(cls=LedgerCommands)
def ledger() -> None:
    """Create, show or verify a ledger, or write a report about it."""


@ledger.command("open")
@click.argument("path")
@click.option(
    "--budget",
    "text",
    required=True,
    metavar="B",
    help='Budget: "2" (epsilon), "3,1e-5" (epsilon, delta), "rho=0.5", "mu=1" or "best=2,1e-6" (Renyi curves).',
)
@click.option("--domain", "domain_path", metavar="FILE", help="Domain file whose privacy unit the ledger is bound to.")
@click.option("--approval", is_flag=True, help="Refuse every charge that a second person has not approved.")
def open_ledger(path: str, text: str, domain_path: str | None, approval: bool) -> None:
    """Create a ledger at PATH, or check the budget of an existing one.

    A ledger limits what may be spent on a table, and records every charge.
    """
    domain, unit = load(domain_path) if domain_path else (None, None)
    name = domain.name if domain else None
    account = Ledger.open(path, budget(text), table=name, unit=unit, approval=approval)
    remaining = rounded_left(account.balance["remaining"], account.budget)
    click.echo(f"{without_password(path)}: budget {rounded_up(account.budget)}, {remaining} left.")


@ledger.command()
@click.argument("path")
@click.option("--delta", "delta_text", metavar="NUMBER", help="δ of the total ε. [default: 1e-6, or the spent δ]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def show(path: str, delta_text: str | None, as_json: bool) -> None:
    """Show what was spent on which queries, and what is left."""
    chosen_delta = None if delta_text is None else number("delta", delta_text)
    account = Ledger.open(path)
    delta = _spent_delta(account) if chosen_delta is None else chosen_delta
    if as_json:
        click.echo(json.dumps(_facts(account, delta)))
        return
    click.echo(f"Table: {account.table or '(not bound yet)'}\nProtected: {account.unit or '(not bound yet)'}")
    now = account.balance
    spent, remaining = rounded_up(now["spent"]), rounded_left(now["remaining"], now["budget"])
    click.echo(f"Budget {rounded_up(now['budget'])}; spent {spent}; left {remaining}\n")
    for line in _odometer(account, delta, chosen_delta is not None):
        click.echo(f"{line}\n")
    entries = account.entries()
    lines = [
        line | {"guarantee": rounded_up(plain(entry.guarantee) or entry.guarantee)}
        for line, entry in zip(_lines(entries), entries, strict=True)
        if line.pop("kind") == "reserve" and entry.guarantee is not None
    ]
    for name in ("by", "approved by", "purpose"):  # an empty column is not shown
        if not any(line[name] for line in lines):
            lines = [{title: value for title, value in line.items() if title != name} for line in lines]
    show_table(lines, "Releases" if lines else "Releases: none")
    if any(line["state"].startswith(UNANSWERED) for line in lines):
        click.echo("Never answered: the run was killed or is still running. Its cost stays spent.")
    if any(line["state"].endswith(SEEDED) for line in lines):
        click.echo("Seeded: made for research, with reproducible noise. Such an answer protects nobody.")
    click.echo(f"Tip after entry {entries[-1].number}: {entries[-1].tip}")


@ledger.command()
@click.argument("path")
@click.option("--tip", metavar="HASH", help="Hash that was printed earlier; it must be part of the chain.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(path: str, tip: str | None, as_json: bool) -> int:
    """Check that the ledger was not altered.

    The command recomputes the hash chain and all sums. The exit code is 3 if they do not match.
    """
    account = Ledger.open(path)
    report = account.verify(tip)
    if as_json:
        click.echo(
            json.dumps({"ok": report.ok, "entries": report.entries, "problems": report.problems, "tip": report.tip})
        )
    else:
        click.echo("\n".join(report.problems) or _in_order(account, report, tip))
    return 0 if report.ok else _REFUSED


@ledger.command()
@click.argument("path")
@click.option("--year", metavar="YYYY", help="Year of the report, such as 2026. [default: year of the last entry]")
@click.option("--out", required=True, metavar="FILE", help="Write the page to this .html file, which works offline.")
def report(path: str, year: str | None, out: str) -> int:
    """Write a page about one year of the ledger.

    The page shows what was spent by month, purpose and person, and what is left. The exit codes are those of gaugedp
    ledger verify.
    """
    check_files({"ledger": path}, out=(out, ".html"))
    chosen_year = None if year is None else whole_number("year", year)
    account = Ledger.open(path)
    save(out, lambda part: account.save_html(part, chosen_year))
    verified = account.verify()
    click.echo("\n".join(verified.problems) or _in_order(account, verified, None))
    return 0 if verified.ok else _REFUSED


def _in_order(account: Ledger, report: Report, tip: str | None) -> str:
    number = next((entry.number for entry in account.entries() if entry.tip == tip), 0)
    position = "" if tip is None else f" Your tip is entry {number} of {report.entries}."
    return f"{report.entries} entries, all valid.{position} Tip: {report.tip}"


def _odometer(account: Ledger, delta: float, is_asked: bool) -> Iterator[str]:
    epsilon = account.total.epsilon(delta)
    # 0.999: than what was spent: a total that is worth a sentence
    is_smaller = account.budget.accounting != "best_order" and epsilon < 0.999 * account.spent.epsilon(delta)
    if is_asked or is_smaller:
        yield (
            f"If all guarantees were fixed in advance, the total is epsilon {digits_up(epsilon)} at delta {delta:g}. "
            "The budget is charged what was spent, as shown above."
        )


def _spent_delta(account: Ledger) -> float:
    """Return the δ of the total: at least the spent one."""
    spent = account.spent
    return max(_DELTA, spent.delta_value) if isinstance(spent, ApproxDP) else _DELTA


def _facts(account: Ledger, delta: float) -> dict[str, Any]:
    total = account.total
    return {
        "total": {"guarantee": total.to_dict(), "delta": delta, "epsilon": total.epsilon(delta)},
        "table": account.table,
        "unit": account.unit and account.unit.to_dict(),
        "budget": account.budget.to_dict(),
        "spent": account.spent.to_dict(),
        "remaining": account.remaining.to_dict(),
        "tip": account.tip,
        "entries": _lines(account.entries()),
    }


def _lines(entries: list[Entry]) -> list[dict[str, Any]]:
    return [_line(entry, state) for entry, state in zip(entries, states(entries), strict=True)]


def _line(entry: Entry, state: str) -> dict[str, Any]:
    return {
        "number": entry.number,
        "kind": entry.kind,
        "state": state,
        "guarantee": "" if entry.guarantee is None else repr(entry.guarantee),
        "query": entry.question,
        "key": entry.key or "",
        "by": entry.by or "",
        "approved by": entry.approved_by or "",
        "purpose": entry.purpose or "",
        "time": entry.time,
    }
