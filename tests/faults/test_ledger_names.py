"""One ledger under two names: its processes never exceed the budget together, or those of one name are refused."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.ledger import sqlite as sqlite_store
from tests.faults.crew import Worker, crew
from tests.ledger.kit import ask, paid, refused

HERE = Path(__file__)
MAY_NOT_MOUNT = 77
FITS = 40


def _two_places(folder: Path) -> tuple[Path, Path]:
    """Return a new ledger that holds FITS of the workers' reservations, and where its second name may be."""
    for name in ("first", "second"):
        (folder / name).mkdir(parents=True)
    Ledger.open(folder / "first" / "people.ledger", PureDP(FITS / 1000))
    return folder / "first" / "people.ledger", folder / "second" / "people.ledger"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return _two_places(tmp_path)


@pytest.fixture
def path(places: tuple[Path, Path]) -> Path:
    return places[0]


@pytest.fixture
def other(places: tuple[Path, Path]) -> Path:
    return places[1]


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    with crew(4) as running:
        yield running


def _race(workers: list[Worker], path: Path, name: Path | str, *words: str) -> list[tuple[int, str]]:
    """Return how many reservations each process got, of 30 that it asked for, and what it was told; two by `name`."""
    for worker, reached in zip(workers, [path, path, name, name], strict=True):
        worker.order("race", reached, 30, *words)
    answers = [worker.answer().partition(" ") for worker in workers]
    return [(int(granted), said) for granted, _, said in answers]


def _check_account(path: Path, granted: int) -> None:
    ledger = Ledger.open(path)
    assert granted == sum(entry.kind == "reserve" for entry in ledger.entries())
    assert ledger.verify().ok


@pytest.mark.parametrize("kind", ["symlink", "symlinked folder", "relative"])
def test_two_names_that_lead_to_one_are_one(path: Path, other: Path, workers: list[Worker], kind: str) -> None:
    if kind == "symlink":
        other.symlink_to(path)
    elif kind == "symlinked folder":
        other.parent.rmdir()
        other.parent.symlink_to(path.parent)
    name = os.path.relpath(path) if kind == "relative" else other
    granted = _race(workers, path, name)
    assert [said for _, said in granted] == [""] * 4
    assert sum(count for count, _ in granted) == FITS
    _check_account(path, FITS)


def test_two_hard_links_are_refused(path: Path, other: Path, workers: list[Worker]) -> None:
    os.link(path, other)
    granted = _race(workers, path, other)
    assert [count for count, _ in granted] == [0] * 4
    assert all("a hard link" in said for _, said in granted)


def test_the_file_itself_is_locked_where_two_names_are_not_seen(path: Path, other: Path, workers: list[Worker]) -> None:
    """Each name has a log of its own; it is empty before a process of the other name reads."""
    os.link(path, other)
    granted = _race(workers, path, other, "blindly")
    assert sum(count for count, _ in granted) == FITS
    other.unlink()
    _check_account(path, FITS)


# -- mounts, in a namespace of their own -----------------------------------------------------------


def _bind(source: Path, target: Path) -> None:
    if subprocess.run(["mount", "--bind", str(source), str(target)], capture_output=True, check=False).returncode:
        sys.exit(MAY_NOT_MOUNT)


def _a_mounted_file_is_refused(workers: list[Worker], path: Path, other: Path) -> None:
    other.touch()
    _bind(path, other)
    granted = _race(workers, path, other)
    assert sum(count for count, _ in granted[:2]) == FITS
    assert [count for count, _ in granted[2:]] == [0, 0]
    assert all(f"'{other}' is a mount point" in said for _, said in granted[2:])
    _check_account(path, FITS)


def _a_mounted_folder_is_not(workers: list[Worker], path: Path, other: Path) -> None:
    _bind(path.parent, other.parent)
    granted = _race(workers, path, other)
    assert sum(count for count, _ in granted) == FITS
    _check_account(other, FITS)


def _a_mount_of_later_is_refused(_: list[Worker], path: Path, other: Path) -> None:
    other.symlink_to(path)
    ledger = Ledger.open(other)
    _bind(path, path)
    with refused("is mounted on its own, so the same file has", "Mount its folder"):
        ask(ledger, 0.001)
    with refused("is mounted on its own, so the same file has"):
        Ledger.open(other)


def _mount_all(folder: Path) -> None:
    """Run where mounts end with this process."""
    with crew(4) as workers:
        for act in (_a_mounted_file_is_refused, _a_mounted_folder_is_not, _a_mount_of_later_is_refused):
            path, other = _two_places(folder / act.__name__)
            act(workers, path, other)


def test_a_mounted_file_is_refused_and_a_mounted_folder_is_not(tmp_path: Path) -> None:
    """In a mount namespace of its own, where the system lets us have one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("this system has no mount namespaces")
    command = [unshare, "-m", sys.executable, "-m", __name__, str(tmp_path)]
    paths = [str(HERE.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == MAY_NOT_MOUNT or "unshare failed" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 0, done.stderr


# -- the lock --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _held(path: Path, mode: str) -> Iterator[None]:
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb") as file:
        fcntl.flock(file, getattr(fcntl, mode) | fcntl.LOCK_NB)
        yield


def test_readers_go_beside_a_reader_and_nobody_beside_a_writer(path: Path) -> None:
    ledger = Ledger.open(path, timeout=0.1)
    with _held(path, "LOCK_SH"):
        assert ledger.spent == PureDP(0)
        with refused("is locked by another process", "Try again"):
            ask(ledger, 0.001)
    with _held(path, "LOCK_EX"), refused("is locked by another process"):
        ledger.spent  # noqa: B018
    assert paid(ledger, 0.001)


def test_the_lock_of_the_file_is_waited_for(path: Path) -> None:
    ledger, held = Ledger.open(path), contextlib.ExitStack()
    held.enter_context(_held(path, "LOCK_EX"))
    timer = threading.Timer(0.3, held.close)
    timer.start()
    assert paid(ledger, 0.001)
    timer.join()


def test_the_lock_ends_with_the_transaction_also_where_a_child_has_the_file_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between fork and exec a child of another thread has every open file, and the locks of their openings."""
    ledger, inherited = Ledger.open(path), []
    check = sqlite_store.schema.check_mark

    def begin_a_child(*given: Any) -> None:
        for file in range(3, 200):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(file), path.stat()):
                    inherited.append(os.dup(file))
        check(*given)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store.schema, "check_mark", begin_a_child)
        paid(ledger, 0.001)
    assert len(inherited) >= 2
    with _held(path, "LOCK_EX"):
        pass
    for file in inherited:
        os.close(file)


def test_an_interrupt_lets_go_of_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.open(path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store.schema, "make_durable", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, 0.001)
    with _held(path, "LOCK_EX"):
        pass


if __name__ == "__main__":
    _mount_all(Path(sys.argv[1]))
