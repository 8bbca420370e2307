"""How much longer than a statement written by hand does a look at a table take, over files, types and frames?

Twelve tables of 10^6 to 10^7 rows. By hand is what an analyst would type into DuckDB: a GROUP BY of the columns as they
are, on a connection with its defaults. Ours begins at `Table.scan` and ends with the counts of every cell, has a cell
for each category that does not occur, leaves out what is outside, and cannot fail whatever a value is. Both count the
same rows. Processor time (both threads together); all in one run, one process, in turn; medians. Prints a table and
writes docs/benchmarks/by_hand.md.

    python benchmarks/by_hand.py [PART OF A NAME]
"""

import gc
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import gaugedp as gd
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.tables.table import Aggregate, Table

ROUNDS = 7
RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "by_hand.md"
REGIONS = [f"region-{i:02d}" for i in range(10)]
MONTHS = [f"2024-{month:02d}-01" for month in range(1, 13)]
PLACES = [f"place-{i:04d}" for i in range(5000)]
BINNED = "least(floor(x / 5000), 39)::INT"
INSIDE = "x BETWEEN 0 AND 200000"


@dataclass(frozen=True)
class Case:
    """A table, the question about it, and the statement by hand, which reads {source} and counts in its last column."""

    name: str
    source: Callable[[Path], Any]
    domain: Domain
    totals: tuple[Aggregate, ...]
    by_hand: str
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)


def columns(n_rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    pick = {name: rng.integers(0, len(values), n_rows) for name, values in (("a", REGIONS), ("b", MONTHS))}
    return {
        "a": pa.DictionaryArray.from_arrays(pick["a"].astype(np.int32), REGIONS),
        "b": pa.DictionaryArray.from_arrays(pick["b"].astype(np.int32), MONTHS),
        "x": rng.gamma(2, 25_000, n_rows),
        "i": rng.integers(0, 20, n_rows).astype(np.int32),
        "age": rng.integers(0, 120, n_rows).astype(np.int32),
        "f": np.round(rng.random(n_rows) * 4, 2),
        "place": pa.DictionaryArray.from_arrays(rng.integers(0, 5000, n_rows).astype(np.int32), PLACES),
        "pid": rng.integers(0, n_rows // 10, n_rows),
    }


def made(n_rows: int, names: str, **types: Any) -> pa.Table:
    """The columns, text as plain text unless a type is given."""
    table = pa.table(columns(n_rows)).select(names.split())
    texts = {field.name: pa.string() for field in table.schema if pa.types.is_dictionary(field.type)}
    for name, kind in (texts | types).items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pa.string()).cast(kind))
    return table


def parquet(n_rows: int, names: str, **types: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "rows.parquet"
        pq.write_table(made(n_rows, names, **types), path)
        return path

    return write


def csv(n_rows: int, names: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "rows.csv"
        pyarrow.csv.write_csv(made(n_rows, names), path)
        return path

    return write


A, B = gd.categories(REGIONS), gd.categories(MONTHS)
X = gd.bins(0, 200_000, 5000)
TEXTS = Domain.of(a=A, b=B, x=X)
THREE = (Aggregate(("a", "b", "x")),)
BY_HAND = f"SELECT a, b, {BINNED} AS bin, count(*) FROM {{source}} WHERE {INSIDE} GROUP BY ALL"
PERSONS = (
    f"SELECT a, {BINNED} AS bin, count(*) FROM (SELECT a, x, row_number() OVER (PARTITION BY pid ORDER BY r) AS place "
    f"FROM (SELECT *, random() AS r FROM {{source}} WHERE {INSIDE})) WHERE place <= 5 GROUP BY ALL"
)
CASES = [
    Case("texts, 10⁷ rows of Parquet", parquet(10**7, "a b x"), TEXTS, THREE, BY_HAND),
    Case(
        "whole numbers, 10⁷ rows of Parquet",
        parquet(10**7, "i age x"),
        Domain.of(i=gd.integers(0, 19), age=gd.bins(0, 120, 10), x=gd.bins(0, 200_000, 10_000)),
        (Aggregate(("i", "age", "x")),),
        f"SELECT i, least(age // 10, 11), least(floor(x / 10000), 19)::INT, count(*) FROM {{source}} WHERE {INSIDE} "
        "GROUP BY ALL",
    ),
    Case(
        "floats in bins of 0.1, 10⁷ rows of Parquet",
        parquet(10**7, "i f"),
        Domain.of(i=gd.integers(0, 19), f=gd.bins(0, 4, 0.1)),
        (Aggregate(("i", "f")),),
        "SELECT i, least(floor(f / 0.1::DOUBLE), 39)::INT, count(*) FROM {source} WHERE f BETWEEN 0 AND 4 GROUP BY ALL",
    ),
    Case(
        "dates, 10⁷ rows of Parquet",
        parquet(10**7, "b x", b=pa.date32()),
        Domain.of(b=B, x=X),
        (Aggregate(("b", "x")),),
        f"SELECT b, {BINNED} AS bin, count(*) FROM {{source}} WHERE {INSIDE} GROUP BY ALL",
    ),
    Case(
        "5,000 categories, 10⁷ rows of Parquet",
        parquet(10**7, "place i"),
        Domain.of(place=gd.categories(PLACES), i=gd.integers(0, 19)),
        (Aggregate(("place", "i")),),
        "SELECT place, i, count(*) FROM {source} GROUP BY ALL",
    ),
    Case(
        "three marginals, 10⁷ rows of Parquet",
        parquet(10**7, "a b x"),
        TEXTS,
        (Aggregate(("a", "b")), Aggregate(("a", "x")), Aggregate(("b", "x"))),
        f"SELECT a, b, {BINNED} AS bin, count(*) / 3 FROM {{source}} WHERE {INSIDE} "
        "GROUP BY GROUPING SETS ((a, b), (a, bin), (b, bin))",
    ),
    Case(
        "counts and exact sums, 10⁷ rows of Parquet",
        parquet(10**7, "a x"),
        Domain.of(a=A, x=gd.bounded(0, 200_000, 1)),
        (Aggregate(("a",)), Aggregate(("a",), "x")),
        "SELECT a, sum(greatest(least(x, 200000), 0)), count(*) FROM {source} GROUP BY ALL",
    ),
    Case(
        "at most 5 rows a person, 10⁶ rows of Parquet",
        parquet(10**6, "pid a x"),
        Domain.of(a=A, x=X),
        (Aggregate(("a", "x")),),
        PERSONS,
        PrivacyUnit("pid", max_rows=5),
    ),
    Case("texts and numbers, 10⁶ rows of CSV", csv(10**6, "a b x"), TEXTS, THREE, BY_HAND),
    Case("a pandas frame, 5·10⁶ rows", lambda _: made(5 * 10**6, "a b x").to_pandas(), TEXTS, THREE, BY_HAND),
    Case(
        "a pandas frame of categoricals, 5·10⁶ rows",
        lambda _: pa.table(columns(5 * 10**6)).select(["a", "b", "x"]).to_pandas(),
        TEXTS,
        THREE,
        BY_HAND,
    ),
    Case("a polars frame, 5·10⁶ rows", lambda _: pl.from_arrow(made(5 * 10**6, "a b x")), TEXTS, THREE, BY_HAND),
]


def by_hand(case: Case, source: Any) -> int:
    with duckdb.connect() as connection:
        if not isinstance(source, Path):
            connection.register("frame", source)
        text = f"'{source}'" if isinstance(source, Path) else "frame"
        return round(sum(row[-1] for row in connection.execute(case.by_hand.format(source=text)).fetchall()))


def ours(case: Case, source: Any) -> int:
    table = Table.scan(source, domain=case.domain, unit=case.unit)
    return int(table.totals(case.totals, b"by hand")[0].sum())


def measured(case: Case) -> tuple[float, float]:
    """Medians of the processor time in seconds, by hand and ours, after a first round in which both must agree."""
    with tempfile.TemporaryDirectory() as folder:
        source = case.source(Path(folder))
        ways = {"by hand": lambda: by_hand(case, source), "ours": lambda: ours(case, source)}
        if len({way() for way in ways.values()}) > 1:
            sys.exit(f"{case.name}: the two count different rows: {[way() for way in ways.values()]}.")
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                gc.collect()
                start = time.process_time()
                way()
                times[name].append(time.process_time() - start)
    first, second = (statistics.median(each) for each in times.values())
    return first, second


def main() -> None:
    lines = ["| table | by hand, s | ours, s | ratio |", "|---|---|---|---|"]
    chosen = [case for case in CASES if not sys.argv[1:] or sys.argv[1] in case.name]
    ratios = []
    for case in chosen:
        first, second = measured(case)
        ratios.append(second / first)
        lines.append(f"| {case.name} | {first:.2f} | {second:.2f} | {ratios[-1]:.2f} |")
        print(lines[-1], flush=True)
    lines.append(f"| median; worst | | | {statistics.median(ratios):.2f}; {max(ratios):.2f} |")
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "pandas", "sqlglot", "pyarrow"))
    method = " ".join((__doc__ or "").split("\n\n")[1].split())
    about = f"Medians of {ROUNDS} rounds. Python {platform.python_version()}, {packages}."
    about = f"Written by `benchmarks/by_hand.py`. {about}"
    text = "\n\n".join(["# A look at a table, against a statement by hand", method, about, "\n".join(lines)])
    print(lines[-1])
    if len(chosen) == len(CASES):
        RESULT.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
