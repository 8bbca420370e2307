"""How long do questions of a million and of tens of millions of answers take, and how much memory?

All 3-way marginals of a table with the domain of Adult as papers use it, and one marginal of a million cells; 20,000
made-up rows. Each question is asked in a process of its own. Writes docs/benchmarks/releases.md. Needs some minutes
and 3 GB.

    python benchmarks/large_answers.py
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pages

import gaugedp as gd
from gaugedp.queries import Workload

SIZES = {
    "A*B*C": (100, 100, 100),
    "Adult, all 3-way": (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2),
}
EPSILON = 1.0
ROWS = 20_000
STEPS = ("plan", "release", "CSV", "Parquet")


def main() -> None:
    """Write the page."""
    lines = []
    for question in SIZES:
        command = [sys.executable, __file__, question]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        print(lines[-1], flush=True)
    pages.put("releases", "large_answers", block(lines))


def line(question: str) -> str:
    """Return one line of the table, having asked one question in this process."""
    table, query = made(SIZES[question])
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        timed(seconds, table, query, Path(folder))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    facts = (question, f"{query.n_answers:,}")
    cells = (*facts, *(f"{seconds[name]:.1f}" for name in STEPS), f"{gigabytes:.2f}")
    return "| " + " | ".join(cells) + " |"


def made(sizes: tuple[int, ...]) -> tuple[gd.Table, Workload]:
    """Return a table of made-up rows, as Parquet would hold them, and all its 3-way marginals."""
    import pyarrow as pa

    names = [chr(ord("A") + place) for place in range(len(sizes))]
    domain = gd.Domain.of(**{name: gd.integers(1, size) for name, size in zip(names, sizes, strict=True)})
    draw = np.random.default_rng(1)
    rows = pa.table({name: draw.integers(1, size + 1, ROWS) for name, size in zip(names, sizes, strict=True)})
    return gd.Table.scan(rows, domain=domain, name="people"), gd.marginals(domain, *combinations(names, 3))


def timed(seconds: dict[str, float], table: gd.Table, query: Workload, folder: Path) -> gd.Release:
    """Return the answer, having noted how long each of STEPS took."""

    def time_of(name: str, act: Callable[[], object]) -> object:
        start = time.perf_counter()
        made_here = act()
        seconds[name] = time.perf_counter() - start
        return made_here

    ledger = gd.Ledger.open(folder / "people.ledger", budget=gd.PureDP(EPSILON))
    planned = time_of("plan", lambda: gd.plan(query, table.unit, epsilon=EPSILON))
    answer = time_of("release", lambda: gd.release(query, table, ledger=ledger, planned=planned))
    time_of("CSV", lambda: answer.save_csv(folder / "answers.csv"))
    time_of("Parquet", lambda: answer.save_parquet(folder / "answers.parquet"))
    return answer


def block(lines: list[str]) -> list[str]:
    """Return the block of the page."""
    head = f"| query | answers | {' | '.join(STEPS)} | GB |"
    return [head, "|---|---:|" + "---:|" * (len(STEPS) + 1), *lines]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(line(sys.argv[1]))
    else:
        main()
