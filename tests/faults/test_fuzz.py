"""A few thousand damaged inputs; benchmarks/fuzz.py makes a million."""

import random
import time
from pathlib import Path

import pytest

from gaugedp.errors import UnreadableTable
from tests.faults import fuzzing

TRIALS = {"domain files": 800, "query texts": 1200, "releases": 500, "fit releases": 800, "guarantees": 800}
SLOW = {"tables": 15, "ledgers": 60}

pytestmark = pytest.mark.skipif(not hasattr(fuzzing.signal, "SIGALRM"), reason="this system has no alarms")


@pytest.mark.parametrize(("kind", "count"), [*TRIALS.items(), *SLOW.items()])
def test_damage_ends_in_a_result_or_a_refusal(kind: str, count: int, tmp_path: Path) -> None:
    tally = fuzzing.run(kind, count, tmp_path, seed=1)
    assert not tally.failures, tally.failures
    assert sum(tally.outcomes.values()) == count
    assert tally.outcomes["result"] < count  # damage is noticed
    assert tally.outcomes["result"] > 0  # and not everything is refused


def test_every_kind_is_tried() -> None:
    assert set(TRIALS) | set(SLOW) == set(fuzzing.KINDS)


def _raise(error: BaseException) -> None:
    raise error


FAULTS = [
    ("ValueError", lambda: _raise(ValueError("x"))),
    ("ZeroDivisionError", lambda: 1 // 0),
    ("a value of the data", lambda: _raise(UnreadableTable(f"The row {fuzzing.CANARY} is bad.", "Mend it."))),
    ("no sentence", lambda: _raise(UnreadableTable("bad", "x", ""))),
    ("UserWarning", lambda: __import__("warnings").warn("careful", stacklevel=1)),
]


@pytest.mark.parametrize(("words", "fault"), FAULTS, ids=[words for words, _ in FAULTS])
def test_a_fault_would_be_found(words: str, fault: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(fuzzing.KINDS, "faulty", lambda _: lambda _: ("input", fault))
    tally = fuzzing.run("faulty", 2, tmp_path)
    assert [what.startswith(words) for what in tally.failures] == [True]


def test_a_value_in_the_context_of_a_refusal_would_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def leaky() -> None:
        try:
            raise ValueError(fuzzing.CANARY)
        except ValueError as error:
            raise UnreadableTable("It failed.", "Mend it.") from error

    monkeypatch.setitem(fuzzing.KINDS, "faulty", lambda _: lambda _: ("input", leaky))
    assert fuzzing.run("faulty", 1, tmp_path).outcomes["failure"] == 1


def test_a_hang_would_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    monkeypatch.setitem(fuzzing.KINDS, "slow", lambda _: lambda _: ("input", lambda: time.sleep(30)))
    assert list(fuzzing.run("slow", 1, tmp_path).failures) == ["a hang"]


def test_trials_can_be_repeated(tmp_path: Path) -> None:
    trial = fuzzing.query_texts(tmp_path)
    assert [trial(random.Random(seed))[0] for seed in range(9)] == [trial(random.Random(seed))[0] for seed in range(9)]
