"""Does the time of a release tell what is in the table?

Pairs of inputs with the same public facts and different contents are timed in turn, in random order, and the logarithms
of the times are compared by Welch's t-test, each with a false-alarm rate of 0.001. A pair that is flagged need not tell
much: the ratio of the medians says how much. Prints a table and writes docs/benchmarks/audits.md.

    python benchmarks/timing.py [TIMES]    60 times each
"""

import random
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pages
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

import gaugedp as gd
from gaugedp.bodies import LpBall
from gaugedp.estimators import PCA, LogisticRegression

ALARM = 0.001
DOMAIN = gd.Domain.of(A=gd.integers(0, 99), B=gd.integers(0, 9), PAY=gd.bounded(0, 1000))
N_ROWS, N_FIT, D_FIT = 200_000, 2_000, 5
Pair = tuple[Callable[[], object], Callable[[], object]]


def spread() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {"A": rng.integers(0, 100, N_ROWS), "B": rng.integers(0, 10, N_ROWS), "PAY": rng.integers(0, 1001, N_ROWS)}


def one_row_changed() -> dict[str, np.ndarray]:
    rows = {name: column.copy() for name, column in spread().items()}
    rows["A"][0], rows["PAY"][0] = 99 - rows["A"][0], 1000 - rows["PAY"][0]
    return rows


def one_cell() -> dict[str, np.ndarray]:
    return {name: np.full(N_ROWS, 3) for name in ("A", "B", "PAY")}


def other_counts() -> dict[str, np.ndarray]:
    """As many rows, of the same size in the file, with other counts: low cells get more rows."""
    rows = spread()
    return {**rows, "B": (rows["B"] * rows["B"]) // 9}


def released(text: str, rows: tuple[dict, dict], folder: Path) -> Pair:
    """Releases of two tables in Parquet files without compression or dictionaries."""
    query, unit = gd.query(DOMAIN, text), gd.PrivacyUnit(neighbours="replace")
    planned = gd.plan(query, unit, epsilon=1.0)
    tables = []
    for number, columns in enumerate(rows):
        path = folder / f"{abs(hash(text))}-{number}.parquet"
        pq.write_table(pa.table(columns), path, use_dictionary=False, compression="none")
        tables.append(gd.Table.scan(path, domain=DOMAIN, unit=unit, name="people"))

    def ask(table: gd.Table) -> object:
        ledger = gd.Ledger.in_memory(gd.PureDP(10))
        return gd.release(query, table, ledger=ledger, planned=planned)

    return lambda: ask(tables[0]), lambda: ask(tables[1])


def applied(answers: tuple[np.ndarray, np.ndarray]) -> Pair:
    """Noise, drawn and added, for two answers: the part of a release that is ours when counts alone differ."""
    laplace = gd.Laplace.calibrate(LpBall(len(answers[0]), 1, 1.0), gd.PureDP(1.0))
    rng = gd.entropy.system_rng()
    return lambda: laplace.prepare(rng)(answers[0]), lambda: laplace.prepare(rng)(answers[1])


def selected(kind: type, scores: tuple[np.ndarray, np.ndarray]) -> Pair:
    mechanism = kind.calibrate(LpBall(len(scores[0]), np.inf, 1.0), gd.PureDP(1.0))
    rng = gd.entropy.system_rng()
    return lambda: mechanism.prepare(rng)(scores[0]), lambda: mechanism.prepare(rng)(scores[1])


def fitted(make: Callable[[], object], data: tuple[tuple, tuple]) -> Pair:
    return lambda: make().fit(*data[0]), lambda: make().fit(*data[1])  # type: ignore[attr-defined]


def fits() -> dict[str, Pair]:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(N_FIT, D_FIT))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    line = np.tile(np.eye(D_FIT)[0], (N_FIT, 1)) * np.where(rows[:, :1] > 0, 1, -1)
    classes, coins = np.where(rows[:, 0] > 0, 1, -1), np.where(rng.random(N_FIT) < 0.5, 1, -1)
    known = {"row_norm": 1.0, "classes": (-1, 1), "epsilon": 5.0}
    pure, newton = ({**known, "delta": 0.0}, {**known, "delta": 1e-6})
    labelled = ((rows, classes), (rows, coins))
    return {
        "eigenvectors by the Bingham distribution: rows all around or on one line": fitted(
            lambda: PCA(neighbours="replace", n_components=1, epsilon=5.0, row_norm=1.0, solver="exponential"),
            ((rows,), (line,)),
        ),
        "objective perturbation, (ε, δ): classes separated or random": fitted(
            lambda: LogisticRegression(neighbours="replace", solver="objective", **newton), labelled
        ),
        "noisy gradient descent: classes separated or random": fitted(
            lambda: LogisticRegression(neighbours="replace", solver="gradient", **pure), labelled
        ),
    }


def pairs(folder: Path) -> dict[str, Pair]:
    n = 1000
    flat, peak = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    peak[7] = 10_000
    return {
        "Laplace noise on 1,000 counts: all 0 or all 10^9": applied((flat, flat + 10**9)),
        "release of A*B; sum(PAY): one row of 200,000 changed": released(
            "A*B; sum(PAY)", (spread(), one_row_changed()), folder
        ),
        "release of B: other counts": released("B", (spread(), other_counts()), folder),
        "release of A*B: all rows in one cell": released("A*B ", (spread(), one_cell()), folder),
        "exponential mechanism: 1,000 equal scores or one far ahead": selected(gd.Exponential, (flat, peak)),
        "permute-and-flip: 1,000 equal scores or one far ahead": selected(gd.PermuteAndFlip, (flat, peak)),
        "noisy max: 1,000 equal scores or one far ahead": selected(gd.NoisyMax, (flat, peak)),
        **fits(),
    }


def timed(pair: Pair, times: int) -> tuple[list[float], list[float]]:
    """Seconds of each of two, in random order, after three tries that are thrown away."""
    order, result = random.Random(3), ([], [])
    for number in range(times + 3):
        for which in order.sample((0, 1), 2):
            start = time.perf_counter()
            pair[which]()
            if number >= 3:
                result[which].append(time.perf_counter() - start)
    return result


class Compared(NamedTuple):
    """What was measured of a pair: the ratio of medians, one that would have been detected, and the p-value."""

    name: str
    ratio: float
    detectable: float
    p: float


def compared(name: str, pair: Pair, times: int) -> Compared:
    first, second = timed(pair, times)
    p = stats.ttest_ind(np.log(first), np.log(second), equal_var=False).pvalue
    spread_of_means = np.sqrt(np.var(np.log(first), ddof=1) / times + np.var(np.log(second), ddof=1) / times)
    visible = np.exp((stats.norm.isf(ALARM / 2) + stats.norm.isf(0.2)) * spread_of_means)
    a, b = statistics.median(first), statistics.median(second)
    result = Compared(name, b / a, float(visible), float(p))
    print(result, file=sys.stderr)
    return result


def block(found: list[Compared], times: int) -> list[str]:
    """Return the table of the pairs that are flagged, and a sentence on the others."""
    flagged = [one for one in found if one.p < ALARM]
    others = [one for one in found if one.p >= ALARM]
    rows = [f"| {one.name} | {one.ratio:.2f} | {one.detectable:.2f} | {one.p:.1g} |" for one in flagged]
    ratios, detectable = ([getattr(one, field) for one in others] for field in ("ratio", "detectable"))
    last = (
        f"The {len(others)} other pairs are not flagged. Their ratios are {min(ratios):.2f} to {max(ratios):.2f}, and "
        f"ratios of {min(detectable):.2f} to {max(detectable):.2f} are detectable. Each release is timed {times} times."
    )
    return ["| flagged pair | ratio | detectable | p |", "|---|---:|---:|---:|", *rows, "", last]


def main(times: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = [compared(name, pair, times) for name, pair in pairs(Path(folder)).items()]
    pages.put("audits", "timing", block(found, times))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
