"""How does the excess risk on the nuclear ball fall with the number of rows, method by method?

y = ⟨zzᵀ, uuᵀ⟩ + noise, clipped to [0, 1], rows z on the unit sphere at a uniform angle to u, X ⪰ 0 with tr X ≤ 1:
squared loss with L₀ = L₁ = 1 and gradients of rank one. ε = 1, δ = 1e-6, rows are replaced. Population excess, from
200,000 other rows. Then the same with a truth of three directions. Writes docs/benchmarks/nuclear_ball.md and
docs/images/nuclear_ball.svg; takes some six minutes on a core of its own, ten beside others.

    python benchmarks/nuclear_ball.py
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.estimators.trace_regression import TraceRegression
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization.spectraplex import Spectraplex
from gaugedp.optimization.stochastic_frank_wolfe import StochasticFrankWolfe
from gaugedp.optimization.trace_designs import RankOne, TraceProblem, TraceScale

DOCS = Path(__file__).parents[1] / "docs"
EPSILON, DELTA = 1.0, 1e-6
COLUMNS, ROWS, REPEATS = (10, 40), (1_024, 4_096, 16_384, 65_536), 3
TARGETS = {("descent", 10, 4_096): 1e-3, ("descent", 40, 16_384): 6e-4}
NAMES = {
    "descent": "projected noisy descent",
    "frank_wolfe": "full-batch Frank–Wolfe",
    "oja": "one pass, Oja's direction",
    "toeplitz": "one pass, Toeplitz root",
    "printed": "one pass, Toeplitz root, Δ as printed",
}
MOST = {"printed": 4_096}  # rows
SEVERAL = ("descent", "frank_wolfe", "oja", "toeplitz")  # for a truth of three directions
LEAST = 1e-5  # what the plot shows


def made(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    direction = np.linalg.qr(np.random.default_rng(100 + d).standard_normal((d, d)))[0][:, 0]
    angle = rng.random(n) * math.pi / 2
    away = rng.standard_normal((n, d))
    away -= np.outer(away @ direction, direction)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    rows = np.cos(angle)[:, None] * direction + np.sin(angle)[:, None] * away
    return rows, np.clip(np.cos(angle) ** 2 + 0.2 * rng.standard_normal(n), 0, 1)


def made_of_three(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y = ⟨zzᵀ, Σ w_i·u_iu_iᵀ⟩ + noise, w = (0.5, 0.3, 0.2): the optimum is inside a face of rank three."""
    frame = np.linalg.qr(np.random.default_rng(200 + d).standard_normal((d, d)))[0][:, :3]
    rows = rng.standard_normal((n, 3)) @ frame.T + rng.standard_normal((n, d)) / math.sqrt(d)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, np.clip((rows @ frame) ** 2 @ [0.5, 0.3, 0.2] + 0.1 * rng.standard_normal(n), 0, 1)


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
    model = TraceRegression(EPSILON, DELTA, row_norm=1.0, target_bounds=(0, 1), solver=solver, noise=noise)
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


def lines_of(d: int, found: dict[str, list[tuple[float, float, float]]], start: float) -> list[str]:
    lines = [
        f"## d = {d}: X = 0 has an excess of {start:.3f}",
        "",
        "| method | " + " | ".join(f"{n:,}" for n in ROWS) + f" | slope, last two | seconds at {ROWS[-1]:,} |",
        "|---" * (len(ROWS) + 3) + "|",
    ]
    for name, column in found.items():
        cells = [f"{mean:.2g} ± {error:.1g}" for mean, error, _ in column] + ["–"] * (len(ROWS) - len(column))
        (before, *_), (last, _, seconds) = column[-2:]
        slope = math.log(last / before) / math.log(ROWS[-1] / ROWS[-2]) if min(last, before) > 0 else math.nan
        is_whole = len(column) == len(ROWS)
        cells += ["–" if max(last, before) < 20 * LEAST or not is_whole else f"{slope:.2f}"]
        cells += [f"{seconds:.1f}" if is_whole else "–"]
        lines.append(f"| {NAMES[name]} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def several(d: int) -> list[str]:
    """The same for a truth of three directions."""
    rows, target = made_of_three(200_000, d, np.random.default_rng(d))
    least = risk(optimum(rows, target), rows, target)
    start = risk(np.zeros((d, d)), rows, target) - least
    counts = ROWS[1:3]
    lines = [
        f"## Three directions, d = {d}: X = 0 has an excess of {start:.3f}",
        "",
        "| method | " + " | ".join(f"{n:,}" for n in counts) + " |",
        "|---" * (len(counts) + 1) + "|",
    ]
    for name in SEVERAL:
        cells = []
        for n in counts:
            data = [made_of_three(n, d, np.random.default_rng((n, d, key))) for key in range(REPEATS)]
            excess = [risk(fitted(name, *one), rows, target) - least for one in data]
            cells.append(f"{np.mean(excess):.2g} ± {np.std(excess, ddof=1) / math.sqrt(REPEATS):.1g}")
        lines.append(f"| {NAMES[name]} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def targets_of(tables: dict[int, dict[str, list[tuple[float, float, float]]]]) -> list[str]:
    lines = ["| | measured | target |", "|---|---|---|"]
    for (name, d, n), target in TARGETS.items():
        mean = tables[d][name][ROWS.index(n)][0]
        lines.append(f"| {NAMES[name]}, d = {d}, n = {n:,}: excess | {mean:.2g} | at most {target:g} |")
    for d, result in tables.items():
        (before, *_), (last, *_) = result["toeplitz"][-2:]
        slope = math.log(last / before) / math.log(ROWS[-1] / ROWS[-2])
        name = NAMES["toeplitz"]
        lines.append(f"| {name}, d = {d}: slope from {ROWS[-2]:,} to {ROWS[-1]:,} rows | {slope:.2f} | at most −0.8 |")
    return lines


def plot(tables: dict[int, dict[str, list[tuple[float, float, float]]]]) -> None:
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
    start, lines = time.perf_counter(), []
    tables = {}
    for d in COLUMNS:
        tables[d], zero = table(d)
        lines += lines_of(d, tables[d], zero)
    lines += several(COLUMNS[0])
    plot(tables)
    head = [
        "# The nuclear ball: excess risk against the number of rows",
        "",
        "y = ⟨zzᵀ, uuᵀ⟩ + noise in [0, 1], X ⪰ 0, tr X ≤ 1, squared loss, gradients of rank one. ε = 1, δ = 1e-6, rows "
        f"are replaced. Means ± standard errors of {REPEATS} repetitions, fresh noise; population excess over the "
        "optimum of 200,000 other rows, which is itself off by about 1e-5 (so entries near that mean nothing, and some "
        f"are negative). Python {sys.version.split()[0]}, numpy {np.__version__}. "
        "Written by `benchmarks/nuclear_ball.py`.",
        "",
        "![excess risk against rows](../images/nuclear_ball.svg)",
        "",
        *targets_of(tables),
        "",
    ]  # fmt: skip
    tail = [
        "*Δ as printed* is 2η(2L₁ + L₀) for an increment; for the squared "
        "loss 2ηL₀ is enough ([proof](../theory/stochastic_frank_wolfe.md)), which all other lines use. One pass "
        "over the rows loses to descent on all of them at every n, however its noise is correlated. *Oja's direction* "
        "is one vector that follows the lowest direction of the running gradient by one noisy product a step, and "
        "averages the noise of up to a tenth of 1/η steps: where the truth is one direction it is far ahead of noise "
        "on gradients, where it has three it follows slowly, and more rows hardly help. Full-batch "
        "Frank–Wolfe takes a single step at d = 40, n = 1,024, to a vertex, and the truth here is a vertex: no sign of "
        "how it does elsewhere. Seconds are those of one fit, on a machine that others used too.",
    ]  # fmt: skip
    print(f"{time.perf_counter() - start:.0f} s")
    (DOCS / "benchmarks" / "nuclear_ball.md").write_text("\n".join(head + lines + tail) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
