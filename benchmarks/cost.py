"""What does a release cost as rows and queries grow?

Times the evaluation over rows, and the parts of a release over numbers of queries. Fits a law to the part that grows,
and writes its blocks of docs/benchmarks/releases.md and docs/images/cost.svg: measured points, and laws beyond them.

    python benchmarks/cost.py [MOST_ROWS]    10^7 rows, in a file of 150 MB
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import nnls

import gaugedp as gd
from gaugedp.tables.table import Aggregate, Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pages  # noqa: E402

CELLS = ("region", "age", "income")
DOMAIN = gd.Domain.of(
    region=gd.integers(0, 19), age=gd.bins(0, 120, width=10), income=gd.bins(0, 200_000, width=10_000)
)
MAX_ROWS, BATCH, BUCKETS, ROWS_A_BUCKET, TIMES = 5, 10**6, 8, 12_500_000, 3
POWERS = range(3, 10)
NAMES = ("rows protected", "people protected, in one piece", "people protected, in buckets")
Law = Callable[[float], float]


def write_people(path: Path, n_rows: int) -> None:
    rng, writer = np.random.default_rng(1), None
    for start in range(0, n_rows, BATCH):
        n = min(BATCH, n_rows - start)
        people = (rng.random(n) ** 2 * (n_rows // 10)).astype(np.int64)
        whole = {"region": rng.integers(0, 20, n), "age": rng.integers(0, 120, n)}
        batch = pa.table({"pid": people, **whole, "income": rng.gamma(2, 25_000, n)})
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    if writer is not None:
        writer.close()


def seconds(work: Callable[[], object]) -> float:
    """The median of a few times."""
    results = []
    for _ in range(TIMES):
        start = time.perf_counter()
        work()
        results.append(time.perf_counter() - start)
    return statistics.median(results)


def law(sizes: Sequence[float], times: Sequence[float]) -> Law:
    """a + b·size with a, b ≥ 0, by least squares of relative errors."""
    design = np.array([[1.0, size] for size in sizes]) / np.array(times)[:, None]
    (a, b), _ = nnls(design, np.ones(len(times)))
    return lambda size: float(a + b * size)


# -- rows ------------------------------------------------------------------------------------------


def looks(path: Path) -> tuple[float, float, float]:
    """Seconds of a look at 4,800 cells: by rows, by people, and for one bucket more."""
    person = Table.scan(path, domain=DOMAIN, unit=gd.PrivacyUnit("pid", max_rows=MAX_ROWS))
    tables = (Table.scan(path, domain=DOMAIN), person.in_buckets(1), person.in_buckets(BUCKETS))
    by_row, whole, parts = (seconds(lambda table=table: table.totals([Aggregate(CELLS)], b"k")) for table in tables)
    return by_row, whole, max(0.0, parts - whole) / (BUCKETS - 1)


def rows(most: int, folder: Path) -> tuple[list[int], np.ndarray]:
    """Numbers of rows, and the seconds of `looks` at each, shape (sizes, 3)."""
    sizes, result = [10**power for power in POWERS if 10**power <= most], []
    for size in sizes:
        path = folder / f"{size}.parquet"
        write_people(path, size)
        result.append(looks(path))
        path.unlink()
        print(f"{size:,} rows: {result[-1]}", file=sys.stderr)
    return sizes, np.array(result)


def row_laws(sizes: list[int], found: np.ndarray) -> dict[str, Law]:
    by_row, whole, again = (law(sizes, np.maximum(column, 1e-4)) for column in found.T)

    def parts(n: float) -> float:
        return whole(n) + (max(1, np.ceil(n / ROWS_A_BUCKET)) - 1) * again(n)

    return dict(zip(NAMES, (by_row, whole, parts), strict=True))


# -- queries ---------------------------------------------------------------------------------------


def stages(query: object, table: Table) -> dict[str, float]:
    """Seconds of each part of a release."""
    marks: list[tuple[str, float]] = []
    ledger = gd.Ledger.in_memory(gd.PureDP(10))
    gd.release(
        query, table, ledger=ledger, epsilon=1.0, on_stage=lambda name: marks.append((name, time.perf_counter()))
    )
    marks.append(("end", time.perf_counter()))
    return {name: after - start for (name, start), (_, after) in pairwise(marks)}


def staged(query: object, table: Table) -> dict[str, float]:
    results = [stages(query, table) for _ in range(TIMES)]
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def queries(folder: Path, n_rows: int = 10**6) -> dict[int, dict[str, float]]:
    """Parts of the release of k histograms of ten cells over a million rows."""
    path, rng, result = folder / "million.parquet", np.random.default_rng(2), {}
    columns = {f"A{i}": rng.integers(0, 10, n_rows) for i in range(32)}
    pq.write_table(pa.table(columns), path)
    domain = gd.Domain.of(**{name: gd.integers(0, 9) for name in columns})
    for count in (1, 4, 16, 32):
        query = gd.marginals(domain, *((name,) for name in list(columns)[:count]))
        result[count] = staged(query, Table.scan(path, domain=domain, name="t"))
    return result


# -- the page --------------------------------------------------------------------------------------


def words(value: float) -> str:
    """Seconds as a person says them."""
    for size, unit in ((86400 * 365, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if value >= 2 * size:
            return f"{value / size:,.0f} {unit}" if value >= 10 * size else f"{value / size:.1f} {unit}"
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def row_words(sizes: list[int], laws: dict[str, Law], n: int = 10**8) -> list[str]:
    """Return sentences on the sizes that were measured, and on a larger one."""
    rows, people, parts = (words(laws[name](n)) for name in NAMES)
    return [
        f"Measured up to {sizes[-1]:,} rows, with at most {MAX_ROWS} rows per person; medians of {TIMES}. For {n:,} "
        f"rows, the extrapolation is {rows} if rows are protected. If people are, it is {people} in one piece, and "
        f"{parts} in {max(1, int(np.ceil(n / ROWS_A_BUCKET)))} buckets."
    ]


def stage_table(found: dict[int, dict[str, float]]) -> list[str]:
    """Return the table of planning and evaluation, and a sentence on the two other parts."""
    rows = {size: list(parts.values()) for size, parts in found.items()}
    body = [f"| {size:,} | {words(plan)} | {words(evaluation)} |" for size, (plan, _, evaluation, _) in rows.items()]
    most = max(max(charge, storage) for _, charge, _, storage in rows.values())
    last = f"The charge and the storage of the answers each take at most {words(most)}."
    return ["| queries | plan and noise | evaluation |", "|---:|---:|---:|", *body, "", last]


def draw(sizes: list[int], found: np.ndarray, laws: dict[str, Law]) -> None:
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "cost", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    ends = np.logspace(3, 12, 60)
    points = {NAMES[0]: found[:, 0], NAMES[1]: found[:, 1]}
    for number, name in enumerate(NAMES):
        axes.plot(ends, [laws[name](n) for n in ends], "--", color=f"C{number}", linewidth=1, label=f"{name}: law")
        if name in points:
            axes.plot(sizes, points[name], "o", color=f"C{number}", label=f"{name}: measured")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of the look")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(pages.IMAGES / "cost.svg", metadata={"Date": None})


def main(most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_queries = queries(folder)
        sizes, result = rows(most, folder)
    laws = row_laws(sizes, result)
    draw(sizes, result, laws)
    pages.put("releases", "cost_rows", row_words(sizes, laws))
    pages.put("releases", "cost_queries", stage_table(by_queries))


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
