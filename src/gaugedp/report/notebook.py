"""Notebook tables of objects, from public or released facts.

Each function is the `_repr_html_` of its argument's class. Tables have at most 20 rows; colours are the notebook's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from gaugedp._internal import numbers as _numbers
from gaugedp.domain.attributes import Attribute, BoundedColumn
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger.entries import states
from gaugedp.releases.plan_widths import half_widths
from gaugedp.report.figures import at_least, at_most, percent, plain, short, typeset
from gaugedp.report.markup import Html, table, tag
from gaugedp.report.words import amount, symbol
from gaugedp.report.words import plain as pure_of
from gaugedp.statistics.base import split_answers

if TYPE_CHECKING:
    from gaugedp.audit.canaries import OneRun
    from gaugedp.audit.result import Audit
    from gaugedp.audit.tracing import Tracing
    from gaugedp.domain.domain import Domain
    from gaugedp.estimators.base import PrivateEstimator
    from gaugedp.estimators.fit_plan import FitPlan
    from gaugedp.estimators.fit_release import FitRelease
    from gaugedp.estimators.intervals import Summary
    from gaugedp.ledger import Ledger
    from gaugedp.releases.answer import Release
    from gaugedp.releases.comparison import Comparison
    from gaugedp.releases.partition_selection import KeyRelease
    from gaugedp.releases.planning import Plan
    from gaugedp.releases.streams.answer import StreamAnswer

MOST_ROWS = 20
_FIRST_CELLS = 4  # shown of an attribute
_SEEDED = "Seeded: the noise is reproducible. This protects nobody."
_LOOKS = Html(
    "<style>.gaugedp-shown table{border-collapse:collapse;margin:.3em 0 .6em;font-variant-numeric:tabular-nums}"
    ".gaugedp-shown caption{caption-side:top;text-align:left;color:inherit;padding:.2em 0}"
    ".gaugedp-shown th,.gaugedp-shown td{padding:.15em .7em .15em 0;text-align:left;color:inherit;background:none;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.5);vertical-align:top}"
    ".gaugedp-shown .numbers td,.gaugedp-shown .numbers th+th,.gaugedp-shown .answers td+td,"
    ".gaugedp-shown .answers th:nth-child(n+3){text-align:right}"
    ".gaugedp-shown p{margin:.2em 0}.gaugedp-shown .scroll{overflow-x:auto}</style>"
)


def domain(shown: "Domain") -> str:
    """Draw the attributes with their cells, and bounded columns."""
    attributes = [
        [name, plain(attribute.n_cells), _cells(attribute), attribute.outside]
        for name, attribute in _first(shown.attributes)
    ]
    columns = [[name, *_bounds(column)] for name, column in _first(shown.columns)]
    return _box(
        f"Domain {shown.name}",
        [f"Protected: {shown.unit}."] * (shown.unit is not None),
        _table("Attributes", ("name", "cells", "values", "outside"), attributes, len(shown.attributes), class_="texts"),
        _table("Bounded columns", ("name", "low", "high", "step", "missing"), columns, len(shown.columns)),
    )


def plan(shown: "Plan") -> str:
    """Draw the terms with their intervals, and the candidates."""
    heads = ("term", "answers", "± individual", "± simultaneous")
    terms = [[term["query"], plain(term["answers"]), *_widths(term)] for term in shown.terms()[:MOST_ROWS]]
    rows = [
        [_name(row), short(row["error"]), amount(row["guarantee"]), row["exactness"]]
        for row in shown.table()[:MOST_ROWS]
    ]
    caption = f"Candidates, by expected error in {shown.unit_of_error}"
    candidate_heads = ("mechanism", "expected error", "guarantee", "exactness")
    return _box(
        f"Plan for {shown.query.text}",
        [f"Requested: {symbol(shown.requested)}. Protected: {shown.unit}.", f"Reason: {shown.reason}."],
        _table("95% intervals of the answers", heads, terms, len(shown.query.labels.terms)),
        _table(caption, candidate_heads, rows, len(shown.candidates)),
        *shown.remarks(),
    )


def release(shown: "Release") -> str:
    """Draw the released answers with their intervals."""
    columns = {name: column for name, column in shown.number_columns().items() if not name.endswith("_all")}
    terms = zip(*(split_answers(shown.estimates, column) for column in columns.values()), strict=True)
    numbers = chain.from_iterable(_numbers.answers(*term) for term in terms)
    marks = zip(*shown.marks(), strict=True) if shown.flags else repeat(("", False))
    shown_rows = islice(zip(shown.labels, numbers, marks, strict=False), MOST_ROWS)
    rows = [
        [query, cell, *([mark] + [""] * (len(columns) - 1) if is_hidden else map(typeset, texts))]
        for (query, cell), texts, (mark, is_hidden) in shown_rows
    ]
    level = percent(min(estimate.ends or 0.95 for estimate in shown.estimates))
    processed = f"Processed: {', '.join(shown.processing)}; the intervals are those of the raw answers."
    source = f"Table: {shown.facts['table']}. Guaranteed: {symbol(shown.guarantee)}, {shown.exactness}."
    return _box(
        f"Release of {shown.facts['query']}",
        [*_seeded(shown.facts), source, *[processed] * bool(shown.processing)],
        _table(f"Answers with {level} intervals", ("query", "cell", *columns), rows, len(shown.labels), "answers"),
        *shown.facts["rules"],
    )


def ledger(shown: "Ledger") -> str:
    """Draw the balance and the latest charges."""
    try:
        return _ledger(shown)
    except LedgerRefused as refused:
        return _box(repr(shown), [str(refused)])


def _ledger(shown: "Ledger") -> str:
    now, entries = shown.balance, shown.entries()
    payments = [
        (entry, state) for entry, state in zip(entries, states(entries), strict=True) if entry.kind == "reserve"
    ]
    rows = [
        [
            plain(entry.number),
            entry.time[:16].replace("T", " "),
            entry.question,
            entry.purpose or "",
            entry.by or "",
            "" if entry.guarantee is None else symbol(pure_of(entry.guarantee) or entry.guarantee),
            state,
        ]
        for entry, state in payments[-MOST_ROWS:]
    ]
    remaining = amount(rounded_left(now["remaining"], now["budget"]))
    return _box(
        f"Ledger of {shown.table or 'no table yet'}",
        [
            f"Protected: {shown.unit or 'not specified yet'}.",
            f"Spent {amount(now['spent'])} of {amount(now['budget'])}; left {remaining}.",
            *["In memory: for tests and trials."] * (not shown.durable),
        ],
        _table(
            "Latest charges",
            ("entry", "time (UTC)", "query", "purpose", "by", "guarantee", "state"),
            rows,
            len(payments),
            class_="texts",
        ),
    )


def comparison(shown: "Comparison") -> str:
    """Draw the expected error of each mechanism by ε."""
    rows = shown.table()
    heads = [name.replace("_", " ") for name in rows[0]]
    numbers = [[_cell(value) for value in row.values()] for row in rows[:MOST_ROWS]]
    first = shown.plans[0]
    errors = _table(f"Expected errors in {first.unit_of_error}", heads, numbers, len(rows))
    return _box(f"Comparison for {first.query.text}", [], errors)


def audit(shown: "Audit") -> str:
    """Draw the verdict and the tests."""
    rows = [
        [
            f"{row['kind']}: {row['name']}",
            short(row["p_value"]),
            "" if row["epsilon_lower"] is None else f"≥\u00a0{at_least(row['epsilon_lower'])}",
            "alarms" if row["alarms"] else "may alarm" if row["counted"] else "for information",
            row["detail"],
        ]
        for row in shown.table()[:MOST_ROWS]
    ]
    return _box(
        f"Audit of {shown.mechanism}",
        [shown.verdict, *shown.remarks, f"Claim: {rounded_up(shown.guarantee)}. {plain(shown.runs)} runs."],
        _table("Tests", ("test", "p-value", "ε", "role", "detail"), rows, len(shown.tests), class_="texts"),
    )


def tracing(shown: "Tracing") -> str:
    """Draw the shares of members and others that are found."""
    limit = "no guarantee sets a limit" if shown.guarantee is None else at_most(shown.ceiling)
    rows = [
        ["members", plain(shown.n_members), short(shown.true_positive_rate), limit],
        ["others", plain(shown.n_non_members), short(shown.false_positive_rate), ""],
    ]
    heads = ("people", "number", "share found", "at most")
    return _box(f"Tracing by the {shown.statistic} statistic", [], _table("Who is found", heads, rows, 2))


def one_run(shown: "OneRun") -> str:
    """Draw what the guesses about canaries prove."""
    numbers = (shown.n_canaries, shown.guessed, shown.correct)
    rows = [[name, plain(number)] for name, number in zip(("canaries", "guessed", "correct"), numbers, strict=True)]
    return _box("Audit in one run", [repr(shown)], _table("Guesses", ("what", "number"), rows, len(rows)))


def stream_answer(shown: "StreamAnswer") -> str:
    """Draw a period's answers and running totals, with intervals."""
    columns = {name: column[:MOST_ROWS] for name, column in shown.columns().items() if name != "period"}
    queries, cells, *numbers = columns.values()
    texts = ([short(number) for number in row] for row in zip(*numbers, strict=True))
    rows = [[query, cell, *row] for query, cell, row in zip(queries, cells, texts, strict=True)]
    caption = f"This period and the running totals, with {percent(0.95)} intervals"
    return _box(
        f"Period {shown.period} of {shown.facts['periods']}: {shown.facts['query']}",
        [
            *_seeded(shown.facts),
            f"Guaranteed for all periods: {symbol(shown.guarantee)}, {shown.exactness}.",
            f"A person is in at most {shown.facts['periods_per_person']} of them; this is not checked.",
        ],
        _table(caption, [name.replace("_", " ") for name in columns], rows, len(shown.labels), "answers"),
    )


def model(shown: "PrivateEstimator") -> str:
    """Draw a fitted model's numbers, or else its parameters."""
    if "release_" in vars(shown):
        return fit_release(vars(shown)["release_"])
    rows = [[name, repr(value)] for name, value in _first(shown.get_params(deep=False))]
    n_parameters = len(shown.get_params(deep=False))
    parameters = _table("Parameters", ("name", "value"), rows, n_parameters, class_="texts")
    return _box(f"{type(shown).__name__}, not fitted", [], parameters)


def fit_plan(shown: "FitPlan") -> str:
    """Draw what a plan of a fit states."""
    rows = [list(line) for line in shown.lines().items()]
    return _box(f"Plan of {shown.model}", [], _table("Without data", ("", "value"), rows, len(rows), class_="texts"))


def summary(shown: "Summary") -> str:
    """Draw a model's coefficients with standard errors and intervals."""
    rows = [list(line) for line in islice(shown.lines, MOST_ROWS)]
    return _box(shown.title, [shown.note], _table("Coefficients", shown.heads, rows, len(shown.names)))


def fit_release(shown: "FitRelease") -> str:
    """Draw the released numbers of a fit."""
    rows = list(islice(_entries(shown.values), MOST_ROWS))
    total = sum(np.size(value) for value in shown.values.values())
    request = "" if shown.requested is None else f"Requested: {symbol(shown.requested)}. "
    return _box(
        f"{shown.estimator}, fitted",
        [*_seeded(shown.facts), f"{request}Guaranteed: {symbol(shown.guarantee)}, {shown.exactness}."],
        _table("Released numbers", ("number", "value"), rows, total),
    )


def key_release(shown: "KeyRelease") -> str:
    """Draw the keys with the largest noisy counts."""
    largest = sorted(zip(shown.keys, shown.counts.tolist(), strict=True), key=lambda pair: -pair[1])[:MOST_ROWS]
    return _box(
        f"Keys of {shown.attribute}",
        [*_seeded(shown.facts), f"Guaranteed: {symbol(shown.guarantee)}, {shown.exactness}."],
        _table("Keys", ("key", "noisy count"), [[key, plain(count)] for key, count in largest], len(shown.keys)),
        *shown.remarks(),
    )


def _box(title: str, lines: Sequence[str], *parts: str) -> str:
    paragraphs = (tag("p", line) for line in lines)
    below = (part if isinstance(part, Html) else tag("p", part) for part in parts)
    return tag("div", _LOOKS, tag("p", tag("strong", _cut(title))), *paragraphs, *below, class_="gaugedp-shown")


def _table(
    caption: str, heads: Iterable[str], rows: Sequence[Sequence[str]], total: int, class_: str = "numbers"
) -> Html:
    if not rows:
        return Html("")
    of_all = f"{caption}: {len(rows):,} of {total:,}" if len(rows) < total else caption
    return table(of_all, heads, ([_cut(cell) for cell in row] for row in rows), class_=class_)


def _seeded(facts: Mapping[str, Any]) -> list[str]:
    return [_SEEDED] * (facts.get("research_seed") is not None)


def _first(named: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return islice(named.items(), MOST_ROWS)


def _cells(attribute: Attribute) -> str:
    if not attribute.has_cells:
        return "keys that are not known in advance"
    n_cells = attribute.n_cells
    first = [attribute.label(code) for code in range(min(n_cells, _FIRST_CELLS))]
    between = ["…"] * (n_cells > _FIRST_CELLS + 1)
    return ", ".join([*first, *between, *[attribute.label(n_cells - 1)] * (n_cells > _FIRST_CELLS)])


def _name(candidate: Mapping[str, Any]) -> str:
    return f"{candidate['mechanism']}{' (chosen)' * candidate['chosen']}"


def _bounds(column: BoundedColumn) -> list[str]:
    missing = "drop" if column.missing is None else short(float(column.missing))
    return [*(short(float(number)) for number in (column.low, column.high, column.step)), missing]


def _widths(term: Mapping[str, Any]) -> list[str]:
    return [short(width) for width in half_widths(term)]


def _entries(values: Mapping[str, np.ndarray]) -> Iterator[list[str]]:
    for name, value in values.items():
        for place, number in np.ndenumerate(np.asarray(value)):
            index = ", ".join(map(str, place))
            yield [f"{name}[{index}]" if place else name, _cell(number)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return short(float(value)) if isinstance(value, int | float | np.number) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[: 80 - 1]}…"
