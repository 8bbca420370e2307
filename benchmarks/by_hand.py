"""How much longer than a statement written by hand does a release take, from end to end, over files, types and frames?

Twelve tables, each of 10^4, 10^6 and 10^7 rows. By hand is what an analyst would type into DuckDB: a GROUP BY of the
columns as they are, on a connection with its defaults. A release reads the query, opens the table, plans, draws the
noise, charges a ledger on the disk, counts every cell, adds the noise and stores the answer. Both count the same rows.
They run in turn, in one process, after a first round of both; medians. Seconds are processor time of all threads, or
with --wall those of a clock, which only a quiet machine measures well. Prints a table and writes
docs/benchmarks/releases.md.

    python benchmarks/by_hand.py [--wall] [PART OF A NAME]
"""

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pages
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import gaugedp as gd
from gaugedp.domain.domain import Domain

ROUNDS = {10**4: 15, 10**6: 7, 10**7: 5}
REGIONS = [f"region-{i:02d}" for i in range(10)]
MONTHS = [f"2024-{month:02d}-01" for month in range(1, 13)]
PLACES = [f"place-{i:04d}" for i in range(5000)]
LONG = [f"the answer number {i:02d} to a question that was asked in as many words as this" for i in range(12)]
KINDS = [f"a kind of household, one of five that the survey tells apart: {i}" for i in range(5)]
BINNED = "least(floor(x / 5000), 39)::INT"
INSIDE = "x BETWEEN 0 AND 200000"
CLOCKS = {True: time.perf_counter, False: time.process_time}


@dataclass(frozen=True)
class Case:
    """A kind of table, what is asked of it, and the statement by hand, which counts in its last column."""

    name: str
    columns: str
    source: Callable[[pa.Table, Path], Any]
    domain: Domain
    query: str
    by_hand: str


def picked(rng: np.random.Generator, n_rows: int, values: list[str], **null: np.ndarray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(values), n_rows, np.int32), **null), values)


MADE: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "a": lambda rng, n: picked(rng, n, REGIONS),
    "b": lambda rng, n: picked(rng, n, MONTHS),
    "day": lambda rng, n: picked(rng, n, MONTHS).cast(pa.string()).cast(pa.date32()),
    "long": lambda rng, n: picked(rng, n, LONG),
    "kind": lambda rng, n: picked(rng, n, KINDS),
    "yes": lambda rng, n: picked(rng, n, ["no", "yes"]),
    "place": lambda rng, n: picked(rng, n, PLACES),
    "gap": lambda rng, n: picked(rng, n, REGIONS, mask=rng.random(n) < 0.2),
    "x": lambda rng, n: rng.gamma(2, 25_000, n),
    "hole": lambda rng, n: pa.array(rng.gamma(2, 25_000, n), mask=rng.random(n) < 0.1),
    "week": lambda rng, n: rng.integers(0, 52, n).astype(np.int32),
    "age": lambda rng, n: rng.integers(0, 100, n).astype(np.int32),
    "i": lambda rng, n: rng.integers(0, 20, n).astype(np.int32),
    "f": lambda rng, n: np.round(rng.random(n) * 4, 2),
}


def made(names: str, n_rows: int, as_text: bool = True) -> pa.Table:
    """Return the columns; categories as plain text unless they stay a dictionary."""
    rng = np.random.default_rng(1)
    table = pa.table({name: MADE[name](rng, n_rows) for name in names.split()})
    texts = [field.name for field in table.schema if as_text and pa.types.is_dictionary(field.type)]
    for name in texts:
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.string()))
    return table


def parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def csv(table: pa.Table, folder: Path) -> Path:
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


A, B, X, COUNTS = gd.categories(REGIONS), gd.categories(MONTHS), gd.bins(0, 200_000, 5000), gd.integers(0, 19)
TEXTS = (
    Domain.of(a=A, b=B, x=X),
    "a*b*x",
    f"SELECT a, b, {BINNED} AS bin, count(*) FROM {{}} WHERE {INSIDE} GROUP BY ALL",
)
CASES = [
    Case("texts and 40 bins, Parquet", "a b x", parquet, *TEXTS),
    Case(
        "long texts, three margins, Parquet",
        "long kind yes",
        parquet,
        Domain.of(long=gd.categories(LONG), kind=gd.categories(KINDS), yes=gd.categories(["no", "yes"])),
        "long*kind; long*yes; kind*yes",
        "SELECT long, kind, yes, count(*) / 3 FROM {} GROUP BY GROUPING SETS ((long, kind), (long, yes), (kind, yes))",
    ),
    Case(
        "week and age as integers, Parquet",
        "week age",
        parquet,
        Domain.of(week=gd.integers(0, 51), age=gd.integers(0, 99)),
        "week*age",
        "SELECT week, age, count(*) FROM {} GROUP BY ALL",
    ),
    Case(
        "bins of 0.1, Parquet",
        "i f",
        parquet,
        Domain.of(i=COUNTS, f=gd.bins(0, 4, 0.1)),
        "i*f",
        "SELECT i, least(floor(f / 0.1::DOUBLE), 39)::INT AS bin, count(*) FROM {} "
        "WHERE f BETWEEN 0 AND 4 GROUP BY ALL",
    ),
    Case(
        "dates and 40 bins, Parquet",
        "day x",
        parquet,
        Domain.of(day=B, x=X),
        "day*x",
        f"SELECT day, {BINNED} AS bin, count(*) FROM {{}} WHERE {INSIDE} GROUP BY ALL",
    ),
    Case(
        "5,000 categories, Parquet",
        "place i",
        parquet,
        Domain.of(place=gd.categories(PLACES), i=COUNTS),
        "place*i",
        "SELECT place, i, count(*) FROM {} GROUP BY ALL",
    ),
    Case(
        "sums and counts, Parquet",
        "a x",
        parquet,
        Domain.of(a=A, x=gd.bounded(0, 200_000, 1)),
        "a; sum(x) by a",
        "SELECT a, sum(greatest(least(x, 200000), 0)), count(*) FROM {} GROUP BY ALL",
    ),
    Case(
        "one column of two values, Parquet",
        "yes",
        parquet,
        Domain.of(yes=gd.categories(["no", "yes"])),
        "yes",
        "SELECT yes, count(*) FROM {} GROUP BY ALL",
    ),
    Case(
        "missing values, Parquet",
        "gap hole",
        parquet,
        Domain.of(gap=A, hole=X),
        "gap*hole",
        "SELECT gap, least(floor(hole / 5000), 39)::INT AS bin, count(*) FROM {} "
        "WHERE gap IS NOT NULL AND hole BETWEEN 0 AND 200000 GROUP BY ALL",
    ),
    Case("texts and 40 bins, CSV", "a b x", csv, *TEXTS),
    Case("categoricals, pandas", "a b x", lambda table, _: table.to_pandas(), *TEXTS),
    Case("texts and 40 bins, polars", "a b x", lambda table, _: pl.from_arrow(table), *TEXTS),
]


def by_hand(case: Case, source: Any) -> int:
    with duckdb.connect() as connection:
        if not isinstance(source, Path):
            connection.register("frame", source)
        text = f"'{source}'" if isinstance(source, Path) else "frame"
        return round(sum(row[-1] for row in connection.execute(case.by_hand.format(text)).fetchall()))


def counted(case: Case, source: Any) -> int:
    """Return the number of rows that a release counts, once for each table of counts."""
    query = gd.query(case.domain, case.query)
    exact = query.evaluate(gd.Table.scan(source, domain=case.domain), b"by hand")
    tables = sum(text.find("sum(") < 0 for text in case.query.split(";"))
    return int(exact[query.are_counts].sum()) // tables


def released(case: Case, source: Any, ledger: gd.Ledger) -> gd.Release:
    query, table = gd.query(case.domain, case.query), gd.Table.scan(source, domain=case.domain)
    return gd.release(query, table, ledger=ledger, epsilon=1.0)


def measured(case: Case, n_rows: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Return the median seconds by hand and of the release, after a first round in which both must count the same."""
    with tempfile.TemporaryDirectory() as folder:
        source = case.source(made(case.columns, n_rows, "categoricals" not in case.name), Path(folder))
        ledger = gd.Ledger.open(Path(folder) / "table.ledger", gd.PureDP(1000.0))
        if by_hand(case, source) != counted(case, source):
            sys.exit(f"{case.name}: the two count different rows.")
        ways: dict[str, Callable[[], object]] = {
            "by hand": lambda: by_hand(case, source),
            "release": lambda: released(case, source, ledger),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(ROUNDS[n_rows] + 1):
            for name, way in ways.items():
                gc.collect()
                start = clock()
                way()
                times[name] += [clock() - start] * (turn > 0)
    first, second = (statistics.median(each) for each in times.values())
    return first, second


def summary(pairs: list[list[tuple[float, float]]], sizes: list[str]) -> list[str]:
    """Return the table: the median and the worst ratio of each size; and what small tables take beyond."""
    by_size = [[second / first for first, second in column] for column in zip(*pairs, strict=True)]
    ends = [
        f"| {size} | {statistics.median(each):.2f} | {max(each):.2f} |"
        for size, each in zip(sizes, by_size, strict=True)
    ]
    beyond = [1000 * (second - first) for (first, second), *_ in pairs]
    return [
        "| rows | median ratio | worst ratio |",
        "|---:|---:|---:|",
        *ends,
        "",
        f"Beyond the handwritten query, a table of {sizes[0]} rows takes {statistics.median(beyond):.0f} ms in the "
        f"median and {max(beyond):.0f} ms in the worst case.",
    ]


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--wall"]
    clock = CLOCKS["--wall" in sys.argv]
    chosen = [case for case in CASES if not words or words[0] in case.name]
    sizes, pairs = ["10⁴", "10⁶", "10⁷"], []
    for case in chosen:
        pairs.append([measured(case, n_rows, clock) for n_rows in ROUNDS])
        print(case.name, pairs[-1], flush=True)
    rounds = ", ".join(str(n_rounds) for n_rounds in ROUNDS.values())
    about = f"Medians of {rounds} rounds; seconds {'of a clock' if '--wall' in sys.argv else 'of processors'}."
    if len(chosen) == len(CASES):
        draw([case.name for case in chosen], sizes, [[b / a for a, b in each] for each in pairs])
        pages.put("releases", "by_hand", [*summary(pairs, sizes), about])


def draw(names: list[str], sizes: list[str], ratios: list[list[float]]) -> None:
    """Draw the ratios."""
    series = {f"{size} rows": column for size, column in zip(sizes, zip(*ratios, strict=True), strict=True)}
    pages.dots("by_hand", names, series, "time of the release over that of the handwritten query", line=1)


if __name__ == "__main__":
    main()
