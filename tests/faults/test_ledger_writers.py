"""Sixteen processes at once, on a file and on a server: one budget, one key, one schema."""

import os
from collections import Counter
from collections.abc import Callable

import pytest

from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Reservation, Stored
from tests.faults.failpoints import Hit, forked
from tests.faults.places import place, postgres
from tests.ledger.kit import SECRET, Place, ask, paid

__all__ = ["place", "postgres"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
WRITERS = 16


def together(work: Callable[[int, Hit], None]) -> list[str]:
    """What sixteen children said, all started at one moment."""

    def all_of_them(say: Hit) -> None:
        ready, go = os.pipe()
        children = []
        for number in range(WRITERS):
            child = os.fork()
            if child == 0:
                os.close(go)
                os.read(ready, 1)
                try:
                    work(number, say)
                finally:
                    os._exit(0)
            children.append(child)
        os.close(go)  # now
        for child in children:
            os.waitpid(child, 0)

    return forked(all_of_them)


def test_sixteen_writers_never_exceed_the_budget(place: Place) -> None:
    Ledger.open(place, PureDP(0.04))

    def spend(number: int, say: Hit) -> None:
        ledger = Ledger.open(place, timeout=120)
        for turn in range(6):
            try:
                reservation = paid(ledger, 0.001, f"{number}-{turn}")
                ledger.settle(reservation, SECRET)
                say(f"granted {reservation.key}")
            except LedgerRefused as refusal:
                say("refused" if "is left in" in str(refusal) else f"failed {refusal}")

    said = together(spend)
    ledger, words = Ledger.open(place), Counter(line.split()[0] for line in said)
    assert words == {"granted": 40, "refused": 6 * WRITERS - 40}, said
    assert (ledger.remaining, ledger.verify().ok, ledger.verify().unsettled) == (PureDP(0), True, ())
    assert {line.split()[1] for line in said if line != "refused"} == {
        entry.key for entry in ledger.entries() if entry.kind == "reserve"
    }


def test_one_key_in_sixteen_processes_is_paid_once_and_answered_alike(place: Place) -> None:
    """One pays and answers; whoever comes before the answer is refused, whoever comes after it gets the same."""
    Ledger.open(place, PureDP(1))

    def spend(number: int, say: Hit) -> None:
        ledger = Ledger.open(place, timeout=120)
        try:
            actual = ask(ledger, 0.1, "one")
        except LedgerRefused as refusal:
            say("too early" if "has no answer yet" in str(refusal) else f"failed {refusal}")
            return
        if isinstance(actual, Reservation):
            ledger.settle(actual, f"answer of {number}".encode())
            say(f"paid answer of {number}")
        else:
            say(f"stored {actual.released.decode()}")

    said = together(spend)
    (payer,) = [line for line in said if line.startswith("paid ")]
    answer = payer.removeprefix("paid ")
    assert set(said) <= {payer, "too early", f"stored {answer}"}
    ledger = Ledger.open(place)
    assert (ledger.spent, len(ledger.entries())) == (PureDP(0.1), 4)
    assert ask(ledger, 0.1, "one") == Stored("one", answer.encode())


def test_sixteen_openers_agree_on_one_ledger(place: Place) -> None:
    def start(number: int, say: Hit) -> None:
        try:
            say(repr(Ledger.open(place, PureDP(1 + number % 2), timeout=120).budget))
        except LedgerRefused as refusal:
            say("refused" if "was opened with a budget of" in str(refusal) else f"failed {refusal}")

    ledger_said = Counter(together(start))
    assert ledger_said == {repr(Ledger.open(place).budget): WRITERS // 2, "refused": WRITERS // 2}
    assert [entry.kind for entry in Ledger.open(place).entries()] == ["open"]
