"""`gaugedp ledger`: open, show, verify."""

import json
import re
from typing import Any

import click

from gaugedp.cli.shared import budget, load, number, show_table
from gaugedp.ledger import Entry, Ledger

_REFUSED = 3


@click.group()
def ledger() -> None:
    """The durable account of a table."""


@ledger.command("open")
@click.argument("path")
@click.option("--budget", "text", required=True, metavar="B", help='"2", "2,1e-6", "best=2,1e-6", "rho=0.5" or "mu=1".')
@click.option("--domain", "domain_path", metavar="FILE", help="Bind the ledger to this table and unit at once.")
def open_ledger(path: str, text: str, domain_path: str | None) -> None:
    """Make a ledger at PATH with a budget, or check that it has that one."""
    domain, unit = load(domain_path) if domain_path else (None, None)
    account = Ledger.open(path, budget(text), table=domain.name if domain else None, unit=unit)
    click.echo(f"{without_password(path)}: budget {account.budget!r}, {account.remaining!r} left.")


@ledger.command()
@click.argument("path")
@click.option("--delta", "delta_text", default="1e-6", show_default=True, help="The δ of the tight total.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(path: str, delta_text: str, as_json: bool) -> None:
    """Print what was spent, on what, and what is left."""
    delta = number("delta", delta_text)
    account = Ledger.open(path)
    if as_json:
        click.echo(json.dumps(_facts(account, delta)))
        return
    click.echo(f"Table: {account.table or '(not bound yet)'}\nProtected: {account.unit or '(not bound yet)'}")
    click.echo(f"Budget {account.budget!r}; spent {account.spent!r}; left {account.remaining!r}\n")
    click.echo(f"{_odometer(account, delta)}\n")
    show_table([_line(entry) for entry in account.entries()], "Entries")
    click.echo(f"Tip: {account.tip}")


@ledger.command()
@click.argument("path")
@click.option("--tip", metavar="HASH", help="A tip printed earlier: it must be part of the chain.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(path: str, tip: str | None, as_json: bool) -> int:
    """Recompute the hash chain and the sums; exit 3 where something does not fit."""
    report = Ledger.open(path).verify(tip)
    if as_json:
        click.echo(
            json.dumps({"ok": report.ok, "entries": report.entries, "problems": report.problems, "tip": report.tip})
        )
    else:
        click.echo("\n".join(report.problems) or f"{report.entries} entries, all in order. Tip: {report.tip}")
    return 0 if report.ok else _REFUSED


def without_password(path: str) -> str:
    """Return an address without what stands before its @, and any other path as it is."""
    return re.sub(r"://[^@/]*@", "://", path)


def _odometer(account: Ledger, delta: float) -> str:
    total = account.total
    return (
        f"Together: epsilon {total.epsilon(delta):.6g} at delta {delta:g}, "
        "where no promise was chosen after seeing an answer."
    )


def _facts(account: Ledger, delta: float) -> dict[str, Any]:
    total = account.total
    return {
        "total": {"promise": total.to_dict(), "delta": delta, "epsilon": total.epsilon(delta)},
        "table": account.table,
        "unit": account.unit and account.unit.to_dict(),
        "budget": account.budget.to_dict(),
        "spent": account.spent.to_dict(),
        "remaining": account.remaining.to_dict(),
        "tip": account.tip,
        "entries": [_line(entry) for entry in account.entries()],
    }


def _line(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "kind": entry.kind,
        "promise": "" if entry.promise is None else repr(entry.promise),
        "query": (entry.request or {}).get("query", ""),
        "key": entry.key or "",
        "time": entry.time,
    }
