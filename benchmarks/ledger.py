"""How many releases a second can one ledger account for, durably, beside the bare disk?

A release needs one pair: reserve and settle. Each writer is a process of its own; all share one ledger file. The
bare disk is measured in the same run: as many processes, each appending 100 bytes to a file of its own and waiting
until they are on the disk. Prints a table and writes docs/benchmarks/ledger.md.

    python benchmarks/ledger.py [FOLDER]    the folder decides which disk is measured
"""

import multiprocessing
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from gaugedp.domain import PrivacyUnit
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger, Reservation

WRITERS = (1, 2, 4)
SECONDS = 4.0
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "ledger.md"
UNIT = PrivacyUnit()


def pairs(folder: Path, number: int) -> Callable[[], None]:
    """Return one reserve-and-settle of the shared ledger."""
    ledger = Ledger.open(folder / "people.ledger")

    def once() -> None:
        found = ledger.reserve([PureDP(1e-6)], table="people", unit=UNIT, request={"writer": number})
        assert isinstance(found, Reservation)
        ledger.settle(found, b"x" * 1000)

    return once


def fsyncs(folder: Path, number: int) -> Callable[[], None]:
    """Return one durable append of 100 bytes to the writer's own file."""
    file = os.open(folder / f"bare-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def once() -> None:
        os.write(file, b"x" * 100)
        os.fsync(file)

    return once


def work(start: Any, folder: Path, number: int, barrier: Barrier, counts: Any) -> None:
    """Count how often the work is done in SECONDS, from the moment when all writers are ready."""
    once = start(folder, number)
    barrier.wait()
    end, done = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        once()
        done += 1
    counts.put(done)


def per_second(start: Any, folder: Path, writers: int) -> float:
    """Return how often all writers together did the work in a second."""
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(writers), context.Queue()
    arguments = [(start, folder, number, barrier, counts) for number in range(writers)]
    processes = [context.Process(target=work, args=each) for each in arguments]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return total / SECONDS


def row(writers: int, where: str | None) -> str:
    """Return the line of the table for a number of writers."""
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        ledger = Ledger.open(folder / "people.ledger", PureDP(1000))
        bare = per_second(fsyncs, folder, writers)
        accounted = per_second(pairs, folder, writers)
        report = ledger.verify()
        assert report.ok
        assert not report.unsettled
    return f"| {writers} | {accounted:,.0f} | {bare:,.0f} | {bare / accounted:.1f} |"


def main(where: str | None) -> None:
    lines = [
        "# Pairs of reserve and settle per second",
        "",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores; "
        f"{SECONDS:g} seconds a cell, one run. All writers share one ledger; synchronous = FULL.",
        "A release costs one pair. The bare disk: the same number of processes, each appending 100 bytes to its own",
        "file and waiting for fsync, measured just before. After every cell the ledger verified with nothing open.",
        "",
        "| writers | pairs/s | bare fsyncs/s | bare fsyncs in a pair's time |",
        "|---:|---:|---:|---:|",
        *(row(writers, where) for writers in WRITERS),
        "",
        "The figures follow the disk and its load: read them beside the bare fsyncs, from a quiet machine.",
        "Written by `python benchmarks/ledger.py`.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
