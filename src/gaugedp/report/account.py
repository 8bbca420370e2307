"""Spent and remaining budget, as a bar and as text."""

from collections.abc import Mapping
from typing import Any

from gaugedp._internal.language import say
from gaugedp.guarantees.printed import rounded_left
from gaugedp.report.markup import Html, join, tag
from gaugedp.report.words import amount, guarantee_in

_NOTHING = 1e-9  # shares below this come from rounding


def account(facts: Mapping[str, Any]) -> Html:
    """Return the account after this release."""
    lines = [
        (say("account.this"), amount(facts["charged"])),
        (say("account.spent"), amount(facts["spent"])),
        (say("account.left"), amount(rounded_left(facts["remaining"], facts["budget"]))),
        (say("account.budget"), amount(facts["budget"])),
    ]
    rows = [join([tag("dt", name), tag("dd", text)]) for name, text in lines]
    return join([_bar(facts), tag("dl", *rows, class_="account")])


def _bar(facts: Mapping[str, Any]) -> Html:
    shares = _shares(facts)
    if shares is None:
        return Html("")
    is_of_epsilon = facts["budget"].startswith("ApproxDP")
    return meter(shares, say("account.this"), "", is_of_epsilon)


def meter(shares: tuple[float, float], name: str, first: str, is_of_epsilon: bool) -> Html:
    """Return the bar of a budget and its description.

    `shares` are those spent before, and by what has the `name`; `first` says that nothing was spent before, or is "".
    """
    before, now = shares
    said = dict(zip(("before", "now", "left"), _percents([before, now, max(0.0, 1 - before - now)]), strict=True))
    is_first, is_last = before < _NOTHING, 1 - before - now < _NOTHING
    key = ("now_all" if is_last else "now_first") if is_first else "now_rest" if is_last else "now"
    sentences = [first if is_first else say("account.before", **said), say(f"account.{key}", name=name, **said)]
    words = " ".join([*[say("account.shares")] * is_of_epsilon, *filter(None, sentences)])
    pieces = [
        tag("span", class_=kind, style=f"width:{100 * share:.2f}%")
        for kind, share in (("before", before), ("now", now))
    ]
    bar = tag("div", *pieces, class_="meter", role="img", aria_label=words)
    return join([bar, tag("p", words, class_="small")])


def _shares(facts: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the shares spent before and now, if known. They are in the budget's accounting; for (ε, δ), in ε."""
    read = [guarantee_in(facts[name]) for name in ("budget", "spent", "charged")]
    accounting = read[0].accounting if read[0] is not None else None
    if accounting is None or None in read:
        return None
    costs = [guarantee.cost(accounting) for guarantee in read if guarantee is not None]
    if None in costs:
        return None
    budget, spent, charged = (float(cost[0]) for cost in costs if cost is not None)
    if budget <= 0:
        return None
    now = min(charged / budget, 1.0)
    return min(max(spent / budget - now, 0.0), 1.0 - now), now


def _percents(shares: list[float]) -> list[str]:
    percents = [round(100 * share) for share in shares[:-1]]
    percents.append(max(0, 100 - sum(percents)))
    none = [say("account.nothing" if share < _NOTHING else "account.little") for share in shares]
    written = [say("numbers.percent", number=percent) for percent in percents]
    return [said if percent else word for percent, said, word in zip(percents, written, none, strict=True)]
