"""Unfinished files of killed runs are removed by the next run that writes in their folder, and no others are."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gaugedp._internal.files import part_prefix


def left_by(process: int, folder: Path) -> Path:
    name = part_prefix(folder).replace(f"-{os.getpid()}-", f"-{process}-")
    return Path(tempfile.mkdtemp(prefix=name, dir=folder))


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    part = left_by(ended.pid, tmp_path)
    (part / "table.csv").write_text("half")
    part_prefix(tmp_path)
    assert not part.exists()


def test_what_a_run_may_still_write_is_kept(tmp_path: Path) -> None:
    mine, parent = left_by(os.getpid(), tmp_path), left_by(os.getppid(), tmp_path)
    elsewhere = tmp_path / ".gaugedp-another.host-1-part"
    elsewhere.write_text("")
    part_prefix(tmp_path)
    assert mine.exists()
    assert parent.exists()
    assert elsewhere.exists()
