"""Is anything lost, spent twice or given back when a ledger meets faults at its every step?

A forked child reserves, settles, looks or makes a whole release on a ledger, and meets one fault before or after one of
its steps: every statement that the ledger sends, every close, every link of the audit chain, every stage of a release.
It is killed (SIGKILL), interrupted, or runs out of memory; a SQLite statement fails as on a full or broken disk; a
PostgreSQL server ends the process that serves it, or crashes as a whole. What the child was guaranteed it has said over
a pipe. After each fault the ledger is compared with that, and verified.

    python benchmarks/ledger_faults.py [COUNT] [FOLDER]    half of COUNT (1,000) faults on each ledger
"""

import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pages  # noqa: E402

from tests.faults import failpoints  # noqa: E402
from tests.postgres import missing, private_server  # noqa: E402

OUTCOMES = ("steps", "acknowledged", "refused", "raised", "spent in vain")


def on_file(count: int, folder: Path) -> Counter[str]:
    """Faults on ledgers in SQLite files."""
    numbers = itertools.count()
    return failpoints.run(count, "file", lambda: str(folder / f"{next(numbers)}.ledger"), folder / "people.csv")


def on_server(count: int, folder: Path) -> Counter[str]:
    """Faults on ledgers on a server."""
    with private_server() as server:
        return failpoints.run(count, "server", server.new_ledger, folder / "people.csv", server.mend)


def lines_of(totals: dict[str, Counter[str]]) -> list[str]:
    """The table: a row for each ledger."""
    heads = ["ledger", "faults", *OUTCOMES]
    rows = [
        [name, *(f"{total[head]:,}" if total[head] else "–" for head in heads[1:])] for name, total in totals.items()
    ]
    return ["| " + " | ".join(cells) + " |" for cells in (heads, ["---", *["---:"] * (len(heads) - 1)], *rows)]


def main(count: int, where: str | None) -> None:
    totals = {}
    tempfile.tempdir = where
    with tempfile.TemporaryDirectory() as folder:
        totals["SQLite"] = on_file(count - count // 2, Path(folder))
        if missing() is None:
            totals["PostgreSQL"] = on_server(count // 2, Path(folder))
    pages.put("ledger", "faults", lines_of(totals))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2] if len(sys.argv) > 2 else None)
