"""`gaugedp derive`: figures of a stored release."""

from pathlib import Path

import pytest

from gaugedp.cli.main import run

DOMAIN = '[attributes]\nSEX = ["1", "2"]\nAREA = ["n", "s"]\n'


@pytest.fixture
def stored(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("domain.toml").write_text(DOMAIN)
    Path("people.csv").write_text("SEX,AREA\n" + "1,n\n2,s\n2,n\n" * 50)
    question = ["release", "people.csv", "--domain", "domain.toml", "--query", "SEX*AREA", "--epsilon", "2"]
    assert run([*question, "--ledger", "l.ledger", "--budget", "2", "--save", "release.json"]) == 0
    return tmp_path


def test_it_prints_and_writes_figures_and_spends_nothing(stored: Path, capsys) -> None:
    files = ["--out", "shares.csv", "--report", "shares.html", "--save", "shares.json"]
    capsys.readouterr()
    assert run(["derive", "release.json", "--query", "share(SEX) by AREA; change(AREA)", *files]) == 0
    assert "nothing was spent" in capsys.readouterr().out
    assert (stored / "shares.csv").read_text().startswith("SEX,AREA,query,estimate")
    assert "Percentage of rows" in (stored / "shares.html").read_text("utf-8")
    assert run(["derive", "shares.json", "--query", "SEX"]) == 2
    assert "Pass that release" in capsys.readouterr().err


@pytest.mark.usefixtures("stored")
def test_what_does_not_follow_and_what_is_no_release_is_refused(capsys) -> None:
    assert run(["derive", "release.json", "--query", "mean(PAY)"]) == 2
    assert run(["derive", "people.csv", "--query", "SEX"]) == 2
    assert "not a release" in capsys.readouterr().err


def test_a_missing_domain_is_asked_for_by_its_option(stored: Path, capsys) -> None:
    (stored / "domain.toml").write_text(f"{DOMAIN}[columns]\nAGE = {{ low = 0, high = 9 }}\n")
    (stored / "people.csv").write_text("SEX,AREA,AGE\n" + "1,n,3\n2,s,5\n" * 50)
    question = ["release", "people.csv", "--domain", "domain.toml", "--query", "sum(AGE) by SEX", "--epsilon", "1"]
    assert run([*question, "--ledger", "m.ledger", "--budget", "2", "--save", "sums.json"]) == 0
    assert run(["derive", "sums.json", "--query", "sum(AGE)"]) == 2
    assert "Pass its domain: --domain FILE on the command line" in capsys.readouterr().err
