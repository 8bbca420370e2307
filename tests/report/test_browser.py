"""A saved report opens in a browser without network, without script errors, and shows its question."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gaugedp as gd
from gaugedp.cli.main import run

BROWSER = shutil.which("chromium-headless-shell")
QUESTION = "SEX; AGEP; SEX*AGEP"

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "publications"
PUBLICATIONS = ("survey", "series", "incomes")
# What a screen reader cannot tell: tables without caption and heads with a scope, charts without words.
UNHEARD = """() => [...document.querySelectorAll("table, svg")].filter(one => one.tagName === "TABLE"
  ? !(one.caption && one.querySelector("th[scope=col]") && one.querySelector("th[scope=row]"))
  : !(one.getAttribute("role") === "img" && one.getAttribute("aria-label"))).map(one => one.tagName.toLowerCase())"""
# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, AA), or below 3 for large ones.
FAINT = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number)
  const light = colour => parts(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  const behind = one => { for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor
      if ((parts(colour)[3] ?? 1) > 0) return colour }
    return "rgb(255, 255, 255)" }
  return [...document.querySelectorAll("body *:not(svg *):not(script):not(style)")]
    .filter(one => one.checkVisibility() && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .filter(one => { const look = getComputedStyle(one)
      const [a, b] = [light(look.color), light(behind(one))].sort((x, y) => y - x)
      return (a + 0.05) / (b + 0.05) < (parseFloat(look.fontSize) >= 24 ? 3 : 4.5) })
    .map(one => one.textContent.trim().slice(0, 40))
}"""

PEOPLE = "SEX,AGEP\n" + "1,31\n2,45\n1,68\n" * 40


@pytest.fixture
def report(tmp_path: Path) -> Path:
    data = tmp_path / "people.csv"
    data.write_text(PEOPLE, "utf-8")
    domain = gd.Domain.of(SEX=["1", "2"], AGEP=gd.bins(0, 100, width=10))
    table = gd.Table.scan(str(data), domain=domain, unit=gd.PrivacyUnit(), name="people")
    ledger = gd.Ledger.open(tmp_path / "people.ledger", budget=gd.PureDP(2.0))
    answer = gd.release(gd.query(domain, QUESTION), table, ledger=ledger, epsilon=1.0)
    path = tmp_path / "report.html"
    answer.save_html(path)
    return path


@pytest.fixture
def page() -> Iterator[Any]:
    """A page of an offline browser; `page.errors` and `page.addresses` collect what must not happen."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    if BROWSER is None:
        pytest.skip("no chromium-headless-shell on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--disable-dev-shm-usage"])
        opened = browser.new_context(offline=True).new_page()
        opened.errors, opened.addresses = [], []
        opened.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.on("request", lambda request: opened.addresses.append(request.url))
        yield opened
        browser.close()


def remote(addresses: list[str]) -> list[str]:
    return [address for address in addresses if address.startswith(("http:", "https:", "ws:", "wss:"))]


def test_the_report_opens_offline_and_shows_its_question(page: Any, report: Path) -> None:
    page.goto(report.as_uri())
    text = page.inner_text("body")
    assert page.errors == []
    assert remote(page.addresses) == []
    for attribute in ("SEX", "AGEP"):
        assert attribute in text
    assert "people" in text
    assert "30 to under 40" in text


def test_a_page_that_breaks_the_rules_is_seen(page: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://example.invalid/x.png"><script>nothing_of_that_name()</script>', "utf-8")
    page.goto(bad.as_uri())
    assert page.errors
    assert remote(page.addresses)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three publications of the examples, each by its command."""
    folder = tmp_path_factory.mktemp("published")
    for name in PUBLICATIONS:
        command = ["publish", str(EXAMPLES / f"{name}.toml"), "--ledger", str(folder / f"{name}.ledger")]
        assert run([*command, "--budget", "1", "--out", str(folder / name)]) == 0
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_publications_fit_can_be_read_and_heard(page: Any, published: Path, name: str, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for file in ("index.html", "press.html"):
        page.goto((published / name / file).as_uri())
        assert page.errors == []
        assert remote(page.addresses) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert page.evaluate(UNHEARD) == []
        assert page.evaluate(FAINT) == []


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_publications_print(page: Any, published: Path, name: str) -> None:
    page.goto((published / name / "index.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(FAINT) == []
    written = page.pdf(format="A4")
    assert written.startswith(b"%PDF-")
    assert 2 <= written.count(b"/Type /Page\n") + written.count(b"/Type/Page\n") + written.count(b"/Type /Page ") <= 20


def test_faint_text_and_a_table_without_words_are_seen(page: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<body style="background:#fff"><p style="color:#999">a</p><table><tr><td>1</td></tr></table><svg/>', "utf-8"
    )
    page.goto(bad.as_uri())
    assert len(page.evaluate(FAINT)) == 1
    assert page.evaluate(UNHEARD) == ["table", "svg"]
