"""A process that forks workers on ledgers when told to on standard input; run by the fault tests.

`spend LEDGER LOG` forks a worker that reserves and settles until it is killed or the budget is gone, and
writes what it was guaranteed to LOG, durably: "reserved KEY" after reserve, "settled KEY TIP" after settle. Its
process id is the answer. `race LEDGER COUNT` reserves `COUNT` times in this process and answers the number of
reservations that were granted, and what was said where the ledger was not opened; `race LEDGER COUNT blindly` does not
look for a second name of the file. `wait PID` answers "gone" when that worker has ended.
"""

import contextlib
import os
import sys
from unittest import mock

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import LedgerRefused
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Reservation, sqlite

with contextlib.suppress(ImportError):  # before the forks, which are killed within a tenth of a second
    import psycopg  # noqa: F401

    import gaugedp.ledger.postgres  # noqa: F401

CHARGE = PureDP(0.001)


def reserve(ledger: Ledger) -> Reservation:
    actual = ledger.reserve([CHARGE], table="people", unit=PrivacyUnit(), request={"query": "SEX"})
    assert isinstance(actual, Reservation)
    return actual


def note(log: int, text: str) -> None:
    os.write(log, f"{text}\n".encode())
    os.fsync(log)


def spend(path: str, log_path: str) -> None:
    ledger = Ledger.open(path)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        reservation = reserve(ledger)
        note(log, f"reserved {reservation.key}")
        tip = ledger.settle(reservation, reservation.key.encode())
        note(log, f"settled {reservation.key} {tip}")


def forked(path: str, log_path: str) -> int:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(LedgerRefused):
            spend(path, log_path)
        os._exit(0)
    return child


def race(path: str, count: int) -> str:
    granted = 0
    try:
        ledger = Ledger.open(path)
    except LedgerRefused as refused:
        return f"0 {refused}"
    for _ in range(count):
        with contextlib.suppress(LedgerRefused):
            reserve(ledger)
            granted += 1
    return str(granted)


def obey(order: list[str]) -> str:
    match order:
        case ["spend", path, log]:
            return str(forked(path, log))
        case ["race", path, count]:
            return race(path, int(count))
        case ["race", path, count, "blindly"]:
            with mock.patch.object(sqlite, "check_single"):
                return race(path, int(count))
        case ["wait", child]:
            os.waitpid(int(child), 0)
            return "gone"
    raise SystemExit(f"What is {order}?")


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(obey(line.rstrip("\n").split("\t")) + "\n")
        sys.stdout.flush()
