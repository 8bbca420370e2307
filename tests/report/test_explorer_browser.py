"""The explorer in a browser without network: no error, no request, and the numbers of `gd.plan` under the sliders."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gaugedp as gd
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
    path.write_text(written(explored, (1.0, 0.0)), "utf-8")
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
    opened.on("request", lambda asked: wrong.append(asked.url) if asked.url != place.as_uri() else None)
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
    assert page.inner_text("#explorer-how") == "Computed at this point."
    rows = {row[0]: row[1] for row in cells(page, ".mechanisms")}
    for candidate in made.candidates:
        assert rows.pop(candidate.mechanism.name) == short(candidate.error)
    assert set(rows.values()) <= {"–"}
    widths = [width for term in made.terms() for width in term["interval_95"]]
    assert [row[1] for row in cells(page, "#explorer-terms table")] == [short(width) for width in widths]


def cells(page: Any, table: str) -> list[list[str]]:
    rows = page.eval_on_selector_all(f"{table} tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    return [[text.lstrip("●■▲◆▼✚ ") for text in row] for row in rows]


def test_it_opens_where_it_should_and_fits(page: Any) -> None:
    check_shown(page, planned(1.0))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#explorer-chart svg path.curve").count() == len(planned(1.0).candidates)
    assert not page.locator("noscript p").is_visible()


def test_the_sliders_lead_to_what_the_plan_says(page: Any) -> None:
    press(page, "epsilon", "ArrowRight", 5)
    check_shown(page, planned(2.0))
    press(page, "epsilon", "ArrowLeft", 10)
    assert page.get_attribute("#explorer-epsilon", "aria-valuetext") == "ε = 0.5"
    check_shown(page, planned(0.5))
    press(page, "delta", "ArrowRight", 1)
    assert page.inner_text("#explorer-slack") == "δ = 10⁻⁸"
    page.fill("#explorer-number", "0.1")  # 0.5 is not computed at δ > 0
    check_shown(page, planned(0.1, 1e-8))
    press(page, "delta", "End", 1)
    check_shown(page, planned(0.1, 1e-4))


def test_between_the_points_numbers_are_interpolated_and_say_so(page: Any) -> None:
    press(page, "epsilon", "ArrowRight", 2)
    low, high = planned(1.0).error, planned(2.0).error
    assert page.inner_text("#explorer-error") == short(float(f"{low:.6g}") ** 0.6 * float(f"{high:.6g}") ** 0.4)
    assert page.inner_text("#explorer-how") == "Interpolated between computed points."
    assert page.input_value("#explorer-number") == f"{2**0.4:.6g}"


def test_from_an_error_to_epsilon(page: Any, explored: Explored) -> None:
    expected = math.sqrt(planned(0.5).error * planned(1.0).error)
    page.fill("#explorer-wanted", repr(expected))
    said = page.inner_text("#explorer-needed")
    actual = float(said.split()[2].rstrip(","))
    assert actual == pytest.approx(gd.plan(explored.query, explored.unit, error=expected).epsilon, rel=0.03)
    assert f"At ε = 1 it is {short(planned(1.0).error)}, computed." in said
    page.click("#explorer-go")
    assert float(page.input_value("#explorer-number")) == pytest.approx(actual, rel=0.01)
    for text, sentence in (
        ("0.0001", "Not reached"),
        ("1e9", "is enough"),
        ("-3", "Give a number"),
        ("x", "Give a number"),
    ):
        page.fill("#explorer-wanted", text)
        assert sentence in page.inner_text("#explorer-needed")


def test_from_the_width_of_an_interval_to_epsilon(page: Any) -> None:
    page.select_option("#explorer-measure", "1")
    width = planned(0.5).terms()[1]["interval_95"][0]
    page.fill("#explorer-wanted", repr(width))
    assert page.inner_text("#explorer-needed").startswith("ε ≈ 0.5,")


@pytest.mark.parametrize(("epsilon", "keys"), [(0.13, 0), (0.3, 1), (0.69, 0), (0.71, 1), (1.234, 15), (2.0, 21)])
def test_the_script_and_the_library_say_the_same(page: Any, epsilon: float, keys: int) -> None:
    page.fill("#explorer-number", str(epsilon))
    press(page, "delta", "ArrowRight", keys)
    words = page.get_attribute("#explorer-delta", "aria-valuetext").removeprefix("δ = ")
    delta = page.evaluate("document.querySelector('[data-say=slack]').textContent")
    said = sentences(epsilon, float(delta))
    assert said["delta"] == words
    for name, text in said.items():
        shown = set(page.locator(f"[data-say={name}]").all_text_contents())
        assert {one.removeprefix("ε = ").removeprefix("δ = ") for one in shown} == {text.removeprefix("ε = ")}, name
    assert page.locator("[data-when=pure]").first.is_visible() == (keys == 0)
    assert page.locator("[data-when=delta]").first.is_visible() == (keys > 0)


def test_beliefs_follow_the_choice(page: Any) -> None:
    page.select_option("#explorer-belief", "0.5")
    assert page.inner_text("[data-when=pure] [data-say=most]") == sentences(1.0, 0.0, 0.5)["most"]


def test_a_click_into_the_chart_moves_epsilon(page: Any) -> None:
    page.locator("#explorer-chart").click(position={"x": 70, "y": 120})
    assert 0.1 <= float(page.input_value("#explorer-number")) < 0.12


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
    assert "73.2\u00a0%" in opened.inner_text("#explorer-protected")
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
