"""Guarantees, units and exactness in sentences."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gaugedp.guarantees import ZCDP, ApproxDP, Composed, ExponentialLoss, GaussianDP, Guarantee, PureDP, RenyiBudget
from gaugedp.guarantees.printed import rounded_up
from gaugedp.report.figures import at_most, epsilon_at, factor_up, percent_up
from gaugedp.report.markup import Html, escape, join, tag

BESIDE_RANKS = " The error of a quantile is an upper bound on its distance in ranks, and is included."
_DELTA = 1e-6  # at which a guarantee without ε is also stated as one
_REPR = re.compile(r"(?:(\d+) \* )?(PureDP|ApproxDP|ZCDP|GaussianDP|ExponentialLoss)\(([^,()]+)(?:, ([^,()]+))?\)")
_KINDS: dict[str, Callable[..., Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GaussianDP, ExponentialLoss)
}
_EXACTNESS = {
    "exact": "Every draw of the noise has exactly the stated distribution. Nothing is rounded before the release, so "
    "the guarantee holds for the program and not only for its formula.",
    "idealized": "The proof is about real numbers; the program computes in floating point, which is close but not "
    "identical.",
    "mixing": "The noise comes from a random walk that approximates the stated distribution; the δ of the guarantee "
    "includes an allowance for the distance. For K-norm noise, this allowance is based on measurements, not proved.",
}


def exactness(kind: str) -> str:
    """Describe how far the proof covers the program."""
    return _EXACTNESS.get(kind, kind)


_VERIFIED = {
    "exact": "Before the charge, the noise was checked against the guarantee for every possible row.",
    "sampled": "Before the charge, the noise was checked against the guarantee for some possible rows or in floating "
    "point",
    "none": "The noise was not checked against the guarantee before the charge",
}


def verified(facts: Mapping[str, Any]) -> str:
    """Describe the check before the charge, if stated."""
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
    """Explain the guarantee for tables that differ by a unit."""
    change = f"if {difference(unit)}"
    match guarantee:
        case PureDP(epsilon_value=epsilon):
            start = f"Whatever the data: {change}, the probability of any output changes by at most a factor of "
            return join([start, _power(epsilon), "."])
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) | RenyiBudget(epsilon_value=epsilon, delta_value=delta):
            start = f"Whatever the data: {change}, the probability of any set of outputs grows by at most a factor of "
            return join([start, _power(epsilon), f", plus {at_most(delta)}."])
        case GaussianDP(mu=mu):
            return escape(
                f"Whatever the data: detecting {_whether(unit)} is no easier than distinguishing a draw of a normal "
                f"distribution from one shifted by {at_most(mu)} standard deviations.{_as_epsilon(guarantee)}"
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
    """Describe what `guaranteed` omits, or return ""."""
    is_simpler = isinstance(guarantee, Composed | ExponentialLoss) and plain(guarantee) is not None
    return f"More exactly, it is {rounded_up(guarantee)}.{_as_epsilon(guarantee)}" if is_simpler else ""


def _power(epsilon: float) -> Html:
    return join(["e", tag("sup", at_most(epsilon)), f" ≈ {factor_up(epsilon)}"])


def best_guess(guarantee: Guarantee, unit: Mapping[str, Any]) -> str:
    """Explain the guarantee as a guess with even odds.

    (1 + δ(0))/2 bounds the success of the best test between two neighbours.
    """
    share = percent_up((1 + guarantee.delta(0.0)) / 2)
    return (
        f"Someone who knows everything else and starts with even odds can guess {_whether(unit)} correctly with "
        f"probability at most {share}. A coin flip reaches 50\u00a0%."
    )


def difference(unit: Mapping[str, Any]) -> str:
    """Describe the difference of neighbouring tables, as a clause."""
    if unit.get("neighbours") == "replace":
        return "one row is changed" if _is_row(unit) else f"the rows of one {unit['column']} are changed"
    return "one row is added or removed" if _is_row(unit) else f"all rows of one {unit['column']} are added or removed"


def neighbours(unit: Mapping[str, Any]) -> str:
    """Describe the neighbouring relation in sentences."""
    if unit.get("neighbours") == "replace":
        words = "The guarantee hides the content of the unit's rows; the number of units is public."
    else:
        words = "The guarantee hides whether the unit is in the table, and therefore also the content of its rows."
    if _is_row(unit):
        return f"The protected unit is one row. {words}"
    max_rows = unit.get("max_rows", 1)
    rows = "one of its rows" if max_rows == 1 else f"{max_rows} of its rows"
    used = "they are aggregated into one row" if unit.get("as_one") else f"at most {rows} are used"
    return f"The protected unit is all rows with the same {unit['column']}; {used}. {words}"


def guarantee_in(text: str) -> Guarantee | None:
    """Parse the repr of a guarantee, or return None."""
    matches = [_REPR.fullmatch(part) for part in text.split(" + ")]
    try:
        parts = [int(match[1] or 1) * _single(match) for match in matches if match is not None]
    except (TypeError, ValueError):
        return None
    return sum(parts[1:], parts[0]) if parts and None not in matches else None


def _single(match: re.Match[str]) -> Guarantee:
    return _KINDS[match[2]](*(float(number) for number in match.groups()[2:] if number is not None))


def plain(guarantee: Guarantee) -> PureDP | None:
    """Return the pure guarantee of a composition, or None."""
    if any(not isinstance(part, ExponentialLoss | PureDP) for part, _ in guarantee.components()):
        return None
    return PureDP(float(guarantee.epsilon(0.0)))


def amount(text: str) -> str:
    """Format the repr of a guarantee, as a formula if possible."""
    guarantee = guarantee_in(text)
    return rounded_up(text).replace("epsilon ", "ε = ") if guarantee is None else symbol(guarantee)


def _whether(unit: Mapping[str, Any]) -> str:
    what = "a given row" if _is_row(unit) else f"a given {unit['column']}"
    return f"the content of {what}" if unit.get("neighbours") == "replace" else f"whether {what} is in the table"


def _is_row(unit: Mapping[str, Any]) -> bool:
    return unit.get("column") is None


def _as_epsilon(guarantee: Guarantee) -> str:
    return f" At δ = {at_most(_DELTA)} this is ε = {epsilon_at(guarantee, _DELTA)}."
