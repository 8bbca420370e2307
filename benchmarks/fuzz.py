"""Does every damaged input end in a result or in a refusal in words?

Valid inputs of each kind are damaged at random and tried, each kind in a process of its own; tests/faults/fuzzing.py
says what counts as a failure. A process that makes no progress is ended and counted as a hang. Prints a table, writes
docs/benchmarks/fuzz.md, and ends with 1 where anything failed.

    python benchmarks/fuzz.py [TRIALS] [SEED]    100,000 trials, seed 0
"""

import multiprocessing
import os
import platform
import queue
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.faults import fuzzing  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks" / "fuzz.md"
MEMORY = 6 * 2**30  # bytes a process may map: more is a failure
PATIENCE = 60  # seconds without progress, for what no alarm can interrupt


def work(kind: str, count: int, seed: int, at: Any, found: Any) -> None:
    """Make the trials of a kind and report the tally."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def beat(number: int) -> None:
        at.value = number

    with tempfile.TemporaryDirectory() as folder:
        found.put(fuzzing.run(kind, count, Path(folder), seed, beat))


def watched(kind: str, count: int, seed: int) -> tuple[Any, Any, Any]:
    context = multiprocessing.get_context("spawn")
    at, result = context.Value("q", -1), context.Queue()
    process = context.Process(target=work, args=(kind, count, seed, at, result))
    process.start()
    return process, at, result


def tally_of(kind: str, process: Any, at: Any, found: Any) -> fuzzing.Tally:
    """Wait for a tally; where the process stands still, end it and note a hang."""
    last, moved = -1, time.monotonic()
    while True:
        try:
            tally: fuzzing.Tally = found.get(timeout=1)
            process.join()
            return tally
        except queue.Empty:
            if at.value != last:
                last, moved = at.value, time.monotonic()
        if time.monotonic() > moved + PATIENCE or not process.is_alive():
            process.kill()
            tally = fuzzing.Tally(kind, last + 1)
            tally.fail("the process hung or died", f"trial {last}")
            return tally


def fuzzed(total: int, seed: int) -> list[fuzzing.Tally]:
    """The tallies of all kinds, as many processes at a time as there are cores."""
    waiting, tallies = list(fuzzing.shares(total).items()), []
    running: list[tuple[str, Any, Any, Any]] = []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            kind, count = waiting.pop(0)
            running.append((kind, *watched(kind, count, seed)))
        tallies.append(tally_of(*running.pop(0)))
        print(tallies[-1].kind, dict(tallies[-1].outcomes), file=sys.stderr)
    return tallies


def row(tally: fuzzing.Tally) -> str:
    refused = tally.trials - tally.outcomes["result"] - tally.outcomes["failure"]
    rate = tally.trials / tally.seconds if tally.seconds else 0.0
    results, failures = tally.outcomes["result"], tally.outcomes["failure"]
    return f"| {tally.kind} | {tally.trials:,} | {results:,} | {refused:,} | {failures:,} | {rate:,.0f} |"


def page(tallies: list[fuzzing.Tally], seed: int) -> str:
    total = sum(tally.trials for tally in tallies)
    return "\n".join(
        [
            f"# {total:,} damaged inputs",
            "",
            "Valid inputs are damaged at random: bits, cuts, repetitions, splices, nasty numbers and texts; half of",
            "the JSON in its tree, half of the ledgers in their tables, behind the back of the guards. A trial fails",
            "where it raises anything but one of gaugedp's own errors, gives a warning, says a word that only the rows",
            f"of the table or the stored releases hold, or takes more than {fuzzing.SECONDS:g} seconds. Tables are CSV",
            "files, scanned and counted; ledgers are opened, shown, verified, and asked for reservations, old and new.",
            f"Python {platform.python_version()}, numpy {version('numpy')}, duckdb {version('duckdb')}; seed {seed}.",
            "",
            "| kind | trials | results | refused in words | failures | trials a second |",
            "|---|---:|---:|---:|---:|---:|",
            *map(row, tallies),
            "",
            "Written by `python benchmarks/fuzz.py`.",
            "",
        ]
    )


def main(total: int, seed: int) -> None:
    tallies = fuzzed(total, seed)
    text = page(tallies, seed)
    print(text)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    failures = [f"{tally.kind}: {what}: {one}" for tally in tallies for what, one in tally.failures.items()]
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
