"""Guarantees, units and exactness in sentences."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gaugedp.guarantees import ZCDP, ApproxDP, Composed, ExponentialLoss, GaussianDP, Guarantee, PureDP, RenyiBudget
from gaugedp.guarantees.printed import rounded_up
from gaugedp.report.figures import at_most, epsilon_at, factor_up, percent_up
from gaugedp.report.markup import Html, escape, join, tag

BESIDE_RANKS = " A quantile's error is the number of rows by which its rank is off, at most, and is counted in."
_DELTA = 1e-6  # where a guarantee without ε is also told as one
_REPR = re.compile(r"(?:(\d+) \* )?(PureDP|ApproxDP|ZCDP|GaussianDP|ExponentialLoss)\(([^,()]+)(?:, ([^,()]+))?\)")
_KINDS: dict[str, Callable[..., Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GaussianDP, ExponentialLoss)
}
_EXACTNESS = {
    "exact": "Every draw of the noise has the stated law to the last bit. No rounding enters before the release, "
    "so the guarantee holds for the program and not only for its formula.",
    "idealized": "The proof is about real numbers; the program computes with floating point, which is close to them "
    "but not the same.",
    "mixing": "The noise comes from a random walk that approximates the stated law; the δ of the guarantee includes an "
    "allowance for the distance. For K-norm noise, that the walk stays within it is measured, not proved.",
}


def exactness(kind: str) -> str:
    """Return how far the proof reaches into the program."""
    return _EXACTNESS.get(kind, kind)


_VERIFIED = {
    "exact": "Before the charge, the noise was checked against the guarantee, for every row that a table can have.",
    "sampled": "Before the charge, the noise was checked against the guarantee, for some of the rows that a table can "
    "have or in floating point",
    "none": "The noise was not checked against the guarantee before the charge",
}


def verified(facts: Mapping[str, Any]) -> str:
    """Return how far the noise was checked before the charge; empty for releases that do not say."""
    words, reason = _VERIFIED.get(facts.get("verified", ""), ""), facts.get("verified_reason")
    return f"{words} ({reason})." if reason else words


def symbol(guarantee: Guarantee) -> str:
    """Return the guarantee as a formula."""
    match guarantee:
        case PureDP(epsilon_value=epsilon):
            return f"ε = {at_most(epsilon)}"
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) | RenyiBudget(epsilon_value=epsilon, delta_value=delta):
            return f"ε = {at_most(epsilon)}, δ = {at_most(delta)}"
        case ZCDP(rho=rho):
            return f"ρ = {at_most(rho)}"
        case GaussianDP(mu=mu):
            return f"μ = {at_most(mu)}"
        case Composed() | ExponentialLoss() if plain(guarantee) is not None:
            return symbol(plain(guarantee) or guarantee)
    return rounded_up(guarantee)


def guaranteed(guarantee: Guarantee, unit: Mapping[str, Any]) -> Html:
    """Return what the guarantee says about two tables that differ by one unit."""
    change = f"if {difference(unit)}"
    match guarantee:
        case PureDP(epsilon_value=epsilon):
            start = f"Whatever the data: {change}, no output becomes more than "
            return join([start, _power(epsilon), " times likelier."])
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) | RenyiBudget(epsilon_value=epsilon, delta_value=delta):
            start = f"Whatever the data: {change}, the probability of any set of outputs grows at most "
            return join([start, _power(epsilon), f" times, and by {at_most(delta)} on top."])
        case GaussianDP(mu=mu):
            return escape(
                f"Whatever the data: noticing {_whether(unit)} is no easier than telling a draw of a normal law from "
                f"a draw of one that is shifted by {at_most(mu)} standard deviations.{_as_epsilon(guarantee)}"
            )
        case ZCDP():
            return escape(
                f"Whatever the data: {change}, the outputs stay close in the sense of concentrated differential "
                f"privacy.{_as_epsilon(guarantee)}"
            )
    simpler = plain(guarantee)
    if simpler is None:
        return escape(f"{rounded_up(guarantee)}.{_as_epsilon(guarantee)}")
    return guaranteed(simpler, unit)


def in_detail(guarantee: Guarantee) -> str:
    """Return what is known beyond the sentence of `guaranteed`; nothing where that says it all."""
    is_simpler = isinstance(guarantee, Composed | ExponentialLoss) and plain(guarantee) is not None
    return f"More exactly, it is {rounded_up(guarantee)}.{_as_epsilon(guarantee)}" if is_simpler else ""


def _power(epsilon: float) -> Html:
    return join(["e", tag("sup", at_most(epsilon)), f" ≈ {factor_up(epsilon)}"])


def best_guess(guarantee: Guarantee, unit: Mapping[str, Any]) -> str:
    """Return the guarantee as a bet: (1 + δ(0))/2 bounds how often the best test between two neighbours is right."""
    share = percent_up((1 + guarantee.delta(0.0)) / 2)
    return (
        f"Somebody who knows everything else and starts with even odds can guess {_whether(unit)}, and "
        f"be right at most {share} of the time. A coin reaches 50\u00a0%."
    )


def difference(unit: Mapping[str, Any]) -> str:
    """Return how two neighbouring tables differ, as a clause."""
    if unit.get("neighbours") == "replace":
        return "one row is changed" if _is_row(unit) else f"the rows of one {unit['column']} are changed"
    return "one row is added or removed" if _is_row(unit) else f"all rows of one {unit['column']} are added or removed"


def neighbours(unit: Mapping[str, Any]) -> str:
    """Return the neighbouring relation in sentences."""
    if unit.get("neighbours") == "replace":
        words = "The guarantee hides what the unit's rows say; the number of units is public."
    else:
        words = "The guarantee hides whether the unit is in the table, and so also what its rows say."
    if _is_row(unit):
        return f"The protected unit is one row. {words}"
    max_rows = unit.get("max_rows", 1)
    rows = "one of its rows" if max_rows == 1 else f"{max_rows} of its rows"
    used = "they are made one row" if unit.get("as_one") else f"at most {rows} are used"
    return f"The protected unit is all rows with the same {unit['column']}; {used}. {words}"


def guarantee_in(text: str) -> Guarantee | None:
    """Return the guarantee whose repr this is (to the digits that it shows), or None."""
    matches = [_REPR.fullmatch(part) for part in text.split(" + ")]
    try:
        parts = [int(match[1] or 1) * _single(match) for match in matches if match is not None]
    except (TypeError, ValueError):
        return None
    return sum(parts[1:], parts[0]) if parts and None not in matches else None


def _single(match: re.Match[str]) -> Guarantee:
    return _KINDS[match[2]](*(float(number) for number in match.groups()[2:] if number is not None))


def plain(guarantee: Guarantee) -> PureDP | None:
    """Return the pure guarantee that a composition makes, None for what has parts that are not pure."""
    if any(not isinstance(part, ExponentialLoss | PureDP) for part, _ in guarantee.components()):
        return None
    return PureDP(float(guarantee.epsilon(0.0)))


def amount(text: str) -> str:
    """Return the repr of a guarantee as a formula, or else as a text; numbers of many digits are rounded up."""
    guarantee = guarantee_in(text)
    return rounded_up(text).replace("epsilon ", "ε = ") if guarantee is None else symbol(guarantee)


def _whether(unit: Mapping[str, Any]) -> str:
    what = "a given row" if _is_row(unit) else f"a given {unit['column']}"
    return f"what {what} says" if unit.get("neighbours") == "replace" else f"whether {what} is in the table"


def _is_row(unit: Mapping[str, Any]) -> bool:
    return unit.get("column") is None


def _as_epsilon(guarantee: Guarantee) -> str:
    return f" At δ = {at_most(_DELTA)} this is ε = {epsilon_at(guarantee, _DELTA)}."
