"""Does every damaged input end in a result or in a refusal in words?

Valid inputs of each kind are damaged at random and tried, each kind in a process of its own; tests/faults/fuzzing.py
says what counts as a failure. A process that makes no progress is ended and counted as a hang. Writes a
sentence of docs/benchmarks/audits.md, and ends with 1 where anything failed.

    python benchmarks/fuzz.py [TRIALS] [SEED]    100,000 trials, seed 0
"""

import multiprocessing
import os
import queue
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pages  # noqa: E402

from tests.faults import fuzzing  # noqa: E402

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


def block(tallies: list[fuzzing.Tally]) -> list[str]:
    total = sum(tally.trials for tally in tallies)
    results, failures = (sum(tally.outcomes[word] for tally in tallies) for word in ("result", "failure"))
    return [
        f"Of {total:,} damaged inputs, {results:,} were answered, {total - results - failures:,} were refused, and "
        f"{failures:,} failed."
    ]


def main(total: int, seed: int) -> None:
    tallies = fuzzed(total, seed)
    pages.put("audits", "fuzz", block(tallies))
    failures = [f"{tally.kind}: {what}: {one}" for tally in tallies for what, one in tally.failures.items()]
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
