"""`gaugedp plan`: what a question would cost and how wrong the answers would be, without any data."""

import json

import click

from gaugedp.cli.shared import (
    cell,
    guarantee_options,
    importance_option,
    load,
    numbers,
    question_options,
    remark_on_delta,
    remark_on_epsilon,
    show_table,
    weighted_query,
)
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.printed import rounded_up
from gaugedp.releases.planning import Plan, worth
from gaugedp.releases.planning import plan as make_plan

_SHOWN = ("chosen", "mechanism", "error", "interval_95", "simultaneous_95", "guarantee", "exactness")
_ERROR = (
    "Target expected error (l2 norm over all answers): finds the epsilon. In rows for counts, "
    "quantiles and means, in the column's unit for sums alone."
)


@click.command(context_settings={"allow_extra_args": True})
@question_options
@guarantee_options
@importance_option
@click.option("--error", metavar="NUMBER", help=_ERROR)
@click.option("--details", is_flag=True, help="Also print the noise, and why mechanisms do not apply.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    domain_path: str, text: str, importance: str | None, details: bool, as_json: bool, **options: str | None
) -> None:
    """Compare the mechanisms for a question. No data is touched and nothing is spent."""
    _check_no_table(click.get_current_context().args)
    domain, unit = load(domain_path)
    planned = make_plan(weighted_query(domain, text, importance), unit, **numbers(**options))
    remark_on_epsilon("a guarantee", planned.asked)
    remark_on_delta(planned.asked)
    if as_json:
        click.echo(json.dumps(planned.to_dict()))
    else:
        show_plan(planned, details)


def _check_no_table(words: list[str]) -> None:
    """Refuse words that belong to no option."""
    if words:
        raise InvalidRequest(
            f"plan reads no table, and does not take {words[0]!r}.",
            "Leave it out; where it is part of the question, put the whole question in quotes.",
        )


def show_plan(planned: Plan, details: bool = False) -> None:
    """Print the plan for people."""
    click.echo(f"Question: {planned.query.text}\nProtected: {planned.unit}\nGuarantee: {rounded_up(planned.asked)}\n")
    heads = ("95 % single", "95 % simultaneous")
    terms = [
        {"query": term["query"], "answers": term["answers"], **dict(zip(heads, worth(term), strict=True))}
        for term in planned.terms()
    ]
    rows = ", in rows from a quantile to the ends of its interval" if planned.mechanism.in_rows else ""
    show_table(terms, f"Answers: ± of their 95 % confidence intervals{rows}")
    click.echo("".join(f"{remark}\n" for remark in planned.remarks()))
    shown = _SHOWN if planned.query.errors.has_one_unit else tuple(name for name in _SHOWN if not name.endswith("_95"))
    show_table([{name: row[name] for name in shown} for row in planned.table()], planned.about_errors())
    click.echo(f"Chosen: {planned.mechanism.name}, {planned.reason}\n{planned.bound_in_words()}")
    if details:
        _show_details(planned)


def _show_details(planned: Plan) -> None:
    """Print what a first look can do without."""
    steps = "" if {step for step, _ in planned.query.steps.runs} == {1} else " (in steps of what is released)"
    click.echo(f"Noise: {planned.mechanism.describe()}{steps}")
    for term in planned.terms():
        if term["of_1000_rows"]:
            *sums, counts = (cell(width) for width in term["interval_95"])
            from_sums = "".join(f"centred sums ±{width} and " for width in sums)
            click.echo(f"{term['query']}: from {from_sums}counts ±{counts}, each alone")
    if planned.left_out:
        click.echo(planned.left_out_in_words())
