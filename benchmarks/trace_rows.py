"""Trace regression on four kinds of rows: which solver has the least excess risk, and whether `auto` takes it?

y = ⟨zzᵀ, uuᵀ⟩ + noise uniform on ±0.2, unit rows z, u drawn anew in each repetition; X ⪰ 0 with tr X ≤ 1. δ = 1e-6 or
pure ε = 1, rows are replaced. Excess over the truth on 40,000 other rows. Then one pass over a million planted rows,
d = 50, timed. Writes docs/benchmarks/trace_rows.md; takes some ten minutes.

    python benchmarks/trace_rows.py
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

from gaugedp.estimators.trace_regression import TraceRegression

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "trace_rows.md"
DELTA, WIDTH, OTHERS = 1e-6, 0.2, 40_000
REPEATS = {10: 5, 20: 2, 50: 1}  # by the number of columns
COUNTS = (4_000, 16_000, 64_000)
SOLVERS = ("moments", "descent", "frank_wolfe")
ONE_PASS = ("toeplitz", "oja")  # one repetition, d = 10, at most 16,000 rows
NEAR = 1.1  # of the best solver
MILLION = 1_000_000  # rows of a pass
TARGETS = {16_000: 5.0, 64_000: 20.0}  # times below descent, isotropic rows, d = 10

Rows = tuple[np.ndarray, np.ndarray]


def isotropic(n: int, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, len(u)))


def planted(n: int, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform angles to u."""
    angle, away = rng.random(n) * math.pi / 2, rng.standard_normal((n, len(u)))
    away -= np.outer(away @ u, u)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    return np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * away


def correlated(n: int, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Variances that fall as 0.7^i, i = 0 …"""
    return rng.standard_normal((n, len(u))) * 0.7 ** (np.arange(len(u)) / 2)


def one_hot(n: int, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """e_i ± e_j for two columns, or e_i where they are one."""
    rows, (first, second) = np.zeros((n, len(u))), rng.integers(0, len(u), (2, n))
    rows[np.arange(n), second] = rng.choice([-1.0, 1.0], n)
    rows[np.arange(n), first] = 1.0
    return rows


KINDS = {"isotropic": isotropic, "planted": planted, "correlated": correlated, "one-hot": one_hot}


def made(kind: str, n: int, u: np.ndarray, rng: np.random.Generator) -> Rows:
    rows = KINDS[kind](n, u, rng)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, (rows @ u) ** 2


def excess(point: np.ndarray, others: Rows) -> float:
    rows, truth = others
    return float(np.mean((((rows @ point) * rows).sum(axis=1) - truth) ** 2) / 2)


def fitted(solver: str, data: Rows, delta: float) -> TraceRegression:
    is_pass = solver in ONE_PASS
    model = TraceRegression(
        1.0, delta, row_norm=1.0, target_bounds=(-WIDTH, 1 + WIDTH), solver="stochastic" if is_pass else solver,
        noise=solver if is_pass else "toeplitz",
    )  # fmt: skip
    return model.fit(*data)


def cell(kind: str, n: int, d: int, delta: float, repeats: int) -> dict[str, list[float]]:
    """Return the excess of each solver, one for each repetition; "auto" is that of the solver it takes."""
    found: dict[str, list[float]] = {}
    for key in range(repeats):
        rng = np.random.default_rng((list(KINDS).index(kind), n, d, 1000 + key))
        u = np.linalg.qr(rng.standard_normal((d, 1)))[0][:, 0]
        others, data = made(kind, OTHERS, u, rng), made(kind, n, u, rng)
        data = data[0], data[1] + rng.uniform(-WIDTH, WIDTH, n)
        more = ONE_PASS if d == 10 and n < COUNTS[-1] and key == 0 and delta > 0 else ()
        for solver in (*SOLVERS, *more):
            found.setdefault(solver, []).append(excess(fitted(solver, data, delta).coef_, others))
        found.setdefault("X = 0", []).append(excess(np.zeros((d, d)), others))
    taken = fitted("auto", (data[0], data[1]), delta).solver_
    print(kind, n, d, delta, taken, {name: f"{np.mean(values):.2g}" for name, values in found.items()}, flush=True)
    return {**found, "auto": [*found[taken]], "taken": taken}  # type: ignore[dict-item]


def text(values: list[float] | None) -> str:
    if values is None:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.2g}"
    return f"{np.mean(values):.2g} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.1g}"


def table(d: int, delta: float, counts: tuple[int, ...]) -> tuple[list[str], dict[tuple[str, int], dict]]:
    names = (*SOLVERS, *(ONE_PASS if d == 10 and delta > 0 else ()))
    lines = [
        "| rows | n | X = 0 | " + " | ".join(names) + " | auto takes | over the best |",
        "|---" * (len(names) + 5) + "|",
    ]
    cells = {}
    for kind in KINDS:
        for n in counts:
            found = cells[kind, n] = cell(kind, n, d, delta, REPEATS[d])
            over = np.mean(found["auto"]) / min(np.mean(found[name]) for name in SOLVERS)
            row = [kind, f"{n:,}", f"{np.mean(found['X = 0']):.2g}", *(text(found.get(name)) for name in names)]
            lines.append("| " + " | ".join([*row, str(found["taken"]), f"{over:.2f}"]) + " |")
    return [*lines, ""], cells


def million(d: int) -> list[str]:
    """Time one pass over a million rows for each of two ways to find extreme points."""
    rng = np.random.default_rng((MILLION, d))
    u = np.linalg.qr(rng.standard_normal((d, 1)))[0][:, 0]
    others, data = made("planted", OTHERS, u, rng), made("planted", MILLION, u, rng)
    data = data[0], data[1] + rng.uniform(-WIDTH, WIDTH, MILLION)
    lines = [f"## One pass over {MILLION:,} planted rows, d = {d}, ε = 1, δ = {DELTA:g}", ""]
    lines += ["| extreme points by | steps | rows a step | seconds | excess |", "|---|---|---|---|---|"]
    for solver in ONE_PASS:
        start = time.perf_counter()
        model = fitted(solver, data, DELTA)
        seconds, schedule = time.perf_counter() - start, model.method_.schedule
        found = excess(model.coef_, others)
        lines.append(f"| {solver} | {schedule.n_later:,} | {schedule.group} | {seconds:.0f} | {found:.2g} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def summary(tables: dict[tuple[int, float], dict]) -> list[str]:
    lines = ["| | measured | target |", "|---|---|---|"]
    for n, target in TARGETS.items():
        found = tables[10, DELTA]["isotropic", n]
        times = np.mean(found["descent"]) / np.mean(found["auto"])
        lines.append(f"| isotropic, d = 10, n = {n:,}: descent over auto | {times:.1f} | at least {target:g} |")
    ratios = [
        np.mean(found["auto"]) / min(np.mean(found[name]) for name in SOLVERS)
        for (_, delta), cells in tables.items() if delta > 0
        for found in cells.values()
    ]  # fmt: skip
    near = sum(ratio <= NEAR for ratio in ratios)
    lines.append(f"| δ = {DELTA:g}: cells where auto is within 10 % of the best | {near} of {len(ratios)} | all |")
    lines.append(f"| δ = {DELTA:g}: the most that auto is over the best | {max(ratios):.2f} times | 1.1 times |")
    return [*lines, ""]


def main() -> None:
    start, lines, tables = time.perf_counter(), [], {}
    for d, repeats in REPEATS.items():
        rows, tables[d, DELTA] = table(d, DELTA, COUNTS)
        lines += [f"## d = {d}, ε = 1, δ = {DELTA:g}, repetitions: {repeats}", "", *rows]
        if d == 10:
            rows, tables[d, 0.0] = table(d, 0.0, COUNTS)
            lines += [f"## d = {d}, pure ε = 1, repetitions: {repeats}", "", *rows]
        write(lines, tables)
    write(lines + million(50), tables)
    print(f"{time.perf_counter() - start:.0f} s")


def write(lines: list[str], tables: dict[tuple[int, float], dict]) -> None:
    head = [
        "# Trace regression: four kinds of rows",
        "",
        "y = ⟨zzᵀ, uuᵀ⟩ ± 0.2, unit rows z, X ⪰ 0, tr X ≤ 1, rows are replaced. *Isotropic*: uniform on the sphere. "
        "*Planted*: at uniform angles to u. *Correlated*: variances fall as 0.7^i before rows are scaled. *One-hot*: "
        "(e_i ± e_j)/√2. Excess population risk over the truth, means ± standard errors; one pass over the rows "
        "(`toeplitz`, `oja`) once. The last column is the mean of what `auto` takes over the least mean of the three "
        f"solvers of all rows. Python {sys.version.split()[0]}, numpy {np.__version__}. "
        "Written by `benchmarks/trace_rows.py`.",
        "",
        *summary(tables),
    ]  # fmt: skip
    PAGE.write_text("\n".join(head + lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
