"""`gaugedp explore` writes one page from the domain file and the question alone, and nothing where it refuses."""

import json
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.releases.plan_widths import half_widths
from gaugedp.report.figures import short
from tests.cli.kit import CENTS, NOTE, Desk, check_sentence, check_silence
from tests.forking import Done
from tests.report.test_explorer import ticking


def explored(desk: Desk, *more: str, text: str = "SEX") -> Done:
    requested = ["--domain", "domain.toml", "--query", text, "--out", "page.html", "--seconds", "0"]
    return desk.gaugedp("explore", *requested, *more)


def test_a_page_and_progress(desk: Desk) -> None:
    before = desk.files()
    done = explored(desk, text="SEX; mean(PAY) by SEX")
    assert done.code == 0
    assert done.out.startswith("1 point is in page.html.")
    assert done.err.startswith("Computing the initial epsilon only ...\nComputing the curves: 1%\n")
    assert "Time limit reached. 1 of 41 values of epsilon were computed. A larger --seconds" in done.err
    after = desk.files()
    page = after.pop("page.html").decode()
    assert after == before
    assert page.startswith("<!DOCTYPE html>")
    assert "1 of 41 values of epsilon were computed." in page
    assert "mean(PAY) by SEX" in page
    for secret in (NOTE, CENTS):
        assert secret not in page
    check_silence(done)


def test_what_there_was_no_time_for_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, each=1.0)
    done = explored(desk, "--seconds", "9", "--delta", "1e-6")
    assert done.out.startswith("9 points are in page.html.")
    assert done.err.startswith("Computing the curves takes about 9 seconds at most; --seconds 2 makes a draft.\n")
    assert done.err.splitlines()[-1] == (
        "Time limit reached. 7 of 41 values of epsilon were computed at δ = 1e-06. With another δ: 1 at δ = 1e-08, 1 "
        "at δ = 0.0001. A larger --seconds gives finer curves."
    )
    page = (desk.folder / "page.html").read_text("utf-8")
    assert '"start":{"epsilon":1.0,"delta":1e-06}' in page


def test_no_table_is_needed(desk: Desk) -> None:
    for name in ("people.csv", "people.ledger", "answers.csv"):
        (desk.folder / name).unlink()
    assert explored(desk).code == 0


def test_the_same_question_gives_the_same_page(desk: Desk) -> None:
    explored(desk)
    first = (desk.folder / "page.html").read_bytes()
    explored(desk)
    assert (desk.folder / "page.html").read_bytes() == first


@pytest.mark.parametrize("start", [{"epsilon": 1.0}, {"epsilon": 0.7}, {"epsilon": 1.0, "delta": 1e-7}])
def test_what_it_opens_at_is_what_the_plan_says(desk: Desk, start: dict[str, float]) -> None:
    options = [text for name, value in start.items() for text in (f"--{name}", str(value))]
    facts = json.loads(explored(desk, "--json", *options, text="SEX; mean(PAY) by SEX").out)
    domain = gd.Domain.load(desk.folder / "domain.toml")
    made = gd.plan(gd.query(domain, "SEX; mean(PAY) by SEX"), gd.PrivacyUnit(), **start)
    assert facts["others"] == []
    assert [(point["epsilon"], point["error"], point["terms"]) for point in facts["points"]] == [
        (start["epsilon"], made.error, {term["query"]: half_widths(term)[0] for term in made.terms()})
    ]


def test_where_it_opens(desk: Desk) -> None:
    explored(desk, "--epsilon", "0.5", "--delta", "1e-6")
    assert '"start":{"epsilon":0.5,"delta":1e-06}' in (desk.folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--query", "AGEE"], "AGEE"),
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "x"], "epsilon"),
        (["--delta", "0.5"], "delta"),
        (["--seconds", "-1"], "seconds"),
        (["--seconds", "nan"], "seconds"),
        (["--out", "domain.toml"], "domain file"),
        (["--out", "nowhere/page.html"], "nowhere"),
        (["--out", "."], "'.'"),
        (["--release", "people.csv"], "not a release"),
        (["--release", "nowhere.json"], "nowhere.json"),
    ],
)
def test_refusals_write_nothing(desk: Desk, more: list[str], words: str) -> None:
    before = desk.files()
    check_sentence(explored(desk, *more), 2, words)
    assert desk.files() == before


def test_the_report_of_a_saved_release(desk: Desk) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    assert desk.release("people.csv", "--save", "saved.json").code == 0
    saved = gd.Release.from_json((desk.folder / "saved.json").read_text("utf-8"))
    done = explored(desk, "--release", "saved.json")
    assert done.code == 0, done.err
    page = (desk.folder / "page.html").read_text("utf-8")
    assert 'id="explorer"' in page
    assert saved.facts["digest"] in page
    assert short(float(saved.values[0])).split(".")[0] in page


def test_a_release_of_another_question_is_refused(desk: Desk) -> None:
    assert desk.release("people.csv", "--save", "saved.json").code == 0
    check_sentence(explored(desk, "--release", "saved.json", text="AGE"), 2, "differs from the one that was released")
    assert not Path("page.html").exists()
