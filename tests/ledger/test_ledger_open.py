"""Opening, binding, copying and sending a ledger."""

import copy
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP
from gaugedp.ledger import Ledger
from gaugedp.ledger import sqlite as sqlite_store
from tests.ledger.kit import SECRET, UNIT, Place, ask, filled, paid, refused, watched


def test_a_new_ledger_is_one_file_with_nothing_spent(path: Path) -> None:
    ledger = Ledger.open(path, PureDP(2))
    assert (ledger.budget, ledger.spent, ledger.remaining) == (PureDP(2), PureDP(0), PureDP(2))
    assert (ledger.table, ledger.unit, ledger.durable) == (None, None, True)
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    assert os.listdir(path.parent) == ["people.ledger"]


def test_it_is_found_again_with_the_budget_and_without(place: Place) -> None:
    tip = filled(place).tip
    for again in (Ledger.open(place), Ledger.open(str(place), PureDP(2)), Ledger.open(place, PureDP(2.0))):
        assert (again.tip, again.spent, again.table, again.unit) == (tip, PureDP(0.3), "people", UNIT)


def test_who_made_a_ledger_is_told_so(place: Place) -> None:
    assert Ledger.open(place, PureDP(2)).is_new
    again = Ledger.open(place, PureDP(2))
    assert not again.is_new
    assert not Ledger.open(place).is_new
    assert not pickle.loads(pickle.dumps(again)).is_new
    assert Ledger.in_memory(PureDP(2)).is_new


def test_every_kind_of_budget_is_kept(tmp_path: Path) -> None:
    for number, budget in enumerate([PureDP(0.1), ApproxDP(1, 1e-6), ZCDP(0.5), GaussianDP(1.5)]):
        path = tmp_path / f"{number}.ledger"
        Ledger.open(path, budget)
        again = Ledger.open(path)
        assert again.budget == again.remaining == budget
        assert type(again.spent) is type(budget)


def test_an_absent_ledger_needs_a_budget(path: Path) -> None:
    with refused("There is no ledger", "people.ledger", "pass a budget", path=path, kind=InvalidRequest):
        Ledger.open(path)
    with refused("There is no ledger", kind=InvalidRequest):
        Ledger.open(":memory:")


def test_another_budget_is_refused(place: Place) -> None:
    filled(place)
    for other in (PureDP(3), PureDP(1), ApproxDP(2, 1e-6), ZCDP(2)):
        with refused("budget of PureDP(2)", repr(other), path=place):
            Ledger.open(place, other)


def test_what_is_no_budget_is_refused_before_a_file_appears(path: Path) -> None:
    for nothing in (PureDP(0), ApproxDP(1, 0), PureDP(1) + ZCDP(1)):
        with refused("budget", path=path, kind=InvalidRequest):
            Ledger.open(path, nothing)
    assert not path.exists()


@pytest.mark.parametrize("wrong", ["", "a\0b", "mysql://user:word@host/x", "postgresql://user:word@%zz/x"])
def test_a_path_that_is_no_path_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Ledger.open(wrong, PureDP(1))
    assert "word" not in str(caught.value)


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon"])
def test_a_timeout_is_a_number(path: Path, timeout: float) -> None:
    with refused("timeout", path=path, kind=InvalidRequest):
        Ledger.open(path, PureDP(1), timeout=timeout)


def test_names_with_signs_are_names(tmp_path: Path) -> None:
    path = tmp_path / "a b?#%41&ü'.ledger"
    paid(Ledger.open(path, PureDP(1)), 0.5)
    assert Ledger.open(path).spent == PureDP(0.5)
    assert os.listdir(tmp_path) == [path.name]


def test_a_relative_path_stays_where_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    ledger = Ledger.open("people.ledger", PureDP(1))
    monkeypatch.chdir("/")
    paid(ledger, 0.5)
    assert Ledger.open(path).spent == PureDP(0.5)
    assert "'people.ledger'" in repr(ledger)


# -- table and unit --------------------------------------------------------------------------------


def test_table_and_unit_bind_at_creation(place: Place) -> None:
    unit = PrivacyUnit("pid", "replace", 3)
    ledger = Ledger.open(place, PureDP(1), table="people", unit=unit)
    assert (ledger.table, ledger.unit) == ("people", unit)
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind"]
    assert Ledger.open(place, table="people", unit=unit).entries() == ledger.entries()


def test_they_bind_an_existing_ledger_one_by_one(place: Place) -> None:
    Ledger.open(place, PureDP(1))
    assert Ledger.open(place, table="people").table == "people"
    ledger = Ledger.open(place, unit=UNIT)
    assert (ledger.table, ledger.unit) == ("people", UNIT)
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind", "bind"]
    assert ledger.verify().ok


def test_the_first_reservation_binds(ledger: Ledger) -> None:
    paid(ledger)
    assert (ledger.table, ledger.unit) == ("people", UNIT)
    assert [entry.kind for entry in ledger.entries()] == ["open", "bind", "reserve"]


def test_a_refused_reservation_does_not_bind(ledger: Ledger) -> None:
    with refused("costs"):
        ask(ledger, 3)
    assert (ledger.table, [entry.kind for entry in ledger.entries()]) == (None, ["open"])


@pytest.mark.parametrize(
    "other",
    [
        PrivacyUnit("pid", "add_remove", 2),
        PrivacyUnit("pid", "replace", 3),
        PrivacyUnit("house", "add_remove", 3),
        PrivacyUnit(),
    ],
)
def test_another_unit_is_refused_and_both_are_named(place: Place, other: PrivacyUnit) -> None:
    unit = PrivacyUnit("pid", "add_remove", 3)
    ledger = Ledger.open(place, PureDP(1), table="people", unit=unit)
    with refused(f"{unit}", f"{other}", path=place):
        ask(ledger, unit=other)
    with refused(f"{unit}", f"{other}", path=place):
        Ledger.open(place, unit=other)


def test_another_table_is_refused_and_both_are_named(place: Place) -> None:
    ledger = filled(place)
    with refused("'people'", "'jobs'", path=place):
        ask(ledger, table="jobs")
    with refused("'people'", "'jobs'", path=place):
        Ledger.open(place, table="jobs")


def test_other_rows_of_the_same_people_are_told_how_to_be_counted(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(1), table="people", unit=PrivacyUnit("pid", max_rows=4))
    with pytest.raises(LedgerRefused, match=r"max_rows is fixed with the ledger, here at 4\. To count persons too"):
        ask(ledger, unit=PrivacyUnit("pid", max_rows=1))


@pytest.mark.parametrize(
    ("own", "other", "lines"),
    [
        (PrivacyUnit("pid", max_rows=4), PrivacyUnit(), 'column = "pid" and max_rows = 4'),
        (PrivacyUnit("pid", max_rows=4), PrivacyUnit("pid", "replace", 4), 'neighbours = "add_remove"'),
        (PrivacyUnit(neighbours="replace"), PrivacyUnit(), 'neighbours = "replace"'),
        (PrivacyUnit(), PrivacyUnit("pid", "replace", 4), 'neighbours = "add_remove" and no column'),
    ],
)
def test_a_request_for_another_unit_is_told_how_the_domain_file_says_the_ledgers(
    place: Place, own: PrivacyUnit, other: PrivacyUnit, lines: str
) -> None:
    ledger = Ledger.open(place, PureDP(1), table="people", unit=own)
    with pytest.raises(LedgerRefused) as caught:
        ask(ledger, unit=other)
    assert f"Use the unit of the ledger: under [unit] in the domain file write {lines}. " in str(caught.value)


# -- in memory -------------------------------------------------------------------------------------


def test_in_memory_is_not_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ledger in (Ledger.in_memory(PureDP(1)), Ledger.open(":memory:", PureDP(1), table="people", unit=UNIT)):
        assert not ledger.durable
        paid(ledger, 0.5)
        assert ledger.spent == PureDP(0.5)
    assert os.listdir(tmp_path) == []


# -- copies ----------------------------------------------------------------------------------------


def test_a_copy_is_the_ledger_itself(ledger: Ledger) -> None:
    assert copy.copy(ledger) is copy.deepcopy(ledger) is copy.deepcopy([ledger])[0] is ledger


def test_a_pickle_is_a_path(path: Path) -> None:
    ledger = filled(path)
    text = pickle.dumps(ledger)
    again = pickle.loads(text)
    assert SECRET not in text
    paid(again, 0.5)
    assert ledger.spent == again.spent == PureDP(0.8)
    path.unlink()
    with refused("There is no ledger", kind=InvalidRequest):
        pickle.loads(text)


def test_an_in_memory_ledger_is_not_pickled() -> None:
    with refused("in-memory", "Open a ledger file", kind=InvalidRequest):
        pickle.dumps(Ledger.in_memory(PureDP(1)))


@pytest.mark.slow
def test_it_is_sent_to_other_processes(place: Place) -> None:
    ledger = Ledger.open(place, PureDP(1), table="people", unit=UNIT)
    program = (
        "import pickle, sys\n"
        "from gaugedp.guarantees import PureDP\n"
        "ledger = pickle.load(sys.stdin.buffer)\n"
        "ledger.reserve([PureDP(0.25)], table=ledger.table, unit=ledger.unit, request={})\n"
    )
    subprocess.run([sys.executable, "-c", program], input=pickle.dumps(ledger), check=True)
    assert ledger.spent == PureDP(0.25)


def test_repr_shows_path_budget_and_spent(path: Path) -> None:
    ledger = filled(path)
    assert repr(ledger) == f"Ledger({str(path)!r}, budget=PureDP(2), spent=PureDP(0.3))"
    path.unlink()
    assert repr(ledger) == f"Ledger({str(path)!r}, budget=PureDP(2), spent=unreadable)"


def test_sqlite_is_loaded_when_a_file_is_opened(tmp_path: Path) -> None:
    program = (
        "import sys, gaugedp, gaugedp.ledger as room\n"
        "from gaugedp.guarantees import PureDP\n"
        "room.Ledger\n"
        "assert 'sqlite3' not in sys.modules\n"
        "room.Ledger.open(sys.argv[1], PureDP(1))\n"
        "assert 'sqlite3' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.ledger")], check=True)


def test_a_ledger_that_another_made_since_the_look_for_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look finds no ledger; by then it is there, open in another process, with its log beside it."""
    path = tmp_path / "people.ledger"
    Ledger.open(path, PureDP(1.0))
    Path(f"{path}-wal").touch()
    monkeypatch.setattr(sqlite_store, "check_place", lambda *_: False)
    assert Ledger.open(path, PureDP(1.0)).budget == PureDP(1.0)


# -- the file and its connections ------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="this system has no such modes")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_ledger_is_its_owners_alone_from_the_first_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    modes: set[int] = set()

    class Watched(sqlite3.Connection):
        def execute(self, *statement: Any) -> sqlite3.Cursor:
            outcome = super().execute(*statement)
            modes.update(stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir())
            return outcome

    before = os.umask(mask)
    try:
        with watched(monkeypatch, Watched):
            filled(path, 1)
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="this system has no such modes")
def test_a_mode_that_was_set_stays_and_holds_for_what_lies_beside_the_file(path: Path) -> None:
    ledger = filled(path)
    path.chmod(0o660)
    with closing(sqlite3.connect(path)) as reader:  # while somebody reads, the log stays
        reader.execute("SELECT * FROM head").fetchone()
        paid(ledger, 0.1)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(("people.ledger", "people.ledger-wal", "people.ledger-shm"), 0o660)


SETTINGS = {"synchronous": 2, "fullfsync": 1, "trusted_schema": 0, "cell_size_check": 1, "journal_mode": "wal"}


def test_every_commit_is_durable_and_trusts_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each connection is set to is read back from it at the commit: of opening, reading, paying and storing."""
    settings: list[dict[str, object]] = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                settings.append(
                    {name: super(Watched, self).execute(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS}
                )
            return super().execute(statement, *values)

    with watched(monkeypatch, Watched):
        filled(path, 1).verify()
    assert len(settings) >= 5
    assert all(each == SETTINGS for each in settings)


def test_a_connection_is_distrustful_before_it_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[list[str]] = []

    class Watched(sqlite3.Connection):
        def __init__(self, *given: Any, **words: Any) -> None:
            orders.append([])
            super().__init__(*given, **words)

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            orders[-1].append(statement)
            return super().execute(statement, *values)

    with watched(monkeypatch, Watched):
        filled(path, 1)
    assert {tuple(order[:2]) for order in orders} == {("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")}


def test_a_new_name_is_on_the_disk_before_the_ledger_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut a name that its folder does not have on the disk is gone, and a budget would begin anew."""
    waited, wait = [], os.fsync

    def waiting(file: int) -> None:
        if os.path.samestat(os.fstat(file), path.parent.stat()):
            waited.append(path.exists())
        wait(file)

    monkeypatch.setattr(os, "fsync", waiting)
    Ledger.open(path, PureDP(2))
    assert waited == [True]
    Ledger.open(path, PureDP(2))
    assert waited == [True]
