"""Workers that are killed at random moments lose nothing that was acknowledged, and break nothing."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Stored
from tests.faults.crew import Worker, crew
from tests.faults.ledger_worker import CHARGE
from tests.faults.places import place, postgres
from tests.ledger.kit import UNIT, Place

__all__ = ["place", "postgres"]

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
LONGEST = 50  # seconds; a slow disk ends the long run early


def _kill_one(worker: Worker, running: list[int], moments: random.Random) -> None:
    time.sleep(moments.random() * 0.25)
    victim = running.pop(moments.randrange(len(running)))
    os.kill(victim, signal.SIGKILL)
    assert worker.ask("wait", victim) == "gone"


def _kills(path: Place, log: Path, count: int) -> int:
    """Keep two workers spending, kill one of them `count` times, then both; return how many were killed."""
    moments, start, killed = random.Random(20), time.monotonic(), 0
    with crew(1) as (worker,):
        running = [int(worker.ask("spend", path, log)) for _ in range(2)]
        while killed < count and time.monotonic() < start + LONGEST:
            _kill_one(worker, running, moments)
            running.append(int(worker.ask("spend", path, log)))
            killed += 1
        while running:
            _kill_one(worker, running, moments)
    return killed


def _check(path: Place, log: Path) -> None:
    """Nothing acknowledged is lost, everything adds up, and what was not settled stays spent."""
    ledger = Ledger.open(path)
    lines = [line.split() for line in log.read_text().splitlines()]
    reserved = {words[1] for words in lines if words[0] == "reserved"}
    settled = {words[1]: words[2] for words in lines if words[0] == "settled"}
    entries, report = ledger.entries(), ledger.verify()
    kept = {kind: {entry.key for entry in entries if entry.kind == kind} for kind in ("reserve", "settle")}
    assert report.ok, report.problems
    assert reserved
    assert reserved <= kept["reserve"]
    assert set(settled) <= kept["settle"]
    assert set(settled.values()) <= {entry.tip for entry in entries}
    assert set(report.unsettled) == kept["reserve"] - kept["settle"]
    assert ledger.spent == PureDP(len(kept["reserve"]) / 1000)
    for key in list(settled)[-3:]:
        assert _again(ledger, key) == Stored(key, key.encode())
    for key in report.unsettled[:3]:
        with pytest.raises(LedgerRefused, match="has no answer yet"):
            _again(ledger, key)


def _again(ledger: Ledger, key: str) -> object:
    return ledger.reserve([CHARGE], table="people", unit=UNIT, request={"query": "SEX"}, key=key)


def test_twenty_kills(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "acknowledged"
    Ledger.open(place, PureDP(1000))
    assert _kills(place, log, 20) == 20
    _check(place, log)


@pytest.mark.slow
def test_a_hundred_kills(tmp_path: Path) -> None:
    path, log = tmp_path / "people.ledger", tmp_path / "acknowledged"
    Ledger.open(path, PureDP(1000))
    assert _kills(path, log, 100) > 0
    _check(path, log)


def test_kills_while_a_budget_runs_out(tmp_path: Path) -> None:
    path, log = tmp_path / "people.ledger", tmp_path / "acknowledged"
    Ledger.open(path, PureDP(0.05))
    _kills(path, log, 8)
    _check(path, log)
    assert float(Ledger.open(path).spent.epsilon(0)) <= 0.05
