"""How long does bounding take when the people do not fit in memory, and what does a kill cost?

Writes rows of ten-times-fewer people to Parquet, a million at a time, and counts 4,800 cells with at most five rows a
person: in one piece, in buckets within 1 GB, and in buckets with a kill half-way. Every look is a process of its own,
which tells its peak of memory. Prints a table and writes docs/benchmarks/buckets.md.

    python benchmarks/buckets.py [ROWS] [FOLDER]    10^7 rows; 10^8 rows need 2 GB of disk in FOLDER and 15 minutes
"""

import hashlib
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gaugedp.attributes import bins, integers
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.table import Table, Total

CELLS = ("region", "age", "income")
DOMAIN = Domain.of(region=integers(0, 19), age=bins(0, 120, 10), income=bins(0, 200_000, 10_000))
MAX_ROWS, MEMORY, ROWS_A_BUCKET, BATCH = 5, 10**9, 12_500_000, 1_000_000
LIMIT = 1.5  # GB
RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "buckets.md"


def write_people(path: Path, n_rows: int) -> None:
    """Rows of n_rows / 10 people; the square makes some people have thousands of rows."""
    rng, writer = np.random.default_rng(1), None
    for start in range(0, n_rows, BATCH):
        n = min(BATCH, n_rows - start)
        columns = {
            "pid": (rng.random(n) ** 2 * (n_rows // 10)).astype(np.int64),
            "region": rng.integers(0, 20, n).astype(np.int32),
            "age": rng.integers(0, 120, n).astype(np.int32),
            "income": rng.gamma(2, 25_000, n),
        }
        batch = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    if writer is not None:
        writer.close()


def look(path: str, count: int, folder: str) -> None:
    """Look once, in this process, and print what it took."""
    table = Table.scan(path, domain=DOMAIN, unit=PrivacyUnit("pid", max_rows=MAX_ROWS))
    table = table.in_buckets(count, memory_bytes=MEMORY, folder=folder or None) if count > 1 else table.in_buckets(1)
    start = time.perf_counter()
    counts = table.totals([Total(CELLS)], b"benchmark")[0]
    facts = {"seconds": time.perf_counter() - start, "kept": int(counts.sum()), "rss": peak()}
    print(json.dumps({**facts, "digest": hashlib.sha256(counts.tobytes()).hexdigest()}))


def peak() -> float:
    """The most memory this process ever had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def started(path: Path, count: int, folder: Path | None = None) -> "subprocess.Popen[str]":
    words = [sys.executable, __file__, "--look", str(path), str(count), str(folder or "")]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def finished(process: "subprocess.Popen[str]") -> dict:
    out, _ = process.communicate()
    if process.returncode:
        sys.exit("A look failed.")
    return json.loads(out)


def done(folder: Path) -> int:
    """How many buckets the checkpoint has."""
    kept = list(folder.glob("*.gaugedp-sums"))
    return json.loads(kept[0].read_text())["sums"]["done"] if kept else 0


def killed(path: Path, count: int, folder: Path) -> tuple[float, int]:
    """Kill a look half-way; return the seconds it had and the buckets it left."""
    start, process = time.perf_counter(), started(path, count, folder)
    while done(folder) < count // 2:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return time.perf_counter() - start, done(folder)


def line(name: str, seconds: float, whole: float, rss: float) -> str:
    return f"| {name} | {seconds:.1f} | {seconds / whole:.2f} | {rss:.2f} |"


def page(n_rows: int, size: int, lines: list[str], note: str) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "numpy"))
    return "\n".join(
        [
            f"# Bounding {n_rows:,} rows of {n_rows // 10:,} people in {DOMAIN.n_cells():,} cells",
            "",
            f"At most {MAX_ROWS} rows a person stay. The file is Parquet of {size / 1e9:.2f} GB; some people have",
            "thousands of rows. Every look is a process of its own, from opening the file to the counts; one run each.",
            f"In buckets, DuckDB has a limit of {MEMORY / 1e9:g} GB. All looks gave the same counts, cell by cell.",
            f"Python {platform.python_version()}, {packages}; {os.cpu_count()} cores.",
            "",
            "| look | seconds | ratio | peak memory, GB |",
            "|---|---:|---:|---:|",
            *lines,
            "",
            note,
            "Each bucket reads the file anew, so the time grows with the number of buckets as well as with the rows.",
            "Written by `python benchmarks/buckets.py`.",
            "",
        ]
    )


def main(n_rows: int, where: str | None) -> None:
    count = max(4, math.ceil(n_rows / ROWS_A_BUCKET))
    with tempfile.TemporaryDirectory(dir=where) as name:
        path, folder = Path(name) / "people.parquet", Path(name) / "sums"
        write_people(path, n_rows)
        whole, parts = (finished(started(path, number)) for number in (1, count))
        first, left = killed(path, count, folder)
        rest = finished(started(path, count, folder))
        size = path.stat().st_size
    if len({each["digest"] for each in (whole, parts, rest)}) > 1 or max(parts["rss"], rest["rss"]) > LIMIT:
        sys.exit(f"The looks disagree, or took more than {LIMIT} GB: {whole}, {parts}, {rest}.")
    base = whole["seconds"]
    lines = [
        line("in one piece, no limit", base, base, whole["rss"]),
        line(f"in {count} buckets", parts["seconds"], base, parts["rss"]),
        line(f"killed after {left} buckets, then finished: the rest", rest["seconds"], base, rest["rss"]),
    ]
    text = page(n_rows, size, lines, f"The killed look had run for {first:.1f} seconds, start of Python included.")
    print(text)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--look"]:
        look(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7, sys.argv[2] if len(sys.argv) > 2 else None)
