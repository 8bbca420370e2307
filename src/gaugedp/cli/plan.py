"""`gaugedp plan`: what a question would cost and how wrong the answers would be, without any data."""

import json

import click

from gaugedp.cli.shared import (
    cell,
    guarantee_options,
    load,
    numbers,
    question_options,
    remark_on_delta,
    remark_on_epsilon,
    show_table,
)
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.printed import rounded_up
from gaugedp.planning import Plan, worth
from gaugedp.planning import plan as make_plan
from gaugedp.queries import query

_SHOWN = ("chosen", "mechanism", "error", "interval_95", "simultaneous_95", "guarantee", "exactness")
_ERROR = (
    "A wanted expected error (l2 norm of the errors of all answers together): finds the epsilon. In rows for counts, "
    "quantiles and means, in the column's unit for sums alone."
)


@click.command(context_settings={"allow_extra_args": True})
@question_options
@guarantee_options
@click.option("--error", metavar="NUMBER", help=_ERROR)
@click.option("--details", is_flag=True, help="Print the noise, and why mechanisms were left out, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    domain_path: str,
    text: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    mu: str | None,
    error: str | None,
    details: bool,
    as_json: bool,
) -> None:
    """Compare the mechanisms for a question. No data is touched and nothing is spent."""
    _check_no_table(click.get_current_context().args)
    domain, unit = load(domain_path)
    e, d, r, m, wanted = numbers(epsilon=epsilon, delta=delta, rho=rho, mu=mu, error=error)
    made = make_plan(query(domain, text), unit, epsilon=e, delta=d, rho=r, mu=m, error=wanted)
    remark_on_epsilon("a guarantee", made.asked)
    remark_on_delta(made.asked)
    if as_json:
        click.echo(json.dumps(made.to_dict()))
    else:
        show_plan(made, details)


def _check_no_table(words: list[str]) -> None:
    """Refuse words that belong to no option."""
    if words:
        raise InvalidRequest(
            f"plan reads no table, and has no use for {words[0]!r}.",
            "Leave it out; where it is part of the question, put the whole question in quotes.",
        )


def show_plan(made: Plan, details: bool = False) -> None:
    """Print the plan for people."""
    click.echo(f"Question: {made.query.text}\nProtected: {made.unit}\nGuarantee: {rounded_up(made.asked)}\n")
    heads = ("95 % each", "95 % all at once")
    terms = [
        {"query": term["query"], "answers": term["answers"], **dict(zip(heads, worth(term), strict=True))}
        for term in made.terms()
    ]
    rows = ", in rows from a quantile to the ends of its interval" if made.mechanism.in_rows else ""
    show_table(terms, f"Answers: how far noise may move one, with probability 95 %{rows}")
    click.echo("".join(f"{remark}\n" for remark in made.remarks()))
    shown = _SHOWN if made.query.has_one_unit else tuple(name for name in _SHOWN if not name.endswith("_95"))
    show_table([{name: row[name] for name in shown} for row in made.table()], made.about_errors())
    click.echo(f"Chosen: {made.mechanism.name}, {made.reason}\n{made.bound_in_words()}")
    if details:
        _show_details(made)


def _show_details(made: Plan) -> None:
    """Print what a first look can do without."""
    steps = "" if set(made.query.steps) == {1} else " (counted in the steps of what is released)"
    click.echo(f"Noise: {made.mechanism.describe()}{steps}")
    for term in made.terms():
        if term["of_1000_rows"]:
            sums, counts = (cell(width) for width in term["interval_95"])
            click.echo(f"{term['query']}: from centred sums ±{sums} and counts ±{counts}, each alone")
    if made.left_out:
        click.echo(made.left_out_in_words())
