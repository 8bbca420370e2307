"""`gaugedp guarantee`: the ε of a training run, and the power of membership tests under a guarantee."""

import json
from typing import Any

import click

from gaugedp._internal.numbers import digits_down, digits_up
from gaugedp._internal.validate import between
from gaugedp.cli.output import save
from gaugedp.cli.shared import check_files, guarantee_options, number, numbers, read_text, remark_on_delta, whole_number
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee, TrainingLog, TrainingRun, from_json, training_log
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.training import HYPOTHESES

_COUNTS = ("steps", "epochs", "bands")
_RUN = ("noise_multiplier", "sampling_rate", *_COUNTS, "batches", "neighbours")


@click.command()
@guarantee_options
@click.option("--noise-multiplier", metavar="NUMBER", help="DP-SGD: noise standard deviation over clipping norm.")
@click.option("--sampling-rate", metavar="NUMBER", help="DP-SGD: batch size divided by the number of examples.")
@click.option("--steps", metavar="N", help="DP-SGD: number of steps.")
@click.option("--epochs", metavar="N", help="DP-SGD with shuffled or banded batches: passes over the examples.")
@click.option("--batches", type=click.Choice(list(HYPOTHESES)), help="DP-SGD: how batches are made. [default: poisson]")
@click.option("--bands", metavar="N", help="DP-FTRL with banded batches: number of bands of the factorisation.")
@click.option("--neighbours", type=click.Choice(["add_remove", "replace"]), help="DP-SGD: how neighbours differ.")
@click.option(
    "--file", "path", metavar="FILE", help="JSON file with a guarantee or a training log, instead of options."
)
@click.option("--times", default="1", metavar="N", help="Number of releases with this guarantee. [default: 1]")
@click.option("--group", default="1", metavar="K", help="Number of units to protect together. [default: 1]")
@click.option("--prior", metavar="NUMBER", help="Attacker's prior probability of membership. [default: 0.5]")
@click.option("--svg", metavar="FILE", help="Write a plot of the trade-off curve. It needs gaugedp[report].")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def guarantee(
    path: str | None, times: str, group: str, prior: str | None, svg: str | None, as_json: bool, **options: str | None
) -> None:
    """Show what a privacy guarantee means. No data is read.

    For a run of DP-SGD or DP-FTRL, the command prints epsilon at --delta. For any other guarantee, and with --prior, it
    prints how well the best membership test can do. Such a test guesses from the release whether a person is in the
    data. The output states its error rates, its advantage and the attacker's posterior probability.

    Example: gaugedp guarantee --noise-multiplier 1.1 --sampling-rate 0.004 --steps 3500 --delta 1e-5
    """
    check_files({} if path is None else {"file": path}, svg=(svg, ".svg"))
    log, single = _described(path, options)
    size = whole_number("group", group)
    if log is not None:
        log.check_group(size)
    composed = (single * whole_number("times", times)).group(size)
    facts: dict[str, Any] = {}
    if log is not None:
        facts = {**_facts(log, composed), "group": size}
        remark_on_delta(ApproxDP(0.0, facts["delta"]))
    risk = composed.membership_risk(number("prior", prior or "0.5")) if log is None or prior is not None else None
    if svg is not None:
        save(svg, lambda place: place.write_text(_picture(composed), encoding="utf-8"))
    if as_json:
        click.echo(json.dumps({"guarantee": composed.to_dict(), **facts, **(risk.to_dict() if risk else {})}))
    else:
        click.echo("\n".join([*(_lines(facts) if facts else ()), *([risk.table()] if risk else ())]))


def _described(path: str | None, options: dict[str, str | None]) -> tuple[TrainingLog | None, Guarantee]:
    given = {name: text for name, text in options.items() if text is not None}
    if path is not None:
        if set(given) - {"delta"}:
            raise InvalidRequest("Both --file and the options of a guarantee are given.", "Use only one of them.")
        text = read_text(path, "a file that `gd.guarantees.to_json` wrote, or a training log")
        if _is_guarantee(text):
            if given:
                raise InvalidRequest("--delta is given, but the file already contains a guarantee.", "Omit --delta.")
            return None, from_json(text)
        return (log := _with_delta(training_log(text), given.get("delta"))), log.guarantee
    run = {name: given.pop(name) for name in _RUN if name in given}
    if not run:
        return None, guarantee_asked(**numbers(**{name: given.get(name) for name in ("epsilon", "delta", "rho", "mu")}))
    if set(given) - {"delta"} or "noise_multiplier" not in run:
        raise InvalidRequest(
            "A training run is described by --noise-multiplier, so --epsilon, --rho and --mu do not apply.",
            "Pass --noise-multiplier, and omit these options.",
        )
    single = TrainingRun(**{name: _parsed(name, text) for name, text in run.items()})
    return (log := _with_delta(TrainingLog((single,)), given.get("delta"))), log.guarantee


def _is_guarantee(text: str) -> bool:
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        return True  # from_json refuses it
    return not isinstance(facts, dict) or "kind" in facts


def _parsed(name: str, text: str) -> Any:
    if name in ("batches", "neighbours"):
        return text
    return whole_number(name, text) if name in _COUNTS else number(name, text)


def _with_delta(log: TrainingLog, text: str | None) -> TrainingLog:
    if text is None and log.delta is None:
        raise InvalidRequest(
            "The epsilon of a training run depends on delta, but --delta is missing.", "Pass --delta, such as 1e-5."
        )
    delta = log.delta if text is None else number("delta", text)
    between(0, 1, delta=delta)
    return TrainingLog(log.runs, delta)


def _facts(log: TrainingLog, composed: Guarantee) -> dict[str, Any]:
    """Return ε at the δ of the log, and what is assumed."""
    delta = float(log.delta or 0.0)
    epsilon = composed.epsilon(delta)
    low = epsilon.low if all(run.batches == "poisson" for run in log.runs) else 0.0  # other bounds are not least
    facts = {"epsilon": float(epsilon), "epsilon_low": low, "delta": delta, "method": epsilon.method}
    hypotheses = list(dict.fromkeys(run.hypothesis for run in log.runs))
    return {**facts, "neighbours": log.neighbours, "hypotheses": hypotheses}


def _lines(facts: dict[str, Any]) -> list[str]:
    moved = "added or removed" if facts["neighbours"] == "add_remove" else "replaced"
    examples = "one example" if facts["group"] == 1 else f"{facts['group']} examples"
    low = f"; no proof can give less than {digits_down(facts['epsilon_low'])}" if facts["epsilon_low"] > 0 else ""
    return [
        f"epsilon = {digits_up(facts['epsilon'])} at delta = {facts['delta']:g}, for {examples} {moved}{low}.",
        *(f"Assumed: {words}." for words in facts["hypotheses"]),
    ]


def _picture(composed: Guarantee) -> str:
    from gaugedp.report import tradeoff_svg

    return tradeoff_svg({repr(composed): composed})
