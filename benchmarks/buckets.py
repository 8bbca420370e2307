"""How long does bounding take when the people do not fit in memory, and what does a kill cost?

Writes rows of ten-times-fewer people to Parquet, a million at a time, and counts 4,800 cells: of all rows, and of at
most five rows per person, in one pass, in buckets within 1 GB, and in buckets with a kill half-way. Every look is a
process of its own, whose memory is measured from outside, with that of its children (Linux). Prints a table and writes
its section of docs/benchmarks/releases.md.

    python benchmarks/buckets.py [ROWS] [FOLDER] [duckdb|spark]

10^7 rows by default, on DuckDB; 10^8 rows need 10 GB of disk in FOLDER, and 15 minutes on DuckDB, 30 on Spark.
"""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pages
import pyarrow as pa
import pyarrow.parquet as pq

from gaugedp.domain.attributes import bins, integers
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.tables.table import Aggregate, Table

CELLS = ("region", "age", "income")
DOMAIN = Domain.of(region=integers(0, 19), age=bins(0, 120, 10), income=bins(0, 200_000, 10_000))
MAX_ROWS, MEMORY, BATCH = 5, 10**9, 1_000_000
ROWS_A_BUCKET = {"duckdb": 12_500_000, "spark": 25_000_000}
NAMES = {"duckdb": "DuckDB", "spark": "Spark"}
PACKAGES = {"duckdb": ("duckdb", "pyarrow", "numpy"), "spark": ("pyspark", "pyarrow", "numpy")}
HEAP = "700m"  # of Spark's one Java process
LIMIT = 1.5  # GB


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


def source(engine: str, path: str) -> Any:
    """The file, or the frame of a Spark session that spills to the folder of the file."""
    if engine == "duckdb":
        return path
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    settings = {
        "driver.memory": HEAP, "sql.shuffle.partitions": "64", "local.dir": str(Path(path).parent),
        "ui.enabled": "false", "driver.host": "127.0.0.1", "ui.showConsoleProgress": "false",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session.read.parquet(path)


def look(engine: str, path: str, count: int, folder: str) -> None:
    """Look once, in this process, and print what it took; 0 buckets are all rows, unbounded."""
    unit = PrivacyUnit("pid", max_rows=MAX_ROWS) if count else PrivacyUnit()
    rows = source(engine, path)
    start = time.perf_counter()
    table = Table.scan(rows, domain=DOMAIN, unit=unit)
    if count > 1:
        table = table.in_buckets(count, memory_bytes=MEMORY, folder=folder or None)
    elif engine == "duckdb":
        table = table.in_buckets(1)
    counts = table.totals([Aggregate(CELLS)], b"benchmark")[0]
    facts = {"seconds": time.perf_counter() - start, "kept": int(counts.sum())}
    print(json.dumps({**facts, "digest": hashlib.sha256(counts.tobytes()).hexdigest()}))


def resident(root: int) -> int:
    """The memory of a process and of all that descend from it, in bytes, shared pages counted each time."""
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(place.parent.name))
        sizes[int(place.parent.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    results = [root]
    for each in results:
        results += children.get(each, [])
    return sum(sizes.get(each, 0) for each in results)


class Look:
    """A look in a process of its own, and the most memory that it was seen to have."""

    def __init__(self, engine: str, path: Path, count: int, folder: Path | None = None) -> None:
        words = [sys.executable, __file__, "--look", engine, str(path), str(count), str(folder or "")]
        quiet = subprocess.DEVNULL if engine == "spark" else None
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=quiet, text=True, start_new_session=True)
        self.peak, self.start = 0, time.perf_counter()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self.process.poll() is None:
            self.peak = max(self.peak, resident(self.process.pid))
            time.sleep(0.1)

    def facts(self) -> dict[str, Any]:
        out, _ = self.process.communicate()
        if self.process.returncode:
            sys.exit("A look failed.")
        results = {**json.loads(out), "rss": self.peak / 1e9}
        print(results, file=sys.stderr)
        return results

    def killed_half_way(self, count: int, folder: Path) -> tuple[float, int]:
        """Kill it with its children; return the seconds it had and the buckets it left."""
        while done(folder) < count // 2:
            time.sleep(0.02)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return time.perf_counter() - self.start, done(folder)


def done(folder: Path) -> int:
    """How many buckets the checkpoint has."""
    kept = list(folder.glob("*.gaugedp-sums"))
    return json.loads(kept[0].read_text())["sums"]["done"] if kept else 0


def line(name: str, facts: dict[str, Any], plain: float) -> str:
    return f"| {name} | {facts['seconds']:.1f} | {facts['seconds'] / plain:.2f} | {facts['rss']:.2f} |"


def section(engine: str, n_rows: int, size: int, lines: list[str], first: float) -> list[str]:
    memory = f"In buckets, DuckDB has a limit of {MEMORY / 1e9:g} GB."
    if engine == "spark":
        memory = f"local[2]; the Java process has a heap of {HEAP} and spills to the disk."
    return [
        f"| {NAMES[engine]} | seconds | ratio to all rows | peak memory, GB |",
        "|---|---:|---:|---:|",
        *lines,
        "",
        f"{n_rows:,} rows of {n_rows // 10:,} people, Parquet of {size / 1e9:.2f} GB. {memory} "
        f"The killed process had run for {first:.0f} seconds.",
    ]


def measured(engine: str, n_rows: int, folder: Path) -> list[str]:
    count = max(4, math.ceil(n_rows / ROWS_A_BUCKET[engine]))
    path, sums = folder / "people.parquet", folder / "sums"
    write_people(path, n_rows)
    plain, whole, parts = (Look(engine, path, number).facts() for number in (0, 1, count))
    first, left = Look(engine, path, count, sums).killed_half_way(count, sums)
    rest = Look(engine, path, count, sums).facts()
    if len({each["digest"] for each in (whole, parts, rest)}) > 1 or max(parts["rss"], rest["rss"]) > LIMIT:
        sys.exit(f"The looks disagree, or took more than {LIMIT} GB.")
    base = plain["seconds"]
    lines = [
        line("all rows, unbounded", plain, base),
        line(f"{MAX_ROWS} rows per person, in one pass", whole, base),
        line(f"{MAX_ROWS} rows per person, in {count} buckets", parts, base),
        line(f"killed after {left} buckets, then resumed: the rest", rest, base),
    ]
    return section(engine, n_rows, path.stat().st_size, lines, first)


def main(n_rows: int, where: str | None, engine: str) -> None:
    with tempfile.TemporaryDirectory(dir=where) as folder:
        lines = measured(engine, n_rows, Path(folder))
    if engine == "duckdb":
        pages.put("releases", "buckets", lines)
    else:
        print(*lines, sep="\n")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--look"]:
        look(words[1], words[2], int(words[3]), words[4])
    else:
        number, place, chosen = [*words, *["1e7", None, "duckdb"][len(words) :]]
        main(int(float(number)), place, chosen)
