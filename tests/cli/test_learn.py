"""Bounds of a column that are found with noise, paid for, and written into the domain file. The noise is random."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.cli.main import run

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.domain.attributes import MAX_STEPS
from gaugedp.estimators.bound_search import BoundSearch
from gaugedp.estimators.table_bounds import TableBounds
from gaugedp.guarantees import ApproxDP, PureDP

SECRET = "7731"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path, rng = tmp_path / "people.csv", np.random.default_rng(1)
    values = zip(rng.integers(18, 91, 4000), rng.uniform(0.2, 0.9, 4000), strict=True)
    lines = [f"f,{age},{share:.4f},p{row // 2}" for row, (age, share) in enumerate(values)]
    path.write_text("\n".join(["sex,yearly age,share,pid", *lines, f"f,{SECRET},0.5,p1"]))
    return path


def learned(people: Path, *more: str) -> int:
    ledger = people.with_suffix(".ledger")
    fixed = ["--epsilon", "2", "--ledger", str(ledger), "--budget", "9"]
    return run(["domain", str(people), "--learn", "yearly age", *fixed, *more])


def test_a_new_file_has_bounds_and_the_entry_that_paid(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = people.with_suffix(".toml")
    assert learned(people, "--out", str(out)) == 0
    column = tomllib.loads(out.read_text())["columns"]["yearly age"]
    assert -50 < column["low"] <= 18
    assert 90 <= column["high"] < 250
    entry = gd.Ledger.open(people.with_suffix(".ledger")).entries()[-2].number
    assert f"# found with noise for PureDP(2): entry {entry} of people.ledger" in out.read_text()
    assert SECRET not in out.read_text() + "".join(capsys.readouterr())
    assert '# "yearly age" = { low' not in out.read_text()
    assert gd.Domain.load(out).column("yearly age").step == 1


def test_a_file_that_is_there_keeps_all_else(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = people.with_suffix(".toml"), 'name = "p"\n[unit]\ncolumn = "pid"\nmax_rows = 2\n# mine\n'
    path.write_text(text)
    fixed = ["--step", "0.01", "--epsilon", "3", "--ledger", str(people.with_suffix(".ledger")), "--budget", "3,1e-6"]
    learn = ["domain", str(people), "--learn", "share", "--domain", str(path), "--delta", "1e-7", "--key", "k", *fixed]
    assert run(learn) == 0
    assert path.read_text().startswith(text.rstrip())
    column = tomllib.loads(path.read_text())["columns"]["share"]
    assert 0 <= column["low"] <= 0.3
    assert 0.8 <= column["high"] < 2
    assert gd.Ledger.open(people.with_suffix(".ledger")).spent.epsilon(1e-7) == pytest.approx(3)
    assert run(learn) == 2
    first, _ = path.read_text(), path.write_text(text)
    capsys.readouterr()
    assert run(learn) == 0
    assert path.read_text() == first
    assert "This is the stored search for bounds of entry" in capsys.readouterr().err


def test_without_a_file_it_is_shown(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learned(people) == 0
    assert "yearly age" in tomllib.loads(capsys.readouterr().out)["columns"]


@pytest.mark.slow
def test_bounds_are_written_to_standard_output_by_its_name(people: Path) -> None:
    """Into a file that the shell has made: it is empty, and no domain file; and nothing else is written into it."""
    ledger, shown = str(people.with_suffix(".ledger")), people.with_suffix(".toml")
    learn = ["domain", str(people), "--learn", "yearly age", "--epsilon", "2", "--ledger", ledger, "--budget", "9"]
    with shown.open("w") as file:
        words = [str(Path(sys.executable).with_name("gaugedp")), *learn, "--out", "/dev/stdout"]
        done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "yearly age lies between" in done.stderr) == (0, True), done.stderr
    assert '# sex = ["…", "…"]' in shown.read_text()
    assert "yearly age" in tomllib.loads(shown.read_text())["columns"]


def test_a_column_without_numbers_has_the_widest_bounds(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(people.with_suffix(".ledger"))
    assert run(["domain", str(people), "--learn", "sex", "--epsilon", "1", "--ledger", ledger, "--budget", "2"]) == 0
    shown = capsys.readouterr()
    assert tomllib.loads(shown.out)["columns"]["sex"]["high"] == MAX_STEPS
    assert "One bound is the widest possible" in shown.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--learn", "nope"], "no column 'nope'"),
        (["--step", "0"], "step"),
        (["--epsilon", "0"], "epsilon"),
        (["--out", "people.csv"], "--out"),
        (["--domain", "nothing.toml"], "no domain file"),
        (["--domain", "given.toml"], "already has bounds for the column yearly age"),
        (["--domain", "inline.toml"], ", but the file has no such section"),
    ],
)
def test_refusals_cost_nothing(more: list[str], words: str, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (people.parent / "given.toml").write_text('[columns]\n"yearly age" = { low = 0, high = 9 }\n')
    (people.parent / "inline.toml").write_text("columns = { share = { low = 0, high = 9 } }\n")
    placed = [str(people.parent / text) if "." in text and text != "0.01" else text for text in more]
    assert learned(people, *placed) == 2
    assert words in capsys.readouterr().err
    assert not people.with_suffix(".ledger").exists()


def test_what_is_for_learning_is_refused_without_it(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["domain", str(people), "--epsilon", "1"]) == 2
    assert "--ledger, --budget and --epsilon are for" in capsys.readouterr().err
    assert run(["domain", str(people), "--learn", "share"]) == 2
    assert "--learn reads rows of the table, which" in capsys.readouterr().err


@pytest.mark.parametrize("requested", [PureDP(1.0), ApproxDP(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize(("neighbours", "rows", "steps"), [("add_remove", 3, 3), ("replace", 1, 2)])
def test_a_unit_with_several_rows_pays_for_each(requested, neighbours: str, rows: int, steps: int) -> None:
    """The search is calibrated for one row, and k rows keep what was asked."""
    unit = gd.PrivacyUnit(column="pid", neighbours=neighbours, max_rows=rows)
    planned, alone = TableBounds("x", 1.0, unit, requested), BoundSearch.calibrate(1, requested)
    delta = 0.0 if isinstance(requested, PureDP) else 1e-6
    assert 0.8 < planned.guarantee_of_parts.epsilon(delta, method="basic" if delta == 0 else "tight") <= 1.0
    ratio = planned._search.noise.variances.max() / alone.noise.variances.max()
    assert ratio >= steps**2 * 0.999
