"""Guarantees, units and exactness in sentences."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gaugedp._internal.language import say, translated
from gaugedp.guarantees import ZCDP, ApproxDP, Composed, ExponentialLoss, GaussianDP, Guarantee, PureDP, RenyiBudget
from gaugedp.guarantees.printed import rounded_up
from gaugedp.report.figures import at_most, epsilon_at, factor_up, percent_up, short
from gaugedp.report.markup import Html, escape

_REPR = re.compile(r"(?:(\d+) \* )?(PureDP|ApproxDP|ZCDP|GaussianDP|ExponentialLoss)\(([^,()]+)(?:, ([^,()]+))?\)")
_DELTA = 1e-6  # at which any guarantee is also stated as (ε, δ)
_KINDS: dict[str, Callable[..., Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, GaussianDP, ExponentialLoss)
}


def exactness(kind: str) -> str:
    """Describe how far the proof covers the program."""
    return say(f"exactness.about_{kind}")


def verified(facts: Mapping[str, Any]) -> str:
    """Describe the check before the charge, if stated."""
    kind, reason = facts.get("verified", ""), facts.get("verified_reason") or ""
    return say(f"exactness.verified_{kind}", reason=translated(reason)) if kind else ""


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
    match guarantee:
        case PureDP(epsilon_value=epsilon):
            return escape(say("privacy.pure", if_changed=if_changed(unit), factor=factor_up(epsilon)))
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) | RenyiBudget(epsilon_value=epsilon, delta_value=delta):
            slots = {"factor": factor_up(epsilon), "delta": at_most(delta)}
            return escape(say("privacy.approximate", if_changed=if_changed(unit), **slots))
        case GaussianDP(mu=mu):
            said = say("privacy.gaussian", whether=_whether(unit), mu=at_most(mu))
        case ZCDP():
            said = say("privacy.concentrated", if_changed=if_changed(unit))
        case _ if (simpler := plain(guarantee)) is not None:
            return guaranteed(simpler, unit)
        case _:
            said = f"{rounded_up(guarantee)}."
    return escape(f"{said} {_as_epsilon(guarantee)}")


def in_detail(guarantee: Guarantee) -> list[str]:
    """Describe what `guaranteed` omits, if anything, line by line."""
    is_simpler = isinstance(guarantee, Composed | ExponentialLoss) and plain(guarantee) is not None
    if not is_simpler:
        return []
    parts = [f"{times} × " * (times > 1) + short(part.epsilon(0.0)) for part, times in guarantee.components()]
    total = symbol(guarantee).removeprefix("ε = ")
    has_parts = sum(times for _, times in guarantee.components()) > 1
    said = [say("privacy.parts", sum=f"{' + '.join(parts)} ≈ {total}")] * has_parts
    is_less = epsilon_at(guarantee, _DELTA) != epsilon_at(guarantee, 0.0)
    return [*said, *[_as_epsilon(guarantee)] * is_less]


def best_guess(guarantee: Guarantee, unit: Mapping[str, Any]) -> str:
    """Explain the guarantee as a guess with even odds.

    (1 + δ(0))/2 bounds the success of the best test between two neighbours.
    """
    share = percent_up((1 + guarantee.delta(0.0)) / 2)
    return say("privacy.guess", whether=_whether(unit), share=share)


def if_changed(unit: Mapping[str, Any]) -> str:
    """Describe the difference of neighbouring tables, in the words that `guaranteed` takes."""
    change = "changed" if unit.get("neighbours") == "replace" else "added"
    return say(f"unit.if_{'row' if _is_row(unit) else 'rows'}_{change}", column=unit.get("column"))


def neighbours(unit: Mapping[str, Any]) -> str:
    """Describe the neighbouring relation in sentences."""
    hides = say("unit.hides_content" if unit.get("neighbours") == "replace" else "unit.hides_presence")
    max_rows = unit.get("max_rows", 1)
    kind = "row" if _is_row(unit) else "as_one" if unit.get("as_one") else "one_row" if max_rows == 1 else "rows"
    return f"{say(f'unit.{kind}', column=unit.get('column'), max_rows=max_rows)} {hides}"


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
    kind = "content" if unit.get("neighbours") == "replace" else "whether"
    return say(f"unit.{kind}_{'row' if _is_row(unit) else 'rows'}", column=unit.get("column"))


def _is_row(unit: Mapping[str, Any]) -> bool:
    return unit.get("column") is None


def _as_epsilon(guarantee: Guarantee) -> str:
    return say("privacy.as_epsilon", delta=at_most(_DELTA), epsilon=epsilon_at(guarantee, _DELTA))
