"""A saved report opens in a browser without network, without script errors, and shows its question."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gaugedp as gd

BROWSER = shutil.which("chromium-headless-shell")
QUESTION = "SEX; AGEP; SEX*AGEP"

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
    assert "[30,40)" in text


def test_a_page_that_breaks_the_rules_is_seen(page: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://example.invalid/x.png"><script>nothing_of_that_name()</script>', "utf-8")
    page.goto(bad.as_uri())
    assert page.errors
    assert remote(page.addresses)
