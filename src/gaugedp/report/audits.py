"""Report of an audit: one page without network or script."""

from collections.abc import Mapping
from typing import Any

from gaugedp.audit import Audit
from gaugedp.guarantees.printed import rounded_up
from gaugedp.report.figures import at_least, at_most, short
from gaugedp.report.markup import Html, fact, heading, join, table, tag, titled
from gaugedp.report.page import document

_HEADS = ("test", "p-value", "ε at least", "ε claimed", "δ", "observation")
_COUNTED = (
    "Only these may alarm: two-sided white-box tests of the noise distribution, and one black-box test whose score, "
    "threshold and point of the claimed curve were chosen on the first half of the runs and tested on the second. "
    "The probability of a false alarm is at most {miss} for all of them together."
)
_OTHERS = (
    "The other scores, on the same second half. They are shown for information: the best of many may be lucky, so "
    "nothing is concluded from them."
)


def render(audit: Audit, about: Mapping[str, str] | None = None) -> str:
    """Return the page, deterministically; `about` adds facts."""
    rows = audit.table()
    counted = [row for row in rows if row["counted"]]
    others = [row for row in rows if not row["counted"]]
    lead = tag("p", " ".join([audit.verdict, *audit.remarks]), class_="warning" if audit.violated else "lead")
    body = [
        heading("Audit", audit.mechanism, lead),
        tag(
            "main",
            _facts(audit, about or {}),
            _tests("Tests that may alarm", _COUNTED.format(miss=short(1 - audit.confidence)), counted),
            _chart(rows),
        ),
        _tests("Other scores", _OTHERS, others) if others else Html(""),
    ]
    return document(
        f"Audit of {audit.mechanism}", body, "This page was made from runs on artificial answers, and no row was read."
    )


def _facts(audit: Audit, about: Mapping[str, str]) -> Html:
    claimed = at_most(audit.epsilon_claimed) + (f" at δ = {short(audit.delta)}" if audit.delta else "")
    boxes = [
        fact(
            "ε at least",
            at_least(audit.epsilon_lower),
            tag("p", f"with confidence {audit.confidence:.10g}; claimed is {claimed}"),
        ),
        fact("Claim", rounded_up(audit.guarantee), tag("p", "the guarantee that the runs test")),
        fact(
            "Runs",
            f"{audit.runs:,}",
            tag("p", f"in {audit.seconds:.1f} seconds; each on one of two answers, chosen by a fair coin"),
        ),
    ]
    lines = [tag("p", tag("b", f"{name.capitalize()}: "), text) for name, text in about.items()]
    return titled("In short", tag("div", *boxes, class_="facts"), *lines)


def _tests(title: str, words: str, rows: list[dict[str, Any]]) -> Html:
    return titled(title, tag("p", words), table(title, _HEADS, [_cells(row) for row in rows]))


def _cells(row: Mapping[str, Any]) -> list[str]:
    mark = [tag("span", "alarms", class_="badge")] * bool(row["alarms"])
    name = join([f"{row['kind']}: {row['name']}", *mark], " ")
    written = {"epsilon_lower": at_least, "epsilon_claimed": at_most, "delta": short}
    numbers = ["" if row[key] is None else form(row[key]) for key, form in written.items()]
    return [name, short(row["p_value"]), *numbers, row["detail"]]


def _chart(rows: list[dict[str, Any]]) -> Html:
    """Return the lower bounds of black-box tests next to claims."""
    bounds = [row for row in rows if row["epsilon_lower"] is not None][:12]  # bounds at most
    largest = max(max(row["epsilon_lower"], row["epsilon_claimed"]) for row in bounds) or 1.0
    lines = [[row["name"], _bars(row, largest)] for row in bounds]
    words = "Above, the lower bound on ε that a score proves; below, the claimed ε. Only the first may alarm."
    return titled("Bounds by score", table(words, ("score", "ε"), lines, class_="offers"))


def _bars(row: Mapping[str, Any], largest: float) -> Html:
    def bar(value: float, kind: str) -> Html:
        return tag("span", tag("span", class_=kind, style=f"width:{100 * value / largest:.1f}%"), class_="track")

    proved, claimed = row["epsilon_lower"], row["epsilon_claimed"]
    lower = [f"proved {at_least(proved)}", bar(proved, "bar chosen")]
    return join([*lower, f"claimed {at_most(claimed)}", bar(claimed, "bar")])
