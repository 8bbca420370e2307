"""How near are synthetic rows to the truth and to the release they were made from, and how long do they take?

Tables of counts from the public rows in examples/acs, at several prices, and a million rows of 15 columns. Writes
docs/benchmarks/synthetic_rows.md. Needs some minutes.

    python benchmarks/synthetic_rows.py
"""

import itertools
import time
from pathlib import Path

import numpy as np
import pages
import pandas as pd

import gaugedp as gd

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("SEX", "AGEP", "EDU", "MSP", "RAC1P", "OWN_RENT", "PINCP_DECILE")
DELTA, SEED = 1e-9, 1
CHAIN = "; ".join("*".join(NAMES[place : place + 2]) for place in range(len(NAMES) - 1))
PAIRS = "; ".join(map("*".join, itertools.combinations(NAMES, 2)))
THREES = "; ".join(map("*".join, itertools.combinations(NAMES, 3)))
CASES = [
    ("a chain of pairs", CHAIN, 1.0),
    ("all pairs", PAIRS, 1.0),
    ("all threes", THREES, 1.0),
]


def main() -> None:
    """Write the page."""
    domain = gd.Domain.load(ROOT / "examples" / "acs" / "domain.toml")
    frame = pd.read_csv(ROOT / "examples" / "acs" / "acs_ma2018.csv", dtype=str).astype({"AGEP": int})
    rows = [line(name, text, domain, frame, epsilon) for name, text, epsilon in CASES]
    head = "| tables | cells | ε | released | clipped | rows | coverage | s |"
    pages.put("synthetic_rows", "synthetic_rows", [head, "|---|" + "---:|" * 7, *rows, "", large()])


def released(query: gd.queries.Query, frame: pd.DataFrame, guarantee: gd.guarantees.Guarantee) -> gd.Release:
    """Return a release with Gaussian noise of one size, from a seed."""
    table = gd.Table.scan(frame, domain=query.domain)
    mechanism = gd.Gaussian.calibrate(query.sensitivity(table.unit), guarantee)
    ledger = gd.Ledger.in_memory(gd.ZCDP(1e12))
    return gd.release(query, table, ledger=ledger, mechanism=mechanism, rng=gd.research_rng(SEED))


def line(name: str, text: str, domain: gd.Domain, frame: pd.DataFrame, epsilon: float) -> str:
    """Return one line of the table: mean errors of a table's cells, summed, as shares of the rows."""
    query = gd.query(domain, text)
    answer = released(query, frame, gd.ApproxDP(epsilon, DELTA))
    truth = released(query, frame, gd.ZCDP(1e9)).raw
    start = time.perf_counter()
    made = gd.draw_rows(answer, rng=gd.research_rng(SEED))
    seconds = time.perf_counter() - start
    counts = made.beside
    n = len(frame) * len(query.outlines)
    errors = [np.abs(part - truth).sum() / n for part in (answer.raw, np.maximum(answer.raw, 0), counts["rows"])]
    holds = (counts["lower"] <= truth) & (truth <= counts["upper"])
    cells = (
        name, f"{len(truth):,}", f"{epsilon:g}",
        *(f"{error:.3f}" for error in errors), f"{holds.mean():.1%}", f"{seconds:.0f}",
    )  # fmt: skip
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def large() -> str:
    """Return a sentence on a million rows of 15 columns, from 14 tables of three attributes or two."""
    random, n = np.random.default_rng(SEED), 10**6
    walk, columns = random.normal(size=n), dict[str, np.ndarray]()
    sizes = [(2, 5, 10, 20, 8)[place % 5] for place in range(15)]
    for place, size in enumerate(sizes):
        walk = 0.7 * walk + 0.7 * random.normal(size=n)
        columns[f"A{place}"] = np.clip(((walk + 2.5) / 5 * size).astype(int), 0, size - 1)
    domain = gd.Domain.of(**{f"A{place}": gd.integers(0, size - 1) for place, size in enumerate(sizes)})
    text = "; ".join([*(f"A{place}*A{place + 1}*A{place + 2}" for place in range(13)), "A0*A14"])
    answer = released(gd.query(domain, text), pd.DataFrame(columns), gd.ApproxDP(1.0, DELTA))
    start = time.perf_counter()
    made = gd.draw_rows(answer, rng=gd.research_rng(SEED))
    seconds = time.perf_counter() - start
    counts = made.beside
    inside = np.mean((counts["lower"] <= counts["rows"]) & (counts["rows"] <= counts["upper"]))
    return (
        f"{len(made.cells):,} rows of {len(made.columns)} columns from {len(answer.labels):,} counts in 14 tables took "
        f"{seconds:.0f} s; {inside:.1%} of the counts of the rows lie within the released 95 % intervals.\n"
    )


if __name__ == "__main__":
    main()
