"""What each command prints, where, and with which exit code."""

import csv
import html
import importlib.util
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import gaugedp as gd
from gaugedp.cli.shared import show_table
from gaugedp.guarantees import PureDP, from_dict
from gaugedp.releases.releasing import Release
from tests.cli.kit import CENTS, DOMAIN, NOTE, PROGRESS, QUESTION, Desk, check_sentence, check_silence, options
from tests.forking import Done, Nursery

PLAN = ["plan", "--domain", "domain.toml", "--query", QUESTION]


def planned(desk: Desk, **guarantee: float) -> gd.Plan:
    domain = gd.Domain.load(desk.folder / "domain.toml")
    return gd.plan(gd.query(domain, QUESTION), gd.PrivacyUnit(), **guarantee)


# -- plan ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee", [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-6}, {"rho": 0.1}, {"mu": 0.3}], ids=str
)
def test_plan_prints_the_plan(desk: Desk, guarantee: dict[str, float]) -> None:
    before = desk.files()
    words = [word for name, value in guarantee.items() for word in (f"--{name}", str(value))]
    made = planned(desk, **guarantee)
    facts = desk.gaugedp(*PLAN, *words, "--json")
    assert (facts.code, facts.err) == (0, "")
    assert json.loads(facts.out) == json.loads(json.dumps(made.to_dict()))
    table = desk.gaugedp(*PLAN, *words)
    assert (table.code, table.err) == (0, "")
    assert f"Chosen: {made.mechanism.name}, {made.reason}" in table.out
    assert all(row["mechanism"] in table.out for row in made.table())
    assert f"Guarantee: {made.requested!r}" in table.out
    assert desk.files() == before


def test_importance_is_that_of_terms(desk: Desk) -> None:
    """The same plan as in Python; names that are no terms, and what is no number, are refused in a sentence."""
    base = ["plan", "--domain", "domain.toml", "--query", "SEX; SEX*AGE", "--epsilon", "1"]
    facts = json.loads(desk.gaugedp(*base, "--importance", "SEX=100; SEX*AGE=2", "--json").out)
    question = gd.query(gd.Domain.load(desk.folder / "domain.toml"), "SEX; SEX*AGE")
    made = gd.plan(question.with_importance({"SEX": 100, "SEX*AGE": 2}), gd.PrivacyUnit(), epsilon=1)
    assert facts == json.loads(json.dumps(made.to_dict()))
    for text, word in (("SEY=2", "SEY"), ("SEX=much", "much"), ("SEX", "SEX"), ("SEX=0", "importance")):
        check_sentence(desk.gaugedp(*base, "--importance", text), 2, word)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [1.0, 33.0, 1000.0])
def test_plan_finds_the_least_epsilon(desk: Desk, wanted: float) -> None:
    facts = json.loads(desk.gaugedp(*PLAN, "--error", str(wanted), "--json").out)
    epsilon = facts["asked"]["epsilon"]
    assert planned(desk, epsilon=epsilon).error <= wanted < planned(desk, epsilon=0.98 * epsilon).error
    assert epsilon == planned(desk, error=wanted).epsilon
    both = desk.gaugedp(*PLAN, "--error", str(wanted), "--epsilon", "1")
    assert (both.code, both.out) == (2, "")


@pytest.mark.slow
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


@pytest.mark.slow
def test_release_prints_what_it_writes(desk: Desk) -> None:
    (desk.folder / "answers.csv").unlink()
    done = desk.release("people.csv", "--json", query=QUESTION, out="answers.csv", save="release.json")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    check_silence(done)
    answer = Release.from_json(done.out)
    assert json.loads(done.out) == json.loads((desk.folder / "release.json").read_text("utf-8"))
    rows = read(desk.folder / "answers.csv")
    assert list(rows[0])[-7:] == ["query", "estimate", "lower", "upper", "lower_all", "upper_all", "cell"]
    assert [(row["query"], row["cell"]) for row in rows] == answer.labels
    low, high = answer.interval(0.95)
    for name, values in (("estimate", answer.values), ("lower", low), ("upper", high)):
        assert [float(row[name]) for row in rows] == values.tolist()
    assert (desk.folder / "answers.csv").read_bytes().endswith(b"\r\n")
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
    assert lines[-1].startswith(
        "Spent PureDP(1) of PureDP(2); PureDP(1) is left. Entry 5 records the charge, and a later entry the result. "
        "Tip after entry 5: "
    )
    assert desk.gaugedp("ledger", "verify", "people.ledger", "--tip", lines[-1].split()[-1]).code == 0


def test_release_and_its_report_begin_with_the_remarks(desk: Desk) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    (desk.folder / "domain.toml").write_text(DOMAIN.replace('["1", "2"]', '["1", "two"]'), "utf-8")
    done = desk.release(epsilon="1.4", report="report.html")
    remark, protected = done.out.splitlines()[4:6]
    assert remark.startswith("All counts of SEX = two may be 0, by simultaneous intervals.")
    assert protected.startswith("Protected: ")
    assert f'class="note"><p>{remark}</p>' in (desk.folder / "report.html").read_text("utf-8")


def test_a_long_answer_is_cut_with_a_word_of_where_it_is_whole(desk: Desk) -> None:
    done = desk.release(query="ranges(AGE); SEX*AGE", out="answers.csv")
    assert "... and 15 more: write them with --out" in done.out
    assert len(read(desk.folder / "answers.csv")) == 55 + 20


@pytest.mark.slow
def test_out_writes_parquet_where_its_name_says_so(desk: Desk) -> None:
    done = desk.release(query="SEX*AGE; sum(PAY)", out="answers.parquet", save="release.json")
    assert (done.code, done.err.splitlines()) == (0, PROGRESS)
    read_back = pq.read_table(desk.folder / "answers.parquet").to_pydict()
    assert read_back == Release.from_json((desk.folder / "release.json").read_text("utf-8")).columns()
    refused = desk.release(save="answers.parquet", query="AGE")
    assert (refused.code, desk.ledger().spent) == (2, PureDP(1))


def test_of_a_million_answers_the_first_are_made_and_printed(desk: Desk) -> None:
    cells = "{ from = 1, to = 1000 }"
    text = f'name = "people"\n[attributes]\nA = {cells}\nB = {cells}\n'
    (desk.folder / "wide.toml").write_text(text, "utf-8")
    (desk.folder / "people.csv").write_text("SEX,AGE,A,B\n1,2,3,4\n", "utf-8")
    done = desk.release(domain="wide.toml", query="A*B")
    assert done.code == 0, done.err
    assert "... and 999,940 more: write them with --out" in done.out
    assert "A=1, B=60 " in done.out
    assert "A=1, B=61 " not in done.out


@pytest.mark.slow
def test_a_key_brings_the_stored_answer_back(desk: Desk) -> None:
    first = desk.released(key="my-key", query=QUESTION)
    (desk.folder / "people.csv").write_text("SEX,AGE,PAY\n")  # it is stored, not computed again
    assert desk.released(key="my-key", query=QUESTION) == first
    assert desk.ledger().spent == PureDP(1)
    other = desk.release(key="my-key", query="SEX")
    assert (other.code, other.out) == (3, "")
    assert desk.ledger().spent == PureDP(1)


AGAIN = "It is unprocessed: to process it at no cost, add --consistent, --non-negative or --round again."


def test_a_stored_answer_says_so_and_shows_the_balance_of_now(desk: Desk) -> None:
    first = desk.release(key="my-key", epsilon="0.25")
    assert desk.release(epsilon="1").code == 0
    again = desk.release(key="my-key", epsilon="0.25")
    said = "This is the stored answer of entry 5, charged earlier; nothing was read and nothing was spent now."
    assert said not in first.out
    *answers, told, account = again.out.splitlines()
    assert answers == first.out.splitlines()[:-2]
    assert told == f"{said} {AGAIN}"
    assert said == desk.release("people.csv", "--round", key="my-key", epsilon="0.25").out.splitlines()[-2]
    tip = desk.ledger().tip
    assert account == f"Spent PureDP(1.75) of PureDP(2); PureDP(0.25) is left. Tip after entry 8: {tip}"
    assert desk.release("people.csv", "--json", key="my-key", epsilon="0.25").last == said


def test_of_two_colleagues_the_second_is_told_to_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Done] = []
    look = gd.Table.totals

    def slow(table: gd.Table, *words: object) -> object:
        monkeypatch.setattr(gd.Table, "totals", look)
        said.append(desk.release(key="my-key"))
        return look(table, *words)

    monkeypatch.setattr(gd.Table, "totals", slow)
    assert desk.release(key="my-key").code == 0
    assert said[0].code == 3
    assert "wait and repeat the request with the same key, at no cost" in said[0].err
    assert "nothing was spent now" in desk.release(key="my-key").out


def test_the_guarantee_of_quantiles_begins_with_the_one_that_was_asked_for(desk: Desk) -> None:
    assert desk.release(query="median(PAY)").out.startswith("Answers with 95 % intervals (PureDP(0.5), in detail ")


def test_the_rule_for_a_persons_rows_stands_below_the_table(desk: Desk) -> None:
    (desk.folder / "persons.toml").write_text(f"{DOMAIN}[unit]\ncolumn = 'PID'\n")
    done = desk.release(domain="persons.toml", ledger="new.ledger", budget="1")
    assert "Only one row of each PID counts, drawn at random; answers and intervals describe the rows" in done.out
    assert "counts, drawn at random" not in desk.release().out


@pytest.mark.slow
def test_answers_that_say_nothing_are_named(desk: Desk) -> None:
    """Each sentence is missing from one release with probability at most 0.1, so from six with 1e-6."""
    outputs = [desk.release(query="AGE; mean(PAY); mean(PAY) by SEX; SEX", epsilon="0.001").out for _ in range(6)]
    for words in (
        "All counts of AGE may be 0, by simultaneous intervals. Categories must match",
        "The interval of mean(PAY) is the whole range: this answer carries no information.",
        "All counts of SEX may be 0, by simultaneous intervals.",
    ):
        assert any(words in output for output in outputs)
    certain = desk.release(query="SEX; sum(PAY)", epsilon="1").out
    assert "may be 0" not in certain
    assert "whole range" not in certain


@pytest.mark.parametrize("command", ["release", "fit"])
def test_a_reader_who_leaves_early_gets_no_false_advice(command: str, desk: Desk, forks: Nursery) -> None:
    program = (
        "import os, sys\nfrom gaugedp.cli.main import run\nread, write = os.pipe()\nos.close(read)\n"
        "os.dup2(write, 1)\nsys.stdout = open(1, 'w', closefd=False)\nsys.exit(run(words))"
    )
    requested = options(key="my key")
    if command == "fit":
        pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
        requested = [*options(key="my key", query=None), "--model", "logistic", "--target", "SEX", "--features", "AGE"]
    words = [command, "people.csv", *requested, "--json"]
    done = forks.run(program, desk.folder, words=words)
    assert done.code == 1
    assert "--key 'my key' shows it again, at no cost" in done.err
    assert "Free disk space" not in done.err
    check_silence(done)


@pytest.mark.parametrize(
    ("text", "words"), [("1000", "epsilon = 1000"), ("21,1e-6", "epsilon = 21"), ("mu=30", "epsilon")]
)
def test_a_budget_that_protects_hardly_anybody_is_remarked_on(desk: Desk, text: str, words: str) -> None:
    opened = desk.gaugedp("ledger", "open", "new.ledger", "--budget", text)
    assert opened.code == 0
    assert opened.err.startswith(f"Remark: a budget of {words}")
    assert opened.err.endswith("gives almost no protection.\n")
    assert desk.gaugedp("ledger", "open", "other.ledger", "--budget", "20").err == ""


def test_a_large_delta_is_remarked_on_once(desk: Desk) -> None:
    why = "with that probability the guarantee may fail for a person; choose it below 1 / (number of people)."
    said = f"Remark: delta is 0.01: {why}"
    assert desk.gaugedp("ledger", "open", "new.ledger", "--budget", "1,0.01").err == f"{said}\n"
    assert desk.gaugedp("ledger", "open", "best.ledger", "--budget", "best=1,0.01").err == f"{said}\n"
    assert desk.gaugedp("ledger", "open", "other.ledger", "--budget", "1,0.001").err == ""
    requested = {"ledger": "new.ledger", "epsilon": "0.1", "delta": "0.002"}
    assert f"Remark: delta is 0.002: {why}" in desk.release(**requested).err
    assert "Remark" not in desk.release(**{**requested, "delta": "0.0005"}).err
    assert desk.release(**requested, budget="1,0.01").err.count("Remark: delta is ") == 1


def test_a_plan_that_protects_hardly_anybody_is_remarked_on(desk: Desk) -> None:
    weak = desk.gaugedp("plan", "--domain", "domain.toml", "--query", "SEX", "--epsilon", "30", "--delta", "0.01")
    assert weak.code == 0
    assert weak.err.startswith("Remark: a guarantee of epsilon = 30 gives almost no protection.\nRemark: delta is 0.01")


def test_the_command_in_a_report_brings_the_answer_back(desk: Desk) -> None:
    pytest.importorskip("matplotlib", reason="a report needs matplotlib")
    assert desk.release(key="it's mine", query="median(PAY)", report="report.html").code == 0
    page = html.unescape((desk.folder / "report.html").read_text("utf-8"))
    line = next(part for part in re.findall(r"<code>(.*?)</code>", page) if part.startswith("gaugedp release"))
    words = shlex.split(line.replace("TABLE", "people.csv").replace("LEDGER", "people.ledger"))[1:]
    assert "nothing was spent now" in desk.gaugedp(*words).out
    assert desk.ledger().spent == PureDP(1)


@pytest.mark.slow
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
    first = desk.release(ledger="new.ledger", budget=text)
    ledger = desk.ledger("new.ledger")
    said = f"Opened a new ledger 'new.ledger' with a budget of {ledger.budget!r}."
    assert (first.code, first.err.splitlines()) == (0, [PROGRESS[0], said, *PROGRESS[1:]])
    assert (ledger.budget, ledger.table, ledger.unit) == (budget, "people", gd.PrivacyUnit())
    assert desk.release(ledger="new.ledger", budget=text).err.splitlines() == PROGRESS
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


def test_a_file_that_is_written_over_is_named(desk: Desk) -> None:
    (desk.folder / "answers.csv").unlink()
    first, second = desk.release(out="answers.csv"), desk.release(out="answers.csv")
    assert "overwritten" not in first.err
    assert "answers.csv existed already and was overwritten.\n" in second.err


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
    assert (verified.code, verified.out) == (0, f"4 entries, all valid. Tip: {tip}\n")
    assert shown.out.endswith(f"Tip after entry 4: {tip}\n")
    paid = desk.ledger("new.ledger").entries()[2].tip
    verified = desk.gaugedp("ledger", "verify", "new.ledger", "--tip", paid)
    assert verified.out == f"4 entries, all valid. Your tip is entry 3 of 4. Tip: {tip}\n"
    assert "the total is" not in shown.out, "one release: nothing is tighter"
    for _ in range(3):
        assert desk.release(ledger="new.ledger").code == 0
    shown = desk.gaugedp("ledger", "show", "new.ledger", "--delta", "1e-6")
    assert "If all guarantees were fixed in advance, the total is epsilon" in shown.out
    assert "The budget is charged what was spent, as shown above." in shown.out


def test_a_plan_says_what_a_mean_of_a_thousand_rows_would_be_worth(desk: Desk) -> None:
    done = desk.gaugedp("plan", "--domain", "domain.toml", "--query", "mean(PAY); SEX", "--epsilon", "1")
    actual = re.search(r"mean\(PAY\) +1 +±([\d,.]+) +±([\d,.]+) ", done.out)
    assert actual is not None, done.out
    facts = json.loads(desk.gaugedp("plan", *done_words("mean(PAY); SEX"), "--json").out)
    assert [float(text) for text in actual.groups()] == pytest.approx(facts["terms"][0]["of_1000_rows"], rel=1e-3)
    assert "Means: for a group of 1,000 rows" in done.out


def done_words(text: str) -> list[str]:
    return ["--domain", "domain.toml", "--query", text, "--epsilon", "1"]


def test_a_plan_begins_with_what_the_answers_are_worth_and_says_in_what_unit_errors_are(desk: Desk) -> None:
    for text, unit, mixed in (
        ("mean(PAY); SEX", "in rows: the error of a sum is divided by the largest", True),
        ("SEX", "of all answers, in rows\n", False),
        ("sum(PAY)", "in the unit of the sums\n", False),
        ("median(PAY)", "in rows (distance in ranks)\n", False),
    ):
        shown = desk.gaugedp("plan", *done_words(text)).out
        assert shown.index("Answers") < shown.index("Mechanisms by expected error") < shown.index("Chosen:")
        assert unit in shown
        assert ("interval_95" in shown) != mixed
        assert ("Left out: rows whose SEX is missing or out of domain" in shown) == ("SEX" in text)
        assert "Not applicable" not in shown


def test_details_of_a_plan(desk: Desk) -> None:
    shown = desk.gaugedp("plan", *done_words("mean(PAY)"), "--details").out
    for words in ("\nNoise: ", "mean(PAY): from centred sums ±", "Not applicable: "):
        assert words in shown


def test_a_narrow_screen_breaks_names_and_no_numbers(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    name = "mean(INCOME) by REGION*OCCUPATION*EDUCATION_OF_THE_PERSON_AND_OF_THE_PARENTS"
    show_table(
        [{"query": name, "answers": 1000, "95 % individual": "±1,234,567", "95 % simultaneous": "±2,345,678"}], "T"
    )
    shown = capsys.readouterr().out
    assert "±1,234,567" in shown
    assert "±2,345,678" in shown
    assert "PARENTS" in "".join(line.split()[0] for line in shown.splitlines()[2:])
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("width", [1, 20, 60, 100, None])
def test_nothing_of_a_table_is_cut_at_any_width(width: int | None, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("TERM", "xterm")
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    dates = ", ".join(f"'{day:02}.03.2024' ({day},234)" for day in range(1, 30))
    rows = [
        {
            "column": "day_of_the_visit",
            "problem": "out of domain",
            "rows": "12,345",
            "share": "100 %",
            "examples": dates,
        },
        {"column": ":heart: [bold]", "problem": "above 200000", "rows": "1", "share": "0.01 %", "examples": "x" * 300},
    ]
    show_table(rows, "T", numbers=("rows", "share"))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    letters = sorted("".join("".join([*rows[0], *rows[0].values(), *rows[1].values(), "T"]).split()))
    assert sorted("".join(shown.split())) == letters
    for kept in ("above 200000", "day_of_the_visit", "12,345", ":heart: [bold]", "0.01 %", "rows", "share"):
        assert kept in shown


def test_show_tells_what_was_never_answered_and_what_was_fitted(desk: Desk) -> None:
    ledger = gd.Ledger.open(desk.folder / "fits.ledger", gd.ApproxDP(5, 1e-4))
    paid = [gd.ApproxDP(1, 1e-6)]
    for number in range(3):
        request = {"fit": "logistic", "target": "SEX", "features": ["AGE", "Pay, EUR"]}
        place = ledger.reserve(paid, table="people", unit=gd.PrivacyUnit(), request=request, key=f"fit {number}")
        if number != 1:
            ledger.settle(place, b"{}")
    shown = desk.gaugedp("ledger", "show", "fits.ledger")
    lines = [line for line in shown.out.splitlines() if 'fit logistic of SEX by AGE, "Pay, EUR"' in line]
    assert [("charged, never answered" in line, " answered " in line) for line in lines] == [
        (False, True),
        (True, True),
        (False, True),
    ]
    assert "Never answered: the run was killed or is still running. Its cost stays spent." in shown.out
    assert "the total is" not in shown.out
    requested = desk.gaugedp("ledger", "show", "fits.ledger", "--delta", "3e-6")
    assert "the total is epsilon 3 at delta 3e-06." in requested.out
    assert "epsilon inf at delta 1e-06" in desk.gaugedp("ledger", "show", "fits.ledger", "--delta", "1e-6").out
    facts = json.loads(desk.gaugedp("ledger", "show", "fits.ledger", "--json").out)
    states = [line["state"] for line in facts["entries"] if line["kind"] == "reserve"]
    assert states == ["answered", "charged, never answered", "answered"]
    assert "Never answered" not in desk.gaugedp("ledger", "show", "people.ledger").out


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


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "gaugedp", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"gaugedp, version {gd.__version__}\n"


def test_the_noise_of_two_commands_differs(desk: Desk) -> None:
    numbers = [desk.released(epsilon="0.01", query="SEX*AGE")["numbers"] for _ in range(2)]
    assert np.any(np.array(numbers[0]) != np.array(numbers[1]))


@pytest.mark.slow
def test_options_are_those_of_the_readme(desk: Desk) -> None:
    text = desk.gaugedp("release", "--help").out
    assert all(
        name in text for name in ("--domain", "--query", "--epsilon", "--ledger", "--budget", "--out", "--report")
    )
    assert options()[0] in text


@pytest.mark.parametrize("command", ["plan", "release"])
def test_the_help_shows_how_means_and_medians_are_asked_for(desk: Desk, command: str) -> None:
    shown = " ".join(desk.gaugedp(command, "--help").out.split())
    assert '"sum(PINCP); mean(PINCP) by SEX", "median(PINCP) by SEX"' in shown
    assert command == "plan" or '"3,1e-5" (epsilon, delta)' in shown


@pytest.mark.slow
def test_the_ledger_shows_which_releases_were_seeded(desk: Desk) -> None:
    domain = gd.Domain.load("domain.toml")
    table = gd.Table.scan("people.csv", domain=domain)
    assert "seeded" not in desk.gaugedp("ledger", "show", "people.ledger").out
    for rng in (None, gd.research_rng(0)):
        gd.release(gd.query(domain, "SEX"), table, ledger=desk.ledger(), epsilon=0.5, rng=rng)
    lines = desk.gaugedp("ledger", "show", "people.ledger").out.splitlines()
    assert len([line for line in lines if "answered; seeded: not private" in line]) == 1
    assert any(line.startswith("Seeded: made for research") for line in lines)


@pytest.mark.slow
def test_answers_of_two_attributes_stand_side_by_side_and_others_in_lines(desk: Desk) -> None:
    lines = desk.release(query="AGE*SEX; SEX", key="both").out.splitlines()
    (head,) = (place for place, line in enumerate(lines) if line == "AGE*SEX: estimates (and their intervals)")
    assert lines[head + 1].split() == ["AGE", "1", "2"]
    number = r"-?[\d,]+"
    assert re.fullmatch(rf"\S+( +{number} \({number} to {number}\)){{2}} *", lines[head + 2]), lines[head + 2]
    assert [line.split()[:2] for line in lines[1:head]] == [["query", "cell"], ["SEX", "SEX=1"], ["SEX", "SEX=2"]]
    processed = desk.release("people.csv", "--round", query="AGE*SEX; SEX", key="both").out
    assert "AGE*SEX: estimates" not in processed, "raw answers stand beside processed ones, in lines"
    wide = desk.release(query="SEX*AGE").out
    assert "SEX*AGE: estimates" not in wide, "too many columns"
    assert desk.release(query="AGE*SEX").out.splitlines()[1].startswith("AGE*SEX: estimates")
