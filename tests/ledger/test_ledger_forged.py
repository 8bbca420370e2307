"""A history that was written anew, so that every hash is right: what it says is still checked."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gaugedp.ledger import Ledger
from gaugedp.ledger.chain import link
from gaugedp.ledger.store import _SELECT, _row
from tests.ledger.kit import SECRET, ask, filled, refused
from tests.ledger.test_ledger_verify import change


def forge(path: Path, number: int, **facts: str) -> None:
    """Change the cells of one entry, and make all hashes from it on, and the head, those of the new history."""
    with closing(sqlite3.connect(path)) as connection:
        rows = [_row(cells) for cells in connection.execute(f"{_SELECT} ORDER BY number")]
    tip, statements = rows[number - 2].tip, []
    for row in rows[number - 1 :]:
        forged = replace(row, **facts) if row.number == number else row
        tip = link(tip, forged)
        statements.append(f"UPDATE entry SET spent = '{forged.spent}', tip = '{tip}' WHERE number = {row.number}")
    change(path, *statements, f"UPDATE head SET spent = '{forged.spent}', tip = '{tip}'")


def test_a_history_as_it_was_verifies(path: Path) -> None:
    ledger = filled(path)
    forge(path, 5)
    assert ledger.verify().ok


@pytest.mark.parametrize("spent", ["0", "-1"])
def test_a_last_sum_that_does_not_add_up_is_found(path: Path, spent: str) -> None:
    ledger = filled(path)
    forge(path, 8, spent=spent)
    assert Ledger.open(path).verify().problems == ("Entry 8 does not add up.",)
    assert "is not in this chain" in ledger.verify().problems[1]


def test_nothing_is_spent_on_a_sum_below_0(path: Path) -> None:
    filled(path)
    forge(path, 8, spent="-1")
    with refused("altered by another program", path=path):
        ask(Ledger.open(path), 0.1)


def test_another_release_of_the_same_length_is_found(path: Path) -> None:
    ledger = filled(path)
    change(path, f"UPDATE entry SET released = x'{bytes(reversed(SECRET)).hex()}' WHERE number = 6")
    assert not ledger.verify().ok
    with refused("altered by another program", path=path):
        ask(ledger, 0.1, "key-1")
    with refused("altered by another program", path=path):
        ledger.stored("key-1")
