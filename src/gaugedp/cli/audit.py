"""`gaugedp audit`: a test of the mechanism's guarantee, without data."""

import json
from typing import Any

import click

from gaugedp._internal.numbers import digits_down, digits_up
from gaugedp.audit import Audit
from gaugedp.audit import audit as run_audit
from gaugedp.audit.neighbours import neighbours
from gaugedp.cli.output import save
from gaugedp.cli.shared import (
    cell,
    check_files,
    guarantee_options,
    load,
    number,
    numbers,
    question_options,
    show_table,
)
from gaugedp.cli.stage import stage
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.queries import query
from gaugedp.releases.planning import Plan
from gaugedp.releases.planning import plan as make_plan


@click.command()
@question_options
@guarantee_options
@click.option("--mechanism", "name", metavar="NAME", help="Mechanism to audit. [default: that of a release]")
@click.option("--runs", metavar="NUMBER", help="Number of runs. [default: 20,000, or 2,000 for slow mechanisms]")
@click.option("--confidence", default="0.99", show_default=True, metavar="NUMBER", help="Confidence level.")
@click.option("--report", metavar="FILE", help="Write a report, an HTML page that works offline.")
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
def audit(
    domain_path: str,
    text: str,
    name: str | None,
    runs: str | None,
    confidence: str,
    report: str | None,
    as_json: bool,
    **options: str | None,
) -> int:
    """Test whether a mechanism violates its privacy guarantee.

    Use it to check the noise that a release would draw. The audit runs the mechanism many times on two neighbouring
    answers and compares the outputs. No data is read and nothing is spent. Exit codes: 0 no violation was found; 1 a
    violation was found; 2 wrong input.

    Example: gaugedp audit --domain domain.toml --query "SEX*AGEP" --epsilon 1
    """
    domain, unit = load(domain_path)
    guarantee = numbers(**options)
    check_files({"domain file": domain_path}, report=(report, ".html"))
    planned = make_plan(query(domain, text), unit, **guarantee)
    mechanism = _named(planned, name)
    low, high = neighbours(mechanism)
    click.echo(f"Auditing {mechanism.name} ...", err=True)
    stage.begin("audit")
    result = run_audit(
        mechanism,
        low,
        high,
        runs=_count(runs, mechanism),
        confidence=number("confidence", confidence),
        on_progress=stage.draw,
    )
    if report:
        from gaugedp.report.audits import render

        save(report, lambda path: path.write_text(render(result, _about(planned)), "utf-8"))
    click.echo(json.dumps(result.to_dict() | _about(planned))) if as_json else show(result, planned)
    return int(result.violated)


def show(result: Audit, planned: Plan) -> None:
    """Print an audit for people."""
    click.echo("\n".join(f"{name.capitalize()}: {value}" for name, value in _about(planned).items()))
    click.echo(f"Mechanism: {result.mechanism}\n")
    rows = result.table()
    counted = sum(row["counted"] for row in rows)
    shown = rows[: counted + 6]  # tests without a verdict that are shown
    words = "only tests marked yes or no can alarm; seen: the guess from a score, and how many guesses are right"
    show_table([_row(row) for row in shown], f"{result.runs:,} runs; {words}")
    if len(shown) < len(rows):
        click.echo(f"... and {len(rows) - len(shown)} more scores: see --json or --report")
    click.echo(" ".join([result.verdict, *result.remarks]))


def _row(row: dict[str, Any]) -> dict[str, str]:
    bound = row["epsilon_lower"]
    return {
        "alarms": "yes" if row["alarms"] else "no" if row["counted"] else "",
        "test": f"{row['kind']}: {row['name']}",
        "p-value": cell(row["p_value"]),
        "ε at least": "" if bound is None else digits_down(bound),
        "claimed": "" if bound is None else digits_up(row["epsilon_claimed"]),
        "at δ": "" if bound is None else cell(row["delta"]),
        "seen": str(row["detail"]),
    }


def _about(planned: Plan) -> dict[str, str]:
    return {"query": planned.query.text, "protected": str(planned.unit), "guarantee": repr(planned.requested)}


def _named(planned: Plan, name: str | None) -> Mechanism:
    if name is None:
        return planned.mechanism
    by_name = {candidate.mechanism.name: candidate.mechanism for candidate in planned.candidates}
    if name in planned.left_out:
        raise InvalidRequest(
            f"The mechanism {name} cannot be audited for this query: {planned.left_out[name]}.",
            f"Choose one of: {', '.join(by_name)}.",
        )
    if name not in by_name:
        raise InvalidRequest(f"There is no mechanism {name!r} for this query.", f"Choose one of: {', '.join(by_name)}.")
    return by_name[name]


def _count(runs: str | None, mechanism: Mechanism) -> int:
    if runs is None:
        is_slow = mechanism.exactness == "mixing" or not isinstance(mechanism, AdditiveNoise)
        return max(1000, min(2000 if is_slow else 20_000, (2 * 10**7) // mechanism.body.ambient_dim))  # numbers at most
    count = number("runs", runs)
    if not count.is_integer():
        raise InvalidRequest(
            f"`runs` is {runs!r}, but must be an integer of at least 100.", "Pass 100 or a larger integer."
        )
    return int(count)
