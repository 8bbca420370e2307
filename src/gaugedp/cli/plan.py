"""`gaugedp plan`: expected errors of a query, without data."""

import json

import click

from gaugedp.cli.shared import (
    Command,
    cell,
    guarantee_options,
    importance_option,
    intervals_option,
    load,
    number,
    numbers,
    question_options,
    remark_on_delta,
    remark_on_epsilon,
    show_table,
    weighted_query,
    whole_number,
)
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.printed import rounded_up
from gaugedp.releases.plan_widths import worth
from gaugedp.releases.planning import Plan
from gaugedp.releases.planning import plan as make_plan

_SHOWN = ("chosen", "mechanism", "error", "interval_95", "simultaneous_95", "guarantee", "exactness")
_OF_MODELS = ("rows", "features", "classes", "neighbours")
_ERROR = (
    "Instead of --epsilon: find the least epsilon for this expected error, the l2 norm over all answers. It is in "
    "rows for counts, quantiles and means, and in the column's unit if all terms are sums."
)


def optional_question(command: Command) -> Command:
    """Add --domain and --query, which --model replaces."""
    return question_options(command, required=False)


@click.command(context_settings={"allow_extra_args": True})
@optional_question
@guarantee_options
@importance_option
@intervals_option
@click.option("--error", metavar="NUMBER", help=_ERROR)
@click.option("--model", metavar="NAME", help="Plan a model of gaugedp fit, instead of a query. No domain is needed.")
@click.option("--rows", metavar="N", help="With --model: the approximate number of rows.")
@click.option("--features", metavar="N", help="With --model: the number of features. Each category counts as one.")
@click.option("--classes", metavar="K", help="With --model: the number of classes. [default: 2]")
@click.option("--neighbours", metavar="NAME", help="With --model: add_remove or replace. [default: add_remove]")
@click.option("--score", metavar="NUMBER", help="With --model: find the least epsilon for this accuracy or R2.")
@click.option("--details", is_flag=True, help="Also print the noise, and why other mechanisms do not apply.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    domain_path: str | None,
    text: str | None,
    importance: str | None,
    intervals: str,
    details: bool,
    as_json: bool,
    model: str | None,
    score: str | None,
    **options: str | None,
) -> None:
    """Show the expected errors of a query, or of a fit, before a release.

    Use it to choose epsilon. The plan compares all mechanisms at the requested guarantee. No data is read and nothing
    is spent.

    Example: gaugedp plan --domain domain.toml --query "SEX*AGEP" --epsilon 1
    """
    _check_no_table(click.get_current_context().args)
    of_model = {name: options.pop(name) for name in _OF_MODELS}
    if model is not None:
        _check_alone(domain=domain_path, query=text, importance=importance, rho=options["rho"], mu=options["mu"])
        _show_model_plan(model, {**options, **of_model}, score, as_json)
        return
    _check_alone("without --model", score=score, **of_model)
    if domain_path is None or text is None:
        raise click.UsageError(f"Missing option '--{'domain' if domain_path is None else 'query'}'.")
    domain, unit = load(domain_path)
    planned = make_plan(weighted_query(domain, text, importance, intervals), unit, **numbers(**options))
    remark_on_epsilon("a guarantee", planned.requested)
    remark_on_delta(planned.requested)
    if as_json:
        click.echo(json.dumps(planned.to_dict()))
    else:
        show_plan(planned, details)


def _show_model_plan(model: str, options: dict[str, str | None], score: str | None, as_json: bool) -> None:
    """Print what a fit can reach."""
    from gaugedp.estimators.fit_plan import plan_fit

    missing = [f"--{name}" for name in ("rows", "features", "epsilon") if options[name] is None]
    if missing:
        raise InvalidRequest(f"--model requires {' and '.join(missing)}.", "Pass --rows, --features and --epsilon.")
    rows, features = (whole_number(name, options[name] or "") for name in ("rows", "features"))
    classes = None if (text := options["classes"]) is None else whole_number("classes", text)
    epsilon, delta = (None if (text := options[name]) is None else number(name, text) for name in ("epsilon", "delta"))
    planned = plan_fit(
        model, n_rows=rows, n_features=features, n_classes=classes, epsilon=epsilon, delta=delta,
        neighbours=options["neighbours"] or "add_remove",
    )  # fmt: skip
    least = None if score is None else planned.least_epsilon(number("score", score))
    if as_json:
        click.echo(json.dumps(planned.to_dict() | ({} if least is None else {"least_epsilon": least})))
        return
    click.echo(repr(planned))
    if least is not None:
        click.echo(f"  least epsilon for {planned.score} {score}: {least:g}")


def _check_alone(when: str = "together with --model", **options: str | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidRequest(f"--{name} cannot be used {when}.", f"Omit --{name}.")


def _check_no_table(words: list[str]) -> None:
    if words:
        raise InvalidRequest(
            f"The command `plan` reads no table, so it does not accept the argument {words[0]!r}.",
            "Omit it; if it is part of the query, put the whole query in quotes.",
        )


def show_plan(planned: Plan, details: bool = False) -> None:
    """Print the plan for people."""
    click.echo(f"Query: {planned.query.text}\nProtected: {planned.unit}\nGuarantee: {rounded_up(planned.requested)}\n")
    heads = ("95 % individual", "95 % simultaneous")
    terms = [
        {"query": term["query"], "answers": term["answers"], **dict(zip(heads, worth(term), strict=True))}
        for term in planned.terms()
    ]
    rows = (
        ", for quantiles in rows from the quantile to the interval ends on ordinary tables"
        if planned.mechanism.in_rows
        else ""
    )
    show_table(terms, f"Answers: half-widths (±) of 95 % confidence intervals{rows}")
    click.echo("".join(f"{remark}\n" for remark in planned.remarks()))
    shown = _SHOWN if planned.query.errors.has_one_unit else tuple(name for name in _SHOWN if not name.endswith("_95"))
    show_table([{name: row[name] for name in shown} for row in planned.table()], planned.about_errors())
    click.echo(f"Chosen: {planned.mechanism.name}, {planned.reason}\n{planned.bound_in_words()}")
    if details:
        _show_details(planned)


def _show_details(planned: Plan) -> None:
    steps = "" if {step for step, _ in planned.query.steps.runs} == {1} else " (in steps of the released values)"
    click.echo(f"Noise: {planned.mechanism.describe()}{steps}")
    for term in planned.terms():
        if term["of_1000_rows"]:
            *sums, counts = (cell(width) for width in term["interval_95"])
            from_sums = "".join(f"centred sums ±{width} and " for width in sums)
            click.echo(f"{term['query']}: from {from_sums}counts ±{counts}, individually")
    if planned.left_out:
        click.echo(planned.left_out_in_words())
