"""How far off are private sparse means and sparse regressions, and when does it take more rows?

Sparse means: d = 1,000, s = 10 means of 0.5 to 1 with either sign, unit normal noise. Sparse regression: d = 200, s = 5
coefficients of 1/√5, features uniform in [−1, 1], noise 0.5. δ = 1e-6, rows are replaced. Gene expressions (NCI60, 64
rows and 6,830 columns) where the file is given. Writes docs/benchmarks/regression.md; takes some six minutes.

    python benchmarks/sparse.py [nci60.csv]
"""

import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pages

import gaugedp as gd
from gaugedp.estimators import Mean, SparseMean, SparseRegression, TooFewRows, sub_gaussian_bounds

DELTA = 1e-6
MEANS = [(2_000, 4.0), (8_000, 1.0), (32_000, 1.0)]  # rows, ε
REGRESSIONS = [(4_000, 1.0), (4_000, 4.0), (20_000, 1.0), (60_000, 4.0)]
REPEATS = {"means": 16, "regressions": 8}
GENE_BOUND = 6.0  # log ratios: public knowledge of how such arrays are scaled


def sparse_rows(n: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((n, key))
    mean = np.zeros(1000)
    mean[rng.choice(1000, 10, replace=False)] = rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10)
    return mean + rng.standard_normal((n, 1000)), mean


def largest(values: np.ndarray, count: int) -> np.ndarray:
    kept = np.argsort(np.abs(values))[-count:]
    result = np.zeros_like(values)
    result[kept] = values[kept]
    return result


def mean_ways(rows: np.ndarray, epsilon: float) -> dict[str, np.ndarray]:
    bounds = sub_gaussian_bounds(len(rows), 1.0, 1.0)
    return {
        "ours": SparseMean(10, epsilon, DELTA, neighbours="replace", bounds=bounds).fit(rows).mean_,
        "printed": SparseMean(10, epsilon, DELTA, neighbours="replace", bounds=bounds, noise="laplace").fit(rows).mean_,
        "dense": largest(Mean(epsilon, DELTA, neighbours="replace", bounds=bounds).fit(rows).mean_, 10),
        "none": largest(rows.mean(axis=0), 10),
    }


def mean_cell(n: int, epsilon: float) -> dict[str, float]:
    results: dict[str, list[float]] = {}
    for key in range(REPEATS["means"]):
        rows, mean = sparse_rows(n, key)
        for name, estimate in mean_ways(rows, epsilon).items():
            results.setdefault(name, []).append(float(np.linalg.norm(estimate - mean)))
    return {name: float(np.mean(errors)) for name, errors in results.items()}


def regression_cell(n: int, epsilon: float) -> dict[str, float]:
    results: dict[str, list[float]] = {}
    for key in range(REPEATS["regressions"]):
        rng = np.random.default_rng((n, int(epsilon), key))
        truth = np.zeros(200)
        support = rng.choice(200, 5, replace=False)
        truth[support] = rng.choice([-1, 1], 5) / math.sqrt(5)
        rows = rng.uniform(-1, 1, (n, 200))
        target = rows @ truth + 0.5 * rng.standard_normal(n)
        for solver in ("auto", "screen", "iht"):
            model = SparseRegression(
                5,
                epsilon,
                DELTA,
                neighbours="replace",
                bounds=(-1, 1),
                target_bounds=(-2, 2),
                fit_intercept=False,
                solver=solver,
            ).fit(rows, target)
            results.setdefault(solver, []).append(float(np.linalg.norm(model.coef_ - truth)))
        known = np.linalg.lstsq(rows[:, support], target, rcond=None)[0]
        results.setdefault("oracle", []).append(float(np.linalg.norm(known - truth[support])))
    return {name: float(np.mean(errors)) for name, errors in results.items()}


def genes(path: Path) -> list[str]:
    with path.open() as file:
        header = file.readline().strip().split(",")
        columns = [place for place, name in enumerate(header) if name.strip('"').startswith("data.")]
        lines = [line.rstrip("\n").split(",") for line in file]
    rows = np.array([[float(line[place]) for place in columns] for line in lines])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", TooFewRows)
        model = SparseMean(10, 1.0, DELTA, neighbours="replace", bounds=(-GENE_BOUND, GENE_BOUND)).fit(rows)
    exact = np.clip(rows, -GENE_BOUND, GENE_BOUND).mean(axis=0)
    hits = len(set(np.argsort(np.abs(exact))[-10:]) & set(model.support_))
    rate = gd.bounds.sparse_mean(len(rows), rows.shape[1], 10, 1.0, DELTA, float(rows.std()))
    return [
        f"The largest mean of a column of the {rows.shape[0]} rows is {np.abs(exact).max():.2f} without privacy. The "
        "fit warns:",
        "",
        f"> {said[0].message}",
        "",
        f"{hits} of the ten selected columns are among the ten largest, and the selected values are off by "
        f"{np.abs(model.values_ - exact[model.support_]).mean():.2f} on average. About "
        f"{model.outlook_.rows_needed(float(np.abs(exact).max())):,} rows would find the\nlargest mean "
        f"({np.abs(exact).max():.2f}). In the minimax rate (constants unknown), privacy counts "
        f"{rate.privacy / rate.statistical:.0f} times as much as sampling at n = {rows.shape[0]}, and a tenth from "
        f"n = {rate.free_from():,}.",
    ]


def main() -> None:
    start = time.perf_counter()
    lines = [
        "| rows | ε | `SparseMean` | as published | ratio | all coordinates | without privacy | minimax rate |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n, epsilon in MEANS:
        result = mean_cell(n, epsilon)
        rate = gd.bounds.sparse_mean(n, 1000, 10, epsilon, DELTA)
        lines.append(
            f"| {n:,} | {epsilon:g} | {result['ours']:.4f} | {result['printed']:.3f} | "
            f"{result['printed'] / result['ours']:.1f} | {result['dense']:.3f} | {result['none']:.4f} | "
            f"{rate.value:.3f} |"
        )
        print(lines[-1], flush=True)
    lines += [
        "",
        f"{REPEATS['means']} repetitions of means, {REPEATS['regressions']} of regressions.",
    ]
    pages.put("regression", "means", lines)
    lines = ["| rows | ε | `auto` | screen | iht | support known |", "|---:|---:|---:|---:|---:|---:|"]
    for n, epsilon in REGRESSIONS:
        result = regression_cell(n, epsilon)
        lines.append(
            f"| {n:,} | {epsilon:g} | {result['auto']:.4f} | {result['screen']:.4f} | "
            f"{result['iht']:.4f} | {result['oracle']:.4f} |"
        )
        print(lines[-1], flush=True)
    pages.put("regression", "sparse", lines)
    if len(sys.argv) > 1:
        pages.put("regression", "genes", genes(Path(sys.argv[1])))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
