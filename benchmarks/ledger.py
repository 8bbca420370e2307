"""How many reservations and releases a second can one ledger account for, durably, beside the bare disk?

A release needs one pair: reserve and settle. Each writer is a process of its own; all share one ledger, in a SQLite
file or in a private PostgreSQL server on the same disk (left out where there is none). The bare disk is measured in the
same run: as many processes, each appending 100 bytes to a file of its own and waiting until they are on the disk; and
one process alone. Prints a table and writes docs/benchmarks/ledger.md.

    python benchmarks/ledger.py [FOLDER]    the folder decides which disk is measured
"""

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pages  # noqa: E402

from gaugedp.domain.domain import PrivacyUnit  # noqa: E402
from gaugedp.guarantees import PureDP  # noqa: E402
from gaugedp.ledger import Ledger, Reservation  # noqa: E402
from tests.postgres import Server, missing, private_server  # noqa: E402

WRITERS = (1, 4, 16)
SECONDS = 4.0
UNIT = PrivacyUnit()


def reserves(place: str, number: int) -> Callable[[], Any]:
    """Return one reservation on the shared ledger."""
    ledger = Ledger.open(place, timeout=120)

    def once() -> Reservation:
        result = ledger.reserve([PureDP(1e-6)], table="people", unit=UNIT, request={"writer": number})
        assert isinstance(result, Reservation)
        return result

    return once


def pairs(place: str, number: int) -> Callable[[], Any]:
    """Return one reserve-and-settle of the shared ledger."""
    ledger, reserve = Ledger.open(place, timeout=120), reserves(place, number)
    return lambda: ledger.settle(reserve(), b"x" * 1000)


def fsyncs(folder: str, number: int) -> Callable[[], Any]:
    """Return one durable append of 100 bytes to the writer's own file."""
    file = os.open(Path(folder) / f"bare-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def once() -> None:
        os.write(file, b"x" * 100)
        os.fsync(file)

    return once


def work(start: Any, place: str, number: int, barrier: Barrier, counts: Any) -> None:
    """Count how often the work is done in SECONDS, from the moment when all writers are ready."""
    once = start(place, number)
    barrier.wait()
    end, done = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        once()
        done += 1
    counts.put(done)


def per_second(start: Any, place: str, writers: int) -> float:
    """Return how often all writers together did the work in a second."""
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(writers), context.Queue()
    arguments = [(start, place, number, barrier, counts) for number in range(writers)]
    processes = [context.Process(target=work, args=each) for each in arguments]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return total / SECONDS


def accounted(place: str, writers: int) -> tuple[float, float]:
    """Return reservations, and pairs, a second on a new ledger at `place`; it must verify afterwards."""
    ledger = Ledger.open(place, PureDP(1000))
    alone = per_second(reserves, place, writers)
    n_open = len(ledger.verify().unsettled)
    both = per_second(pairs, place, writers)
    report = ledger.verify()
    assert report.ok
    assert len(report.unsettled) == n_open
    return alone, both


def row(writers: int, folder: Path, server: Server | None) -> str:
    """Return the line of the table for a number of writers."""
    bare = per_second(fsyncs, str(folder), writers)
    cells = [f"{bare:,.0f}"]
    cells += [f"{number:,.0f}" for number in accounted(str(folder / f"{writers}.ledger"), writers)]
    there = ("–", "–") if server is None else accounted(server.new_ledger(), writers)
    cells += [cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in there]
    return f"| {writers} | {' | '.join(cells)} |"


@contextmanager
def places(where: str | None) -> Iterator[tuple[Path, Server | None]]:
    """A folder on the disk in question, and a server whose data are on it too."""
    tempfile.tempdir = where
    with tempfile.TemporaryDirectory() as folder, nullcontext() if missing() else private_server() as server:
        yield Path(folder), server


def main(where: str | None) -> None:
    with places(where) as (folder, server):
        versions = f"SQLite {sqlite3.sqlite_version}"
        if server is not None:
            versions += f", PostgreSQL {server.execute('SHOW server_version')[0][0].split()[0]} by a socket"
        table = [row(writers, folder, server) for writers in WRITERS]
    lines = [
        "| writers | bare fsyncs/s | SQLite: reservations/s | pairs/s | PostgreSQL: reservations/s | pairs/s |",
        "|---:|---:|---:|---:|---:|---:|",
        *table,
        "",
        f"{versions}; {SECONDS:g} seconds for each number, one run.",
    ]
    pages.put("ledger", "ledger", lines)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
