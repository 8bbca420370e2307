"""How near to least squares is a private linear regression, against AdaSSP?

Rows in the unit ball, coefficients of norm √d/2, noise 0.1, target in [−1, 1]; δ = 1e-6, rows are replaced. AdaSSP
(Wang 2018, algorithm 2) is written here by hand: a third of ε each for the least eigenvalue, the moments and the
products, with the constants of replaced rows. Medians of ten data sets; both ways in every round. Writes
docs/benchmarks/regression.md.

    python benchmarks/linear_regression.py
"""

import math
import statistics

import numpy as np
import pages

from gaugedp.estimators import LinearRegression

DELTA, ROUNDS = 1e-6, 10
CELLS = [
    (1_000, 10, 0.1), (1_000, 10, 1.0), (10_000, 10, 0.1), (10_000, 10, 1.0), (10_000, 10, 4.0), (10_000, 50, 1.0),
    (10_000, 50, 4.0), (20_000, 200, 1.0),
]  # fmt: skip


def made(n: int, d: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((n, d, key))
    scales = np.linspace(1, 0.3, d)
    rows = rng.standard_normal((n, d)) * scales / (np.linalg.norm(scales) * 1.3)
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    truth = rng.standard_normal(d)
    truth *= math.sqrt(d) / 2 / np.linalg.norm(truth)
    return rows, np.clip(rows @ truth + 0.1 * rng.standard_normal(n), -1, 1)


def ada_ssp(rows: np.ndarray, target: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """AdaSSP with ‖x‖ ≤ 1, |y| ≤ 1: sensitivities of a replaced row are 1, √2 and 2."""
    d, root, third = rows.shape[1], math.sqrt(math.log(6 / DELTA)), epsilon / 3
    square = rows.T @ rows
    least = max(
        0.0,
        float(np.linalg.eigvalsh(square)[0]) + root / third * rng.standard_normal() - math.log(6 / DELTA) / third,
    )
    noise = rng.standard_normal((d, d)) * math.sqrt(2) * root / third
    noise = np.triu(noise) + np.triu(noise, 1).T
    products = rows.T @ target + 2 * root / third * rng.standard_normal(d)
    ridge = max(0.0, math.sqrt(d * math.log(6 / DELTA) * math.log(2 * d * d / 0.05)) / third - least)
    return np.linalg.solve(square + noise + ridge * np.eye(d), products)


def cell(n: int, d: int, epsilon: float) -> dict[str, float]:
    results: dict[str, list[float]] = {}
    for key in range(ROUNDS):
        rows, target = made(n, d, key)
        best = np.linalg.lstsq(rows, target, rcond=None)[0]
        ours = LinearRegression(
            epsilon, DELTA, neighbours="replace", row_norm=1.0, target_bounds=(-1, 1), fit_intercept=False
        ).fit(rows, target)  # fmt: skip
        theirs = ada_ssp(rows, target, epsilon, np.random.default_rng(key))
        for name, point in (("ours", ours.coef_), ("AdaSSP", theirs), ("zero", np.zeros(d))):
            results.setdefault(name, []).append(float(np.mean((rows @ (point - best)) ** 2)))
    return {name: statistics.median(values) for name, values in results.items()}


def main() -> None:
    lines = [
        "| rows | columns | ε | `LinearRegression` | AdaSSP | ratio | predicting zero |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n, d, epsilon in CELLS:
        one = cell(n, d, epsilon)
        lines.append(
            f"| {n:,} | {d} | {epsilon:g} | {one['ours']:.2g} | "
            f"{one['AdaSSP']:.2g} | {one['AdaSSP'] / one['ours']:.1f} | {one['zero']:.2g} |"
        )
        print(lines[-1], flush=True)
    pages.put("regression", "linear", lines)


if __name__ == "__main__":
    main()
