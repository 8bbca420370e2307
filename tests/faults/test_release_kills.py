"""Releases that are killed at random moments lose nothing that was acknowledged, and give nothing back."""

import hashlib
import os
import random
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.forking import Nursery, nursery, wait_for_text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
LONGEST = 40  # seconds; a slow machine ends a run early
EPSILON, ROWS, TEXT = 0.001, 200, "SEX; mean(PAY) by SEX"
PROGRAM = """
import hashlib, os
import gaugedp as gd

domain = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 1000))
question = gd.query(domain, text)
log = os.open("acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
ledger = gd.Ledger.open("people.ledger")
for number in range(10**6):
    table = gd.Table.scan("people.csv", domain=domain, unit=gd.PrivacyUnit(), name="people")
    key = f"{os.getpid()}-{number}"
    answer = gd.release(question, table, ledger=ledger, epsilon=epsilon, key=key)
    os.write(log, f"{key} {hashlib.sha256(answer.to_store().encode()).hexdigest()}\\n".encode())
    os.fsync(log)
"""


def furnish(folder: Path, budget: float) -> None:
    rows = [f"{1 + i % 2},{i}" for i in range(ROWS)]
    (folder / "people.csv").write_text("\n".join(["SEX,PAY", *rows, ""]))
    Ledger.open(folder / "people.ledger", PureDP(budget))


def kill(forks: Nursery, folder: Path, count: int) -> int:
    """Keep two processes releasing, kill one of them `count` times, then both; return how many were killed."""
    moments, killed = random.Random(41), 0
    names = {"text": TEXT, "epsilon": EPSILON}
    running = [forks.start(PROGRAM, folder, **names) for _ in range(2)]
    wait_for_text(folder / "acknowledged", LONGEST)
    start = time.monotonic()
    while running:
        time.sleep(moments.random() * 0.5)
        victim = running.pop(moments.randrange(len(running)))
        os.kill(victim, signal.SIGKILL)
        assert forks.wait(victim) in {-signal.SIGKILL, 1}
        killed += 1
        if killed <= count - 2 and time.monotonic() < start + LONGEST:
            running.append(forks.start(PROGRAM, folder, **names))
    return killed


def stored(path: Path) -> dict[str, str]:
    """The hash of what each key was settled with."""
    with closing(sqlite3.connect(path)) as connection:
        actual = connection.execute("SELECT key, released FROM entry WHERE kind = 'settle'").fetchall()
    return {key: hashlib.sha256(released).hexdigest() for key, released in actual}


def check(folder: Path) -> None:
    ledger = Ledger.open(folder / "people.ledger")
    report, entries = ledger.verify(), ledger.entries()
    assert report.ok, report.problems
    reserves = {entry.key for entry in entries if entry.kind == "reserve"}
    kept = stored(folder / "people.ledger")
    acknowledged = dict(line.split() for line in (folder / "acknowledged").read_text().splitlines())
    assert acknowledged
    assert acknowledged.items() <= kept.items()
    assert set(report.unsettled) == reserves - set(kept)
    assert ledger.spent == PureDP(len(reserves) / 1000)
    check_keys(folder, ledger, acknowledged, list(report.unsettled))


def check_keys(folder: Path, ledger: Ledger, acknowledged: dict[str, str], unsettled: list[str]) -> None:
    """Acknowledged answers come back under their keys for nothing; what was paid in vain stays spent."""
    domain = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 1000))
    table = gd.Table.scan(folder / "people.csv", domain=domain, unit=gd.PrivacyUnit(), name="people")
    question, spent = gd.query(domain, TEXT), ledger.spent
    for key in list(acknowledged)[-4:]:
        again = gd.release(question, table, ledger=ledger, epsilon=EPSILON, key=key)
        assert hashlib.sha256(again.to_store().encode()).hexdigest() == acknowledged[key]
    for key in unsettled[:2]:
        with pytest.raises(LedgerRefused, match="has no answer yet"):
            gd.release(question, table, ledger=ledger, epsilon=EPSILON, key=key)
    assert ledger.spent == spent


@pytest.mark.parametrize(("count", "least"), [(20, 5), pytest.param(100, 20, marks=pytest.mark.slow)])
def test_kills(tmp_path: Path, count: int, least: int) -> None:
    furnish(tmp_path, 1000)
    with nursery(tmp_path) as forks:
        assert kill(forks, tmp_path, count) > least
    check(tmp_path)


def test_kills_while_a_budget_runs_out(tmp_path: Path) -> None:
    furnish(tmp_path, 0.02)
    with nursery(tmp_path) as forks:
        kill(forks, tmp_path, 8)
    check(tmp_path)
    assert float(Ledger.open(tmp_path / "people.ledger").spent.epsilon(0)) <= 0.02
