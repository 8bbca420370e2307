"""What each command prints, where, and with which exit code."""

import csv
import importlib.util
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.guarantees import PureDP, from_dict
from gaugedp.release import Release
from tests.cli.kit import CENTS, NOTE, PROGRESS, QUESTION, Desk, check_silence, options
from tests.forking import Nursery

PLAN = ["plan", "--domain", "domain.toml", "--query", QUESTION]


def planned(desk: Desk, **promise: float) -> gd.Plan:
    domain = gd.Domain.load(desk.folder / "domain.toml")
    return gd.plan(gd.query(domain, QUESTION), gd.PrivacyUnit(), **promise)


# -- plan ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "promise", [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-6}, {"rho": 0.1}, {"mu": 0.3}], ids=str
)
def test_plan_prints_the_plan(desk: Desk, promise: dict[str, float]) -> None:
    before = desk.files()
    words = [word for name, value in promise.items() for word in (f"--{name}", str(value))]
    made = planned(desk, **promise)
    facts = desk.gaugedp(*PLAN, *words, "--json")
    assert (facts.code, facts.err) == (0, "")
    assert json.loads(facts.out) == json.loads(json.dumps(made.to_dict()))
    table = desk.gaugedp(*PLAN, *words)
    assert (table.code, table.err) == (0, "")
    assert f"Chosen: {made.mechanism.name}, {made.reason}" in table.out
    assert all(row["mechanism"] in table.out for row in made.table())
    assert f"Promise: {made.asked!r}" in table.out
    assert desk.files() == before


@pytest.mark.parametrize("wanted", [1.0, 33.0, 1000.0])
def test_plan_finds_the_least_epsilon(desk: Desk, wanted: float) -> None:
    facts = json.loads(desk.gaugedp(*PLAN, "--error", str(wanted), "--json").out)
    epsilon = facts["asked"]["epsilon"]
    assert planned(desk, epsilon=epsilon).error <= wanted < planned(desk, epsilon=0.98 * epsilon).error
    assert epsilon == planned(desk, error=wanted).epsilon
    both = desk.gaugedp(*PLAN, "--error", str(wanted), "--epsilon", "1")
    assert (both.code, both.out) == (2, "")


def test_plan_prints_where_there_are_only_ascii_letters(forks: Nursery, desk: Desk) -> None:
    program = (
        "import sys\nsys.stdout.reconfigure(encoding='ascii')\nfrom gaugedp.cli.main import run\nsys.exit(run(words))"
    )
    done = forks.run(program, desk.folder, words=[*PLAN, "--epsilon", "1"])
    assert done.code == 0
    check_silence(done)


# -- release ---------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_release_prints_what_it_writes(desk: Desk) -> None:
    done = desk.release("people.csv", "--json", query=QUESTION, out="answers.csv", save="release.json")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    check_silence(done)
    answer = Release.from_json(done.out)
    assert json.loads(done.out) == json.loads((desk.folder / "release.json").read_text("utf-8"))
    rows = read(desk.folder / "answers.csv")
    assert list(rows[0]) == ["query", "cell", "estimate", "lower", "upper"]
    assert [(row["query"], row["cell"]) for row in rows] == answer.labels
    low, high = answer.interval(0.95)
    for name, values in (("estimate", answer.values), ("lower", low), ("upper", high)):
        assert [float(row[name]) for row in rows] == values.tolist()
    assert (desk.folder / "answers.csv").read_bytes().startswith(b"query,cell,estimate,lower,upper\r\n")
    assert answer.facts["account"]["spent"] == "PureDP(1)"
    assert answer.facts["account"]["durable"] is True
    assert answer.facts["research_seed"] is None


def test_release_shows_the_answers_and_the_account(desk: Desk) -> None:
    done = desk.release(save="release.json")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    check_silence(done)
    answer = Release.from_json((desk.folder / "release.json").read_text("utf-8"))
    lines = done.out.splitlines()
    for (query, cell), value in zip(answer.labels, answer.values, strict=True):
        assert any(line.split()[:3] == [query, cell, str(int(value))] for line in lines)
    assert lines[-1].startswith("Spent PureDP(1) of PureDP(2); PureDP(1) is left. Tip ")
    assert desk.gaugedp("ledger", "verify", "people.ledger", "--tip", lines[-1].split()[-1]).code == 0


def test_a_long_answer_is_cut_with_a_word_of_where_it_is_whole(desk: Desk) -> None:
    done = desk.release(query="ranges(AGE); SEX*AGE", out="answers.csv")
    assert "... and 15 more: write them with --out" in done.out
    assert len(read(desk.folder / "answers.csv")) == 55 + 20


def test_a_key_brings_the_stored_answer_back(desk: Desk) -> None:
    first = desk.released(key="my-key", query=QUESTION)
    (desk.folder / "people.csv").write_text("SEX,AGE,PAY\n")  # it is stored, not computed again
    assert desk.released(key="my-key", query=QUESTION) == first
    assert desk.ledger().spent == PureDP(1)
    other = desk.release(key="my-key", query="SEX")
    assert (other.code, other.out) == (3, "")
    assert desk.ledger().spent == PureDP(1)


def test_without_a_key_asking_again_costs_again(desk: Desk) -> None:
    first, second = (desk.released(epsilon="0.25", query=QUESTION) for _ in range(2))
    assert first["numbers"] != second["numbers"]
    assert desk.ledger().spent == PureDP(1)


@pytest.mark.parametrize(
    ("text", "budget"), [("3", gd.PureDP(3)), ("2,1e-6", gd.ApproxDP(2, 1e-6)), ("rho=1", gd.ZCDP(1))]
)
def test_budget_opens_a_ledger_and_is_refused_where_it_differs(
    desk: Desk, text: str, budget: gd.guarantees.Guarantee
) -> None:
    assert desk.release(ledger="new.ledger", budget=text).code == 0
    ledger = desk.ledger("new.ledger")
    assert (ledger.budget, ledger.table, ledger.unit) == (budget, "people", gd.PrivacyUnit())
    assert desk.release(ledger="new.ledger", budget=text).code == 0
    assert desk.release(ledger="new.ledger").code == 0
    before = desk.files()
    assert desk.release(ledger="new.ledger", budget="2.5").code == 3
    assert desk.files() == before


def test_the_report_is_one_page(desk: Desk) -> None:
    pytest.importorskip("matplotlib", reason="a report needs matplotlib")
    if importlib.util.find_spec("gaugedp.report.html") is None:
        pytest.skip("there is no report here")
    done = desk.release(query=QUESTION, report="report.html")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    page = (desk.folder / "report.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "SEX" in page
    assert NOTE not in page
    assert CENTS not in page


# -- ledger ----------------------------------------------------------------------------------------


def test_open_show_verify(desk: Desk) -> None:
    opened = desk.gaugedp("ledger", "open", "new.ledger", "--budget", "2", "--domain", "domain.toml")
    assert (opened.code, opened.err) == (0, "")
    assert opened.out == "new.ledger: budget PureDP(2), PureDP(2) left.\n"
    assert desk.gaugedp("ledger", "open", "new.ledger", "--budget", "2").code == 0
    assert desk.release(ledger="new.ledger", key="my-key").code == 0
    shown = desk.gaugedp("ledger", "show", "new.ledger")
    assert (shown.code, shown.err) == (0, "")
    for word in ("Table: people", "one row, added or removed", "spent PureDP(0.5); left PureDP(1.5)", "my-key", "SEX"):
        assert word in shown.out
    verified = desk.gaugedp("ledger", "verify", "new.ledger")
    tip = desk.ledger("new.ledger").tip
    assert (verified.code, verified.out) == (0, f"4 entries, all in order. Tip: {tip}\n")
    assert shown.out.endswith(f"Tip: {tip}\n")


def test_show_and_verify_as_json(desk: Desk) -> None:
    shown = json.loads(desk.gaugedp("ledger", "show", "people.ledger", "--json").out)
    kinds = [entry["kind"] for entry in shown["entries"]]
    assert kinds == ["open", "bind", "reserve", "settle"]
    assert [from_dict(shown[name]) for name in ("budget", "spent", "remaining")] == [
        PureDP(2),
        PureDP(0.5),
        PureDP(1.5),
    ]
    verified = json.loads(desk.gaugedp("ledger", "verify", "people.ledger", "--json").out)
    assert verified == {"ok": True, "entries": 4, "problems": [], "tip": shown["tip"]}


def test_verify_with_a_tip(desk: Desk) -> None:
    early = desk.ledger().tip
    assert desk.release().code == 0
    assert desk.gaugedp("ledger", "verify", "people.ledger", "--tip", early).code == 0
    other = desk.gaugedp("ledger", "verify", "people.ledger", "--tip", "0" * 63 + "1")
    assert other.code == 3
    assert "is not in this chain" in other.out


def test_a_tampered_ledger_is_told(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.folder / "people.ledger")) as connection, connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET time = '1970-01-01T00:00:00+00:00' WHERE number = 3")
    for flags in ([], ["--json"]):
        done = desk.gaugedp("ledger", "verify", "people.ledger", *flags)
        assert (done.code, done.err) == (3, "")
        assert "Entry 3 was altered" in done.out
    assert desk.gaugedp("ledger", "show", "people.ledger").code == 0


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [[], ["plan"], ["release"], ["ledger"], ["ledger", "open"], ["ledger", "show"], ["ledger", "verify"]],
    ids=str,
)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(desk: Desk, words: list[str], flag: str) -> None:
    done = desk.gaugedp(*words, flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: gaugedp")


def test_version(desk: Desk) -> None:
    done = desk.gaugedp("--version")
    assert (done.code, done.out, done.err) == (0, f"gaugedp, version {gd.__version__}\n", "")


def test_the_noise_of_two_commands_differs(desk: Desk) -> None:
    numbers = [desk.released(epsilon="0.01", query="SEX*AGE")["numbers"] for _ in range(2)]
    assert np.any(np.array(numbers[0]) != np.array(numbers[1]))


def test_options_are_those_of_the_readme(desk: Desk) -> None:
    text = desk.gaugedp("release", "--help").out
    assert all(
        name in text for name in ("--domain", "--query", "--epsilon", "--ledger", "--budget", "--out", "--report")
    )
    assert options()[0] in text
