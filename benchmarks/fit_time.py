"""How long does a private fit take, and how much memory, against scikit-learn without privacy?

Logistic and linear regression on made-up rows in the unit ball; ε = 1, δ = 1e-6. Each fit runs in a process of its own,
in turn; medians of three. Memory is the largest resident size above that before the fit, over the size of the data.
diffprivlib does not import beside the scikit-learn that is installed. Writes docs/benchmarks/fit_time.md.

    python benchmarks/fit_time.py
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "fit_time.md"
SIZES = [(10_000, 50), (100_000, 50), (1_000_000, 50), (100_000, 500)]
ROUNDS, LARGE = 3, 4 * 10**7  # numbers, from which on one round is enough
WAYS = ("ours linear", "sklearn linear", "ours logistic", "sklearn logistic")


def model(way: str):
    from sklearn import linear_model

    from gaugedp.estimators import LinearRegression, LogisticRegression

    return {
        "ours linear": lambda: LinearRegression(1.0, 1e-6, row_norm=1.0, target_bounds=(-1, 1)),
        "sklearn linear": lambda: linear_model.Ridge(alpha=1e-3),
        "ours logistic": lambda: LogisticRegression(1.0, 1e-6, row_norm=1.0, classes=[0, 1]),
        "sklearn logistic": linear_model.LogisticRegression,
    }[way]()


def one(way: str, n: int, d: int) -> None:
    """Fit once, and print seconds and memory as JSON."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    target = np.clip(rows[:, 0] + 0.1 * rng.standard_normal(n), -1, 1)
    if "logistic" in way:
        target = (target > 0).astype(int)
    estimator = model(way)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    estimator.fit(rows, target)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "memory": (after - before) * 1024 / rows.nbytes}))


def measured(way: str, n: int, d: int) -> dict[str, float]:
    command = [sys.executable, __file__, way, str(n), str(d)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    lines = [
        "# How long a private fit takes",
        "",
        f"ε = 1, δ = 1e-6, unit rows; medians of {ROUNDS} rounds (one for the two largest) in which all take turns, "
        f"each fit in its own process. Python {sys.version.split()[0]}, numpy {np.__version__}, "
        f"scikit-learn {version('scikit-learn')}; 2 cores. diffprivlib does not import beside this scikit-learn.",
        "Memory: what the fit adds at its peak, over the size of the rows. Written by `benchmarks/fit_time.py`.",
        "",
        "| rows | columns | linear: ours | scikit-learn (ridge) | memory | logistic: ours | scikit-learn | memory |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n, d in SIZES:
        rounds = 1 if n * d > LARGE else ROUNDS
        runs = [{way: measured(way, n, d) for way in WAYS} for _ in range(rounds)]
        middle = {way: statistics.median(run[way]["seconds"] for run in runs) for way in WAYS}
        memory = {way: max(run[way]["memory"] for run in runs) for way in WAYS}
        lines.append(
            f"| {n:,} | {d} | {middle['ours linear']:.2f} s | {middle['sklearn linear']:.2f} s | "
            f"{memory['ours linear']:.1f} | {middle['ours logistic']:.2f} s | {middle['sklearn logistic']:.2f} s | "
            f"{memory['ours logistic']:.1f} |"
        )
        print(lines[-1], flush=True)
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
