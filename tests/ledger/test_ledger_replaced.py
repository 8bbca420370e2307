"""A ledger file that another process removes or replaces under an open `Ledger`: every act is refused, for nothing."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.ledger.kit import SECRET, UNIT, ask, filled, folder_bytes, paid

NEW = """
import os, sys
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
path, act = sys.argv[1:]
if act in ("removed", "removed and made again"):
    os.unlink(path)
if act == "removed and made again":
    Ledger.open(path, PureDP(2))
if act == "renamed over":
    Ledger.open(path + ".2", PureDP(2))
    os.replace(path + ".2", path)
if act == "an older copy":
    os.replace(path + ".old", path)
"""
ACTS: dict[str, Callable[[Ledger], object]] = {
    "reserve": ask,
    "entries": Ledger.entries,
    "verify": Ledger.verify,
    "spent": lambda ledger: ledger.spent,
    "remaining": lambda ledger: ledger.remaining,
    "balance": lambda ledger: ledger.balance,
    "budget": lambda ledger: ledger.budget,
    "total": lambda ledger: ledger.total,
    "table": lambda ledger: ledger.table,
    "unit": lambda ledger: ledger.unit,
    "tip": lambda ledger: ledger.tip,
    "affords": lambda ledger: ledger.affords(PureDP(0.1)),
    "stored": lambda ledger: ledger.stored("key-0"),
    "signed": lambda ledger: ask(ledger.signed(by="me")),
}


def by_another_process(path: Path, act: str) -> None:
    """Do something to the file in a process of its own."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", NEW, str(path), act], check=True)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("removed", "no longer exists"),
        ("removed and made again", "was replaced after the ledger had been"),
        ("renamed over", "was replaced after the ledger had been"),
    ],
)
def test_every_act_on_another_file_is_refused(tmp_path: Path, act: str, words: str) -> None:
    path = tmp_path / "people.ledger"
    ledger = filled(path)
    reservation = paid(ledger, 0.1, "open end")
    by_another_process(path, act)
    before = folder_bytes(path)
    for name, ask_it in ACTS.items():
        with pytest.raises(LedgerRefused, match=words) as refused:
            ask_it(ledger)
        assert str(refused.value).endswith("Nothing was read and nothing was spent."), name
    with pytest.raises(LedgerRefused, match=f"{words}.*stays spent"):
        ledger.settle(reservation, SECRET)
    assert folder_bytes(path) == before
    assert "unreadable" in repr(ledger)


def test_an_older_copy_is_refused_by_who_paid_since(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    ledger = filled(path)
    path.with_name("people.ledger.old").write_bytes(path.read_bytes())
    paid(ledger, 0.5, "later")
    by_another_process(path, "an older copy")
    before = folder_bytes(path)
    for ask_it in (ask, Ledger.entries, lambda one: one.spent, lambda one: ask(one.signed(by="me"))):
        with pytest.raises(LedgerRefused, match="altered by another program"):
            ask_it(ledger)
    assert not ledger.verify().ok
    assert folder_bytes(path) == before
    paid(Ledger.open(path), 0.5, "on the older copy")  # its entry has the number of the one that is lost
    with pytest.raises(LedgerRefused, match="altered by another program"):
        ask(ledger)


@pytest.mark.parametrize("how", ["by a signed one", "by another object, and read since"])
def test_an_older_copy_is_refused_by_all_that_one_opening_made(tmp_path: Path, how: str) -> None:
    """Who pays through `signed`, once for each release, has seen what each of these objects wrote."""
    path = tmp_path / "people.ledger"
    ledger = filled(path)
    path.with_name("people.ledger.old").write_bytes(path.read_bytes())
    if how == "by a signed one":
        paid(ledger.signed(by="ann"), 0.5, "later")
    else:
        paid(Ledger.open(path), 0.5, "later")
        assert ledger.spent
    by_another_process(path, "an older copy")
    for ask_it in (ask, lambda one: ask(one.signed(by="ann")), lambda one: ask(one.signed(by="bob"))):
        with pytest.raises(LedgerRefused, match="altered by another program"):
            ask_it(ledger)


def test_other_objects_and_a_copy_of_the_same_entries_go_on(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    first, second = filled(path), Ledger.open(path)
    paid(first, 0.1, "by the first")
    path.with_name("people.ledger.old").write_bytes(path.read_bytes())
    by_another_process(path, "an older copy")
    assert paid(second, 0.1, "by the second").number == paid(first, 0.1, "again").number - 1
    assert first.verify().ok
    assert first.unit == UNIT
