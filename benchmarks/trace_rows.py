"""Trace regression on four kinds of rows: which solver has the least excess risk, and whether `auto` takes it?

y = ⟨zzᵀ, uuᵀ⟩ + noise uniform on ±0.2, unit rows z, u drawn anew in each repetition; X ⪰ 0 with tr X ≤ 1. δ = 1e-6 or
pure ε = 1, rows are replaced. Excess over the truth on 40,000 other rows; all solvers of a repetition have the same
rows and the same stream of noise. Then one pass over a million planted rows, d = 50, timed. Writes
docs/benchmarks/matrices.md; takes some fifteen minutes of one core.

    python benchmarks/trace_rows.py
"""

import math
import time

import numpy as np
import pages

from gaugedp.estimators.trace_regression import TraceRegression

DELTA, WIDTH, OTHERS = 1e-6, 0.2, 40_000
COUNTS = (4_000, 16_000, 64_000)
REPEATS = {(10, DELTA): (6, 6, 4), (10, 0.0): (6, 0, 0), (20, DELTA): (4, 4, 3), (50, DELTA): (3, 3, 2)}
# by d and δ, for each n of COUNTS; none where a fit takes long
SOLVERS = ("moments", "descent", "frank_wolfe")
ONE_PASS = ("toeplitz", "oja")  # one repetition, at most 16,000 rows; d = 50: 4,000
EXACTNESS_PREFERENCE = 1.1  # of the best solver
MILLION = 1_000_000  # rows of a pass
SHOWN = (10, 50)  # d in the table

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
        1.0, delta, neighbours="replace", row_norm=1.0, target_bounds=(-WIDTH, 1 + WIDTH),
        solver="stochastic" if is_pass else solver, noise=solver if is_pass else "toeplitz", random_state=key,
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
    return any(found["auto"][0] > EXACTNESS_PREFERENCE * found[name][0] for name in ONE_PASS if name in found)


def cells_of(d: int, delta: float) -> dict[tuple[str, int], dict]:
    """Return what was measured of all rows at one d."""
    return {
        (kind, n): cell(kind, n, d, delta)
        for kind in KINDS
        for n in (n for n, repeats in zip(COUNTS, REPEATS[d, delta], strict=True) if repeats)
    }


def table(found: dict[tuple[int, float], dict], shown: int) -> list[str]:
    """Return the table at one number of rows and two d."""
    lines = [f"| δ = {DELTA:g} | d | X = 0 | {' | '.join(SOLVERS)} |", "|---|---:|---:|" + "---:|" * len(SOLVERS)]
    for (d, delta), cells in found.items():
        for (kind, n), result in cells.items():
            if delta and d in SHOWN and n == shown and kind in ("isotropic", "planted"):
                texts = (text(result.get(name)) for name in SOLVERS)
                lines.append(f"| {kind} | {d} | {np.mean(result['X = 0']):.2g} | {' | '.join(texts)} |")
    return lines


def million(d: int) -> str:
    """Return the time of one pass over a million rows for each of two ways to find extreme points."""
    data, others = made_twice("planted", MILLION, d, 0)
    found = []
    for solver in ONE_PASS:
        start = time.process_time()
        model = fitted(solver, data, DELTA, 0)
        seconds = time.process_time() - start
        of_processor = " of processor time" * (not found)
        found.append(f"{solver} {seconds:.0f} s{of_processor}, excess {excess(model.coef_, others):.2g}")
        print(found[-1], flush=True)
    return f"One pass over {MILLION:,} planted rows with d = {d}: {'; '.join(found)}."


def near_the_best(found: dict[tuple[int, float], dict], is_pure: bool) -> tuple[str, str]:
    """Return how often `auto` is near the best solver of all rows, and its largest ratio to it."""
    ratios = [
        over_best(result) for (_, delta), cells in found.items() if (delta == 0) == is_pure for result in cells.values()
    ]
    ratio, error = max(ratios)
    return (
        f"{sum(ratio <= EXACTNESS_PREFERENCE for ratio, _ in ratios)} of {len(ratios)} cells",
        f"{ratio:.2f} ± {error:.2f} times",
    )


def summary(found: dict[tuple[int, float], dict]) -> list[str]:
    (near, most), (near_pure, most_pure) = (near_the_best(found, is_pure) for is_pure in (False, True))
    tried = [cell for cells in found.values() for cell in cells.values() if ONE_PASS[0] in cell]
    counts = ", ".join(f"{n:,}" for n in COUNTS[:-1])
    return [
        f"Over all n ({counts} and {COUNTS[-1]:,}), `auto` is within 10 % of the best solver of all rows in {near} "
        f"with δ = {DELTA:g}, where it is at most\n{most} as bad, and in {near_pure} with pure ε, at most {most_pure}. "
        f"One pass, tried once, is a tenth better than `auto` in {sum(map(beaten_once, tried))} of {len(tried)} cells."
    ]


def main() -> None:
    start = time.perf_counter()
    found = {(d, delta): cells_of(d, delta) for d, delta in REPEATS}
    lines = [*table(found, COUNTS[1]), "", *summary(found)]
    pages.put("matrices", "trace_rows", [*lines, million(50)])
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
