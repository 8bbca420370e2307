"""Faults at every kind of step, on both ledgers: nothing acknowledged is lost, nothing is spent twice or given back."""

import itertools
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.ledger.sqlite import SqliteStore
from gaugedp.ledger.transaction import LedgerTransaction
from tests.faults import failpoints
from tests.postgres import Server, postgres

__all__ = ["postgres"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def _checked(total: dict[str, int], count: int, store: str) -> None:
    assert total["faults"] == count
    assert sum(total[kind] for kind in failpoints.KINDS[store]) == count
    assert all(total[kind] > 0 for kind in failpoints.KINDS[store])
    assert total["acknowledged"] > count / 4
    assert total["spent in vain"] > 0
    assert total["refused"] > 0
    assert total["raised"] > 0


def test_forty_faults_on_a_file(tmp_path: Path) -> None:
    numbers = itertools.count()
    total = failpoints.run(40, "file", lambda: str(tmp_path / f"{next(numbers)}.ledger"), tmp_path / "people.csv")
    _checked(total, 40, "file")


def test_forty_faults_on_a_server(postgres: Server, tmp_path: Path) -> None:
    _checked(failpoints.run(40, "server", postgres.new_ledger, tmp_path / "people.csv"), 40, "server")


# -- what the inspector must find ------------------------------------------------------------------


def _planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plant: Any, words: str) -> None:
    """Let `plant` (what to replace, its name, by what) be at work in every child that meets a fault."""
    numbers, live = itertools.count(), failpoints.live

    def harmed(*arguments: Any) -> None:
        with mock.patch.object(*plant):
            live(*arguments)

    monkeypatch.setattr(failpoints, "live", harmed)
    with pytest.raises((AssertionError, LedgerRefused), match=words):
        failpoints.run(20, "file", lambda: str(tmp_path / f"{next(numbers)}.ledger"), tmp_path / "people.csv")


def test_a_commit_that_is_forgotten_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, writes = SqliteStore._attempt, itertools.count()

    def forgetful(self: SqliteStore, act: Any, write: bool) -> Any:
        def inner(transaction: Any) -> Any:
            outcome = act(transaction)
            if write and next(writes) % 2 == 1:
                transaction._connection.execute("ROLLBACK")
                transaction._connection.execute("BEGIN")
            return outcome

        return run(self, inner, write)

    _planted(monkeypatch, tmp_path, (SqliteStore, "_attempt", forgetful), "acknowledged .* was lost")


def test_a_charge_that_is_denied_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = LedgerTransaction.reserve

    def denied(self: LedgerTransaction, *requested: Any) -> Any:
        reserve(self, *requested)
        self.transaction._connection.execute("COMMIT")  # type: ignore[attr-defined]
        raise LedgerRefused("This was refused.", "Ask for less.")

    _planted(monkeypatch, tmp_path, (LedgerTransaction, "reserve", denied), "kept and denied")


def test_a_charge_that_is_given_back_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = LedgerTransaction.reserve

    def generous(self: LedgerTransaction, *requested: Any) -> Any:
        ask = self.transaction._ask  # type: ignore[attr-defined]
        if self.transaction.head().entries > 4:
            ask("DROP TRIGGER entry_kept")
            ask("DELETE FROM entry WHERE number > 2")
            row = self.transaction.row(2)
            ask("UPDATE head SET entries = 2, spent = ?, tip = ?", row.spent, row.tip)  # type: ignore[union-attr]
            ask("CREATE TRIGGER entry_kept BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries stay'); END")
        return reserve(self, *requested)

    _planted(
        monkeypatch,
        tmp_path,
        (LedgerTransaction, "reserve", generous),
        "given back|was lost|altered by another program",
    )
