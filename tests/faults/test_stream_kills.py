"""Streams that are killed at random moments: no period answered twice, none lost, nothing overspent."""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.ledger import Ledger
from gaugedp.releases.executing import PaidRows
from gaugedp.releases.streams.state import StateFile
from tests.forking import Nursery, nursery, wait_for_text
from tests.streams.kit import BUDGET, opened, table

LONGEST = 60  # seconds; a slow machine ends a run early
PERIODS, ROWS, MU = 30, 40, 0.1
PROGRAM = """
import os
import gaugedp as gd

domain = gd.Domain.of(SEX=["1", "2"])
question, unit = gd.query(domain, "SEX"), gd.PrivacyUnit()
log = os.open("acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
print("started", file=open(f"started-{os.getpid()}", "w"), flush=True)
ledger = gd.Ledger.open("people.ledger")
table = gd.Table.scan("people.csv", domain=domain, unit=unit)
for number in range(10**6):
    stream = gd.Stream.open(f"{number}.stream", question, unit, ledger=ledger, periods=periods, mu=mu)
    while stream.answered < periods:
        answer = stream.next(table)
        text = f"{answer.facts['stream']}/{answer.period} {answer.values.tolist()} {answer.running.tolist()}"
        os.write(log, text.replace(", ", ",").encode() + b"\\n")
        os.fsync(log)
"""


def kill(forks: Nursery, folder: Path, count: int) -> int:
    """Kill one process after the other `count` times at random moments; return how many were killed."""
    (folder / "people.csv").write_text("\n".join(["SEX", *("1", "2") * (ROWS // 2), ""]))
    Ledger.open(folder / "people.ledger", gd.GaussianDP(1000.0))
    moments, start, killed = random.Random(43), time.monotonic(), 0
    while killed < count and time.monotonic() < start + LONGEST:
        process = forks.start(PROGRAM, folder, periods=PERIODS, mu=MU)
        wait_for_text(folder / f"started-{process}", LONGEST)
        if not killed:
            wait_for_text(folder / "acknowledged", LONGEST)
        time.sleep(moments.random() * 0.4)
        os.kill(process, signal.SIGKILL)
        assert forks.wait(process) == -signal.SIGKILL
        killed += 1
    return killed


def stored(path: Path) -> dict[str, gd.StreamAnswer]:
    """The answers in the ledger by key."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key, released FROM entry WHERE kind = 'settle' AND key LIKE '%/%'").fetchall()
    return {key: gd.StreamAnswer.from_json(released.decode()) for key, released in rows}


def check(folder: Path) -> None:
    ledger = Ledger.open(folder / "people.ledger")
    report, answers = ledger.verify(), stored(folder / "people.ledger")
    assert report.ok, report.problems
    acknowledged = [line.split() for line in (folder / "acknowledged").read_text().splitlines()]
    assert acknowledged
    for key, values, running in acknowledged:  # what was shown, also where it was shown again
        assert [json.loads(values), json.loads(running)] == [
            answers[key].values.tolist(),
            answers[key].running.tolist(),
        ]
    payments = [entry for entry in ledger.entries() if entry.kind == "reserve" and "/" not in str(entry.key)]
    states = [StateFile.at(path).existing() for path in folder.glob("*.stream")]
    assert len(payments) <= len(states) <= len(payments) + 1  # one may be killed before it was paid
    for state in states:
        check_stream(state.key, state.answered, [draw.noise for draw in state.draws], answers)


def check_stream(key: str, answered: int, noise: list[tuple[int, ...]], answers: dict[str, gd.StreamAnswer]) -> None:
    """Periods 1, 2, … without a gap, each answered once with the noise that was drawn for it."""
    mine = sorted((answer for name, answer in answers.items() if name.startswith(f"{key}/")), key=lambda a: a.period)
    assert [answer.period for answer in mine] == list(range(1, len(mine) + 1))
    assert answered <= len(mine) <= answered + 1
    assert len(mine) <= len(noise) <= len(mine) + 1
    running = [0, 0]
    for answer, drawn in zip(mine, noise, strict=False):
        assert answer.values.tolist() == [ROWS / 2 + step for step in drawn]
        running = [total + value for total, value in zip(running, answer.values.tolist(), strict=True)]
        assert answer.running.tolist() == running


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("count", [12, pytest.param(80, marks=pytest.mark.slow)])
def test_kills_at_random_moments(tmp_path: Path, count: int) -> None:
    with nursery(tmp_path) as forks:
        assert kill(forks, tmp_path, count) > 5
    check(tmp_path)


class Killed(BaseException):
    """Stands for the end of the process."""


def killing(act: Callable[..., object], *, before: bool) -> Callable[..., object]:
    """The act, with the end of the process before or after it."""

    def killed(*arguments: object, **options: object) -> object:
        if not before:
            act(*arguments, **options)
        raise Killed

    return killed


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(StateFile, "save"), (Ledger, "reserve"), (PaidRows, "answers"), (Ledger, "settle")],
    ids=lambda part: part if isinstance(part, str) else part.__name__.rpartition(".")[2],
)
def test_a_kill_between_any_two_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, before: bool
) -> None:
    ledger = gd.Ledger.in_memory(BUDGET)
    stream = opened(tmp_path, ledger)
    first = stream.next(table(10))
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), before=before))
        with pytest.raises(Killed):
            stream.next(table(600))
    drawn = StateFile.at(tmp_path / "a.stream").existing().draws[1:]
    second = opened(tmp_path, ledger).next(table(600))
    draw = StateFile.at(tmp_path / "a.stream").existing().draws[1]
    assert second.period == 2
    assert (second.values - draw.noise).tolist() == [300, 300, 200, 200, 200]
    assert (second.running - second.values).tolist() == first.running.tolist()
    is_kept = bool(drawn) and drawn[0] == draw
    assert is_kept == (name == "settle" and not before)  # else nothing was stored under it, and it is drawn anew
    assert ledger.spent == BUDGET
    settled = [entry.key for entry in ledger.entries() if entry.kind == "settle"]
    assert len(settled) == len(set(settled)) == 3


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", ["reserve", "settle"])
def test_an_opening_that_is_killed_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: bool
) -> None:
    ledger = gd.Ledger.in_memory(BUDGET)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, name, killing(getattr(Ledger, name), before=before))
        with pytest.raises(Killed):
            opened(tmp_path, ledger)
    assert opened(tmp_path, ledger).next(table(10)).period == 1
    assert ledger.spent == BUDGET
