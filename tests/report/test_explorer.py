"""The explorer says what `gd.plan` says, its sentences about the protected are true, and no text of it is code."""

import base64
import hashlib
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.releases.plan_widths import half_widths
from gaugedp.report import explorer, explorer_page
from gaugedp.report.explorer import DELTAS, EPSILONS, Explored, Point, explore
from gaugedp.report.explorer_words import percent_down, protected, sentences
from gaugedp.report.figures import short
from gaugedp.report.html import render
from gaugedp.report.page import resource

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
    return explorer_page.page(explored)


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
        assert point.errors == {row["mechanism"]: row["error"] for row in made.table()}
        assert (point.chosen, point.error) == (made.mechanism.name, made.error)
        assert point.terms == {term["query"]: half_widths(term)[0] for term in made.terms()}
        bounds = (made.lower_bound, made.real_lower_bound) if point.delta == 0 else (0.0, 0.0)
        assert point.lower_bounds == tuple(map(float, bounds))


def test_the_page_carries_the_points(explored: Explored, text: str) -> None:
    facts = data(text)
    assert facts["mechanisms"] == list(explored.mechanisms)
    assert facts["points"] == [point.to_dict() for point in explored.curve(0.0)]
    assert {point["delta"] for point in facts["others"]} == {1e-8, 1e-4}
    assert len(facts["points"]) + len(facts["others"]) == len(explored.points)
    for point, row in zip(facts["points"], explored.curve(0.0), strict=True):
        assert (point["epsilon"], point["error"], point["terms"]) == (row.epsilon, row.error, row.terms)
    whole = [point["bounds"][0] for point in facts["points"]]
    assert whole == sorted(whole, reverse=True)
    assert whole[-1] > 0
    assert {point["bounds"][0] for point in facts["others"]} == {None}, "with a δ, nothing is proved"


def test_the_points_of_the_delta_it_opens_at_come_first() -> None:
    facts = data(explorer_page.page(explore(query("SEX"), UNIT, ((0.5, 1.0), ()), (0.7, 1e-5))))
    assert [(point["epsilon"], point["delta"]) for point in facts["points"]] == [(e, 1e-5) for e in (0.5, 0.7, 1.0)]
    assert {point["delta"] for point in facts["others"]} == {0.0}
    assert facts["start"] == {"epsilon": 0.7, "delta": 1e-5}


def test_the_usual_grid() -> None:
    assert len(EPSILONS) == 41
    assert list(EPSILONS) == sorted(set(EPSILONS))
    assert (EPSILONS[0], EPSILONS[-1]) == (0.002, 20.0)
    assert {0.1, 0.5, 1.0, 2.0, 10.0} <= set(EPSILONS)
    assert {0.0, 1e-6} <= set(DELTAS)


def test_points_come_from_the_start_outward_each_once() -> None:
    places = explorer._outward(EPSILONS, (0.0, 1e-8, 1e-4), (1.0, 0.0))
    assert len(places) == len(set(places)) == 41 + 2 * 20
    assert places[:4] == [(1.0, 0.0), (1.25, 0.0), (0.8, 0.0), (1.6, 0.0)]
    assert places.index((1.0, 1e-8)) < places.index((2.5, 0.0)) < places.index((1.0, 1e-4))
    for delta in (0.0, 1e-8, 1e-4):
        steps = [abs(EPSILONS.index(epsilon) - EPSILONS.index(1.0)) for epsilon, at in places if at == delta]
        assert steps == sorted(steps)


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.37, 0.0), (0.002, 1e-5), (50.0, 0.3)])
def test_without_time_the_start_alone_is_computed_and_the_page_says_so(start: tuple[float, float]) -> None:
    told: list[float] = []
    actual = explore(query("SEX"), UNIT, start=start, seconds=0.0, on_progress=told.append)
    assert [(point.epsilon, point.delta) for point in actual.points] == [start]
    assert len(told) == 1
    n_epsilons = 41 + (start[0] not in EPSILONS)
    page = explorer_page.page(actual)
    assert f"1 of {n_epsilons} values of epsilon were computed" in page
    assert f"computed at 1 of {n_epsilons} values of ε" in page
    made = gd.plan(query("SEX"), UNIT, epsilon=start[0], delta=start[1] or None)
    assert [point["error"] for point in data(page)["points"]] == [made.error]


def ticking(monkeypatch: pytest.MonkeyPatch, each: float) -> None:
    """Let every plan of the explorer take `each` seconds, of a clock that moves for nothing else."""
    clock = [0.0]

    def planned(*words: Any, **more: Any) -> Any:
        clock[0] += each
        return gd.plan(*words, **more)

    monkeypatch.setattr(explorer, "plan", planned)
    monkeypatch.setattr(explorer, "Stopwatch", lambda: lambda: clock[0])


@pytest.mark.parametrize(("seconds", "n_points"), [(15.0, 7), (15.9, 7), (16.0, 8), (4.0, 2), (3.9, 1), (1e-9, 1)])
def test_no_point_is_begun_that_would_be_late(monkeypatch: pytest.MonkeyPatch, seconds: float, n_points: int) -> None:
    ticking(monkeypatch, each=2.0)
    actual = explore(query("SEX"), UNIT, seconds=seconds)
    assert len(actual.points) == n_points
    assert 1.0 in {point.epsilon for point in actual.curve(0.0)}


@pytest.mark.parametrize(("n_points", "counts"), [(2, (2,)), (6, (6,)), (9, (8, 1)), (30, (19, 7, 3, 1))])
def test_a_page_shows_what_was_computed_whenever_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch, n_points: int, counts: tuple[int, ...]
) -> None:
    ticking(monkeypatch, each=1.0)
    actual = explore(query("SEX"), UNIT, seconds=n_points)
    assert tuple(len(actual.curve(delta)) for delta in actual.deltas) == counts
    page = explorer_page.page(actual)
    assert f"{counts[0]} of 41 values of epsilon were computed." in page
    assert all(f"computed at {count} of 41 values of ε" in page for count in counts)
    facts = data(page)
    assert [len(facts["points"]), len(facts["others"])] == [counts[0], sum(counts[1:])]


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
    assert [point["epsilon"] for point in data(explorer_page.page(actual))["points"]] == [1.0, 2.0]
    with pytest.raises(InvalidRequest):
        explore(gd.query(domain, "sum(BIG)"), UNIT, ((1.0, 2.0), ()), (1e-9, 0.0))


@pytest.mark.parametrize("grid", [((0.0, 1.0), ()), ((1.0, math.inf), ()), ((1.0, 2.0), (1.0,))])
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
    return float(words.removesuffix("%")) / 100


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
    assert (said["factor"], said["guess"]) == ("2.72", "73.2%")
    assert (said["least"], said["most"], said["twice"]) == ("3.9%", "23.2%", "ε = 2")
    assert sentences(1.0, 1e-6)["twice"] == "ε = 2, δ = 2 × 10⁻⁶"
    assert percent_down(0.12399) == "12.3%"


def test_the_script_writes_numbers_as_the_plan_does() -> None:
    """Also ties, which Python rounds to the even digit, and numbers next to a tie."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    rng = np.random.default_rng(45)
    ties = [n / 2 for n in range(1, 2001, 2)] + [1000 + n / 8 for n in range(64)] + [8.345, 1.0005, 12.345, 0.0010005]
    values = [*ties, *np.nextafter(ties, np.inf), *np.exp(rng.uniform(-25, 30, 4000)), 0.0, 1e12, 999999999999.5]
    script = "console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0)).map(explorerWords.short)))"
    source = resource("explorer_words.js") + script
    numbers = json.dumps([float(value) for value in values])
    done = subprocess.run([node, "-e", source], input=numbers, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [short(float(value)) for value in values]


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
    page = explorer_page.page(actual)
    assert HOSTILE not in page
    assert data(page)["terms"] == [f'"{name}"']  # a space at its end: a question writes it in quotes
    assert Reader(page).tags.count("b") == Reader(explorer_page.section(actual)).tags.count("b")
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
    terms = {f"a question with a long name, number {i}": 9.876543210987654 for i in range(40)}
    points = tuple(
        Point(
            e,
            d,
            {name: 1234.567890123456 / e for name in names},
            dict.fromkeys(names, "exact"),
            names[0],
            terms,
            (1.2, 3.4),
        )
        for e in EPSILONS
        for d in DELTAS
    )
    page = explorer_page.page(Explored(query_, UNIT, (1.0, 0.0), EPSILONS, points, False, ()))
    assert len(page.encode()) < 700_000
    assert "16 more are omitted here" in page


def test_the_same_parts_give_the_same_page(explored: Explored, text: str) -> None:
    assert explorer_page.page(explored) == text


def test_quantiles_are_in_rows() -> None:
    actual = explore(query("median(PAY)"), UNIT, ((0.5, 1.0), ()))
    assert actual.in_rows
    page = explorer_page.page(actual)
    assert "in rows" in page
    assert data(page)["terms"] == ["median(PAY)"]


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
    with pytest.raises(InvalidRequest, match="differs from the one that was released"):
        explorer.save_report(release, query("AGEP"), tmp_path / "report.html", 0.0)
    assert not (tmp_path / "report.html").exists()
