"""Quantiles on the command line: a plan, a release into every file, and refusals."""

import csv
import json

import pytest

from gaugedp.releases.answer import Release
from tests.cli.kit import Desk, check_sentence


def test_a_plan_is_in_rows(desk: Desk) -> None:
    done = desk.gaugedp(
        "plan", "--domain", "domain.toml", "--query", "quantiles(PAY, 0.1, 0.9) by SEX", "--epsilon", "1"
    )
    assert done.code == 0, done.err
    assert "RankVerified" in done.out
    assert "in rows" in done.out
    assert "centred sum" not in done.out
    assert "Means:" not in done.out


def test_a_plan_as_json_and_for_an_error(desk: Desk) -> None:
    words = ["plan", "--domain", "domain.toml", "--query", "median(PAY)", "--error", "30", "--json"]
    facts = json.loads(desk.gaugedp(*words).out)
    assert (facts["in_rows"], facts["mechanism"]) == (True, "RankExponential")
    assert facts["candidates"][0]["error"] <= 30


def test_a_release_into_every_file(desk: Desk) -> None:
    files = {"out": "answers.csv", "report": "report.html", "save": "release.json"}
    done = desk.release(query="quantiles(PAY, 0.25, 0.75) by SEX", **files)
    assert done.code == 0, done.err
    assert "SEX=2, quantile=0.75" in done.out
    with (desk.folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["cell"] for row in rows] == [f"SEX={sex}, quantile={q}" for sex in "12" for q in ("0.25", "0.75")]
    assert all(0 <= float(row["lower"]) <= float(row["estimate"]) <= float(row["upper"]) <= 1000 for row in rows)
    saved = Release.from_json((desk.folder / "release.json").read_text("utf-8"))
    assert [float(row["estimate"]) for row in rows] == saved.values.tolist()
    assert "Quantiles of PAY" in (desk.folder / "report.html").read_text("utf-8")
    assert 1 - 1e-11 < float(desk.ledger().spent.epsilon(0.0)) <= 1


def test_the_ledger_shows_the_guarantee_that_was_asked_for(desk: Desk) -> None:
    desk.released(query="median(PAY)", ledger="new.ledger", budget="2")
    shown, stored = (desk.gaugedp("ledger", "show", "new.ledger", *words).out for words in ((), ("--json",)))
    assert "PureDP(0.5)  median(PAY)" in shown
    assert "ExponentialLoss" not in shown
    assert "ExponentialLoss(0.125)" in stored, "the exact one, for programs"


def test_the_key_and_the_flags(desk: Desk) -> None:
    first = desk.released(query="median(PAY)", key="m")
    done = desk.release("people.csv", "--json", "--round", query="median(PAY)", key="m")
    again = json.loads(done.out)
    assert again["numbers"] == first["numbers"]
    assert 1 - 1e-11 < float(desk.ledger().spent.epsilon(0.0)) <= 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("median(SEX)", "SEX is an attribute"),
        ("median(NOPE)", "There is no bounded column 'NOPE'"),
        ("quantiles(PAY)", "No quantiles of PAY"),
        ("quantiles(PAY, 1.5)", "not between 0 and 1"),
        ("quantiles(PAY, 0.5, 0.5)", "is requested twice"),
        ("median(PAY); median(PAY)", "occurs twice"),
        ("median(PAY) by NOPE", "There is no attribute 'NOPE'"),
    ],
)
def test_wrong_questions_leave_everything_alone(desk: Desk, text: str, words: str) -> None:
    before = desk.files()
    check_sentence(desk.release(query=text), 2, words)
    assert desk.files() == before


def test_consistency_is_refused(desk: Desk) -> None:
    before = desk.files()
    check_sentence(desk.release("people.csv", "--consistent", query="median(PAY)"), 2, "applies to linear queries")
    assert desk.files() == before
