"""The explorer in a browser without network: no error, no request, and the numbers of `gd.plan` under the sliders."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gaugedp as gd
from gaugedp.releases.plan_widths import worth
from gaugedp.report.explorer import Explored, explore
from gaugedp.report.explorer_page import page as written
from gaugedp.report.explorer_words import sentences
from gaugedp.report.figures import short
from tests.report.test_browser import BROWSER

HOSTILE = "</script><b>"
DOMAIN = gd.Domain.of(SEX=["1", HOSTILE], AGEP=gd.bins(0, 100, width=25), PAY=gd.bounded(0, 1000))
QUESTION = "SEX; AGEP; SEX*AGEP; mean(PAY) by SEX"
GRID = ((0.1, 0.2, 0.5, 1.0, 2.0), (1e-8, 1e-4))
WIDTHS = {"phone": (360, 740), "desk": (1400, 900)}
VIOLATION = """() => new Promise((done) => {
  document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
  setTimeout(() => done("nothing was refused"), 2000);
  %s
})"""


@pytest.fixture(scope="module")
def explored() -> Explored:
    return explore(gd.query(DOMAIN, QUESTION), gd.PrivacyUnit(), GRID, seconds=900)  # all points, on a busy machine too


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    if BROWSER is None:
        pytest.skip("no chromium-headless-shell on this machine")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def place(explored: Explored, tmp_path: Path) -> Path:
    path = tmp_path / "explore.html"
    path.write_text(written(explored), "utf-8")
    return path


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Any, place: Path) -> Iterator[Any]:
    """The explorer, open; afterwards nothing may have gone wrong and nothing may have been asked for."""
    width, height = WIDTHS[request.param]
    context = browser.new_context(offline=True, viewport={"width": width, "height": height})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("request", lambda requested: wrong.append(requested.url) if requested.url != place.as_uri() else None)
    opened.goto(place.as_uri())
    yield opened
    context.close()
    assert wrong == []


def press(page: Any, name: str, key: str, times: int) -> None:
    for _ in range(times):
        page.press(f"#explorer-{name}", key)


def planned(epsilon: float, delta: float = 0.0, **more: Any) -> gd.Plan:
    return gd.plan(gd.query(DOMAIN, QUESTION), gd.PrivacyUnit(), epsilon=epsilon, delta=delta or None, **more)


def check_shown(page: Any, made: gd.Plan) -> None:
    """Insist that the page shows what a plan says."""
    assert page.inner_text("#explorer-error") == short(made.error)
    assert page.inner_text("#explorer-taken") == f"Chosen: {made.mechanism.name}."
    assert re.fullmatch(r"[1-5] of 5 values of epsilon were computed at this δ\.", page.inner_text("#explorer-how"))
    rows = {row[0]: row[1] for row in cells(page, ".mechanisms")}
    for row in made.table():
        assert rows.pop(row["mechanism"]) == short(row["error"])
    assert set(rows.values()) <= {"–"}
    texts = [f"±{row[1]}" for row in cells(page, "#explorer-terms table")]
    assert texts == [worth(term)[0] for term in made.terms()]


def cells(page: Any, table: str) -> list[list[str]]:
    rows = page.eval_on_selector_all(f"{table} tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    return [[text.lstrip("●■▲◆▼✚ ") for text in row] for row in rows]


def test_it_opens_where_it_should_and_fits(page: Any) -> None:
    check_shown(page, planned(1.0))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#explorer-chart svg path.curve").count() == len(planned(1.0).table())
    assert not page.locator("noscript p").is_visible()


def test_the_sliders_lead_to_what_the_plan_says(page: Any) -> None:
    press(page, "epsilon", "ArrowRight", 1)
    check_shown(page, planned(2.0))
    press(page, "epsilon", "ArrowLeft", 2)
    assert page.get_attribute("#explorer-epsilon", "aria-valuetext") == "ε = 0.5"
    check_shown(page, planned(0.5))
    press(page, "delta", "ArrowRight", 1)
    assert page.inner_text("#explorer-slack") == "δ = 10⁻⁸"
    check_shown(page, planned(1.0, 1e-8))  # 0.5 is not computed at δ > 0: 1 is the nearest that is
    press(page, "delta", "End", 1)
    check_shown(page, planned(1.0, 1e-4))
    press(page, "delta", "Home", 1)
    check_shown(page, planned(0.5))


@pytest.mark.parametrize(("text", "epsilon"), [("0.13", 0.1), ("0.15", 0.2), ("3", 2.0), ("1e-9", 0.1), ("0.5", 0.5)])
def test_what_is_typed_leads_to_the_nearest_computed_point(page: Any, text: str, epsilon: float) -> None:
    page.fill("#explorer-number", text)
    check_shown(page, planned(epsilon))
    page.press("#explorer-number", "Enter")
    assert page.input_value("#explorer-number") == f"{epsilon:g}"


def test_from_an_error_to_epsilon(page: Any) -> None:
    wanted = math.sqrt(planned(0.5).error * planned(1.0).error)
    page.fill("#explorer-wanted", repr(wanted))
    said = page.inner_text("#explorer-needed")
    assert said == (
        f"ε = 1 is enough: there it is {short(planned(1.0).error)}. At ε = 0.5, the next smaller one computed, it is "
        f"{short(planned(0.5).error)}."
    )
    press(page, "epsilon", "Home", 1)
    page.click("#explorer-go")
    check_shown(page, planned(1.0))
    for text, sentence in (
        ("0.0001", "Not reached at any computed ε"),
        ("1e9", "the least computed ε"),
        ("-3", "Pass a number"),
        ("x", "Pass a number"),
    ):
        page.fill("#explorer-wanted", text)
        assert sentence in page.inner_text("#explorer-needed")


def test_from_the_width_of_an_interval_to_epsilon(page: Any) -> None:
    page.select_option("#explorer-measure", "1")
    width = planned(0.5).terms()[1]["interval_95"][0]
    page.fill("#explorer-wanted", repr(width))
    assert page.inner_text("#explorer-needed").startswith(f"ε = 0.5 is enough: there it is {short(width)}.")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0), (0.2, 0), (0.5, 0), (1.0, 0), (2.0, 0), (1.0, 1), (1.0, 2)])
def test_the_script_and_the_library_say_the_same(page: Any, epsilon: float, delta: int) -> None:
    page.fill("#explorer-number", str(epsilon))
    press(page, "delta", "ArrowRight", delta)
    said = sentences(epsilon, (0.0, 1e-8, 1e-4)[delta])
    for name, text in said.items():
        shown = set(page.locator(f"[data-say={name}]").all_text_contents())
        assert {one.removeprefix("ε = ").removeprefix("δ = ") for one in shown} == {text.removeprefix("ε = ")}, name
    assert set(page.locator("[data-say=digits]").all_text_contents()) == {f"{epsilon:g}"}
    assert page.locator("[data-when=pure]").first.is_visible() == (delta == 0)
    assert page.locator("[data-when=delta]").first.is_visible() == (delta > 0)


def test_beliefs_follow_the_choice(page: Any) -> None:
    page.select_option("#explorer-belief", "0.5")
    assert page.inner_text("[data-when=pure] [data-say=most]") == sentences(1.0, 0.0, 0.5)["most"]


def test_a_click_into_the_chart_moves_epsilon(page: Any) -> None:
    page.locator("#explorer-chart").click(position={"x": 70, "y": 120})
    check_shown(page, planned(0.1))


@pytest.mark.parametrize("width", [320, 500, 900])
def test_the_chart_fits_a_window_that_changes(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    drawn, box = page.evaluate(
        "(chart => [Number(chart.firstElementChild.getAttribute('width')), chart.clientWidth])"
        "(document.getElementById('explorer-chart'))"
    )
    assert box - 20 <= drawn <= box
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_labels_are_text(page: Any) -> None:
    assert f"SEX={HOSTILE}" in page.inner_text("#explorer-terms")
    assert page.locator("b", has_text="SEX").count() == 0


def test_without_script_the_table_stands_open(browser: Any, place: Path, explored: Explored) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(place.as_uri())
    assert opened.locator("noscript p").is_visible()
    assert opened.locator("details tbody tr").count() == len(explored.points)
    assert opened.locator("details tbody tr").first.is_visible()
    assert not opened.locator("#explorer-chart").is_visible()
    assert "73.2%" in opened.inner_text("#explorer-protected")
    context.close()


@pytest.mark.parametrize(
    ("act", "directive"),
    [
        ("new Image().src = 'http://example.invalid/x.png';", "img-src"),
        ("fetch('http://example.invalid/').catch(() => 0);", "connect-src"),
        (
            "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);",
            "script-src-elem",
        ),
    ],
)
def test_the_policy_refuses_what_would_leave_the_page(browser: Any, place: Path, act: str, directive: str) -> None:
    context = browser.new_context(offline=True)
    opened = context.new_page()
    opened.goto(place.as_uri())
    assert opened.evaluate(VIOLATION % act) == directive
    assert opened.evaluate("window.ran") is None
    context.close()
