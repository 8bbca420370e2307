"""`gaugedp plan --model`: what a fit can reach, without data."""

import json

import click

from gaugedp.cli.shared import number, whole_number
from gaugedp.errors import InvalidRequest


def plan_model(model: str, options: dict[str, str | None], score: str | None, as_json: bool) -> None:
    """Print the plan of a fit."""
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
