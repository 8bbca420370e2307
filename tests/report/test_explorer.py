"""The explorer says what `gd.plan` says, its sentences about the protected are true, and no text of it is code."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.report import explorer, explorer_page
from gaugedp.report.explorer import DELTAS, EPSILONS, Explored, Point, explore
from gaugedp.report.explorer_words import percent_down, protected, sentences
from gaugedp.report.html import render

HOSTILE = "</script><b>"
DOMAIN = gd.Domain.of(SEX=["1", HOSTILE], AGEP=gd.bins(0, 100, width=25), PAY=gd.bounded(0, 1000))
UNIT = gd.PrivacyUnit()
QUESTION = "SEX; AGEP; SEX*AGEP"
GRID = ((0.1, 0.2, 0.5, 1.0, 2.0), (1e-8, 1e-4))
PAIRS = list(product((0.01, 0.1, 0.5, 1.0, 3.0, 8.0), (0.0, 1e-6, 1e-3)))


def query(text: str = QUESTION) -> Any:
    return gd.query(DOMAIN, text)


@pytest.fixture(scope="module")
def explored() -> Explored:
    return explore(query(), UNIT, GRID)


@pytest.fixture(scope="module")
def text(explored: Explored) -> str:
    return explorer_page.page(explored, (1.0, 0.0))


def six(values: list[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.6g}") for value in values]


def data(page: str) -> dict[str, Any]:
    actual = re.findall(r'<script type="application/json" id="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert len(actual) == 1
    return json.loads(actual[0])


class Reader(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


# -- the numbers -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_point_is_what_the_plan_says(explored: Explored) -> None:
    assert {(point.epsilon, point.delta) for point in explored.points if point.delta == 0} == {
        (epsilon, 0.0) for epsilon in GRID[0]
    }
    for point in explored.points:
        made = gd.plan(query(), UNIT, epsilon=point.epsilon, delta=point.delta or None)
        assert point.errors == {candidate.mechanism.name: candidate.error for candidate in made.candidates}
        assert (point.chosen, point.error) == (made.mechanism.name, made.error)
        assert list(point.widths) == [width for term in made.terms() for width in term["interval_95"]]
        bounds = (made.lower_bound, made.real_lower_bound) if point.delta == 0 else (0.0, 0.0)
        assert point.lower_bounds == tuple(map(float, bounds))


def test_the_page_carries_the_points(explored: Explored, text: str) -> None:
    facts = data(text)
    assert facts["mechanisms"] == list(explored.mechanisms)
    for delta, curve in zip(explored.deltas, facts["curves"], strict=True):
        points = explored.curve(delta)
        assert [facts["epsilons"][i] for i in curve["at"]] == [point.epsilon for point in points]
        assert curve["error"] == six([point.error for point in points])
        assert [facts["mechanisms"][i] for i in curve["chosen"]] == [point.chosen for point in points]
        for name, errors in zip(facts["mechanisms"], curve["errors"], strict=True):
            assert errors == six([point.errors.get(name) for point in points])
    whole = [point.lower_bounds[0] or None for point in explored.curve(0.0)]
    assert facts["bounds"]["whole"] == six(whole)
    assert None in whole  # at ε = 2 nothing is proved for whole numbers
    assert any(whole)


def test_the_usual_grid() -> None:
    assert len(EPSILONS) == 41
    assert list(EPSILONS) == sorted(set(EPSILONS))
    assert (EPSILONS[0], EPSILONS[-1]) == (0.002, 20.0)
    assert {0.1, 0.5, 1.0, 2.0, 10.0} <= set(EPSILONS)
    assert {0.0, 1e-6} <= set(DELTAS)


def test_points_come_from_coarse_to_fine_each_once() -> None:
    rounds = explorer._rounds(EPSILONS, 3)
    places = [place for one in rounds for place in one]
    one = EPSILONS.index(1.0)
    assert len(places) == len(set(places)) == 41 + 2 * 22
    assert [at for at, which in rounds[0] if which == 0] == [0, one - 24, one - 16, one - 8, one, one + 8, 40]
    assert {which for _, which in rounds[0]} == {0, 1, 2}
    assert {which for _, which in rounds[-1]} == {0}
    assert {0.1, 1.0, 10.0} <= {EPSILONS[at] for at, which in places if which == 2}


def test_without_time_the_first_round_is_made_and_the_page_says_how_few() -> None:
    told: list[float] = []
    actual = explore(query("SEX"), UNIT, (EPSILONS, ()), seconds=0.0, on_progress=told.append)
    assert [point.epsilon for point in actual.points] == [0.002, 0.004, 0.025, 0.16, 1.0, 6.3, 20.0]
    assert told == pytest.approx([(i + 1) / 41 for i in range(7)])
    assert "computed at 7 of 41 values of ε" in explorer_page.page(actual, (1.0, 0.0))


def ticking(monkeypatch: pytest.MonkeyPatch, each: float) -> None:
    """Let every plan of the explorer take `each` seconds, of a clock that moves for nothing else."""
    clock = [0.0]

    def planned(*words: Any, **more: Any) -> Any:
        clock[0] += each
        return gd.plan(*words, **more)

    monkeypatch.setattr(explorer, "plan", planned)
    monkeypatch.setattr(explorer, "Stopwatch", lambda: lambda: clock[0])


@pytest.mark.parametrize(("seconds", "n_points"), [(15.0, 7), (15.9, 7), (16.0, 8), (1e-9, 2)])
def test_no_point_is_begun_that_would_be_late(monkeypatch: pytest.MonkeyPatch, seconds: float, n_points: int) -> None:
    ticking(monkeypatch, each=2.0)
    actual = explore(query("SEX"), UNIT, seconds=seconds)
    assert len(actual.points) == n_points
    assert {0.002, 20.0} <= {point.epsilon for point in actual.curve(0.0)}


@pytest.mark.parametrize(("n_points", "deltas"), [(2, (0.0,)), (5, (0.0, 1e-10)), (9, (0.0, 1e-10, 1e-4))])
def test_a_page_is_of_use_whenever_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch, n_points: int, deltas: tuple[float, ...]
) -> None:
    ticking(monkeypatch, each=1.0)
    actual = explore(query("SEX"), UNIT, seconds=n_points)
    assert len(actual.points) == n_points
    assert actual.deltas == deltas
    page = explorer_page.page(actual, (1.0, 0.0))
    assert data(page)["deltas"] == list(deltas)
    assert all(f"computed at {len(actual.curve(delta))} of 41 values of ε" in page for delta in deltas)


def test_the_stopwatch_counts_the_clock_and_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"monotonic": 100.0, "process_time": 7.0}
    monkeypatch.setattr(explorer.time, "monotonic", lambda: times["monotonic"])
    monkeypatch.setattr(explorer.time, "process_time", lambda: times["process_time"])
    elapsed = explorer.Stopwatch()
    times["process_time"] = 10.0
    assert elapsed() == 3.0
    times["monotonic"] = 104.0
    assert elapsed() == 4.0


def test_points_that_cannot_be_planned_are_left_out() -> None:
    domain = gd.Domain.of(BIG=gd.bounded(0, 2**39))
    actual = explore(gd.query(domain, "sum(BIG)"), UNIT, ((1e-9, 1.0, 2.0), ()))
    assert [point.epsilon for point in actual.curve(0.0)] == [1.0, 2.0]
    assert data(explorer_page.page(actual, (1.0, 0.0)))["curves"][0]["at"] == [1, 2]
    with pytest.raises(InvalidRequest):
        explore(gd.query(domain, "sum(BIG)"), UNIT, ((1e-9, 2e-9), ()))


@pytest.mark.parametrize(
    "grid", [((1.0,), ()), ((1.0, 1.0), ()), ((0.0, 1.0), ()), ((1.0, math.inf), ()), ((1.0, 2.0), (1.0,))]
)
def test_grids_that_are_refused(grid: Any) -> None:
    with pytest.raises(InvalidRequest):
        explore(query("SEX"), UNIT, grid)


@pytest.mark.parametrize("start", [(0.001, 0.0), (21.0, 0.0), (math.nan, 0.0), (1.0, 1e-12), (1.0, 0.1), (1.0, -1e-6)])
def test_starts_that_are_refused(start: tuple[float, float], tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        explorer.save_explorer(query("SEX"), UNIT, tmp_path / "page.html", start, 0.0)
    assert list(tmp_path.iterdir()) == []


# -- what it means for the protected ---------------------------------------------------------------


def number(words: str) -> float:
    return float(words.split("\u00a0", maxsplit=1)[0]) / 100


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_guesses_and_searches_of_the_worst_mechanism(epsilon: float, delta: float) -> None:
    """The four-outcome mechanism attains every (ε, δ) bound on tests; the sentences are its numbers, rounded up."""
    share = (1 - delta) / (1 + math.exp(epsilon))
    p, q = (
        np.array([delta, share * math.exp(epsilon), share, 0]),
        np.array([0, share, share * math.exp(epsilon), delta]),
    )
    right = float(np.maximum(p, q).sum() / 2)
    said = sentences(epsilon, delta)
    assert right <= number(said["guess"]) + 1e-12 <= right + 1.001e-3
    left, actual = 0.01, 0.0
    for here, there in zip(p, q, strict=True):  # the best search: outcomes in falling order of p/q
        taken = min(1.0, left / there) if there > 0 else 1.0
        actual, left = actual + taken * here, left - taken * there
    assert actual <= number(said["found"]) + 1e-12 <= actual + 1.001e-3


@pytest.mark.parametrize("belief", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0])
def test_beliefs_without_delta_are_those_of_randomized_response(epsilon: float, belief: float) -> None:
    said = sentences(epsilon, 0.0, belief)
    odds = belief / (1 - belief) * np.exp([-epsilon, epsilon])
    low, high = odds / (1 + odds)
    assert low - 1.001e-3 <= number(said["least"]) <= low + 1e-12
    assert high - 1e-12 <= number(said["most"]) <= high + 1.001e-3


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
def test_beliefs_with_delta_hold_but_for_two_delta(mu: float, delta: float) -> None:
    """For Gaussian noise at its own ε(δ): the log-odds of the truth grow by a normal law of mean μ²/2, deviation μ."""
    epsilon = gd.GaussianDP(mu).epsilon(delta)
    most = number(sentences(epsilon, delta, 0.01)["most"])
    growth = math.log(most / (1 - most) * 99)
    beyond = float(norm.sf((growth - mu**2 / 2) / mu))
    assert growth >= epsilon + math.log(2) - 1e-9
    assert beyond <= 2 * delta


def test_numbers_are_rounded_to_the_careful_side() -> None:
    said = sentences(1.0, 0.0)
    assert (said["factor"], said["guess"]) == ("2.72", "73.2\u00a0%")
    assert (said["least"], said["most"], said["twice"]) == ("3.9\u00a0%", "23.2\u00a0%", "ε = 2")
    assert sentences(1.0, 1e-6)["twice"] == "ε = 2, δ = 2 × 10⁻⁶"
    assert percent_down(0.12399) == "12.3\u00a0%"


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("column", [None, "<i>pid"])
@pytest.mark.parametrize("start", [(1.0, 0.0), (1.0, 1e-6)])
def test_sentences_for_every_unit(neighbours: str, column: str | None, start: tuple[float, float]) -> None:
    actual = protected(gd.PrivacyUnit(column, neighbours, 2 if column else 1).to_dict(), start)
    assert "<i>" not in actual
    assert ("&lt;i&gt;pid" in actual) == (column is not None)
    assert ("is in the table" in actual) == (neighbours == "add_remove")
    assert actual.count('data-say="guess"') == 1
    shown = re.findall(r'<span data-when="(pure|delta)"( hidden="hidden")?>', actual)
    assert {(kind, not hidden) for kind, hidden in shown} == {("pure", start[1] == 0), ("delta", start[1] > 0)}


# -- the page --------------------------------------------------------------------------------------


def test_no_text_is_code(text: str) -> None:
    read = Reader(text)
    assert HOSTILE not in text
    assert "SEX=&lt;/script&gt;&lt;b&gt;" in text
    assert read.tags.count("script") == text.count("</script>") == 2
    assert all(not name.startswith("on") for name, _ in read.attributes)


def test_hostile_names_and_units() -> None:
    name = "</script><b>&\u2028"
    domain = gd.Domain.of(**{name: ["a", "b"]})
    actual = explore(gd.marginals(domain, (name,)), gd.PrivacyUnit(column=name, max_rows=2), GRID)
    page = explorer_page.page(actual, (1.0, 0.0))
    assert HOSTILE not in page
    assert data(page)["measures"] == [f'"{name}"']  # a space at its end: a question writes it in quotes
    assert Reader(page).tags.count("b") == Reader(explorer_page.section(actual, (1.0, 0.0))).tags.count("b")
    assert all("\u2028" not in part for part in re.findall(r"<script.*?</script>", page, re.DOTALL))


def test_the_policy_lets_one_script_run_and_nothing_load(text: str) -> None:
    policy = dict(
        part.split(" ", 1) for part in re.findall(r'Content-Security-Policy" content="(.*?)"', text)[0].split("; ")
    )
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'sha256-{digest}'"
    assert text.index("Content-Security-Policy") < text.index("<style") < text.index("<script")
    assert len(scripts) == 1


def test_the_page_needs_nothing_from_elsewhere(text: str) -> None:
    assert "//" not in re.sub(
        r"^\s*//.*$|; //.*$|\{ //.*$", "", re.sub(r"<script type.*?</script>", "", text), flags=re.M
    )
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|WebSocket|sendBeacon|import\(|eval\(|innerHTML", text)
    assert not {"link", "img", "iframe", "base", "form"} & set(Reader(text).tags)


def test_every_control_has_a_label(text: str) -> None:
    labelled = set(re.findall(r'<label for="(.*?)"', text))
    for name, rest in re.findall(r'<(?:input|select)[^>]* ?id="([^"]+)"([^>]*)>', text):
        inside = re.search(rf'<label>[^<]*<(?:input|select) id="{name}"', text)
        assert name in labelled or "aria-label=" in rest or inside, name


def test_without_the_script_the_table_is_open_and_whole(explored: Explored, text: str) -> None:
    assert '<details open="open">' in text
    assert "<noscript>" in text
    table = text[text.index("<details") :]
    assert table.count("<tr>") == len(explored.points) + len(explored.deltas)


def test_the_largest_page_is_small() -> None:
    query_ = query(
        "; ".join(["SEX", "AGEP", "SEX*AGEP", "prefix(AGEP)", "ranges(AGEP)", "sum(PAY)", "mean(PAY) by SEX"])
    )
    names = [f"Mechanism{i}" for i in range(8)]
    points = tuple(
        Point(
            e,
            d,
            {name: 1234.5678 / e for name in names},
            dict.fromkeys(names, "exact"),
            names[0],
            (9.87654,) * 40,
            (1.2, 3.4),
        )
        for e in EPSILONS
        for d in DELTAS
    )
    measures = tuple(f"a question with a long name, number {i}" for i in range(40))
    page = explorer_page.page(Explored(query_, UNIT, EPSILONS, DELTAS, points, measures, False), (1.0, 0.0))
    assert len(page.encode()) < 300_000
    assert "16 more are left out here" in page


def test_the_same_parts_give_the_same_page(explored: Explored, text: str) -> None:
    assert explorer_page.page(explored, (1.0, 0.0)) == text
    assert data(explorer_page.page(explored, (0.7, 1e-6)))["start"] == {"epsilon": 0.7, "delta": 1e-6}


def test_quantiles_are_in_rows() -> None:
    actual = explore(query("median(PAY)"), UNIT, ((0.5, 1.0), ()))
    assert actual.in_rows
    page = explorer_page.page(actual, (1.0, 0.0))
    assert "in rows" in page
    assert data(page)["measures"] == ["median(PAY)"]


# -- inside the report -----------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path) -> gd.Release:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    people = tmp_path / "people.csv"
    people.write_text("SEX,AGEP,PAY\n" + "1,31,5\n1,45,6\n" * 40, "utf-8")
    table = gd.Table.scan(str(people), domain=DOMAIN, unit=UNIT, name="people")
    ledger = gd.Ledger.open(":memory:", budget=gd.PureDP(2.0))
    return gd.release(query("SEX"), table, ledger=ledger, epsilon=0.7)


def test_the_explorer_inside_a_report(release: gd.Release, tmp_path: Path) -> None:
    explorer.save_report(release, query("SEX"), tmp_path / "report.html", 0.0)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count('<section class="explorer" id="explorer">') == 1
    assert "Content-Security-Policy" in page
    assert data(page)["start"] == {"epsilon": 0.7, "delta": 0.0}
    assert len(re.findall(' id="([^"]*)"', page)) == len(set(re.findall(' id="([^"]*)"', page)))
    assert "How to reproduce this" in page
    assert HOSTILE not in page


def test_a_report_without_the_explorer_has_no_script(release: gd.Release) -> None:
    assert "<script" not in render(release)
    assert "Content-Security-Policy" not in render(release)


def test_a_report_of_another_question_is_refused(release: gd.Release, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="another question"):
        explorer.save_report(release, query("AGEP"), tmp_path / "report.html", 0.0)
    assert not (tmp_path / "report.html").exists()


def test_a_start_outside_the_grid_is_moved_to_its_edge(explored: Explored) -> None:
    assert explorer.nearest(explored, 50.0, 0.5) == (2.0, 1e-4)
    assert explorer.nearest(explored, 0.001, 1e-12) == (0.1, 0.0)
    assert explorer.nearest(explored, 0.3, 1e-6) == (0.3, 1e-6)
