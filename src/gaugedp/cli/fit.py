"""`gaugedp fit`: a private model of a table, charged to a ledger."""

import json
from typing import TYPE_CHECKING, Any

import click

from gaugedp._internal.names import parts, plain
from gaugedp._internal.numbers import answers
from gaugedp.cli.output import checked_key, hand_over, show_payment, stored_before
from gaugedp.cli.shared import SHOWN, Payment, check_files, load, numbers, payment_options, show_table
from gaugedp.cli.stage import stage
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import system_rng
from gaugedp.guarantees import from_dict
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.printed import rounded_up
from gaugedp.ledger import Ledger
from gaugedp.releases.executing import execute
from gaugedp.tables.table import Table

if TYPE_CHECKING:
    from gaugedp.estimators.ratings_fit import RatingsFit
    from gaugedp.estimators.table_fit import TableFit


@click.command()
@click.argument("table")
@click.option("--domain", "domain_path", required=True, metavar="FILE", help="Domain file (.toml) of the table.")
@click.option(
    "--model",
    required=True,
    metavar="NAME",
    help="Model: logistic, svc, linear, ridge, elastic-net, lasso, huber, poisson or ratings.",
)
@click.option(
    "--target",
    required=True,
    metavar="NAME",
    help="What to predict: an attribute (logistic, svc) or a bounded column (other models).",
)
@click.option(
    "--features",
    required=True,
    metavar="NAMES",
    help='What to predict from: attributes and bounded columns, such as "SEX, AGEP"; for ratings "USER, ITEM".',
)
@click.option("--epsilon", required=True, metavar="NUMBER", help="Privacy parameter epsilon of the fit.")
@click.option("--delta", metavar="NUMBER", help="Privacy parameter delta of the fit. [default: 0]")
@click.option(
    "--radius", metavar="NUMBER", help="Public bound on the norm of the coefficients (docs/how-to/fit-a-model.md)."
)
@click.option("--norm", metavar="NORM", help="Norm that --radius bounds: l2, or l1 for linear regression (lasso).")
@click.option(
    "--reference",
    metavar="LEVELS",
    help='Reference level of attributes, such as "SEX=2, EDU=12". [default: the first category]',
)
@click.option(
    "--score",
    metavar="NUMBER",
    help="Also score the model on held-out rows, with this epsilon. Fit and score together cost the larger epsilon.",
)
@payment_options()
@click.option(
    "--key",
    metavar="TEXT",
    help="Name of this request. If you repeat it with the same name, you get the stored model at no cost.",
)
@click.option("--out", metavar="FILE", help="Write the model as JSON, for gaugedp predict.")
@click.option("--details", is_flag=True, help="Also print how to predict, and how the rows were read.")
@click.option("--json", "as_json", is_flag=True, help="Print the model as JSON.")
def fit(
    table: str,
    domain_path: str,
    model: str,
    target: str,
    features: str,
    epsilon: str,
    delta: str | None,
    radius: str | None,
    norm: str | None,
    reference: str | None,
    score: str | None,
    payment: Payment,
    key: str | None,
    out: str | None,
    details: bool,
    as_json: bool,
) -> None:
    """Fit a private regression, classification or rating model to TABLE.

    TABLE is a .csv, .tsv or .parquet file. The ledger is charged before the table is read. The model is scored only if
    you specify --score.

    Example: gaugedp fit people.csv --domain domain.toml --model logistic --target EMPLOYED --features "SEX, AGEP"
    --epsilon 1 --ledger people.ledger --budget 3
    """
    domain, unit = load(domain_path)
    guarantee = tuple(numbers(epsilon=epsilon, delta=delta, score=score, radius=radius).values())
    stage.key = checked_key(key)
    read = {"table": table, "domain file": domain_path, "ledger": payment.ledger}
    check_files(read, out=(out, ".json"))
    source = Table.scan(table, domain=domain, unit=unit)
    stage.begin("plan")
    planned = _planned(domain, unit, (model, target, features), guarantee, {"reference": reference, "norm": norm})
    planned.prepare(source, system_rng())  # refuses before a ledger is created
    payment.check([planned.guarantee, planned.guarantee_of_parts], planned.guarantee)
    account, stage.reading = payment.open(source.name, unit), "Reading the rows and fitting the model"
    result = execute(planned, account, source, stage.key, on_stage=stage.show)
    stored = account if stage.was_stored else None
    stage.show("write")
    _write(result, out, stored, as_json, details)


def show(result: dict[str, Any], stored: Ledger | None = None, details: bool = False) -> None:
    """Print a model for people, with its score last."""
    guarantee, several = from_dict(result["guarantee"]), isinstance(result["intercept"], dict)
    named = {"intercept": result["intercept"], **result["coefficients"]}
    rows = [{"feature": name, **(values if several else {"coefficient": values})} for name, values in named.items()]
    number = "on the log scale" if _is_log(result) else "a numeric target"
    about = "for each class" if several else f"positive for {result['classes'][1]}" if result["classes"] else number
    guaranteed = f"({rounded_up(guarantee)}, {result['exactness']})"
    show_table(rows, f"{result['model']} model of {result['target']}, {about} {guaranteed}", most=SHOWN)
    if "intervals" in result:
        _show_intervals(result["intervals"])
    if details:
        _show_details(result)
    show_payment("model", result["facts"]["account"], stored)
    click.echo(_score_in_words(result["score"]))


def _show_details(result: dict[str, Any]) -> None:
    """Print how to use the model and how rows were read."""
    if "intervals" in result:
        click.echo(
            "Intervals cover the noise and the sampling error, for independent rows within their bounds and residuals "
            "of equal variance. Names of bounded columns are numbers; NAME=CELL is one cell of an attribute."
        )
    lines = (_use_in_words(result), *result["facts"].get("rules", ()))
    click.echo("\n".join(lines))


def _show_intervals(intervals: dict[str, Any]) -> None:
    reference = ", ".join(f"{name}={cell}" for name, cell in intervals["reference"].items())
    rows = []
    for name, line in list(intervals["coefficients"].items())[:SHOWN]:
        columns = ("estimate", "lower", "upper", "standard_error")
        (texts,) = answers(*([line[column]] for column in columns))
        rows.append({"coefficient": name, **dict(zip(columns, texts, strict=True))})
    beside = f" relative to {reference}" if reference else ""
    show_table(rows, f"Coefficients{beside}, with {intervals['level']:.0%} intervals", numbers=tuple(rows[0])[1:])


def show_ratings(result: dict[str, Any], stored: Ledger | None = None, details: bool = False) -> None:
    """Print a model of ratings: the highest-rated items."""
    about = f"({rounded_up(from_dict(result['guarantee']))}, {result['exactness']})"
    highest = sorted(result["items"].items(), key=lambda pair: -pair[1])
    rows = [{"item": name, "rating": result["mean"] + offset} for name, offset in highest]
    title = f"ratings model of {result['target']}: predicted ratings by an average user {about}"
    show_table(rows, title, most=SHOWN)
    if details:
        use = "`gaugedp predict` predicts single ratings, `gaugedp recommend` items for one user."
        reason = f"{result['facts']['solver']}: {result['facts']['reason']}. {use}"
        click.echo("\n".join([reason, *result["facts"]["rules"]]))
    show_payment("model", result["facts"]["account"], stored)


def _use_in_words(result: dict[str, Any]) -> str:
    then = " The class with the largest sum is predicted." if isinstance(result["intercept"], dict) else ""
    then = " The exponential of the sum is predicted." if _is_log(result) else then
    return (
        "To predict for a row, add the intercept, the coefficients of its cells, and each number times its "
        "coefficient. Numbers are clipped to their bounds; a missing number is replaced by the domain's replacement, "
        f"or by the middle of its bounds.{then} "
        "`gaugedp predict` does so for each line of a file, with the model that --out wrote."
    )


def _is_log(result: dict[str, Any]) -> bool:
    return bool(result["facts"].get("link") == "log")


def _score_in_words(score: dict[str, Any] | None) -> str:
    if score is None:
        return (
            "No score was requested, so the effect of the noise on the coefficients is unknown. Only a score shows "
            "whether the categories of the domain match those of the table."
        )
    value, low, high = next(answers(*([float(score[name])] for name in ("value", "lower", "upper"))))
    sure = f"{score['level']:.0%} confidence"
    accuracy, error = "the share of the most common class", "the error of predicting one number for all rows"
    baseline = accuracy if score["name"] == "accuracy" else error
    is_blind = score["name"] == "accuracy" and score["lower"] <= 0 and score["upper"] >= 1
    warning = (
        " This carries no information: few or no rows were held out. Do the categories match the table?" * is_blind
    )
    return (
        f"Held-out {score['name']}: {value} with noise; the exact value on these rows is between {low} and {high} "
        f"({sure}). Other rows may differ more; compare it with {baseline}.{warning}"
    )


def _planned(
    domain: Domain,
    unit: PrivacyUnit,
    names: tuple[str, str, str],
    guarantee: tuple[float | None, ...],
    options: dict[str, Any],
) -> "TableFit | RatingsFit":
    from gaugedp.estimators.fitting import plan_table_fit

    model, target, features = names
    *budget, score, radius = guarantee
    columns = [plain(name) for name in parts(features, ",") if name]
    options |= {"score": score, "radius": radius}
    return plan_table_fit(domain, unit, (model, plain(target), columns), guarantee_asked(*budget), options)


def _write(result: dict[str, Any], out: str | None, stored: Ledger | None, as_json: bool, details: bool) -> None:
    text = json.dumps(result)

    def printed() -> None:
        show_model = show_ratings if result["model"] == "ratings" else show
        click.echo(text) if as_json else show_model(result, stored, details)

    hand_over("model", [(lambda path: path.write_text(f"{text}\n", encoding="utf-8"), out)], printed)
    if as_json and stored is not None:
        click.echo(stored_before("model", result["facts"]["account"]), err=True)
