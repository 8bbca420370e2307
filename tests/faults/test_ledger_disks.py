"""A log that was cut off, a disk that is full, a server that crashes: what was acknowledged is there, or it is said."""

import itertools
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.ledger.kit import SECRET, ask, filled, paid, refused
from tests.postgres import missing, private_server

# -- a write-ahead log that was cut off ------------------------------------------------------------


def _history(folder: Path) -> tuple[list[tuple[int, str]], bytes, bytes]:
    """Return the length of the log and the tip after each act, and the file and its log at the end."""
    path = folder / "people.ledger"
    ledger, marks = Ledger.open(path, PureDP(1)), []
    with closing(sqlite3.connect(path)) as reader:  # while somebody reads, the log is not put into the file
        reader.execute("PRAGMA wal_autocheckpoint = 0")
        reader.execute("BEGIN").execute("SELECT * FROM head").fetchone()
        for number in range(6):
            reservation = paid(ledger, 0.1, f"{number}")
            marks.append(((folder / "people.ledger-wal").stat().st_size, reservation.tip))
            tip = ledger.settle(reservation, SECRET * 300)
            marks.append(((folder / "people.ledger-wal").stat().st_size, tip))
        return marks, path.read_bytes(), (folder / "people.ledger-wal").read_bytes()


def _restored(folder: Path, file: bytes, log: bytes) -> Ledger:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "people.ledger").write_bytes(file)
    (folder / "people.ledger-wal").write_bytes(log)
    return Ledger.open(folder / "people.ledger")


@pytest.mark.parametrize("harm", ["cut", "noise", "zeros"])
def test_a_log_torn_after_what_was_acknowledged_loses_nothing_of_it(tmp_path: Path, harm: str) -> None:
    """A power cut tears what was being written: everything up to the last commit that returned is there."""
    marks, file, log = _history(tmp_path)
    draw = random.Random(3)
    for (length, tip), (later, newer) in itertools.pairwise(marks):
        assert length < later
        at = draw.randrange(length, later)
        end = {"cut": b"", "noise": draw.randbytes(later - at), "zeros": bytes(later - at)}[harm]
        report = _restored(tmp_path / "torn", file, log[:at] + end).verify(tip)
        assert report.ok, report.problems
        assert report.tip in (tip, newer)


def test_a_log_torn_before_it_is_an_older_copy_that_the_tip_finds(tmp_path: Path) -> None:
    marks, file, log = _history(tmp_path)
    for (length, older), (later, tip) in itertools.pairwise(marks):
        ledger = _restored(tmp_path / "torn", file, log[: (length + later) // 2])
        assert ledger.verify(older).ok
        report = ledger.verify(tip)
        assert not report.ok
        assert "older copy" in report.problems[0]


def test_a_lost_log_is_an_older_copy_that_the_tip_finds(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "people.ledger")
    old, tip = ledger.tip, ""
    with closing(sqlite3.connect(tmp_path / "people.ledger")) as reader:
        reader.execute("BEGIN").execute("SELECT * FROM head").fetchone()
        tip = ledger.settle(paid(ledger, 0.5), SECRET)
        shutil.copy(tmp_path / "people.ledger", tmp_path / "copy.ledger")
    copy = Ledger.open(tmp_path / "copy.ledger")
    assert copy.verify(old).ok
    assert not copy.verify(tip).ok


# -- full disks ------------------------------------------------------------------------------------

KIT = Path(__file__).parents[1] / "ledger"
FULL = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
folder = Path(sys.argv[2])
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)], capture_output=True).returncode:
    sys.exit(77)
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from kit import SECRET, ask, filled, paid, refused
ledger = filled(folder / "people.ledger")
reservation = paid(ledger, 0.1, "open end")
tip, spent = ledger.tip, ledger.spent
try:
    with open(folder / "waste", "wb", buffering=0) as waste:
        while waste.write(bytes(512)):
            pass
except OSError:
    pass
with refused("people.ledger", "disk is full", "Nothing was read"):
    ask(ledger, 0.1, request={"query": "x" * 60000})
with refused("disk is full", "stays spent"):
    ledger.settle(reservation, SECRET * 9000)
with refused("new.ledger", "cannot be"):
    Ledger.open(folder / "new.ledger", PureDP(1))
(folder / "waste").unlink()
assert ledger.spent == spent
ledger.settle(reservation, SECRET)
assert ledger.verify(tip).ok
"""


def test_a_file_system_that_is_full(tmp_path: Path) -> None:
    """In a mount namespace of its own, where the system lets us have one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("this system has no mount namespaces")
    command = [unshare, "-m", sys.executable, "-c", FULL, str(KIT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 0, done.stderr


def test_a_server_whose_disk_is_full() -> None:
    """Its files may not grow beyond 20 MB: a release that needs more is refused, and the ledger goes on."""
    if missing() is not None:
        pytest.skip(str(missing()))
    with private_server(file_limit=20_000_000) as server:
        ledger = filled(server.new_ledger())
        reservation = paid(ledger, 0.1, "open end")
        tip, spent = ledger.tip, ledger.spent
        with refused("cannot be written: the server's disk is full", "stays spent"):
            ledger.settle(reservation, random.Random(1).randbytes(30_000_000))
        assert (ledger.spent, ledger.verify(tip).unsettled) == (spent, ("open end",))
        ledger.settle(reservation, SECRET)
        assert ledger.verify(tip).ok


# -- a server that crashes -------------------------------------------------------------------------


def test_a_server_that_crashes_has_what_was_acknowledged() -> None:
    if missing() is not None:
        pytest.skip(str(missing()))
    with private_server() as server:
        ledger, tips = filled(server.new_ledger(), 0), []
        for number in range(2):
            reservation = paid(ledger, 0.1, f"{number}")
            tips.append(ledger.settle(reservation, SECRET))
            open_end = paid(ledger, 0.1, f"open {number}")
            server.stop("immediate")
            with refused("cannot be reached", "Nothing was read and nothing was spent"):
                ask(ledger, 0.1)
            with refused("cannot be reached", "stays spent"):
                ledger.settle(open_end, SECRET)
            assert "unreadable" in repr(ledger)
            server.start()
            assert all(ledger.verify(tip).ok for tip in (*tips, open_end.tip))
            assert ledger.spent == PureDP((2 * number + 2) / 10)
        with pytest.raises(LedgerRefused, match="has no answer yet"):
            ask(ledger, 0.1, "open 1")
