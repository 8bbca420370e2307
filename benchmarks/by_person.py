"""How long does it take to make one row of all rows of a person, beside the same statement written by hand?

Writes rows of ten-times-fewer people to Parquet: a region of 20, a day, an amount; some people have thousands of rows.
By persons it asks for the histogram of visits by the last region and for the sum of what each spent, and compares with
SQL that a person would write for DuckDB: a GROUP BY in a GROUP BY, with arg_max for the last. Both say the same of each
cell. Each is run in turn; the fastest run stands in the table, in docs/benchmarks/releases.md.

    python benchmarks/by_person.py [ROWS] [RUNS]

10^7 rows and 5 runs by default.
"""

import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pages
import pyarrow as pa
import pyarrow.parquet as pq

import gaugedp as gd
from gaugedp.tables.aggregate import Aggregate

MOST, DAYS, REGIONS = 40, 100_000, 20
ROWS = gd.Domain.of(region=gd.integers(0, REGIONS - 1), day=gd.integers(0, DAYS - 1), amount=gd.bounded(0, 500, 0.25))
MADE = {
    "visits": gd.PerPerson.count(gd.integers(1, MOST, outside="other")),
    "last": gd.PerPerson.last("region", order="day"),
    "spent": gd.PerPerson.sum("amount", gd.bounded(0, 5000, 0.25)),
}
TOTALS = [Aggregate(("visits", "last")), Aggregate((), "spent")]
BY_HAND = f"""
    SELECT least(visits, {MOST + 1}) AS visits, last, count(*) AS n, sum(least(greatest(spent, 0), 5000)) AS spent
    FROM (
        SELECT count(*) AS visits, arg_max(region, day) AS last, sum(least(greatest(amount, 0), 500)) AS spent
        FROM read_parquet('{{path}}') WHERE pid IS NOT NULL GROUP BY pid
    ) GROUP BY ALL
"""


def write(path: Path, n_rows: int) -> None:
    """No person has two rows of one day, so that there is one last row."""
    rng = np.random.default_rng(1)
    pid = (rng.random(n_rows) ** 2 * (n_rows // 10)).astype(np.int64)
    order = np.argsort(pid, kind="stable")
    place = np.empty(n_rows, dtype=np.int64)
    starts = np.searchsorted(pid[order], pid[order])
    place[order] = np.arange(n_rows) - starts
    columns = {
        "pid": pid,
        "region": rng.integers(0, REGIONS, n_rows).astype(np.int32),
        "day": place * 7919 % DAYS,
        "amount": np.round(rng.gamma(2, 20, n_rows) * 4) / 4,
    }
    pq.write_table(pa.table(columns), path)


def by_person(path: str) -> list[np.ndarray]:
    table = gd.Table.scan(path, domain=ROWS, unit=gd.PrivacyUnit("pid"))
    return gd.by_person(table, "pid", **MADE).totals(TOTALS, b"a key")


def one_row(path: str) -> list[np.ndarray]:
    table = gd.Table.scan(path, domain=ROWS, unit=gd.PrivacyUnit("pid"))
    return table.totals([Aggregate(("region",)), Aggregate((), "amount")], b"a key")


def by_hand(path: str) -> list[np.ndarray]:
    with duckdb.connect() as connection:
        result = connection.execute(BY_HAND.format(path=path)).fetchnumpy()
    counts = np.zeros((MOST + 1, REGIONS), dtype=np.int64)
    counts[result["visits"] - 1, result["last"]] = result["n"]
    return [counts.ravel(), result["spent"].sum()]


def check(made: list[np.ndarray], hand: list[np.ndarray]) -> None:
    """Both say the same: the sum is in half steps from the middle of the bounds."""
    assert made[0].tolist() == hand[0].tolist()
    assert int(made[1][0]) == 2 * round(float(hand[1]) * 4) - 20_000 * int(hand[0].sum())


def timed(work, path: str) -> tuple[float, list[np.ndarray]]:
    start = time.perf_counter()
    result = work(path)
    return time.perf_counter() - start, result


def measure(path: str, runs: int) -> dict[str, float]:
    ways = {
        "handwritten SQL": by_hand,
        "release, one row per person": by_person,
        "release, one random row per person": one_row,
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(runs):
        results = {}
        for name, work in ways.items():
            seconds, results[name] = timed(work, path)
            best[name] = min(best[name], seconds)
        check(results["release, one row per person"], results["handwritten SQL"])
    return best


def block(best: dict[str, float], n_rows: int, runs: int) -> list[str]:
    hand, *others = best.values()
    person, random = (f"{seconds / hand:.2f} times as long" for seconds in others)
    return [
        f"Handwritten SQL takes {hand:.2f} s, a release {person}, and one random row per person {random}.",
        f"{n_rows:,} rows of {n_rows // 10:,} people, Parquet; fastest of {runs} runs.",
    ]


def main() -> None:
    n_rows, runs = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7, int([*sys.argv, 5, 5][2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, n_rows)
        lines = block(measure(str(path), runs), n_rows, runs)
    pages.put("releases", "by_person", lines)


if __name__ == "__main__":
    main()
