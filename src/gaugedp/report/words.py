"""Promises, units and exactness in sentences."""

import math
import re
from collections.abc import Mapping
from typing import Any

from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.report.figures import epsilon_at, factor_up, percent_up, scientific, short

_DELTA = 1e-6  # where a promise without ε is also told as one
_REPR = re.compile(r"(PureDP|ApproxDP|ZCDP|GaussianDP)\(([^,()]+)(?:, ([^,()]+))?\)")
_EXACTNESS = {
    "exact": "Whole numbers decide every draw of the noise. No rounding enters before the numbers are released, "
    "so the promise holds for the program and not only for its formula.",
    "idealized": "The proof is about real numbers; the program computes with floating point, which is close to them "
    "but not the same.",
    "mixing": "The noise comes from a random walk. Its distance from the stated law is part of the promise.",
}


def exactness(kind: str) -> str:
    """Return how far the proof reaches into the program."""
    return _EXACTNESS.get(kind, kind)


def symbol(promise: Guarantee) -> str:
    """Return the promise as a formula."""
    match promise:
        case PureDP(value=epsilon):
            return f"ε = {epsilon:g}"
        case ApproxDP(epsilon_value=epsilon, delta_value=delta):
            return f"ε = {epsilon:g}, δ = {_small(delta)}"
        case ZCDP(rho=rho):
            return f"ρ = {rho:g}"
        case GaussianDP(mu=mu):
            return f"μ = {mu:.4g}"
    return repr(promise)


def promised(promise: Guarantee, unit: Mapping[str, Any]) -> str:
    """Return what the promise says about two tables that differ by one unit."""
    change = f"if {difference(unit)}"
    match promise:
        case PureDP(value=epsilon):
            power = f"e^{epsilon:g} ≈ {factor_up(epsilon)}"
            return f"Whatever the data: {change}, no output becomes more than {power} times likelier."
        case ApproxDP(epsilon_value=epsilon, delta_value=delta):
            power = f"e^{epsilon:g} ≈ {factor_up(epsilon)}"
            return (
                f"Whatever the data: {change}, the probability of any set of outputs grows at most {power} times, "
                f"and by {_small(delta)} on top."
            )
        case GaussianDP(mu=mu):
            return (
                f"Whatever the data: noticing {_whether(unit)} is no easier than telling a draw of a normal law from "
                f"a draw of one that is shifted by {mu:.4g} standard deviations.{_as_epsilon(promise)}"
            )
        case ZCDP():
            return (
                f"Whatever the data: {change}, the outputs stay close in the sense of concentrated differential "
                f"privacy.{_as_epsilon(promise)}"
            )
    return f"{promise!r}.{_as_epsilon(promise)}"


def best_guess(promise: Guarantee, unit: Mapping[str, Any]) -> str:
    """Return the promise as a bet: (1 + δ(0))/2 bounds how often the best test between two neighbours is right."""
    share = percent_up((1 + promise.delta(0.0)) / 2)
    return (
        f"Somebody who knows all the rest, and holds it for as likely as not before, can guess {_whether(unit)} and "
        f"be right at most {share} of the time. A coin reaches 50 %."
    )


def difference(unit: Mapping[str, Any]) -> str:
    """Return how two neighbouring tables differ, as a clause."""
    if unit.get("neighbours") == "replace":
        return "one row holds something else" if _is_row(unit) else f"the rows of one {unit['column']} hold other things"
    return "one row is added or removed" if _is_row(unit) else f"all rows of one {unit['column']} are added or removed"


def neighbours(unit: Mapping[str, Any]) -> str:
    """Return the neighbouring relation in sentences."""
    if unit.get("neighbours") == "replace":
        words = "Hidden is what the unit says. The number of units is taken as known to everybody."
    else:
        words = "Hidden is whether the unit is in the table at all, and so also what it says."
    if _is_row(unit):
        return f"The protected unit is one row. {words}"
    most = unit.get("max_rows", 1)
    rows = "one of its rows" if most == 1 else f"{most} of its rows"
    return f"The protected unit is all rows with the same {unit['column']}; at most {rows} are used. {words}"


def amounts(text: str) -> tuple[str, tuple[float, ...]] | None:
    """Return the kind and the numbers in the repr of a single promise, or None."""
    found = _REPR.fullmatch(text)
    if found is None:
        return None
    try:
        numbers = tuple(float(number) for number in found.groups()[1:] if number is not None)
    except ValueError:
        return None
    return (found[1], numbers) if all(0 <= number < math.inf for number in numbers) else None


def amount(text: str) -> str:
    """Return the repr of a promise as a formula, or as it is."""
    read = amounts(text)
    if read is None:
        return text
    names = {"PureDP": ("ε",), "ApproxDP": ("ε", "δ"), "ZCDP": ("ρ",), "GaussianDP": ("μ",)}[read[0]]
    return ", ".join(f"{name} = {_small(value)}" for name, value in zip(names, read[1], strict=False))


def _whether(unit: Mapping[str, Any]) -> str:
    what = "one row" if _is_row(unit) else f"one {unit['column']}"
    return f"what {what} says" if unit.get("neighbours") == "replace" else f"whether {what} is in the table"


def _is_row(unit: Mapping[str, Any]) -> bool:
    return unit.get("column") is None


def _as_epsilon(promise: Guarantee) -> str:
    return f" At δ = {_small(_DELTA)} this is ε = {epsilon_at(promise, _DELTA)}."


def _small(value: float) -> str:
    return scientific(value) if 0 < value < 1e-3 else f"{value:g}" if value < 1e6 else short(value)
