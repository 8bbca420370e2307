"""What does a cold start cost: an import, the help, a release of a small file, the explorer of the demo?

Processor seconds of fresh processes, medians, with compiled files kept. With the folder `src` of another checkout, its
figures stand next to these, taken in turn. Writes docs/benchmarks/releases.md.

    python benchmarks/import_time.py [SRC]
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pages

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, LONG_ROUNDS = 9, 3
LINES = 2000
DOMAIN = """
[attributes]
sex = ["f", "m"]
edu = ["a", "b", "c", "d"]
age = { low = 18, high = 90, width = 8 }
"""
CLI = "from gaugedp.cli.main import main; main()"
Command = list[str]


def seconds(command: Command, source: str | None) -> tuple[float, str]:
    """Return the processor seconds of a fresh process, and what it printed."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **({"PYTHONPATH": source} if source else {})}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def commands(folder: Path) -> dict[str, tuple[Command, int]]:
    """Return what is timed: the command and how often."""
    small, ledger = folder / "small.csv", ["--ledger", ":new:", "--budget", "2", "--epsilon", "1"]
    question = ["--domain", str(folder / "small.toml"), "--query"]
    demo = re.findall(r"DEMO_QUERY := (.*)", (ROOT / "Makefile").read_text("utf-8"))[0]
    explored = [str(ROOT / "examples/acs/domain.toml"), "--query", demo, "--seconds", "10000", "--json"]
    return {
        "import numpy": (["-c", "import numpy"], ROUNDS),
        "import gaugedp": (["-c", "import gaugedp"], ROUNDS),
        "gaugedp --help": (["-c", CLI, "--help"], ROUNDS),
        "gaugedp release, one table": (
            ["-c", CLI, "release", str(small), *question, "sex*edu", *ledger],
            ROUNDS,
        ),
        "gaugedp release, four tables": (
            ["-c", CLI, "release", str(small), *question, "sex; age; sex*edu; sex*age", *ledger],
            ROUNDS,
        ),
        "gaugedp explore of the demo, all points": (
            ["-c", CLI, "explore", "--domain", *explored, "--out", str(folder / "page.html")],
            LONG_ROUNDS,
        ),
    }


def written(folder: Path) -> Path:
    """Write the small table and its domain, and return their folder."""
    rng = np.random.default_rng(1)
    cells = zip(rng.integers(0, 2, LINES), rng.integers(18, 90, LINES), rng.integers(0, 4, LINES), strict=True)
    lines = ["sex,age,edu", *(f"{'fm'[sex]},{age},{'abcd'[edu]}" for sex, age, edu in cells)]
    (folder / "small.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "small.toml").write_text(DOMAIN, "utf-8")
    return folder


def measured(name: str, command: Command, rounds: int, source: str | None) -> float:
    """Return the median of fresh processes; a release opens a new ledger each time."""
    taken = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            parts = [f"{folder}/new.ledger" if part == ":new:" else part for part in command]
            time, text = seconds(parts, source)
        taken.append(time)
        if "explore" in name:
            found = json.loads(text)
            print(name, len(found["points"]) + len(found["others"]), "points", file=sys.stderr)
    return statistics.median(taken)


def main() -> None:
    sources = [None, *(str(Path(source).resolve()) for source in sys.argv[1:2])]
    with tempfile.TemporaryDirectory() as folder:
        timed = commands(written(Path(folder)))
        rows = {
            name: [measured(name, command, rounds, source) for source in sources]
            for name, (command, rounds) in timed.items()
        }
    heads = ["processor seconds", "before, s"][: len(sources)]
    lines = [
        f"| | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(heads)}",
        *(f"| {name} | {' | '.join(f'{time:.2f}' for time in times)} |" for name, times in rows.items()),
        "",
        f"Medians of {ROUNDS}, of the explorer {LONG_ROUNDS}.",
    ]
    pages.put("releases", "import_time", lines)


if __name__ == "__main__":
    main()
