"""The first steps of the README, each in a process of its own, in a folder that holds nothing but the example."""

import csv
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ACS = Path(__file__).resolve().parents[2] / "examples" / "acs"
SCRIPT = Path(sys.executable).with_name("gaugedp")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-c", "from gaugedp.cli.main import main; main()"]
QUESTION = "SEX; AGEP; SEX*AGEP"


def gaugedp(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copyfile(ACS / "acs_ma2018.csv", tmp_path / "acs.csv")
    shutil.copyfile(ACS / "domain.toml", tmp_path / "domain.toml")
    return tmp_path


@pytest.mark.slow
def test_plan_release_show_verify(folder: Path) -> None:
    requested = ["--domain", "domain.toml", "--query", QUESTION, "--epsilon", "0.5"]
    planned = gaugedp(folder, "plan", *requested)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert "Chosen:" in planned.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["acs.csv", "domain.toml"]

    files = ["--ledger", "tables.ledger", "--budget", "2", "--out", "answers.csv"]
    if importlib.util.find_spec("matplotlib"):
        files += ["--report", "report.html"]
    released = gaugedp(folder, "release", "acs.csv", *requested, *files)
    assert released.returncode == 0, released.stderr
    assert "PureDP(1.5) is left" in released.stdout
    assert "Traceback" not in released.stderr
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-7:] == ["query", "estimate", "lower", "upper", "lower_all", "upper_all", "cell"]
    assert len(rows) == 2 + 10 + 20
    assert sum(int(row["estimate"]) for row in rows[:2]) == pytest.approx(7244, abs=400)
    if "--report" in files:
        assert (folder / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")

    shown = gaugedp(folder, "ledger", "show", "tables.ledger", "--json")
    facts = json.loads(shown.stdout)
    assert (facts["spent"]["epsilon"], facts["table"]) == (0.5, "acs-ma-2018")
    tip = released.stdout.split()[-1]
    verified = gaugedp(folder, "ledger", "verify", "tables.ledger", "--tip", tip)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "all valid" in verified.stdout

    refused = gaugedp(folder, "release", "acs.csv", *requested[:-1], "1.6", "--ledger", "tables.ledger")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.endswith("Nothing was read and nothing was spent.\n")
    wrong = gaugedp(folder, "release", "absent.csv", *requested, "--ledger", "tables.ledger")
    assert (wrong.returncode, wrong.stdout) == (2, "")
