"""What does bounding cost on each engine, and up to how many columns is SQL the faster way to second moments?

A million rows of Parquet, 100,000 people with up to some hundred rows each, read by DuckDB and by Spark on one machine:
a histogram of 4,800 cells of all rows, and of at most five rows a person; Σ x xᵀ of 5, 20 and 50 columns, of a tenth of
the rows, by one statement and from batches (in the engine's own processes on Spark). Medians; writes
docs/benchmarks/releases.md.

    python benchmarks/engines.py
"""

import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pages
import pyarrow as pa
import pyarrow.parquet as pq

from gaugedp.domain.attributes import bins, bounded, integers
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.tables.table import Aggregate, Table

N_ROWS, N_PEOPLE, MAX_ROWS, ROUNDS = 1_000_000, 100_000, 5, 2
FEW_ROWS = N_ROWS // 10  # for moments
SIZES = (5, 50)
CELLS = ("region", "age", "income")
NUMBERS = [f"x{i}" for i in range(max(SIZES))]
DOMAIN = Domain.of(
    region=integers(0, 19),
    age=bins(0, 120, 10),
    income=bins(0, 200_000, 10_000),
    **{name: bounded(-4, 4, 0.001) for name in NUMBERS},
)
BOUNDED = PrivacyUnit("pid", max_rows=MAX_ROWS)
Ways = dict[str, Callable[[], Any]]


def write_people(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(1)
    weights = np.minimum(rng.pareto(1.5, N_PEOPLE) + 0.1, 400)
    columns = {
        "pid": rng.choice(N_PEOPLE, size=n_rows, p=weights / weights.sum()),
        "region": rng.integers(0, 20, n_rows).astype(np.int32),
        "age": rng.integers(0, 120, n_rows).astype(np.int32),
        "income": rng.gamma(2, 25_000, n_rows),
        **{name: rng.normal(size=n_rows) for name in NUMBERS},
    }
    pq.write_table(pa.table(columns), path)


def spark_session() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {"ui.enabled": "false", "driver.memory": "2g", "sql.shuffle.partitions": "4", "driver.host": "127.0.0.1"}
    settings["ui.showConsoleProgress"] = "false"
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def histograms(source: Any) -> Ways:
    all_rows, some = (Table.scan(source, domain=DOMAIN, unit=unit) for unit in (PrivacyUnit(), BOUNDED))
    return {
        "all rows": lambda: all_rows.totals([Aggregate(CELLS)], b"benchmark")[0],
        f"{MAX_ROWS} rows a person": lambda: some.totals([Aggregate(CELLS)], b"benchmark")[0],
    }


def moments(source: Any, size: int) -> Ways:
    table = Table.scan(source, domain=DOMAIN)
    sql, batches = (replace(table, _engine=replace(table._engine, sql_products=most)) for most in (size, 0))
    return {
        "one statement": lambda: sql.moments(NUMBERS[:size], b"benchmark").second,
        "batches": lambda: batches.moments(NUMBERS[:size], b"benchmark").second,
    }


def measured(ways: Ways) -> dict[str, float]:
    """Medians over the rounds; `check_alike` was the first."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
            print(f"{name}: {times[name][-1]:.2f} s", file=sys.stderr)
    return {name: statistics.median(each) for name, each in times.items()}


def check_alike(one: Ways, other: Ways) -> None:
    for name, way in one.items():
        if not np.array_equal(way(), other[name]()):
            sys.exit(f"The engines disagree on {name}.")


def histogram_words(named: dict[str, Any]) -> str:
    """Return a sentence on the times of a histogram."""
    check_alike(*(histograms(source) for source in named.values()))
    found = {engine: measured(histograms(source)).values() for engine, source in named.items()}
    plain = " and ".join(f"{rows:.2f} s on {engine}" for engine, (rows, _) in found.items())
    longer = " and ".join(f"{some / rows:.1f}" for rows, some in found.values())
    return (
        f"A histogram of {DOMAIN.n_cells(CELLS):,} cells of {N_ROWS:,} rows takes {plain}, and {longer} times as long "
        f"with {MAX_ROWS} rows per person."
    )


def moments_table(named: dict[str, Any]) -> str:
    lines = [
        f"| Σ x xᵀ of {FEW_ROWS:,} rows | columns | one statement, s | batches, s | ratio |",
        "|---|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        check_alike(*(moments(source, size) for source in named.values()))
        for engine, source in named.items():
            sql, batches = measured(moments(source, size)).values()
            lines.append(f"| {engine} | {size} | {sql:.2f} | {batches:.2f} | {sql / batches:.2f} |")
    return "\n".join(lines)


def sources(path: Path, n_rows: int) -> dict[str, Any]:
    write_people(path, n_rows)
    return {"DuckDB": path, "Spark": spark_session().read.parquet(str(path))}


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        many, few = (sources(Path(folder) / f"{n_rows}.parquet", n_rows) for n_rows in (N_ROWS, FEW_ROWS))
        tables = [histogram_words(many), moments_table(few)]
    last = f"Medians of {ROUNDS} runs, after a first one; Spark {version('pyspark')} as local[2]."
    pages.put("releases", "engines", ["\n\n".join(tables), "", last])


if __name__ == "__main__":
    main()
