"""Law: one number has one value, in the plan, the explorer, the release, the report and the CSV file.

Random worlds are planned, explored and released. Every printed expected error, half-width of an interval, lower bound
and answer is then compared with the value that it stands for.

Exceptions: a mean, a share and the like have no width of their own before a release: a plan shows the half-width for
1,000 rows. There the widths of the sums and counts are compared, and the curves from which intervals follow.
"""

import contextlib
import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp._internal import numbers as _numbers
from gaugedp._internal.language import translated
from gaugedp._internal.numbers import exact, readable
from gaugedp._internal.runs import unfold
from gaugedp.cli.main import run
from gaugedp.cli.release import show
from gaugedp.errors import GaugedpError, InvalidRequest
from gaugedp.releases.plan_widths import worth
from gaugedp.report import explorer_page, figures
from gaugedp.report.explorer import explore
from gaugedp.report.html import render
from gaugedp.report.press import press
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import split_answers
from tests.laws import worlds
from tests.laws.kit import batches, generator

LAW = "one_number"
COVERS = {
    "terms": set(worlds.WORDS) | {worlds.CELLS, worlds.PRODUCT},
    "statistics": set(KINDS) - set(worlds.FIGURES),
    "commands": {"plan", "explore", "release"},
    "guarantees": {"PureDP", "ApproxDP", "ZCDP", "GaussianDP"},
}
_MOST_PRINTED = 20  # answers of a release that the command line prints
_ROUNDING = 1e-9  # of a number: sums of floats


class Tables(HTMLParser):
    """The tables of a page: caption, and rows of cells as texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[tuple[list[str], list[list[str]]]] = []
        self._into: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        if tag == "table":
            self.tables.append(([], []))
        elif tag == "caption":
            self._into = self.tables[-1][0]
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("th", "td"):
            self._into = []
            self.tables[-1][1][-1].append("")
        if tag == "small" and self._into is not None:
            self.handle_data(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td", "caption"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is None:
            return
        if self.tables[-1][1]:
            self.tables[-1][1][-1][-1] += data
        else:
            self._into.append(data)

    def __call__(self, caption: str) -> list[list[list[str]]]:
        """Return the bodies of the tables whose caption has these words."""
        return [rows[1:] for said, rows in self.tables if caption in "".join(said)]


@pytest.mark.slow
@pytest.mark.parametrize("cases", batches(LAW, 5), ids=lambda cases: f"{cases.start}-{cases.stop - 1}")
def test_one_number_has_one_value(cases: range, tmp_path: Path) -> None:
    for case in cases:
        rng = generator(LAW, case)
        words = [worlds.WORDS[case // 2 % len(worlds.WORDS)]] if case % 2 else worlds.WORDS
        world = worlds.world(rng, words=words, n_terms=1 + (case % 10 == 0))
        try:
            check(world, tmp_path, WAYS[case % len(WAYS)])
        except AssertionError as error:
            raise AssertionError(f"case {case}: {world.query_text!r}, {world.budget}, {world.unit}: {error}") from None


WAYS = ("plan", "plan --json", "explore", "release")  # that plan again: one of them in each world


def check(world: worlds.World, folder: Path, way: str) -> None:
    """Insist that all that is said of a world says the same."""
    try:
        planned = gd.plan(world.query, world.unit, **world.budget)
    except InvalidRequest:  # such as noise beyond 64 bits
        return
    check_text(planned, str(planned))
    if way.startswith("plan"):
        check_printed_plan(world, planned, folder, as_json=way.endswith("json"))
    elif way == "explore" and "epsilon" in world.budget:
        check_explorer(world, planned)
    budget = world.budget if way == "release" else {"planned": planned}
    try:
        release = gd.release(world.query, world.table("csv", folder), ledger=world.ledger(), **budget)
    except GaugedpError:  # a table that the domain does not describe
        return
    check_release(planned, release)
    check_csv(release, folder / "answers.csv")
    check_report(release)
    check_printed_release(release, world.query)


# -- the plan --------------------------------------------------------------------------------------------


def said(*words: str) -> str:
    """Return what a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*words])
    assert code == 0, err.getvalue()
    return out.getvalue()


def check_printed_plan(world: worlds.World, planned: gd.Plan, folder: Path, as_json: bool) -> None:
    budget = [word for name, value in world.budget.items() for word in (f"--{name}", exact(value))]
    words = ["plan", "--domain", str(world.domain_file(folder)), "--query", world.query_text, *budget]
    if as_json:
        assert json.loads(said(*words, "--json")) == json.loads(json.dumps(planned.to_dict())), "plan --json"
    else:
        check_text(planned, said(*words))


def check_text(planned: gd.Plan, printed: str) -> None:
    """Compare the numbers of a printed plan with its values."""
    before, _, about_mechanisms = printed.partition("Mechanisms by expected error")
    about_terms = "\n".join(line for line in before.split("\n") if not line.startswith("Ranks: "))  # of other widths
    widths = [width for term in planned.terms() for width in worth(term)]
    assert re.findall(r"±[\d.,e+∞-]+", about_terms) == widths, "widths of the printed plan"
    for row in planned.table():
        line = next(line for line in about_mechanisms.split("\n") if f" {row['mechanism']} " in line)
        assert readable(row["error"]) in line.split(), "errors of the printed plan"
        shown = readable(row["interval_95"])
        assert shown in re.split(r"[\s±]+", line) or not planned.query.errors.has_one_unit, "widths of the mechanisms"
    assert planned.bound_in_words() in printed, "the bound of the printed plan"
    assert readable(planned.error) in planned.reason or len(planned.query.parts) > 1 or planned.mechanism.in_rows


# -- the explorer ----------------------------------------------------------------------------------------


def check_explorer(world: worlds.World, planned: gd.Plan) -> None:
    """Compare every number of the page with a plan at its ε and δ."""
    epsilon, delta = world.budget["epsilon"], world.budget.get("delta", 0.0)
    explored = explore(world.query, world.unit, ((epsilon * 1.5,), ()), (epsilon, delta), seconds=600 * (delta == 0))
    page = explorer_page.page(explored)
    facts = json.loads(re.findall(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)[0])
    points = [*facts["points"], *facts["others"]]
    assert {"epsilon": epsilon, "delta": delta} in [{k: p[k] for k in ("epsilon", "delta")} for p in facts["points"]]
    shown = [row for body in Tables(page)("Expected errors at δ") for row in body]
    assert len(shown) == len(points) == len(explored.points)
    names = list(explored.mechanisms)
    for point in points:
        at = (point["epsilon"], point["delta"])
        made = (
            planned if at == (epsilon, delta) else gd.plan(world.query, world.unit, epsilon=at[0], delta=at[1] or None)
        )
        errors = {row["mechanism"]: row["error"] for row in made.table()}
        widths = {term["query"]: readable(width) for term in made.terms() for width in _first_width(term)}
        assert (point["error"], point["errors"], point["chosen"]) == (made.error, errors, made.mechanism.name)
        assert {text: readable(_end(width)) for text, width in point["terms"].items()} == widths, "widths"
        assert [f"±{width}" for width in widths.values()] == [worth(term)[0] for term in made.terms()]
        pure = [float(made.lower_bound) or None, float(made.real_lower_bound) or None] if at[1] == 0 else [None, None]
        assert point["bounds"] == pure, "lower bounds"
        texts = [figures.short(errors[name]) if name in errors else "–" for name in names]
        assert any(row[1 : 1 + len(names)] == texts for row in shown), "errors in the table of the explorer"
        for bound in filter(None, pure):
            assert any(figures.short(bound) in row for row in shown), "lower bounds in the table of the explorer"


def _first_width(term: dict[str, Any]) -> list[float]:
    ordinary = None if term["ordinary_95"] is None else [term["ordinary_95"]]  # of quantiles
    return [(term["of_1000_rows"] or ordinary or term["interval_95"])[0]]


def _end(width: float | None) -> float:
    return math.inf if width is None else width


# -- the release -----------------------------------------------------------------------------------------


def check_release(planned: gd.Plan, release: gd.Release) -> None:
    """Compare what a release says of its noise with the plan, and its intervals with the widths of the plan."""
    facts = json.loads(release.to_json())
    assert facts["candidates"] == json.loads(json.dumps(planned.table())), "candidates"
    assert facts["lower_bound"] == json.loads(json.dumps(planned.bound_facts())), "lower bound"
    assert (facts["mechanism"]["name"], facts["reason"]) == (planned.mechanism.name, planned.reason)
    again = gd.Release.from_json(release.to_json())
    for at_once, key in ((False, "interval_95"), (True, "simultaneous_95")):
        low, high = release.interval(0.95, simultaneous=at_once)
        assert all(np.array_equal(a, b) for a, b in zip((low, high), again.interval(0.95, at_once), strict=True))
        numbers = (split_answers(release.estimates, column) for column in (release.raw, low, high))
        for term, estimate, raw, lower, upper in zip(planned.terms(), release.estimates, *numbers, strict=True):
            if estimate.is_plain:
                half = max(float((upper - lower).max()) / 2, 0.0)
                assert math.isclose(half, term[key][0], rel_tol=_ROUNDING, abs_tol=1e-15 * np.abs(raw).max()), key
        _check_widths(planned, release, at_once, key)


def _check_widths(planned: gd.Plan, release: gd.Release, at_once: bool, key: str) -> None:
    """Compare the stored widths of sums and counts, of which quotients are made, with those of the plan."""
    if release.facts["widths"] is None:
        return
    stored = unfold(release.facts["widths"]["simultaneous" if at_once else "single"]["0.95"])
    ends = np.cumsum([estimate.n_released for estimate in release.estimates])[:-1]
    for term, estimate, part in zip(planned.terms(), release.estimates, np.split(stored, ends), strict=True):
        if not estimate.ends:
            kinds = np.split(part, len(estimate.moments) or 1)  # sums, squares and counts of all groups
            assert np.allclose([kind.max() for kind in kinds], term[key], rtol=_ROUNDING, atol=0), f"{key} of parts"


# -- the CSV file, the report and the command line -------------------------------------------------------


def check_csv(release: gd.Release, path: Path) -> None:
    """Compare every number of the file with the release."""
    release.save_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for name, column in release.number_columns().items():
        assert [float(row[name]) for row in rows] == column.tolist(), f"column {name} of the CSV file"
    assert [row["query"] for row in rows] == [text for text, _ in release.labels]


def check_report(release: gd.Release) -> None:
    """Compare every number of the tables of a report, and of its sentences, with the release."""
    page = render(release)
    tables = Tables(page)
    answers = _answers(release)
    several = [term for term in answers if len(term) > 1]
    shown = [[row[1:] for row in body] for body in tables("Estimates with") if all(len(row) == 4 for row in body)]
    for term in several:
        texts = [list(figures_of) for figures_of in figures.answers(*np.array(term).T)]
        assert texts in shown or len(texts) != len(term), "a table of the report"
        for (middle, low, high), (_, lower, upper) in zip(texts, term, strict=True):
            assert _number(low) <= lower or math.isclose(_number(low), lower), "rounded outwards"
            assert _number(high) >= upper or math.isclose(_number(high), upper), "rounded outwards"
            assert middle in page
    for ((estimate, low, high),) in (term for term in answers if len(term) == 1):
        middle, lower, upper = figures.answer(estimate, low, high)
        assert f"<strong>{middle}</strong>" in page, "a single answer"
        assert re.search(rf"confidence interval[^<:]*: {re.escape(lower)} to {re.escape(upper)}", page), (
            "a single interval"
        )
        assert figures.in_a_sentence((estimate, low, high))[0][0] in press(release), (
            "a single answer of the page for the press"
        )
    offers = [row for body in tables("Candidates") for row in body]
    shows_widths = all(estimate.is_plain or estimate.ends for estimate in release.estimates)
    for row, offer in zip(offers, release.facts["candidates"], strict=True):
        widths = [f"± {figures.short(offer[key])}" for key in ("interval_95", "simultaneous_95")]
        stated = [figures.short(offer["error"]), *(widths if shows_widths else [])]  # those of hidden sums say nothing
        assert row[1 : 1 + len(stated)] == stated, "candidates of the report"
    bound = (release.facts["lower_bound"] or {"words": ""})["words"]
    assert all(translated(part) in page for part in re.split(r"(?<=\.) ", bound)), "the bound of the report"


def _answers(release: gd.Release) -> list[list[tuple[float, float, float]]]:
    """Return (estimate, lower, upper) of each answer, as percentages where they are shown so, term by term."""
    columns = [release.values, *release.interval(0.95)]
    parts = zip(*(split_answers(release.estimates, column) for column in columns), strict=True)
    return [
        list(zip(*(column * KINDS[outline.measure].wording.scale for column in part), strict=True))
        for outline, part in zip(release.terms, parts, strict=True)
    ]


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").replace("∞", "inf"))


def check_printed_release(release: gd.Release, query: Any) -> None:
    """Compare the first answers that the command line prints with the release."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(release, query)
    columns = [release.values, *release.interval(0.95)]
    parts = zip(*(split_answers(release.estimates, column) for column in columns), strict=True)
    texts = [text for part in parts for text in _numbers.answers(*part)]
    printed = out.getvalue()
    for middle, low, high in texts[:_MOST_PRINTED]:
        plain = rf"(?<![\d.,]){re.escape(middle)}\s+\(?{re.escape(low)}\s+(to\s+)?{re.escape(high)}(?![\d])"
        assert re.search(plain, printed), f"{middle}, {low} to {high} is not printed"


def test_a_wrong_number_is_found(tmp_path: Path) -> None:
    """A release that says another width, bound or error than its plan is no release of it."""
    rng = np.random.default_rng(45)
    world = worlds.world(rng, words=[worlds.CELLS], n_terms=1, budget="pure", awkward=0, rows=50)
    planned = gd.plan(world.query, world.unit, **world.budget)
    release = gd.release(world.query, world.table(), ledger=world.ledger(), **world.budget)
    other = gd.plan(world.query, world.unit, epsilon=2 * world.budget["epsilon"])
    check_release(planned, release)
    with pytest.raises(AssertionError):
        check_release(other, release)
    with pytest.raises(AssertionError):
        check_explorer(world, other)
    with pytest.raises(AssertionError):
        check_printed_plan(world, other, tmp_path, as_json=True)
    with pytest.raises(AssertionError):
        check_text(other, str(planned))
