"""`gaugedp plan`: what a question would cost and how wrong the answers would be, without any data."""

import json
from collections.abc import Sequence

import click

from gaugedp.cli.shared import cell, load, numbers, promise_options, question_options, show_table
from gaugedp.plan import Plan
from gaugedp.plan import plan as make_plan
from gaugedp.queries import query


@click.command()
@question_options
@promise_options
@click.option("--error", metavar="NUMBER", help="A wanted expected error (l2 norm of all answers): finds the epsilon.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    domain_path: str,
    text: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    mu: str | None,
    error: str | None,
    as_json: bool,
) -> None:
    """Compare the mechanisms for a question. No data is touched and nothing is spent."""
    domain, unit = load(domain_path)
    e, d, r, m, wanted = numbers(epsilon=epsilon, delta=delta, rho=rho, mu=mu, error=error)
    made = make_plan(query(domain, text), unit, epsilon=e, delta=d, rho=r, mu=m, error=wanted)
    if as_json:
        click.echo(json.dumps(made.to_dict()))
    else:
        show_plan(made)


def show_plan(made: Plan) -> None:
    """Print the plan for people."""
    click.echo(f"Question: {made.query.text}\nProtected: {made.unit}\nPromise: {made.asked!r}\n")
    shown = ("chosen", "mechanism", "error", "interval_95", "simultaneous_95", "guarantee", "exactness")
    about = " (errors and intervals are ranks, in rows)" if made.mechanism.in_rows else ""
    show_table([{name: row[name] for name in shown} for row in made.table()], f"Mechanisms{about}")
    click.echo(f"Chosen: {made.mechanism.name}, {made.reason}")
    if made.left_out:
        click.echo(made.left_out_in_words())
    click.echo(f"{made.bound_in_words()}\n")
    terms = [
        {
            "query": row["query"],
            "answers": row["answers"],
            "95 % each": _widths(row["interval_95"], bool(about)),
            "95 % all at once": _widths(row["simultaneous_95"], bool(about)),
        }
        for row in made.terms()
    ]
    means = "of a mean: its centred sum / its count, and about what that is for 1,000 rows"
    show_table(terms, f"Answers ({'rows from a quantile to the ends of its interval' if about else means})")


def _widths(widths: Sequence[float], in_rows: bool) -> str:
    text = " / ".join(f"±{cell(width)}" for width in widths)
    return text if in_rows or len(widths) != 2 else f"{text}, ±{cell(widths[0] / 1000)}"
