"""What the doctor finds on this machine, and on sick ones."""

import json
from pathlib import Path

import pytest

from gaugedp.cli import doctor
from gaugedp.cli.main import run


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = run(["doctor", "--json", *words])
    return code, {line["part"]: line for line in json.loads(capsys.readouterr().out)}


def test_a_healthy_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = lines(capsys, "--folder", str(tmp_path))
    assert code == 0
    assert {found[part]["state"] for part in ("Python", "numpy", "engine DuckDB", "entropy")} == {"well"}
    assert "ms" in found[f"ledger in {tmp_path}"]["words"]
    assert {line["state"] for line in found.values()} <= {"well", "absent"}
    assert list(tmp_path.iterdir()) == []


def test_a_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--folder", str(tmp_path)]) == 0
    assert "gaugedp" in capsys.readouterr().out


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = lines(capsys, "--folder", str(tmp_path / "nowhere"))
    assert code == 1
    assert found[f"ledger in {tmp_path / 'nowhere'}"]["state"] == "wrong"


def test_a_missing_part_and_a_missing_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_found", lambda _: None)
    code, found = lines(capsys, "--folder", str(tmp_path))
    assert code == 1
    assert found["numpy"]["state"] == "wrong"
    assert found["extra [learn]"]["words"] == "pip install 'gaugedp[learn]'"


def test_a_stream_that_repeats_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "system_rng", lambda: doctor.research_rng(7))
    code, found = lines(capsys, "--folder", str(tmp_path))
    assert (code, found["entropy"]["state"]) == (1, "wrong")
