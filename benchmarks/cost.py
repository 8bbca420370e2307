"""What does a release cost as queries grow?

Times the parts of a release over numbers of queries, and writes its block of docs/benchmarks/releases.md.

    python benchmarks/cost.py
"""

import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gaugedp as gd
from gaugedp.tables.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pages  # noqa: E402

TIMES = 3


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
    """Seconds with two digits."""
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def stage_words(found: dict[int, dict[str, float]]) -> list[str]:
    """Return sentences on the parts of a release."""
    rows = {size: list(parts.values()) for size, parts in found.items()}
    first, *others = (f"{words(plan)} for {size:,}" for size, (plan, *_) in rows.items())
    evaluation = words(max(each for _, _, each, _ in rows.values()))
    most = words(max(max(charge, storage) for _, charge, _, storage in rows.values()))
    return [
        f"Plan and noise take {first} histogram, {', '.join(others)}, and the evaluation at most {evaluation}.",
        f"The charge and the storage of the answers each take at most {most}.",
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        pages.put("releases", "cost_queries", stage_words(queries(Path(name))))


if __name__ == "__main__":
    main()
