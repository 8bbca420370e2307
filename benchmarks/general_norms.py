"""How large is the risk of the Gibbs sampler in other norms, how does it grow, and who beats it?

Logistic loss, rows of dual norm 1, labels drawn from a logistic model of norm 2.4; weights in the norm's ball of radius
3, ε = 4, δ = 1e-6, rows are replaced. "Risk": the mean loss of the rows, less its least value on the ball; means of 8
draws on one table, ± standard errors. All others work in ℓ₂, with rows and ball scaled to hold the norm's, and
are pulled back to the ball; Frank–Wolfe is for ℓ₁. "Bound": what is proved of the mean. "Risk at 0" is that of no
weights at all. Writes docs/benchmarks/general_norms.md; some minutes of one core.

    python benchmarks/general_norms.py
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization import FrankWolfe, Geometry, Gibbs, Logistic, frank_wolfe
from gaugedp.optimization.gradient import NoisyDescent, Scale
from gaugedp.optimization.objective_perturbation import ObjectivePerturbation, Problem
from gaugedp.optimization.posterior import Posterior

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "general_norms.md"
RADIUS, TABLES, DRAWS, ASKED = 3.0, 1, 8, gd.ApproxDP(4.0, 1e-6)
SIZES, DIMENSIONS, MIDDLE = (250, 500, 1000), (4, 8, 16), (500, 8)
NORMS = {"ℓ₁": 1.0, "ℓ₂": 2.0}


def table(geometry: Geometry, n: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((key, n, geometry.ambient_dim))
    weights = rng.standard_normal((1, geometry.ambient_dim))
    weights *= 0.8 * RADIUS / geometry.norm(weights)
    rows = rng.standard_normal((n, geometry.ambient_dim))
    rows /= geometry.dual_norm(rows)[:, None]
    return rows, np.where(rng.random(n) < 1 / (1 + np.exp(-rows @ weights[0])), 1.0, -1.0)


def minimum(loss: Posterior) -> float:
    """The least mean loss on the ball, from above: Frank-Wolfe steps with a search along each."""
    geometry, point = loss.geometry, np.zeros((1, loss.geometry.ambient_dim))
    dual = Geometry(geometry.shape, geometry.dual_exponent)
    shares = np.concatenate([[0.0], np.geomspace(1e-4, 1, 24)])[:, None]
    for _ in range(300):
        vertex = -RADIUS * dual.normal(loss.gradient(point))
        line = (1 - shares) * point + shares * vertex
        point = line[loss.value(line).argmin()][None]
    return float(loss.value(point)[0])


def pulled(geometry: Geometry, weights: np.ndarray) -> np.ndarray:
    return weights * np.minimum(1, RADIUS / np.maximum(geometry.norm(weights), 1e-300))[:, None]


def descended(geometry: Geometry, rows: np.ndarray, targets: np.ndarray, key: int) -> np.ndarray:
    reach, radius = geometry.row_reach, geometry.outer.radius
    guarantee = gd.GaussianDP(gaussian_mu(ASKED.epsilon_value, ASKED.delta_value))
    method = NoisyDescent.calibrate(guarantee, (1, rows.shape[1]), 1.0, Scale(radius * reach, len(rows), True))
    slopes = lambda z, y: Logistic().derivative(z[:, 0], y)[:, None]  # noqa: E731
    return method.solve((rows / reach, targets), slopes, len(rows), gd.research_rng(key))[0] / reach


def perturbed(geometry: Geometry, rows: np.ndarray, targets: np.ndarray, key: int) -> np.ndarray:
    reach, radius = geometry.row_reach, geometry.outer.radius
    problem = Problem(Logistic(), rows.shape[1], radius * reach, True, 0.0)
    method = ObjectivePerturbation.calibrate(problem, ASKED, len(rows))
    return method.solve(rows / reach, targets, gd.research_rng(key)).ravel() / reach


def by_frank_wolfe(geometry: Geometry, rows: np.ndarray, targets: np.ndarray, key: int) -> np.ndarray:
    assert geometry.p == 1
    method = FrankWolfe.calibrate(len(rows), rows.shape[1], Logistic(), RADIUS, ASKED, "replace")
    return frank_wolfe(rows, targets, Logistic(), RADIUS, method, gd.research_rng(key))


OTHERS = {"descent": descended, "objective": perturbed, "Frank–Wolfe": by_frank_wolfe}


@dataclass(frozen=True)
class Cell:
    """Risks of all methods on a geometry's tables of n rows, (tables, draws) each."""

    mechanism: Gibbs
    risks: dict[str, np.ndarray]
    zero: float
    seconds: float

    def mean(self, name: str) -> float:
        return float(self.risks[name].mean())

    def shown(self, name: str) -> str:
        if name not in self.risks:
            return "–"
        parts = self.risks[name]
        return f"{parts.mean():.4f} ± {parts.std(ddof=1) / math.sqrt(parts.size):.4f}"


def measured(p: float, n: int, d: int) -> Cell:
    geometry = Geometry((d,), p, RADIUS)
    mechanism = Gibbs.calibrate(geometry, Logistic(), n, ASKED)
    names = ["Gibbs", *(name for name in OTHERS if p == 1 or name != "Frank–Wolfe")]
    risks: dict[str, list[np.ndarray]] = {name: [] for name in names}
    zeros, seconds = [], 0.0
    for key in range(TABLES):
        rows, targets = table(geometry, n, key)
        judge = Posterior(rows, targets, Logistic(), geometry, 1 / n, 0.0)
        least, start = minimum(judge), time.process_time()
        drawn = {"Gibbs": mechanism.draw(rows, targets, DRAWS, gd.research_rng(key))}
        seconds += time.process_time() - start
        for name in names[1:]:
            drawn[name] = np.array([OTHERS[name](geometry, rows, targets, DRAWS * key + i) for i in range(DRAWS)])
        for name in names:
            risks[name].append(judge.value(pulled(geometry, drawn[name])) - least)
        zeros.append(math.log(2) - least)
    return Cell(mechanism, {k: np.array(v) for k, v in risks.items()}, float(np.mean(zeros)), seconds / TABLES / DRAWS)


def slope(sizes: tuple[int, ...], cells: list[Cell]) -> str:
    return f"{np.polyfit(np.log(sizes), np.log([cell.mean('Gibbs') for cell in cells]), 1)[0]:.2f}"


def line(name: str, n: int, d: int, cell: Cell) -> str:
    shown = " | ".join(cell.shown(method) for method in ("Gibbs", *OTHERS))
    bound, steps = cell.mechanism.risk_bound(), cell.mechanism.steps
    return f"| {name} | {d} | {n} | {shown} | {cell.zero:.4f} | {bound:.3f} | {steps:,} | {cell.seconds:.2f} |"


def main() -> None:
    about = " ".join((__doc__ or "").split("\n\n")[1].split()).split(" Writes")[0]
    lines = [
        f"# The Gibbs sampler in other norms\n\n{about}\n",
        "| norm | d | n | Gibbs | descent | objective | Frank–Wolfe | risk at 0 | bound | steps | s a draw |",
        f"|{'---|' * 11}",
    ]
    slopes: list[str] = []
    every: list[Cell] = []
    for name, p in NORMS.items():
        cells = {(n, MIDDLE[1]): measured(p, n, MIDDLE[1]) for n in SIZES}
        cells |= {(MIDDLE[0], d): measured(p, MIDDLE[0], d) for d in DIMENSIONS if d != MIDDLE[1]}
        lines += [line(name, n, d, cell) for (n, d), cell in sorted(cells.items(), key=lambda pair: pair[0][::-1])]
        print("\n".join(lines[-len(cells) :]), flush=True)
        by_n, by_d = [cells[n, MIDDLE[1]] for n in SIZES], [cells[MIDDLE[0], d] for d in DIMENSIONS]
        slopes.append(f"{name}: n^{slope(SIZES, by_n)}, d^{slope(DIMENSIONS, by_d)}")
        every += cells.values()
    worst = max(cell.mean("Gibbs") / cell.mechanism.risk_bound() for cell in every)
    wins = sum(min(cell.risks, key=cell.mean) == "Gibbs" for cell in every)
    lines += [
        "",
        f"Fitted exponents of the Gibbs sampler's risk: {'; '.join(slopes)}. The bound has n^-1 and, in ℓ₂, d^0.5.",
        f"Its risk is at most {worst:.2f} of its bound. Of all methods it has the least mean risk in {wins} of",
        f"{len(every)} lines. Risks are those of points of the ball, compared with the least value that 300 steps find.",
        "Processor time of one core, eight draws at a time. Written by `python benchmarks/general_norms.py`.",
    ]  # fmt: skip
    RESULT.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
