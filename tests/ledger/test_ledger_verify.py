"""What other hands change in the file is found."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.ledger import Ledger, chain
from gaugedp.ledger.chain import LedgerEvent, canonical, extend, request_text, units
from gaugedp.ledger.store import _row
from tests.ledger import kit
from tests.ledger.kit import COPY, SECRET, Place, ask, filled, paid, refused


def change(path: Path, *statements: str, guarded: bool = False) -> None:
    """Run statements on the file; without `guarded`, take the guards away first and put them back after."""
    with closing(sqlite3.connect(path)) as connection, connection:
        kept = [] if guarded else _drop_guards(connection)
        for statement in (*statements, *kept):
            connection.execute(statement)


def _drop_guards(connection: sqlite3.Connection) -> list[str]:
    actual = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in actual:
        connection.execute(f"DROP TRIGGER {name}")
    return [sql for _, sql in actual]


def test_an_honest_ledger_verifies(ledger: Ledger) -> None:
    assert ledger.verify().ok
    first = ledger.tip
    for number in range(5):
        ledger.settle(paid(ledger, 0.1, f"{number}"), SECRET)
    paid(ledger, 0.1, "open end")
    report = ledger.verify(first)
    assert (report.ok, report.entries, report.problems, report.tip) == (True, 13, (), ledger.tip)
    assert report.unsettled == ("open end",)
    assert all(ledger.verify(entry.tip).ok for entry in ledger.entries())


def test_a_tip_of_elsewhere_is_found(ledger: Ledger) -> None:
    paid(ledger)
    for tip in (Ledger.in_memory(PureDP(2)).tip, "", "no tip"):
        report = ledger.verify(tip)
        assert not report.ok
        assert "older copy" in report.problems[0]


CHANGES = {
    **kit.CHANGES,
    "a blob": "UPDATE entry SET charge = CAST(charge AS BLOB) WHERE number = 5",
    "bad text": "UPDATE entry SET key = CAST(x'ff6b' AS TEXT) WHERE number = 5",
    "release as text": "UPDATE entry SET released = 'text' WHERE number = 6",
    "two missing": "DELETE FROM entry WHERE number IN (5, 6)",
    "inserted at the end": COPY.format(9, "'new'"),
    "inserted far off": COPY.format(90, "'new'"),
    "head count as text": "UPDATE head SET entries = 'many'",
    "head sum as text": "UPDATE head SET spent = 'nothing'",
    "head sum too short": "UPDATE head SET spent = ''",
}
SEQUENCES = {
    "reordered numbers": [
        "UPDATE entry SET number = 100 WHERE number = 5",
        "UPDATE entry SET number = 5 WHERE number = 7",
        "UPDATE entry SET number = 7 WHERE number = 100",
    ],
    "inserted in the middle": [
        *(f"UPDATE entry SET number = {number + 1} WHERE number = {number}" for number in (8, 7, 6)),
        COPY.format(6, "'new'"),
        "UPDATE head SET entries = 9",
    ],
    "missing and closed up": [
        "DELETE FROM entry WHERE number IN (5, 6)",
        "UPDATE entry SET number = number - 2 WHERE number > 6",
        "UPDATE head SET entries = 6",
    ],
    "refund": [
        "DELETE FROM entry WHERE number IN (7, 8)",
        "UPDATE head SET entries = 6, spent = (SELECT spent FROM entry WHERE number = 6)",
    ],
}


@pytest.mark.parametrize("name", [*CHANGES, *SEQUENCES])
def test_a_change_is_found_after_the_guards_are_gone(path: Path, name: str) -> None:
    ledger = filled(path)
    change(path, *(SEQUENCES.get(name) or [CHANGES[name]]))
    report = ledger.verify()
    assert not report.ok
    assert report.problems
    assert "The guards against changes were changed." not in report.problems
    assert SECRET.decode() not in str(report)


@pytest.mark.parametrize("name", ["charge", "middle missing", "release", "key", "time"])
def test_a_change_is_reported_where_it_is(path: Path, name: str) -> None:
    ledger = filled(path)
    change(path, CHANGES[name])
    problems = ledger.verify().problems
    assert any(("6" if name == "release" else "5") in problem for problem in problems)
    assert len(problems) <= 3


@pytest.mark.parametrize(
    "name", ["last missing", "all missing", "head count", "head sum", "head tip", "head missing", "last release"]
)
def test_nothing_is_spent_on_an_altered_head(path: Path, name: str) -> None:
    ledger = filled(path)
    open_end = paid(ledger)
    ledger.settle(open_end, SECRET)
    change(path, CHANGES[name].replace("= 8", "= 10"))
    with refused("altered by another program", "verify()", path=path):
        ask(ledger, 0.1)
    with refused("altered by another program", "stays spent", path=path):
        ledger.settle(open_end, b"x")


@pytest.mark.parametrize("request_text", ["not JSON", '["SEX"]', '{"query":"AGE"}'])
def test_an_altered_request_is_not_told_of(path: Path, request_text: str) -> None:
    ledger = filled(path)
    with refused("belongs to another request", "Or repeat the request 'SEX' unchanged", path=path):
        ask(ledger, 0.1, "key-1", request={"query": "JOB"})
    change(path, f"UPDATE entry SET request = '{request_text}' WHERE number = 5")
    with refused("altered by another program", path=path):
        ask(ledger, 0.1, "key-1", request={"query": "JOB"})


def test_an_altered_opening_is_refused(path: Path) -> None:
    ledger = filled(path)
    change(path, "UPDATE entry SET request = replace(request, '2.0', '9.0') WHERE number = 1")
    assert not ledger.verify().ok
    assert not Ledger.open(path).verify().ok
    for one in (ledger, Ledger.open(path)):
        with refused("altered by another program", path=path):
            ask(one, 3)
    change(path, "UPDATE entry SET request = 'x' WHERE number = 1")
    with refused("altered by another program", path=path):
        Ledger.open(path)


def test_another_ledger_in_its_place_is_refused(path: Path) -> None:
    ledger, smaller = filled(path), filled(path.with_name("smaller.ledger"), budget=PureDP(1))
    reservation = paid(ledger, 0.5, "a")
    shutil.copy(smaller_path := path.with_name("smaller.ledger"), path)
    for act in (lambda: ask(ledger, 0.1), ledger.entries, ledger.verify, lambda: ledger.spent, lambda: ledger.tip):
        with refused("was replaced after the ledger had been", path=path):
            act()
    with refused("was replaced", "stays spent", path=path):
        ledger.settle(reservation, SECRET)
    with refused("has no reservation", path=path):
        Ledger.open(path).settle(reservation, SECRET)
    assert smaller.verify().ok
    assert smaller_path.read_bytes() == path.read_bytes()


def test_an_altered_release_is_not_replayed(path: Path) -> None:
    ledger = filled(path)
    change(path, CHANGES["release"])
    with refused("altered by another program", path=path):
        ask(ledger, 0.1, "key-1")


@pytest.mark.parametrize("name", ["last missing", "middle missing"])
def test_a_missing_entry_is_named(path: Path, name: str) -> None:
    ledger, number = filled(path), 8 if name == "last missing" else 5
    change(path, CHANGES[name])
    assert f"Entries {number} to {number} are missing." in ledger.verify().problems


def test_a_lost_index_is_found(path: Path) -> None:
    ledger = filled(path)
    change(
        path,
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_entry_1'",
        guarded=True,
    )
    assert ledger.verify().problems == ("The file is damaged.",)


def test_missing_guards_are_found(path: Path) -> None:
    ledger = filled(path)
    change(path, "DROP TRIGGER entry_stays", guarded=True)
    assert ledger.verify().problems == ("The guards against changes were changed.",)


@pytest.mark.parametrize(
    "statement",
    [
        *(CHANGES[name] for name in ("charge", "release", "middle missing", "all missing", "head missing")),
        *(CHANGES[name] for name in ("inserted far off", "kind", "tip")),
        COPY.format(5, "key").replace("INSERT", "INSERT OR REPLACE"),
        COPY.format(9, "key").replace("INSERT", "INSERT OR REPLACE"),
        COPY.format("NULL", "'new'"),
    ],
)
def test_the_guards_refuse_a_change(path: Path, statement: str) -> None:
    ledger = filled(path)
    with pytest.raises(sqlite3.IntegrityError):
        change(path, statement, guarded=True)
    assert ledger.verify().ok


def test_an_older_copy_is_found_by_an_exported_tip(path: Path) -> None:
    ledger = filled(path)
    shutil.copy(path, path.with_suffix(".old"))
    exported = ledger.settle(paid(ledger, 0.5), SECRET)
    shutil.copy(path.with_suffix(".old"), path)
    assert Ledger.open(path).verify().ok
    assert not Ledger.open(path).verify(exported).ok
    assert not ledger.verify().ok, "it knows the tip of its own last entry"
    for act in (lambda: ask(ledger, 0.1), ledger.entries, lambda: ledger.spent):
        with refused("altered by another program", path=path):
            act()


def test_a_history_rewritten_to_its_end_is_found_by_an_exported_tip(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same second, so that the last entries say the same: the past alone tells them apart."""
    now = datetime.now(UTC)
    monkeypatch.setattr(chain, "datetime", SimpleNamespace(now=lambda _: now))
    exported = filled(path).tip
    path.unlink()
    ledger = filled(path)
    assert ledger.verify().ok
    assert not ledger.verify(exported).ok


def test_a_sum_beyond_the_budget_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from gaugedp.guarantees import Budget

    ledger = Ledger.open(place, ApproxDP(1, 1e-6))
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "admits", lambda *_: True)
        paid(ledger, ApproxDP(1, 2e-6))
        assert ledger.verify().ok
    assert ledger.verify().problems == ("Entry 3 exceeds the budget.",)


@pytest.mark.parametrize(
    ("budget", "charge"), [(PureDP(2), "-{}"), (ApproxDP(2, 1e-6), "-{} 0"), (ApproxDP(2, 1e-6), "0 -1")]
)
def test_a_refund_that_the_chain_agrees_with_is_found(place: Place, budget: Guarantee, charge: str) -> None:
    """Other hands add an entry with a charge below zero, and hash it as the library does."""
    ledger = filled(place, 1, budget)
    refund = LedgerEvent("reserve", "refund", canonical(PureDP(0.1).to_dict()), charge.format(10**29), request_text({}))
    ledger._store.run(lambda transaction: transaction.append(*extend(transaction.head(), refund)))
    assert ledger.verify().problems == ("Entry 5 does not add up.",)


Check = Callable[[Ledger], object]


@pytest.mark.parametrize(
    "look", [lambda one: one.spent, lambda one: one.remaining, Ledger.verify, repr, Ledger.entries]
)
def test_looking_changes_nothing(path: Path, look: Check) -> None:
    ledger = filled(path)
    before = path.read_bytes()
    look(ledger)
    assert path.read_bytes() == before


def test_a_cell_that_damage_left_empty_reads_as_a_text_that_no_chain_contains() -> None:
    row = _row((3, "reserve", "key", None, None, None, None, None, None, None))
    assert (row.event.charge, row.spent, row.time, row.tip) == ("None",) * 4
    with pytest.raises(ValueError, match="invalid literal"):
        units(row.event.charge)
