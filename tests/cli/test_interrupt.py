"""Ctrl-C at any moment: one sentence that says what was spent, exit code 130, a ledger in order, nothing given back."""

from typing import Any

import pytest

from gaugedp.errors import STAYS_SPENT, UNTOUCHED
from gaugedp.guarantees import PureDP
from tests.cli.kit import PROGRESS, Desk, check_silence, options
from tests.forking import Done, Nursery

PROGRAM = """
import os, signal, sys
from gaugedp.cli.main import run
from gaugedp.cli.stage import stage


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


shown = stage.show
if at == "noise":
    from gaugedp.mechanisms.base import Mechanism

    Mechanism.prepare = interrupt
elif at == "commit":
    from gaugedp.ledger.sqlite import SqliteTransaction

    SqliteTransaction.append = interrupt
elif at == "paid":
    from gaugedp.ledger import Ledger

    reserve = Ledger.reserve
    Ledger.reserve = lambda *words, **more: (reserve(*words, **more), interrupt())
elif at == "settled":
    from gaugedp.ledger import Ledger

    settle = Ledger.settle
    Ledger.settle = lambda *words: (settle(*words), interrupt())
elif at == "engine":
    import threading
    from gaugedp.tables.duckdb.engine import DuckDBEngine

    work = DuckDBEngine._run

    def slow(self, statement):
        import sqlglot

        threading.Timer(0.2, interrupt).start()
        long = "SELECT sum(hash(range)::DOUBLE) AS n FROM range(400000000)"
        return work(self, sqlglot.parse_one(long, read="duckdb"))

    DuckDBEngine._run = slow
else:
    def show(name):
        shown(name)
        if name == at:
            interrupt()

    stage.show = show
sys.exit(run(words))
"""


def interrupted(forks: Nursery, desk: Desk, at: str, *words: str, **chosen: Any) -> Done:
    """Release, and press Ctrl-C at the stage or moment `at`."""
    done = forks.run(PROGRAM, desk.folder, at=at, words=[*words] or ["release", "people.csv", *options(**chosen)])
    check_silence(done)
    *progress, message = [line for line in done.err.splitlines() if line]
    assert set(progress) <= set(PROGRESS)
    assert done.last == message
    return done


def check_ledger(desk: Desk, spent: float, unsettled: int) -> None:
    ledger = desk.ledger()
    assert ledger.spent == PureDP(spent)
    assert ledger.verify().ok
    assert len(ledger.verify().unsettled) == unsettled


@pytest.mark.parametrize("at", ["plan", "noise", "pay", "commit"])
def test_until_it_is_paid_nothing_is_kept(forks: Nursery, desk: Desk, at: str) -> None:
    """While it is paid, the message does not claim what was not spent."""
    before = desk.files()
    done = interrupted(forks, desk, at, out="answers.csv", save="release.json")
    assert (done.code, done.out) == (130, "")
    assert done.last.startswith("Interrupted." if at in {"pay", "commit"} else f"Interrupted. {UNTOUCHED}")
    assert STAYS_SPENT not in done.err
    assert desk.files() == before
    check_ledger(desk, 0.5, 0)


@pytest.mark.parametrize("at", ["look", "store"])
def test_after_paying(forks: Nursery, desk: Desk, at: str) -> None:
    before = desk.files()
    done = interrupted(forks, desk, at, out="answers.csv", save="release.json")
    assert (done.code, done.out) == (130, "")
    assert done.last == f"Interrupted. {STAYS_SPENT}"
    assert {name for name, content in desk.files().items() if before.get(name) != content} == {"people.ledger"}
    check_ledger(desk, 1, 1)


@pytest.mark.parametrize("at", ["pay", "look", "store"])
def test_with_a_folder_the_same_request_goes_on(forks: Nursery, desk: Desk, at: str) -> None:
    (desk.folder / "sums").mkdir()
    words = ["release", "people.csv", *options(key="my key"), "--folder", "sums"]
    done = interrupted(forks, desk, at, *words)
    cost = "and it is not charged twice" if at == "pay" else "at no cost"
    assert f"run this again with --key 'my key' and the same --folder, {cost}." in done.last
    assert desk.gaugedp(*words).code == 0
    check_ledger(desk, 1, 0)


def test_between_the_payment_and_the_look(forks: Nursery, desk: Desk) -> None:
    done = interrupted(forks, desk, "paid", out="answers.csv")
    assert (done.code, done.out) == (130, "")
    assert "gaugedp ledger show" in done.last
    check_ledger(desk, 1, 1)


def test_in_the_middle_of_a_long_query(forks: Nursery, desk: Desk) -> None:
    done = interrupted(forks, desk, "engine")
    assert (done.code, done.last) == (130, f"Interrupted. {STAYS_SPENT}")
    check_ledger(desk, 1, 1)


@pytest.mark.parametrize("at", ["settled", "write"])
def test_after_storing_the_answer_is_kept(forks: Nursery, desk: Desk, at: str) -> None:
    before = desk.files()
    done = interrupted(forks, desk, at, key="my-key", out="answers.csv", save="release.json")
    assert (done.code, done.out) == (130, "")
    assert "stays spent" in done.last
    assert {name for name, content in desk.files().items() if before.get(name) != content} == {"people.ledger"}
    check_ledger(desk, 1, 0)
    assert desk.released(key="my-key")["query"] == "SEX"
    check_ledger(desk, 1, 0)


@pytest.mark.slow
def test_while_writing_the_message_names_the_key(forks: Nursery, desk: Desk) -> None:
    done = interrupted(forks, desk, "write")
    key = done.last.split("--key ")[1].split()[0].rstrip(",.;")
    assert desk.released(key=key)["query"] == "SEX"
    check_ledger(desk, 1, 0)


@pytest.mark.slow
def test_the_next_release_pays_again(forks: Nursery, desk: Desk) -> None:
    for number in range(2):
        interrupted(forks, desk, "look")
        check_ledger(desk, 1 + number / 2, 1 + number)
    assert desk.release().code == 0
    check_ledger(desk, 2, 2)
    assert desk.release().code == 3


@pytest.mark.slow
def test_a_key_that_was_paid_and_never_answered_stays_spent(forks: Nursery, desk: Desk) -> None:
    interrupted(forks, desk, "look", key="my-key")
    again = desk.release(key="my-key")
    assert (again.code, again.out) == (3, "")
    assert "was reserved" in again.last
    assert "has no answer yet. If that run is still going, wait" in again.last
    assert "If it was killed, the budget is lost: use a new key." in again.last
    check_ledger(desk, 1, 1)
