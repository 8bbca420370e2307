"""How long does a histogram take, against DuckDB by hand, and with bounded contributions, against Polars?

Ten million rows of Parquet (nine columns, a million people with up to about a thousand rows each), 4,800 cells. All
ways run in every round, one after the other. Prints a table of medians and writes docs/benchmarks/releases.md.

    python benchmarks/histogram.py
"""

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pages
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gaugedp.domain.attributes import bins, integers
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.tables.table import Aggregate, Table

N_ROWS, N_PEOPLE, MAX_ROWS, ROUNDS = 10_000_000, 1_000_000, 5, 8
CELLS = ("region", "age", "income")
DOMAIN = Domain.of(region=integers(0, 19), age=bins(0, 120, 10), income=bins(0, 200_000, 10_000))
BY_HAND = """
    SELECT region, least(age // 10, 11) AS age_bin, least(floor(income / 10000), 19)::INT AS income_bin, count(*)
    FROM read_parquet('{path}')
    WHERE region BETWEEN 0 AND 19 AND age BETWEEN 0 AND 120 AND income BETWEEN 0 AND 200000
    GROUP BY ALL
"""


def write_people(path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = np.minimum(rng.pareto(1.5, N_PEOPLE) + 0.1, 400)
    columns = {
        "pid": rng.choice(N_PEOPLE, size=N_ROWS, p=weights / weights.sum()),
        "region": rng.integers(0, 20, N_ROWS).astype(np.int32),
        "age": rng.integers(0, 120, N_ROWS).astype(np.int32),
        "income": rng.gamma(2, 25_000, N_ROWS),
        "sex": np.array(["1", "2"])[rng.integers(0, 2, N_ROWS)],
        **{f"x{i}": rng.normal(size=N_ROWS) for i in range(1, 5)},
    }
    pq.write_table(pa.table(columns), path)


def by_hand(path: Path) -> int:
    with duckdb.connect() as connection:
        return sum(row[-1] for row in connection.execute(BY_HAND.format(path=path)).fetchall())


def ours(path: Path, unit: PrivacyUnit) -> int:
    return int(Table.scan(path, domain=DOMAIN, unit=unit).totals([Aggregate(CELLS)], b"benchmark")[0].sum())


def polars_bounded(path: Path) -> int:
    inside = (
        pl.col("region").is_between(0, 19) & pl.col("age").is_between(0, 120) & pl.col("income").is_between(0, 200_000)
    )
    age_bin = (pl.col("age") // 10).clip(upper_bound=11)
    income_bin = (pl.col("income") / 10_000).floor().cast(pl.Int32).clip(upper_bound=19)
    counts = (
        pl.scan_parquet(path)
        .select("pid", *CELLS)
        .with_row_index("row")
        .filter(inside)
        .select("pid", cell=(pl.col("region") * 12 + age_bin) * 20 + income_bin, rank=pl.struct("pid", "row").hash(7))
        .filter(pl.col("rank").rank("ordinal").over("pid") <= MAX_ROWS)
        .group_by("cell")
        .len()
    )
    return int(counts.collect(engine="streaming")["len"].sum())


def measured(ways: dict[str, Callable[[], int]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        order = list(ways.items())
        for name, way in order if number % 2 else reversed(order):  # nobody always comes after the same one
            gc.collect()
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return times


def table(times: dict[str, list[float]], pairs: list[tuple[str, str]]) -> str:
    lines = ["| release | seconds | compared with | seconds | ratio |", "|---|---:|---|---:|---:|"]
    for mine, other in pairs:
        first, second = statistics.median(times[mine]), statistics.median(times[other])
        lines.append(f"| {mine} | {first:.2f} | {other} | {second:.2f} | {first / second:.2f} |")
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        write_people(path)
        bounded = PrivacyUnit("pid", max_rows=MAX_ROWS)
        ways = {
            "histogram": lambda: ours(path, PrivacyUnit()),
            "DuckDB, handwritten": lambda: by_hand(path),
            f"histogram, {MAX_ROWS} rows per person": lambda: ours(path, bounded),
            "Polars, streaming": lambda: polars_bounded(path),
        }
        sums = [way() for way in ways.values()]  # one round to warm up, and the four ways must agree
        if sums[0] != sums[1] or sums[2] != sums[3]:
            sys.exit(f"The ways disagree: {sums}.")
        times = measured(ways)
    names = list(ways)
    result = table(times, [(names[0], names[1]), (names[2], names[3])])
    pages.put("releases", "histogram", [result, "", f"Medians of {ROUNDS} rounds; {pl.thread_pool_size()} threads."])


if __name__ == "__main__":
    main()
