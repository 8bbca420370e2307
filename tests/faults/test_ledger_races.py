"""Processes, threads and forks that spend one budget never exceed it."""

import os
import tempfile
import threading
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.faults.crew import Worker, crew
from tests.faults.places import place, postgres
from tests.ledger.kit import SECRET, Place, ask, paid, refused

__all__ = ["place", "postgres"]


def _race(workers: list[Worker], folder: Path, number: int) -> None:
    """Two processes ask 200 times each for a thousandth of a budget that holds 60 to 99 of them."""
    fits = 60 + number % 40
    ledger = Ledger.open(folder / f"{number}.ledger", PureDP(fits / 1000), timeout=60)
    for worker in workers:
        worker.order("race", folder / f"{number}.ledger", 200)
    granted = sum(int(worker.answer()) for worker in workers)
    reserves = [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert granted == len(reserves) == fits
    assert ledger.spent == ledger.budget
    assert not ledger.affords(PureDP(1e-9))
    assert ledger.verify().ok


def test_two_processes_never_exceed_the_budget(tmp_path: Path) -> None:
    with crew(2) as workers:
        for number in range(5):
            _race(workers, tmp_path, number)


@pytest.mark.slow
def test_two_processes_never_exceed_the_budget_in_fifty_runs() -> None:
    memory = Path("/dev/shm")  # the race is the same where the disk is fast
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder, crew(2) as workers:
        for number in range(50):
            _race(workers, Path(folder), number)


def test_threads_share_one_ledger(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(0.05))
    granted: list[str] = []

    def spend() -> None:
        for _ in range(20):
            try:
                reservation = paid(ledger, 0.001)
            except LedgerRefused:
                continue
            ledger.settle(reservation, SECRET)
            granted.append(reservation.key)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 50
    assert (ledger.remaining, ledger.verify().ok, ledger.verify().unsettled) == (PureDP(0), True, ())


def test_one_key_in_many_threads_is_paid_once(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(1))
    outcomes: list[str] = []

    def spend() -> None:
        try:
            outcomes.append(type(ask(ledger, 0.5, "one")).__name__)
        except LedgerRefused:
            outcomes.append("refused")

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["Reservation", *["refused"] * 5]
    assert ledger.spent == PureDP(0.5)


def test_many_openers_agree_on_one_ledger(tmp_path: Path) -> None:
    path, opened, messages = tmp_path / "people.ledger", [], []

    def start(budget: float) -> None:
        try:
            opened.append(Ledger.open(path, PureDP(budget)).budget)
        except LedgerRefused as refused:
            messages.append(str(refused))

    threads = [threading.Thread(target=start, args=(1 + number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    assert all("was opened with a budget of" in message for message in messages)
    assert set(opened) == {Ledger.open(path).budget}
    assert os.listdir(tmp_path) == ["people.ledger"]


def test_a_creator_that_comes_late_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.ledger"
    paid(Ledger.open(path, PureDP(1)), 0.5)
    monkeypatch.setattr("gaugedp.ledger.sqlite.check_place", lambda *_: False)  # it was not there a moment ago
    assert Ledger.open(path, PureDP(1)).spent == PureDP(0.5)
    assert os.listdir(tmp_path) == ["people.ledger"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_in_the_middle_of_other_threads_spends_on(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(10))
    done = threading.Event()
    kept: list[str] = []

    def spend() -> None:
        while not done.is_set():
            kept.append(paid(ledger, 0.001).key)

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = [_forked_spender(ledger) for _ in range(10)]
    codes = [os.waitpid(child, 0)[1] for child in children]
    done.set()
    for thread in threads:
        thread.join()
    entries = ledger.entries()
    assert codes == [0] * 10
    assert set(kept) <= {entry.key for entry in entries}
    assert sum(entry.kind == "reserve" for entry in entries) == len(kept) + 10
    assert ledger.verify().ok


def _forked_spender(ledger: Ledger) -> int:
    child = os.fork()
    if child == 0:
        try:
            paid(ledger, 0.001)
        finally:
            os._exit(0 if threading.active_count() else 1)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_an_in_memory_ledger_is_not_spent_twice_by_a_fork() -> None:
    ledger = Ledger.in_memory(PureDP(1))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with refused("another process"):
                paid(ledger)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
