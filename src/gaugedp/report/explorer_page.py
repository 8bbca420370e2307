"""Page of the explorer: HTML, JSON data, script and policy."""

import base64
import hashlib
import json
import shlex
from typing import TYPE_CHECKING

from gaugedp._internal.language import say
from gaugedp._internal.numbers import exact
from gaugedp.report.explorer_words import protected, sentences, small, with_delta
from gaugedp.report.figures import plain, short
from gaugedp.report.layout import MARKS
from gaugedp.report.markup import Html, heading, join, table, tag, titled
from gaugedp.report.page import document, resource
from gaugedp.report.palette import COLOURS

if TYPE_CHECKING:
    from gaugedp.report.explored import Explored, Point

_OFFERED_TERMS = 24  # terms that can be selected
_FIRST_CELLS = 6
_NO_NUMBER = "–"
_MEANING = (
    "The expected error is the l2 norm of the noise of all released numbers; one row of a sum counts like one row of a "
    "count. Every mechanism here satisfies the guarantee of the chosen ε and δ. "
)
_MEANING_IN_ROWS = "The expected error is a bound on the l2 norm of the rank errors of all quantiles, in rows. "
_COMPUTED = (
    "The page shows only computed numbers, those of gaugedp plan at the same ε and δ. The sliders stop at the points "
    "of the table; nothing between them is shown. In the chart, marks are computed, and lines only connect the marks."
)
_BOUNDED = (
    "The lower bounds hold for mechanisms with δ = 0. The dashed one is for integer counts, the dotted one for "
    "real-valued data: mechanisms on integers may have smaller errors than the dotted one. The bounds are proved, or "
    "certified with confidence 1 − 10⁻⁹, as stated by a plan."
)
_NO_SCRIPT = (
    "The sliders and the chart need a script, which did not run here. The table below has every computed number."
)


def page(explored: "Explored") -> str:
    """Return the explorer as a page, deterministically."""
    text = explored.query.text
    lead = f"Privacy cost and error of the answers. Protected: {explored.unit}."
    header = heading("Explorer", text, tag("p", lead, class_="lead"))
    parts, source = (
        [header, tag("main", section(explored))],
        "This page was made from public facts alone, without access to the data.",
    )
    return document(f"Explorer – {text[:120]}", parts, source, policy(), looks())


def policy() -> Html:
    """Return the content security policy of the page. Nothing is loaded or sent, and only its own script runs."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    rules = ("default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'")
    content = "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])
    return Html(f'<meta http-equiv="Content-Security-Policy" content="{content}">')


def looks() -> Html:
    """Return the style of the section, for the page head."""
    colours = "".join(f".explorer .c{i}{{color:{colour}}}" for i, colour in enumerate(COLOURS))
    return Html(f"<style>{resource('explorer.css')}{colours}</style>")


def section(explored: "Explored") -> Html:
    """Return the explorer for a page with `policy` and `looks`."""
    return titled(
        "Explore other choices",
        tag("noscript", tag("p", _NO_SCRIPT, class_="warning")),
        tag("div", _controls(explored), _chart(explored), _target(explored), class_="bench live"),
        tag("h3", "What it means for the people protected"),
        protected(explored.unit.to_dict(), explored.start),
        _terms(explored),
        _commands(explored),
        tag("h3", "What was computed"),
        tag("p", f"{explored.counts()} {_COMPUTED}", class_="small"),
        _grid(explored),
        _data(explored),
        Html(f"<script>{_script()}</script>"),
        class_="explorer",
        id="explorer",
    )


def _controls(explored: "Explored") -> Html:
    slider = {"type": "range", "min": "0", "step": "1"}
    rows = ", in rows" if explored.in_rows else ""
    return tag(
        "div",
        tag("label", "ε, the privacy loss", for_="explorer-epsilon"),
        tag(
            "div", _input(id="explorer-epsilon", **slider), _number("explorer-number", "ε as a number"), class_="slide"
        ),
        tag("label", "δ, the slack", for_="explorer-delta"),
        tag("div", _input(id="explorer-delta", **slider), tag("output", id="explorer-slack"), class_="slide"),
        tag("h4", f"Expected error of all answers together{rows}"),
        tag("div", *(tag("p", id=f"explorer-{name}", class_=kind) for name, kind in _READINGS), aria_live="polite"),
        class_="controls fact",
    )


_READINGS = (("error", "value"), ("taken", ""), ("bound", "small"), ("how", "small"))


def _chart(explored: "Explored") -> Html:
    bounded = any(max(point.lower_bounds) > 0 for point in explored.points)
    meaning = _MEANING_IN_ROWS if explored.in_rows else _MEANING
    meaning += say("appendix.beside_ranks") + " " if len(explored.query.parts) > 1 else ""
    rows = [(_named(i, name), "", kind) for i, (name, kind) in enumerate(explored.mechanisms.items())]
    heads = ("mechanism", "error", "exactness")
    return tag(
        "figure",
        tag("figcaption", "Expected error against ε, both on logarithmic axes. Click into it, or move the sliders."),
        tag("div", tag("svg", aria_hidden="true"), id="explorer-chart", class_="paper"),
        table("At the chosen ε and δ. –: no candidate there", heads, rows, class_="numbers mechanisms"),
        tag("p", meaning + (_BOUNDED if bounded else "No lower bound is known for this query."), class_="small"),
    )


def _named(index: int, name: str) -> Html:
    look = index % len(MARKS)
    return join([tag("span", MARKS[look], class_=f"mark c{look}", aria_hidden="true"), f" {name}"])


def _target(explored: "Explored") -> Html:
    whole = tag("option", "all answers: expected error", value="")
    terms = [
        tag("option", f"{text}: ± of its 95% intervals", value=str(i))
        for i, text in enumerate(explored.terms[:_OFFERED_TERMS])
    ]
    measured = tag("label", "Measure ", tag("select", whole, *terms, id="explorer-measure"))
    limit = tag("label", "It may be at most ", _number("explorer-wanted", "the largest error"))
    return tag(
        "div",
        tag("h3", "From a target error to ε"),
        tag("p", measured, limit, class_="asked"),
        tag("p", id="explorer-needed", aria_live="polite"),
        tag("button", "Go to this ε", type="button", id="explorer-go"),
        class_="wanted fact",
    )


def _terms(explored: "Explored") -> Html:
    shown = explored.terms[:_OFFERED_TERMS]
    n_hidden = len(explored.terms) - len(shown)
    caption = "Individual 95% intervals of the chosen mechanism: the released number ± at most this"
    widths = table(caption, ("answers", "±, in rows" if explored.in_rows else "±"), [(text, "") for text in shown])
    remarks = [tag("p", remark, class_="small") for remark in explored.remarks]
    more = f" {n_hidden:,} more are omitted here; gaugedp plan prints them." if n_hidden > 0 else ""
    cells = explored.query.labels
    named = [cell for _, cell in cells[:_FIRST_CELLS]]
    names = ", ".join(filter(None, named)) + (", …" if len(cells) > _FIRST_CELLS else "")
    end = "" if names.endswith("…") else "."
    count = f"{plain(len(cells))} answer{'s' * (len(cells) != 1)}{': ' * bool(names)}{names}{end}{more}"
    title = tag("h3", "Precision of the answers")
    return tag("div", title, tag("p", count, class_="small"), widths, *remarks, class_="live", id="explorer-terms")


def _commands(explored: "Explored") -> Html:
    if "matrix(" in explored.query.text:
        return Html("")
    domain = shlex.quote(explored.query.domain.file or "domain.toml")
    options = f"--domain {domain} --query {shlex.quote(explored.query.text)} --epsilon "
    epsilon, delta = explored.start
    number = tag("span", exact(epsilon), data_say="digits")
    slack = with_delta([" --delta ", tag("span", exact(delta).replace("e-0", "e-"), data_say="slack")], explored.start)
    lines = (
        ["gaugedp plan ", options, number, slack],
        ["gaugedp release TABLE ", options, number, slack, " --ledger LEDGER"],
    )
    shown = [tag("pre", tag("code", *line), tabindex="0") for line in lines]
    return join([tag("h3", "On the command line"), *shown])


def _grid(explored: "Explored") -> Html:
    summary = tag("summary", f"Table: all {plain(len(explored.points))} computed points")
    return tag("details", summary, *(_curve(explored, delta) for delta in explored.deltas), open="open")


def _curve(explored: "Explored", delta: float) -> Html:
    names, points = list(explored.mechanisms), explored.curve(delta)
    thin = len(points) < len(explored.epsilons)
    few = f", computed at {len(points)} of {len(explored.epsilons)} values of ε" if thin else ""
    bounded = any(max(point.lower_bounds) > 0 for point in points)
    bounds = ["bound, integers", "bound, real numbers"] * bounded
    heads = ["ε", *names, "chosen", *bounds, "correct guesses, at most"]
    lines = (_line(point, names, bounded) for point in points)
    return table(f"Expected errors at δ = {small(delta)}{few}", heads, lines)


def _line(point: "Point", names: list[str], bounded: bool) -> list[str]:
    errors = [short(point.errors[name]) if name in point.errors else _NO_NUMBER for name in names]
    bounds = [short(bound) if bound > 0 else _NO_NUMBER for bound in point.lower_bounds] * bounded
    return [small(point.epsilon), *errors, point.chosen, *bounds, sentences(point.epsilon, point.delta)["guess"]]


def _data(explored: "Explored") -> Html:
    facts = {**explored.to_dict(), "colours": COLOURS}
    text = json.dumps(facts, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="explorer-data">{text}</script>')


def _number(name: str, label: str) -> Html:
    return _input(id=name, type="text", inputmode="decimal", autocomplete="off", size="8", aria_label=label)


def _input(**attributes: str) -> Html:
    return Html(tag("input", **attributes).removesuffix("</input>"))


def _script() -> str:
    return resource("explorer_words.js") + resource("explorer.js")
