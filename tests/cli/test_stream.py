"""`gaugedp stream`: opened once, answered period by period, refused in a sentence."""

import csv
import json
import shutil
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.cli.main import run

DOMAIN = 'name = "people"\n[attributes]\nSEX = ["1", "2"]\n[columns]\nPAY = { low = 0, high = 10 }\n'
HEAD = ["period", "query", "cell", "estimate", "lower", "upper", "running", "running_lower", "running_upper"]
OPEN = [
    "stream", "open", "a.stream", "--domain", "domain.toml", "--query", "SEX", "--ledger", "a.ledger",
    "--periods", "3", "--epsilon", "1", "--delta", "1e-6", "--budget", "1,1e-6",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.toml").write_text(DOMAIN)
    (tmp_path / "month.csv").write_text("SEX,PAY\n" + "1,3\n2,4\n" * 20)
    return tmp_path


def without(*names: str) -> list[str]:
    """The arguments of OPEN without some options."""
    places = {OPEN.index(name) + step for name in names for step in (0, 1)}
    return [word for place, word in enumerate(OPEN) if place not in places]


def test_a_stream_from_opening_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(OPEN) == 0
    assert run(without("--budget")) == 0
    assert "0 of 3 periods answered" in capsys.readouterr().out
    for period in (1, 2, 3):
        assert run(["stream", "next", "a.stream", "month.csv", "--out", f"{period}.csv"]) == 0
        assert f"Period {period} of 3 with 95 % intervals" in capsys.readouterr().out
    with (folder / "3.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head == HEAD
    assert [row[:3] for row in rows] == [["3", "SEX", "SEX=1"], ["3", "SEX", "SEX=2"]]
    assert run(["stream", "next", "a.stream", "month.csv"]) == 2
    assert "a second horizon is charged again" in capsys.readouterr().err
    assert gd.Ledger.open("a.ledger").spent == gd.ApproxDP(1, 1e-6)


@pytest.mark.usefixtures("folder")
def test_a_period_again(capsys: pytest.CaptureFixture[str]) -> None:
    run(OPEN)
    capsys.readouterr()
    answers = []
    for _ in range(2):
        assert run(["stream", "next", "a.stream", "month.csv", "--period", "1", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["period"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (without("--delta", "--budget"), "A stream needs a δ, ρ or μ."),
        ([*without("--query"), "--query", "mean(PAY)"], "A stream answers counts and sums, but the"),
        ([*without("--periods"), "--periods", "2.5"], "Pass an integer."),
        ([*OPEN, "--periods-per-person", "4"], "`periods_per_person` is 4, but the stream has only 3 periods."),
        (["stream", "next", "none.stream", "month.csv"], "There is no stream"),
    ],
)
def test_refusals_make_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(arguments) == 2
    assert sentence in capsys.readouterr().err
    assert not list(folder.glob("*.ledger"))
    assert not list(folder.glob("*.stream"))


def test_files_that_were_moved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(OPEN)
    shutil.move(folder / "domain.toml", folder / "moved.toml")
    command = ["stream", "next", "a.stream", "month.csv"]
    assert run(command) == 2
    assert "There is no domain file" in capsys.readouterr().err
    assert run([*command, "--domain", "moved.toml"]) == 0


@pytest.mark.usefixtures("folder")
def test_a_stream_that_was_opened_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    domain = gd.Domain.load("domain.toml")
    ledger = gd.Ledger.open("a.ledger", gd.GaussianDP(1.0))
    gd.Stream.open("a.stream", gd.query(domain, "SEX"), gd.PrivacyUnit(), ledger=ledger, periods=3, mu=1.0)
    command = ["stream", "next", "a.stream", "month.csv"]
    assert run(command) == 2
    assert "Pass --domain" in capsys.readouterr().err
    assert run([*command, "--domain", "domain.toml", "--ledger", "a.ledger"]) == 0


@pytest.mark.usefixtures("folder")
def test_an_answer_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    run(OPEN)
    assert run(["stream", "next", "a.stream", "month.csv", "--out", "nowhere/a.csv"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert run(["stream", "next", "a.stream", "month.csv"]) == 0
    assert "Period 1 of 3" in capsys.readouterr().out
