"""Meaning of ε and δ for those protected, in sentences. The explorer's script replaces their numbers."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from gaugedp.guarantees import ApproxDP, PureDP
from gaugedp.report import words
from gaugedp.report.figures import factor_up, percent_up, scientific
from gaugedp.report.markup import Html, join, listing, tag

Start = tuple[float, float]

_BELIEFS, _BELIEF = (0.01, 0.1, 0.5, 0.9), 0.1
_DELTA = (
    "A guarantee with δ does not exclude that each unit is published with probability δ. Choose δ far below 1 / "
    "(number of units)."
)


def sentences(epsilon: float, delta: float, belief: float = _BELIEF) -> dict[str, str]:
    """Return the numbers of the sentences, rounded conservatively.

    For an (ε, δ) guarantee between two neighbours: an even guess is right with probability at most (e^ε + δ)/(1 + e^ε);
    a set of probability a on one side has at most min(e^ε·a + δ, 1 − e^−ε·(1 − a − δ)) on the other; at δ = 0 a belief
    p ends between p/(p + (1 − p)·e^ε) and e^ε·p/(1 − p + e^ε·p); with δ, the odds of a true statement grow by more than
    a factor of 2·e^ε with probability at most 2δ. The proofs are in docs/theory/membership.md.
    """
    fade, against = math.exp(-epsilon), 1 - belief
    power = min(0.01 / fade + delta, 1 - fade * (1 - 0.01 - delta))  # 1 % false positives
    highest = belief / (belief + against * (fade / 2 if delta else fade))
    return {
        "epsilon": small(epsilon),
        "delta": small(delta),
        "factor": factor_up(epsilon),
        "guess": percent_up((1 + delta * fade) / (1 + fade)),
        "found": percent_up(power),
        "most": percent_up(highest),
        "least": percent_down(belief * fade / (belief * fade + against)),
        "except": small(2 * delta),
        "twice": f"ε = {small(2 * epsilon)}" + (f", δ = {small(2 * delta)}" if delta else ""),
    }


def protected(unit: Mapping[str, Any], start: Start) -> Html:
    """Return the statements about the guarantee at `start`."""
    said = sentences(*start)
    slack = with_delta([", ", say(said, "delta", "δ = ")], start)
    return tag(
        "div",
        tag("p", words.neighbours(unit)),
        tag("p", "At ", say(said, "epsilon", "ε = "), slack, ":"),
        listing(_statements(unit, said, start)),
        id="explorer-protected",
    )


def say(said: Mapping[str, str], name: str, before: str = "") -> Html:
    """Return a number that the script replaces."""
    return tag("b", f"{before}{said[name]}", data_say=name, **({"data_before": before} if before else {}))


def with_delta(parts: list[str], start: Start) -> Html:
    """Return parts that are shown only if δ > 0."""
    return _when("delta", parts, start[1] > 0)


def small(value: float) -> str:
    """Format ε or δ."""
    return scientific(value) if 0 < value < 1e-3 else f"{value:.6g}"


def percent_down(share: float) -> str:
    """Format a percentage, rounded down to a tenth."""
    return f"{max(0.0, math.floor(share * 1000 + 1e-9) / 10):g}%"


def _statements(unit: Mapping[str, Any], said: Mapping[str, str], start: Start) -> Iterator[Html]:
    yield join(
        [
            f"Whatever the data contain, {words.if_changed(unit)} can multiply the probability of any set of outputs "
            "by at most e",
            tag("sup", "ε"),
            " ≈ ",
            say(said, "factor"),
            with_delta([" and then add at most ", say(said, "delta"), " to it"], start),
            ".",
        ]
    )
    before, _, after = words.best_guess(ApproxDP(*start) if start[1] else PureDP(start[0]), unit).partition(
        said["guess"]
    )
    yield join([before, say(said, "guess"), after])
    yield join([*_belief(unit), *_ends(said, start)])
    yield join(_search(unit, said))
    yield join(["Two such releases about the same table together have this guarantee: ", say(said, "twice"), "."])
    yield with_delta([_DELTA], start)


def _belief(unit: Mapping[str, Any]) -> list[str]:
    options = [
        tag("option", percent_up(share), value=str(share), **({"selected": "selected"} if share == _BELIEF else {}))
        for share in _BELIEFS
    ]
    menu = tag("select", *options, id="explorer-belief", aria_label="Belief before the release")
    about = "a given row" if unit.get("column") is None else f"a given {unit['column']}"
    what = f"{about} has one content and not another" if unit["neighbours"] == "replace" else f"{about} is in the table"
    return ["Someone who knows everything else believes with probability ", menu, f" that {what}. "]


def _ends(said: Mapping[str, str], start: Start) -> list[Html]:
    pure = ["After the release, this probability is between ", say(said, "least"), " and ", say(said, "most"), "."]
    loose = ["If this is true, the probability is then at most ", say(said, "most"), ", except with probability "]
    exception = [say(said, "except"), " or less, over the noise."]
    return [_when("pure", pure, start[1] == 0), with_delta([*loose, *exception], start)]


def _search(unit: Mapping[str, Any], said: Mapping[str, str]) -> list[str]:
    number = say(said, "found")
    if unit["neighbours"] == "replace":
        start = "A test between two contents of a unit with a false-positive rate of at most 1% "
        return [start, "has a true-positive rate of at most ", number, "."]
    about = "rows" if unit.get("column") is None else "units"
    start = f"A search that selects at most 1% of the {about} that are not in the table "
    return [start, "selects at most ", number, " of those that are."]


def _when(kind: str, parts: list[str], shown: bool) -> Html:
    return tag("span", *parts, data_when=kind, **({} if shown else {"hidden": "hidden"}))
