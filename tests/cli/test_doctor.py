"""What the doctor finds on this machine, and on sick ones."""

import errno
import json
import os
import tempfile
from pathlib import Path

import pytest

from gaugedp.cli import doctor
from gaugedp.cli.main import run
from gaugedp.ledger import file_checks


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = run(["doctor", "--json", *words])
    return code, {line["part"]: line for line in json.loads(capsys.readouterr().out)}


def test_a_healthy_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, actual = lines(capsys, str(tmp_path))
    assert code == 0
    assert {actual[part]["state"] for part in ("Python", "numpy", "engine DuckDB", "entropy")} == {"ok"}
    assert "ms" in actual[f"ledger in {tmp_path}"]["words"]
    assert {line["state"] for line in actual.values()} <= {"ok", "absent", "trials"}
    assert list(tmp_path.iterdir()) == []


def test_a_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--folder", str(tmp_path)]) == 0
    assert "gaugedp" in capsys.readouterr().out


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, actual = lines(capsys, "--folder", str(tmp_path / "nowhere"))
    assert code == 1
    line = actual[f"ledger in {tmp_path / 'nowhere'}"]
    assert (line["state"], line["words"]) == ("wrong", f"There is no folder '{tmp_path / 'nowhere'}'. Create it first.")


def test_a_file_and_a_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    code, actual = lines(capsys, str(tmp_path / "file"))
    assert (code, actual[f"ledger in {tmp_path / 'file'}"]["words"]) == (
        1,
        f"'{tmp_path / 'file'}' is a file, not a folder. Pass a folder.",
    )
    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    code, actual = lines(capsys, str(tmp_path))
    words = f"Nothing can be written in '{tmp_path}' (No space left on device)."
    assert (code, actual[f"ledger in {tmp_path}"]["words"]) == (1, words)


def fail(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/name/of/its/own")


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs", "ext4"])
def test_a_folder_in_memory_is_for_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "mounts").write_text(f"none {tmp_path} {kind} rw 0 0\n")
    monkeypatch.setattr(file_checks, "_MOUNTS", tmp_path / "mounts")
    code, actual = lines(capsys, str(tmp_path))
    line = actual[f"ledger in {tmp_path}"]
    assert (code, line["state"]) == (0, "ok" if kind == "ext4" else "trials")
    assert ("is in memory and is lost at a restart" in line["words"]) == (kind != "ext4")


def test_two_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", str(tmp_path), "--folder", str(tmp_path)]) == 2
    assert "You named the folder twice, as FOLDER and" in capsys.readouterr().err


def test_a_missing_part_and_a_missing_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version_of", lambda _: None)
    code, actual = lines(capsys, "--folder", str(tmp_path))
    assert code == 1
    assert actual["numpy"]["state"] == "wrong"
    assert actual["extra [learn]"]["words"] == "pip install 'gaugedp[learn]'"


def test_a_stream_that_repeats_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "system_rng", lambda: doctor.research_rng(7))
    code, actual = lines(capsys, "--folder", str(tmp_path))
    assert (code, actual["entropy"]["state"]) == (1, "wrong")
