"""How long does a private fit take, and how much memory, against scikit-learn without privacy?

Logistic and linear regression on made-up rows in the unit ball; ε = 1, δ = 1e-6. Each fit
runs in a process of its own, in turn; medians of three; of small tables a process fits again, too. Memory is the
largest resident size during the fit less that before it, over the size of the data (on Linux, which alone forgets an
earlier peak); of small tables it is the libraries that a first fit loads.
diffprivlib, which is pure ε-DP, stands beside where it imports. Writes docs/benchmarks/models.md; the largest table
takes 12 GB and some minutes, and is left out where there are not 16.

    python benchmarks/fit_time.py
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pages

SIZES = [(10_000, 50), (1_000_000, 50), (100_000, 200), (100_000, 500)]
ROUNDS, LARGE = 3, 4 * 10**7  # numbers, from which on one round is enough
HUGE = (1_000_000, 500)
KINDS = ("linear", "logistic")
try:
    import diffprivlib.models  # noqa: F401

    PEERS = ("diffprivlib linear", "diffprivlib logistic")
except ImportError:
    PEERS = ()
WAYS = ("ours linear", "sklearn linear", "ours logistic", "sklearn logistic", *PEERS)


def model(way: str):
    from sklearn import linear_model

    from gaugedp.estimators import LinearRegression, LogisticRegression

    if way in PEERS:
        from diffprivlib import models

        if "linear" in way:
            return models.LinearRegression(epsilon=1.0, bounds_X=(-1, 1), bounds_y=(-1, 1))
        return models.LogisticRegression(epsilon=1.0, data_norm=1.0)
    return {
        "ours linear": lambda: LinearRegression(1.0, 1e-6, neighbours="replace", row_norm=1.0, target_bounds=(-1, 1)),
        "sklearn linear": lambda: linear_model.Ridge(alpha=1e-3),
        "ours logistic": lambda: LogisticRegression(1.0, 1e-6, neighbours="replace", row_norm=1.0, classes=[0, 1]),
        "sklearn logistic": linear_model.LogisticRegression,
    }[way]()


def one(way: str, n: int, d: int) -> None:
    """Fit once, and small tables again, and print seconds and memory as JSON."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    target = np.clip(rows[:, 0] + 0.1 * rng.standard_normal(n), -1, 1)
    if "logistic" in way:
        target = (target > 0).astype(int)
    estimator = model(way)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # forget the peak of making the rows
    seconds = timed(estimator, rows, target)
    memory = (resident("VmHWM") - before) / rows.nbytes
    print(json.dumps({"seconds": seconds, "memory": memory}))


def timed(estimator, rows: np.ndarray, target: np.ndarray) -> float:
    start = time.perf_counter()
    estimator.fit(rows, target)
    return time.perf_counter() - start


def resident(name: str) -> int:
    """Return a size of this process in bytes: VmRSS, that of now, or VmHWM, the largest."""
    line = next(line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def measured(way: str, n: int, d: int) -> dict[str, float]:
    command = [sys.executable, __file__, way, str(n), str(d)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ways(n: int, d: int) -> tuple[str, ...]:
    return WAYS if n * d <= LARGE else tuple(way for way in WAYS if way not in PEERS)


def main(sizes: list[tuple[int, int]]) -> None:
    lines = [
        "| rows | columns | linear: gaugedp, s | scikit-learn | diffprivlib | logistic: gaugedp, s | scikit-learn "
        "| diffprivlib |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    memory: list[float] = []
    for n, d in sizes:
        rounds = 1 if n * d > LARGE else ROUNDS
        runs = [{way: measured(way, n, d) for way in ways(n, d)} for _ in range(rounds)]
        middle = {way: f"{statistics.median(run[way]['seconds'] for run in runs):.2f}" for way in runs[0]}
        memory += [run[f"ours {kind}"]["memory"] for run in runs for kind in KINDS]
        cells = [middle.get(f"{who} {kind}", "–") for kind in KINDS for who in ("ours", "sklearn", "diffprivlib")]
        lines.append(f"| {n:,} | {d} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"Medians of {ROUNDS} rounds, one for the largest. At its peak, a fit adds {min(memory):.1f} to "
        f"{max(memory):.1f} times the memory of its rows.",
    ]
    pages.put("models", "fit_time", lines)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(SIZES + [HUGE] * (os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 16 * 10**9))
