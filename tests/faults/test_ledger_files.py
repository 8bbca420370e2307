"""Files, folders and disks that cannot hold a ledger are refused in one sentence, and stay as they are."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, schema
from gaugedp.ledger.sqlite import SqliteTransaction
from tests.ledger.kit import SECRET, ask, filled, folder_bytes, paid, refused

resource = pytest.importorskip("resource", reason="this system has no limits")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def _ordinary_database(path: Path, mode: str = "WAL") -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE entry (number INTEGER PRIMARY KEY)")


# -- what is no ledger -----------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, PureDP(2)])
@pytest.mark.parametrize("content", [b"", b"text\n", b"SQLite format 3\0", os.urandom(8192), SECRET * 900])
def test_another_file_is_refused(path: Path, content: bytes, budget: PureDP | None) -> None:
    path.write_bytes(content)
    with refused("people.ledger", "is not a ledger file", path=path):
        Ledger.open(path, budget)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_another_database_is_refused(path: Path, mode: str) -> None:
    _ordinary_database(path, mode)
    with refused("is not a ledger file", path=path):
        Ledger.open(path, PureDP(2))


def test_another_database_in_use_is_refused(path: Path) -> None:
    _ordinary_database(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO entry VALUES (1)")
        with refused("is not a ledger file", path=path):
            Ledger.open(path)


def test_a_newer_format_is_refused(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 2")
    with refused("another version of gaugedp", path=path):
        Ledger.open(path)


def test_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    with refused("is a folder", path=path):
        Ledger.open(path, PureDP(1))
    with refused("The folder of", "does not exist"):
        Ledger.open(path / "absent" / "people.ledger", PureDP(1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with refused("is not a regular file"):
        Ledger.open(path, PureDP(1))


def test_a_file_as_folder_is_refused(path: Path) -> None:
    path.write_bytes(b"x")
    with refused("cannot be reached"):
        Ledger.open(path / "people.ledger", PureDP(1))


def test_what_is_left_of_an_earlier_ledger_is_not_mixed_in(path: Path) -> None:
    path.with_name("people.ledger-wal").write_bytes(b"x")
    with refused("people.ledger-wal", ", which belongs to an earlier ledger, exists", path=path):
        Ledger.open(path, PureDP(1))


# -- damage ----------------------------------------------------------------------------------------


def test_damage_anywhere_is_refused_or_reported_or_in_unused_space(path: Path) -> None:
    ledger = filled(path, 15)
    whole, entries, tip = path.read_bytes(), ledger.entries(), ledger.tip
    actual = 0
    for start in range(16, len(whole), 499):
        path.write_bytes((whole[:start] + b"\xa5" * 300 + whole[start + 300 :])[: len(whole)])
        try:
            report = ledger.verify()
        except LedgerRefused as refusal:
            actual += "ledger file" in refusal.what or "damaged" in refusal.what or "altered" in refusal.what
            continue
        actual += not report.ok
        assert not report.ok or (ledger.entries(), ledger.tip) == (entries, tip)
    assert actual > 10


def test_damage_at_the_front_is_refused(path: Path) -> None:
    ledger = filled(path)
    whole = path.read_bytes()
    for start in (0, 16, 100):
        path.write_bytes(whole[:start] + b"\xa5" * 3000 + whole[start + 3000 :])
        for look in (Ledger.verify, lambda _: Ledger.open(path), lambda one: ask(one, 0.1)):
            with refused("people.ledger", path=path):
                look(ledger)


@pytest.mark.parametrize("size", [50, 100, 4096, 9000])
def test_a_cut_file_is_refused(path: Path, size: int) -> None:
    ledger = filled(path, 20)
    with path.open("r+b") as file:
        file.truncate(size)
    with refused("people.ledger", path=path):
        Ledger.open(path)
    with refused("people.ledger", path=path):
        ask(ledger, 0.1)


def test_a_missing_table_is_refused(path: Path) -> None:
    ledger = filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE head")
    for look in (Ledger.verify, lambda one: ask(one, 0.1), lambda one: one.spent):
        with refused("altered by another program", path=path):
            look(ledger)


def test_a_file_that_went_away_is_not_made_anew(path: Path) -> None:
    ledger = filled(path)
    reservation = paid(ledger)
    path.unlink()
    with refused("no longer exists", path=path):
        ask(ledger, 0.1)
    with refused("no longer exists", "stays spent", path=path):
        ledger.settle(reservation, SECRET)
    assert not path.exists()


# -- locks -----------------------------------------------------------------------------------------


@pytest.fixture
def locked(path: Path) -> Iterator[Ledger]:
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield Ledger.open(path, timeout=0.2)


def test_a_locked_ledger_is_refused_after_the_timeout(path: Path, locked: Ledger) -> None:
    with refused("is locked by another process", "Try again", path=path):
        ask(locked, 0.1)


def test_a_locked_ledger_can_be_read(locked: Ledger) -> None:
    assert locked.spent == PureDP(0.3)
    assert locked.affords(PureDP(1))
    assert locked.verify().ok


def test_a_lock_is_waited_for(path: Path) -> None:
    ledger = filled(path, 0)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.4, connection.close)
    timer.start()
    paid(ledger, 0.5)
    timer.join()
    assert ledger.spent == PureDP(0.5)


def test_a_file_without_write_ahead_log_is_switched_back(path: Path) -> None:
    ledger = filled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    paid(ledger, 0.5)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_place_without_write_ahead_log_is_refused() -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        refused("does not support the write-ahead log that", "local disk"),
    ):
        schema.make_durable(connection, "'people.ledger'")


# -- interrupts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["head", "row", "find", "append"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_before_the_commit_spends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException]
) -> None:
    ledger = filled(path)
    reservation, before = paid(ledger, 0.5, "open end"), folder_bytes(path)

    def interrupt(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, step, interrupt)
        with pytest.raises(error):
            ask(ledger, 0.1)
        with pytest.raises(error):
            ledger.settle(reservation, SECRET)
    assert folder_bytes(path) == before
    assert ledger.verify().unsettled == ("open end",)


def test_an_interrupt_after_the_commit_stays_spent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = filled(path, 0)

    class Late(closing):  # type: ignore[type-arg]
        def __exit__(self, *details: object) -> None:
            super().__exit__(*details)  # type: ignore[arg-type]
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gaugedp.ledger.sqlite.closing", Late)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, 0.5)
    assert ledger.spent == PureDP(0.5)
    assert ledger.verify().ok


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # one between a file's opening and its use
def test_interrupts_at_any_moment_break_nothing(path: Path) -> None:
    ledger, kept = filled(path, 0), 0
    earlier = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(150):
            signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.00003 * number)
            try:
                ask(ledger, 0.001)
                kept += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
    finally:
        signal.signal(signal.SIGALRM, earlier)
    reserves = sum(entry.kind == "reserve" for entry in ledger.entries())
    assert kept <= reserves <= 150
    assert ledger.spent == PureDP(reserves / 1000)
    assert ledger.verify().ok


# -- rights and disks, in a process of their own ---------------------------------------------------

KIT = Path(__file__).parents[1] / "ledger"
PROGRAM = """
import os, resource, sys
sys.path.insert(0, sys.argv[1])
import gaugedp.ledger.sqlite
from gaugedp.errors import LedgerRefused
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from kit import SECRET, ask, filled, folder_bytes, paid, refused
from pathlib import Path
path = Path(sys.argv[2])
def give_up_rights():
    if os.geteuid() == 0:
        os.setuid(65534)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
"""


def _run(path: Path, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program, str(KIT), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def public() -> Iterator[Path]:
    """A path in a folder that every user may enter and write in."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder) / "people.ledger"


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "words"),
    [
        (0o444, 0o777, "is read-only"),
        (0o000, 0o777, "may not be read"),
        (0o666, 0o555, "The folder of"),
        (0o666, 0o000, "cannot be reached"),
    ],
)
def test_rights_that_are_missing(public: Path, file_mode: int, folder_mode: int, words: str) -> None:
    filled(public)
    before = public.read_bytes()
    public.chmod(file_mode)
    public.parent.chmod(folder_mode)
    program = f"give_up_rights()\nwith refused({words!r}):\n    Ledger.open(path, PureDP(2))\n"
    try:
        _run(public, program)
    finally:
        public.parent.chmod(0o777)
    assert public.read_bytes() == before
    assert os.listdir(public.parent) == ["people.ledger"]


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o000, 0o777), (0o666, 0o555), (0o666, 0)])
def test_rights_that_go_away(public: Path, file_mode: int, folder_mode: int) -> None:
    tip = filled(public).tip
    before = public.read_bytes()
    public.chmod(0o666)
    program = (
        "ledger = Ledger.open(path)\n"
        f"os.chmod(path, {file_mode})\nos.chmod(path.parent, {folder_mode})\n"
        "give_up_rights()\nwith refused('people.ledger'):\n    ask(ledger, 0.1)\n"
    )
    try:
        _run(public, program)
    finally:
        public.parent.chmod(0o777)
        public.chmod(0o666)
    assert public.read_bytes() == before
    assert Ledger.open(public).verify(tip).ok


def test_a_read_only_folder_holds_no_new_ledger(public: Path) -> None:
    public.parent.chmod(0o555)
    try:
        _run(public, "give_up_rights()\nwith refused('The folder of'):\n    Ledger.open(path, PureDP(2))\n")
    finally:
        public.parent.chmod(0o777)
    assert os.listdir(public.parent) == []


@pytest.mark.parametrize("size", [0, 100, 5000, 20000, 30000])
def test_a_full_disk_holds_no_new_ledger(path: Path, size: int) -> None:
    words = ("cannot be written", "Free disk space")
    _run(path, f"limit({size})\nwith refused(*{words}, path=path):\n    Ledger.open(path, PureDP(2))\n")
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("size", [0, 100, 5000, 33000, 40000])
def test_a_full_disk_takes_no_reservation(path: Path, size: int) -> None:
    tip = filled(path).tip
    _run(
        path,
        "ledger = Ledger.open(path)\nreservation = paid(ledger, 0.5, 'open end')\nspent = ledger.spent\n"
        f"limit({size})\n"
        "big = {'query': 'x' * 60000}\n"
        "with refused('cannot be', 'Nothing was read'):\n    ask(ledger, 0.1, request=big)\n"
        "with refused('cannot be', 'stays spent'):\n    ledger.settle(reservation, SECRET * 9000)\n"
        "limit(resource.RLIM_INFINITY)\nassert ledger.spent == spent\n",
    )
    ledger = Ledger.open(path)
    assert (ledger.verify(tip).ok, ledger.verify().unsettled, ledger.verify().entries) == (
        True,
        ("open end",),
        9,
    )
    assert os.listdir(path.parent) == ["people.ledger"]
