"""How does the excess risk on the nuclear ball fall with the number of rows, method by method?

y = ⟨zzᵀ, uuᵀ⟩ + noise, clipped to [0, 1], rows z on the unit sphere at a uniform angle to u, X ⪰ 0 with tr X ≤ 1:
squared loss with L₀ = L₁ = 1 and gradients of rank one. ε = 1, δ = 1e-6, rows are replaced. Population excess, from
200,000 other rows. Writes docs/benchmarks/matrices.md and
docs/images/nuclear_ball.svg; takes some six minutes on a core of its own, ten beside others.

    python benchmarks/nuclear_ball.py
"""

import math
import time
from pathlib import Path

import numpy as np
import pages

import gaugedp as gd
from gaugedp.estimators.trace_regression import TraceRegression
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.spectraplex import Spectraplex
from gaugedp.optimization.stochastic_frank_wolfe import StochasticFrankWolfe
from gaugedp.optimization.trace_designs import RankOne, TraceProblem, TraceScale

DOCS = Path(__file__).parents[1] / "docs"
EPSILON, DELTA = 1.0, 1e-6
COLUMNS, ROWS, REPEATS = (10, 40), (1_024, 4_096, 16_384, 65_536), 3
NAMES = {
    "descent": "projected noisy descent",
    "frank_wolfe": "full-batch Frank–Wolfe",
    "oja": "one pass, Oja's direction",
    "toeplitz": "one pass, Toeplitz root",
    "printed": "one pass, Toeplitz root, Δ as published",
}
MOST = {"printed": 4_096}  # rows
LEAST = 1e-5  # what the plot shows


def made(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    direction = np.linalg.qr(np.random.default_rng(100 + d).standard_normal((d, d)))[0][:, 0]
    angle = rng.random(n) * math.pi / 2
    away = rng.standard_normal((n, d))
    away -= np.outer(away @ direction, direction)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    rows = np.cos(angle)[:, None] * direction + np.sin(angle)[:, None] * away
    return rows, np.clip(np.cos(angle) ** 2 + 0.2 * rng.standard_normal(n), 0, 1)


def risk(point: np.ndarray, rows: np.ndarray, target: np.ndarray) -> float:
    return float(np.mean((((rows @ point) * rows).sum(axis=1) - target) ** 2) / 2)


def optimum(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Accelerated projected gradient descent without noise."""
    region = Spectraplex(rows.shape[1])
    point = ahead = np.zeros(region.shape)
    for step in range(200):
        slopes = ((rows @ ahead) * rows).sum(axis=1) - target
        after = region.projection(ahead - (rows.T * slopes) @ rows / len(rows))
        ahead = after + step / (step + 3) * (after - point)
        point = after
    return point


def fitted(name: str, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    if name == "printed":
        return printed(rows, target)
    solver = name if name in ("descent", "frank_wolfe") else "stochastic"
    noise = "toeplitz" if name == solver else name
    model = TraceRegression(
        EPSILON, DELTA, neighbours="replace", row_norm=1.0, target_bounds=(0, 1), solver=solver, noise=noise
    )
    return model.fit(rows, target).coef_


def printed(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """2η(2L₁ + L₀) for the sensitivity of an increment, not 2ηL₀."""
    designs = RankOne(rows * (1 - 2.0**-40))
    scale = TraceScale(designs.region, len(rows), 1.0, designs.prediction_range)
    guarantee = gd.GaussianDP(gaussian_mu(EPSILON, DELTA))
    method = StochasticFrankWolfe.calibrate(guarantee, scale, "toeplitz", 3.0)
    problem = TraceProblem(designs, target, lambda predictions, goal: predictions - goal)
    return method.solve(problem, len(problem.target), gd.entropy.system_rng())


def table(d: int) -> tuple[dict[str, list[tuple[float, float, float]]], float]:
    """Return mean excess, its standard error and seconds, by method and number of rows; and the excess of X = 0."""
    rows, target = made(200_000, d, np.random.default_rng(d))
    least = risk(optimum(rows, target), rows, target)
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in NAMES}
    for n in ROWS:
        for name, column in results.items():
            if n > MOST.get(name, ROWS[-1]):
                continue
            start, excess = time.perf_counter(), []
            for key in range(REPEATS):
                data = made(n, d, np.random.default_rng((n, d, key)))
                excess.append(risk(fitted(name, *data), rows, target) - least)
            error = float(np.std(excess, ddof=1)) / math.sqrt(REPEATS)
            column.append((float(np.mean(excess)), error, (time.perf_counter() - start) / REPEATS))
            print(d, n, name, column[-1], flush=True)
    return results, risk(np.zeros((d, d)), rows, target) - least


Found = dict[str, list[tuple[float, float, float]]]  # mean excess, its standard error and seconds, by rows


def of_zero(zeros: dict[int, float]) -> str:
    """Return a sentence on the excesses of X = 0."""
    return f"X = 0 has an excess of {' and '.join(f'{zero:.3f} (d = {d})' for d, zero in zeros.items())}."


def plot(tables: dict[int, Found]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "nuclear_ball", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(tables), figsize=(9, 4), sharey=True, layout="constrained")
    for axis, (d, result) in zip(axes, tables.items(), strict=True):
        for name, column in result.items():
            means = [max(mean, LEAST) for mean, _, _ in column]
            axis.loglog(ROWS[: len(means)], means, marker="o", markersize=3, label=NAMES[name])
        axis.loglog(ROWS[1:], [0.1 * ROWS[1] / n for n in ROWS[1:]], color="grey", linestyle=":", label="slope −1")
        axis.set(title=f"d = {d}", xlabel="rows", xticks=ROWS, xticklabels=[f"{n:,}" for n in ROWS])
        axis.minorticks_off()
    axes[0].set_ylabel("excess risk")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(DOCS / "images" / "nuclear_ball.svg", metadata={"Date": None})


def main() -> None:
    start = time.perf_counter()
    found = {d: table(d) for d in COLUMNS}
    tables = {d: each for d, (each, _) in found.items()}
    plot(tables)
    pages.put("matrices", "nuclear_ball", [of_zero({d: zero for d, (_, zero) in found.items()})])
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
