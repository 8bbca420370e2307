"""`gaugedp audit`: no data, a table, JSON, a page, and exit code 1 where a violation is found."""

import json

import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall
from gaugedp.cli import audit as command
from gaugedp.errors import UNTOUCHED
from tests.cli.kit import Desk

AUDIT = ["audit", "--domain", "domain.toml", "--query", "SEX; AGE", "--epsilon", "0.5", "--runs", "600"]
SURE = ["--confidence", "0.999999999"]


def test_an_audit_prints_a_table_and_says_what_it_found(desk: Desk) -> None:
    before = desk.files()
    done = desk.gaugedp(*AUDIT, *SURE)
    assert (done.code, done.err.strip()) == (0, done.err.strip())
    assert done.err.startswith("Auditing ")
    for word in ("No violation found", "white-box", "black-box", "Query: SEX; AGE", "600 runs"):
        assert word in done.out
    assert desk.files() == before


def test_an_audit_in_json(desk: Desk) -> None:
    facts = json.loads(desk.gaugedp(*AUDIT, *SURE, "--json", "--mechanism", "Laplace").out)
    assert facts["violated"] is False
    assert facts["runs"] == 600
    assert facts["epsilon_claimed"] == 0.5
    assert facts["epsilon_lower"] <= 0.5
    assert facts["mechanism"].startswith("Laplace")
    assert facts["guarantee"] == "PureDP(0.5)"


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [["--epsilon", "1", "--delta", "1e-6"], ["--rho", "0.1"], ["--mu", "0.5"]])
def test_every_guarantee_can_be_audited(desk: Desk, guarantee: list[str]) -> None:
    words = ["audit", "--domain", "domain.toml", "--query", "SEX*AGE; sum(PAY)", "--runs", "300", *SURE]
    done = desk.gaugedp(*words, *guarantee, "--json")
    assert done.code == 0
    assert json.loads(done.out)["delta"] < 1


def test_an_audit_writes_a_page(desk: Desk) -> None:
    done = desk.gaugedp(*AUDIT, *SURE, "--report", "audit.html")
    assert done.code == 0
    page = (desk.folder / "audit.html").read_text("utf-8")
    assert "No violation found" in page
    assert "SEX; AGE" in page


def test_a_violation_is_exit_code_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit is given a mechanism that was made for half of its claim."""

    def broken(mechanism, low, high, **options):
        wide = gd.Laplace.calibrate(mechanism.body, gd.PureDP(0.2))
        return gd.audit.audit(wide, low, high, gd.PureDP(0.5), **options)

    monkeypatch.setattr(command, "run_audit", broken)
    done = desk.gaugedp(*AUDIT, "--mechanism", "Laplace")
    assert done.code == 1
    assert "The noise does not follow the claimed distribution" in done.out


REFUSED = {
    "`runs` is 99": ["--runs", "99"],
    "`runs` is 'many'": ["--runs", "many"],
    "`runs` is '100.5'": ["--runs", "100.5"],
    "`confidence` is 1.0": ["--confidence", "1"],
    "There is no mechanism 'Bingham'": ["--mechanism", "Bingham"],
    "cannot be written": ["--report", "nowhere/audit.html"],
    "'' cannot be written": ["--report", ""],
    "is also the domain file": ["--report", "domain.toml"],
}


@pytest.mark.parametrize("words", REFUSED)
def test_bad_requests_are_exit_code_two(desk: Desk, words: str) -> None:
    before = desk.files()
    done = desk.gaugedp(*AUDIT, *REFUSED[words])
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.strip().endswith(UNTOUCHED)
    assert desk.files() == before


def test_fewer_runs_of_wide_answers() -> None:
    few, many = (gd.Laplace.calibrate(LpBall(d, 1, 1.0), gd.PureDP(1.0)) for d in (10, 10_000))
    assert command._count(None, few) == 20_000
    assert command._count(None, many) == 2000
    assert command._count("5000", many) == 5000


def test_the_page_needs_nothing_from_elsewhere_and_shows_texts_as_texts() -> None:
    from gaugedp.report.audits import render

    actual = gd.audit.audit(lambda x: x, 0, 1, gd.PureDP(1.0), runs=200, rng=gd.research_rng(1))
    page = render(actual, {"question": "<script>alert(1)</script>"})
    assert "<script" not in page
    assert "http" not in page
    assert "The claim is violated" in page
    assert page == render(actual, {"question": "<script>alert(1)</script>"})
    assert page.count("alarms</span>") == 1
