"""What was spent and what is left, as a bar and as text."""

from collections.abc import Mapping
from typing import Any

from gaugedp.report.markup import Html, join, tag
from gaugedp.report.words import amount, amounts


def account(facts: Mapping[str, Any]) -> Html:
    """Return the account after this release."""
    lines = [
        ("This release", amount(facts["charged"])),
        ("Spent in all", amount(facts["spent"])),
        ("Left", amount(facts["remaining"])),
        ("Budget", amount(facts["budget"])),
    ]
    rows = [join([tag("dt", name), tag("dd", text)]) for name, text in lines]
    return join([_bar(facts), tag("dl", *rows, class_="account")])


def _bar(facts: Mapping[str, Any]) -> Html:
    shares = _shares(facts)
    if shares is None:
        return Html("")
    before, now = shares
    words = f"Spent before: {before:.0%}. This release: {now:.0%}. Left: {max(0.0, 1 - before - now):.0%}."
    pieces = [
        tag("span", class_=kind, style=f"width:{100 * share:.2f}%")
        for kind, share in (("before", before), ("now", now))
    ]
    return join(
        [
            tag("div", *pieces, class_="meter", role="img", aria_label=words),
            tag("p", words.replace(" 0%", " nothing").replace("%", " %"), class_="small"),
        ]
    )


def _shares(facts: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the shares of the budget that were spent before and now, where all are of one kind that adds up."""
    read = [amounts(facts[name]) for name in ("budget", "spent", "charged")]
    if None in read or len({kind for kind, _ in filter(None, read)}) != 1:
        return None
    budget, spent, charged = (_worth(*one) for one in read if one is not None)
    if budget <= 0:
        return None
    now = min(charged / budget, 1.0)
    return min(max(spent / budget - now, 0.0), 1.0 - now), now


def _worth(kind: str, numbers: tuple[float, ...]) -> float:
    """Return what adds up: ε, ρ or μ²."""
    return numbers[0] ** 2 if kind == "GaussianDP" else numbers[0]
