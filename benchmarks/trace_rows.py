"""Trace regression on four kinds of rows: which solver has the least excess risk, and whether `auto` takes it?

y = ⟨zzᵀ, uuᵀ⟩ + noise uniform on ±0.2, unit rows z, u drawn anew in each repetition; X ⪰ 0 with tr X ≤ 1. δ = 1e-6 or
pure ε = 1, rows are replaced. Excess over the truth on 40,000 other rows; all solvers of a repetition have the same
rows and the same stream of noise. Then one pass over a million planted rows, d = 50, timed. Writes
docs/benchmarks/trace_rows.md; takes some fifteen minutes of one core.

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
COUNTS = (4_000, 16_000, 64_000)
REPEATS = {(10, DELTA): (6, 6, 4), (10, 0.0): (6, 0, 0), (20, DELTA): (4, 4, 3), (50, DELTA): (3, 3, 2)}
# by d and δ, for each n of COUNTS; none where a fit takes long
SOLVERS = ("moments", "descent", "frank_wolfe")
ONE_PASS = ("toeplitz", "oja")  # one repetition, at most 16,000 rows; d = 50: 4,000
NEAR = 1.1  # of the best solver
MILLION = 1_000_000  # rows of a pass
TARGETS = {16_000: (0.0032, 5.0), 64_000: (0.0014, 20.0)}  # isotropic, d = 10: what auto had; times below that

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


def fitted(solver: str, data: Rows, delta: float, key: int) -> TraceRegression:
    is_pass = solver in ONE_PASS
    model = TraceRegression(
        1.0, delta, row_norm=1.0, target_bounds=(-WIDTH, 1 + WIDTH), solver="stochastic" if is_pass else solver,
        noise=solver if is_pass else "toeplitz", random_state=key,
    )  # fmt: skip
    return model.fit(*data)


def made_twice(kind: str, n: int, d: int, key: int) -> tuple[Rows, Rows]:
    """Return n rows with noisy targets, and other rows with the truth."""
    rng = np.random.default_rng((list(KINDS).index(kind), n, d, 1000 + key))
    u = np.linalg.qr(rng.standard_normal((d, 1)))[0][:, 0]
    others, (rows, truth) = made(kind, OTHERS, u, rng), made(kind, n, u, rng)
    return (rows, truth + rng.uniform(-WIDTH, WIDTH, n)), others


def solvers_of(n: int, d: int, delta: float, key: int) -> tuple[str, ...]:
    """Return which solvers are tried in a repetition."""
    short = n <= (COUNTS[0] if d == 50 else COUNTS[1])
    return (*SOLVERS, *(ONE_PASS if short and key == 0 and delta > 0 else ()))


def repetition(kind: str, n: int, d: int, delta: float, key: int) -> dict[str, float]:
    """Return the excess of each solver, and of X = 0."""
    data, others = made_twice(kind, n, d, key)
    results = {
        solver: excess(fitted(solver, data, delta, key).coef_, others) for solver in solvers_of(n, d, delta, key)
    }
    return {**results, "X = 0": excess(np.zeros((d, d)), others)}


def taken(kind: str, n: int, d: int, delta: float) -> str:
    """Return the solver that `auto` takes: it knows n, d, ε, δ and the bounds, and no row."""
    return fitted("auto", made_twice(kind, n, d, 0)[0], delta, 0).solver_


def cell(kind: str, n: int, d: int, delta: float) -> dict[str, list[float]]:
    """Return the excess of each solver, one for each repetition; "auto" is that of the solver it takes."""
    results: dict[str, list[float]] = {}
    for key in range(REPEATS[d, delta][COUNTS.index(n)]):
        for solver, value in repetition(kind, n, d, delta, key).items():
            results.setdefault(solver, []).append(value)
    name = taken(kind, n, d, delta)
    print(kind, n, d, delta, name, {solver: f"{np.mean(values):.2g}" for solver, values in results.items()}, flush=True)
    return {**results, "auto": [*results[name]], "taken": name}  # type: ignore[dict-item]


def text(values: list[float] | None) -> str:
    if values is None:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.2g}"
    return f"{np.mean(values):.2g} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.1g}"


def over_best(found: dict) -> tuple[float, float]:
    """Return the mean of `auto` over the least mean of the solvers of all rows, and the error of their difference."""
    auto = np.array(found["auto"])
    best = np.array(min((found[name] for name in SOLVERS), key=np.mean))
    ratio = auto.mean() / best.mean()
    error = np.std(auto - ratio * best, ddof=1) / math.sqrt(len(best)) / best.mean() if len(best) > 1 else 0.0
    return float(ratio), float(error)


def beaten_once(found: dict) -> bool:
    """Return whether one pass, which is tried in the first repetition, is below what `auto` has there by a tenth."""
    return any(found["auto"][0] > NEAR * found[name][0] for name in ONE_PASS if name in found)


def table(d: int, delta: float) -> tuple[list[str], dict[tuple[str, int], dict]]:
    names = (*SOLVERS, *(ONE_PASS if delta > 0 else ()))
    lines = [
        "| rows | n | X = 0 | " + " | ".join(names) + " | auto takes | over the best |",
        "|---" * (len(names) + 5) + "|",
    ]
    cells = {}
    for kind in KINDS:
        for n in (n for n, repeats in zip(COUNTS, REPEATS[d, delta], strict=True) if repeats):
            result = cells[kind, n] = cell(kind, n, d, delta)
            ratio, error = over_best(result)
            row = [kind, f"{n:,}", f"{np.mean(result['X = 0']):.2g}", *(text(result.get(name)) for name in names)]
            last = "1" if ratio == 1 else f"{ratio:.2f} ± {error:.2f}" if error else f"{ratio:.2f}"
            lines.append("| " + " | ".join([*row, str(result["taken"]), last]) + " |")
    return [*lines, ""], cells


def million(d: int) -> list[str]:
    """Time one pass over a million rows for each of two ways to find extreme points."""
    data, others = made_twice("planted", MILLION, d, 0)
    lines = [f"## One pass over {MILLION:,} planted rows, d = {d}, ε = 1, δ = {DELTA:g}", ""]
    lines += ["Seconds of processor time, of one thread.", ""]
    lines += ["| extreme points by | steps | rows a step | seconds | excess |", "|---|---|---|---|---|"]
    for solver in ONE_PASS:
        start = time.process_time()
        model = fitted(solver, data, DELTA, 0)
        seconds, schedule = time.process_time() - start, model.method_.schedule
        result = excess(model.coef_, others)
        lines.append(f"| {solver} | {schedule.n_later:,} | {schedule.group} | {seconds:.0f} | {result:.2g} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def summary(tables: dict[tuple[int, float], dict]) -> list[str]:
    lines = ["| | measured | target |", "|---|---|---|"]
    for n, (before, target) in TARGETS.items():
        times = before / np.mean(tables[10, DELTA]["isotropic", n]["auto"])
        what = f"isotropic, d = 10, n = {n:,}: the {before:g} of `auto` before `moments`, over that of auto"
        lines.append(f"| {what} | {times:.1f} | at least {target:g} |")
    for label, is_pure in ((f"δ = {DELTA:g}", False), ("pure ε", True)):
        ratios = [over_best(result) for (_, delta), cells in tables.items() if (delta == 0) == is_pure
                  for result in cells.values()]  # fmt: skip
        if not ratios:
            continue
        near, (ratio, error) = sum(ratio <= NEAR for ratio, _ in ratios), max(ratios)
        lines.append(f"| {label}: cells where auto is within 10 % of the best | {near} of {len(ratios)} | all |")
        lines.append(f"| {label}: the most that auto is over the best | {ratio:.2f} ± {error:.2f} times | 1.1 times |")
    tried = [cell for cells in tables.values() for cell in cells.values() if ONE_PASS[0] in cell]
    beaten = sum(map(beaten_once, tried))
    lines.append(f"| cells where one pass, tried once, is a tenth below auto | {beaten} of {len(tried)} | – |")
    return [*lines, ""]


def main() -> None:
    start, lines, tables = time.perf_counter(), [], {}
    for (d, delta), repeats in REPEATS.items():
        rows, tables[d, delta] = table(d, delta)
        privacy = f"ε = 1, δ = {delta:g}" if delta else "pure ε = 1"
        times = ", ".join(f"{times} at n = {n:,}" for n, times in zip(COUNTS, repeats, strict=True) if times)
        lines += [f"## d = {d}, {privacy}; repetitions: {times}", "", *rows]
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
        "(`toeplitz`, `oja`) once. All solvers of a repetition have the same rows. The last column is the mean of what "
        "`auto` takes over the least mean of the three solvers of all rows, with the error of their difference. "
        f"Python {sys.version.split()[0]}, numpy {np.__version__}. Written by `benchmarks/trace_rows.py`.",
        "",
        *summary(tables),
    ]  # fmt: skip
    PAGE.write_text("\n".join(head + lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
