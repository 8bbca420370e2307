"""How large is the risk of the Gibbs sampler in the geometries of other norms, and how far below its bound is it?

Logistic loss, rows on the unit sphere of the dual norm, labels drawn from a logistic model of norm 2.4; d = 12, 3 × 4
matrices for Schatten norms; n = 1,000, δ = 1e-6, rows are replaced. Weights are drawn from the least Euclidean
ball around the norm's ball of radius 3 (`in_ball=False`), and from the norm's ball itself, the default. "ERM": the
mean loss of the rows, less its minimum on the norm's ball. "SCO": the mean loss of 5,000 new rows, less its minimum
there. Means of 24 draws, on 4 tables, ± standard errors. Writes docs/benchmarks/general_norms.md; some ten minutes.

    python benchmarks/general_norms.py
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gaugedp as gd
from gaugedp.bounds.convex import convex_risk
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.gibbs import Gibbs, Posterior
from gaugedp.optimization.losses import Logistic

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks" / "general_norms.md"
N, FRESH, RADIUS, TABLES, DRAWS = 1000, 5_000, 3.0, 4, 6
CASES, DELTA = [(1.0, "erm"), (1.0, "sco"), (4.0, "erm")], 1e-6
GEOMETRIES = [
    ("ℓ₁", Geometry((12,), 1, RADIUS)),
    ("ℓ₁.₅", Geometry((12,), 1.5, RADIUS)),
    ("ℓ₂", Geometry((12,), 2, RADIUS)),
    ("ℓ₄", Geometry((12,), 4, RADIUS)),
    ("ℓ_∞", Geometry((12,), math.inf, RADIUS)),
    ("Schatten 1", Geometry((3, 4), 1, RADIUS)),
    ("Schatten 2", Geometry((3, 4), 2, RADIUS)),
]


def truth(geometry: Geometry, rng: np.random.Generator) -> np.ndarray:
    weights = rng.standard_normal((1, geometry.ambient_dim))
    return 0.8 * RADIUS * weights[0] / geometry.norm(weights)


def table(geometry: Geometry, weights: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = rng.standard_normal((n, geometry.ambient_dim))
    rows /= geometry.dual_norm(rows)[:, None]
    return rows, np.where(rng.random(n) < 1 / (1 + np.exp(-rows @ weights)), 1.0, -1.0)


def mean_loss(rows: np.ndarray, targets: np.ndarray, geometry: Geometry) -> Posterior:
    return Posterior(rows, targets, Logistic(), geometry, 1 / len(rows), 0.0)


def minimum(loss: Posterior, geometry: Geometry) -> float:
    """The least mean loss on the ball, from above: Frank-Wolfe steps with a search along each."""
    point = np.zeros((1, geometry.ambient_dim))
    shares = np.concatenate([[0.0], np.geomspace(1e-4, 1, 24)])[:, None]
    for _ in range(200):
        vertex = -RADIUS * steepest(geometry, loss.gradient(point))
        line = (1 - shares) * point + shares * vertex
        point = line[loss.value(line).argmin()][None]
    return float(loss.value(point)[0])


def steepest(geometry: Geometry, slopes: np.ndarray) -> np.ndarray:
    """The point of norm 1 with the largest product: a subgradient of the dual norm."""
    return Geometry(geometry.shape, geometry.dual_exponent).normal(slopes)


@dataclass(frozen=True)
class Drawn:
    """Risks of the draws, shape (tables, draws); the share of them outside the norm's ball; the mean risk at 0."""

    risks: np.ndarray
    outside: float
    zero: float
    seconds: float

    def __str__(self) -> str:
        error = self.risks.mean(axis=1).std(ddof=1) / math.sqrt(TABLES)
        return f"{self.risks.mean():.4f} ± {error:.4f}"


def draw(mechanism: Gibbs) -> Drawn:
    geometry, risks, zeros, outside = mechanism.geometry, [], [], []
    start = time.perf_counter()
    for key in range(TABLES):
        rng = np.random.default_rng((key, geometry.ambient_dim))
        weights = truth(geometry, rng)
        rows, targets = table(geometry, weights, N, rng)
        judge = mean_loss(rows, targets, geometry)
        if mechanism.purpose == "sco":
            judge = mean_loss(*table(geometry, weights, FRESH, rng), geometry)
        least = minimum(judge, geometry)
        drawn = mechanism.draw(rows, targets, DRAWS, gd.research_rng(key))
        risks.append(judge.value(drawn) - least)
        zeros.append(math.log(2) - least)
        outside.append(geometry.norm(drawn) > RADIUS * (1 + 1e-6))
    seconds = (time.perf_counter() - start) / (TABLES * DRAWS)
    return Drawn(np.array(risks), float(np.mean(outside)), float(np.mean(zeros)), seconds)


def line(name: str, geometry: Geometry, epsilon: float, purpose: str) -> str:
    around, inside = (
        Gibbs.calibrate(geometry, Logistic(), N, gd.ApproxDP(epsilon, DELTA), purpose=purpose, in_ball=in_ball)
        for in_ball in (False, True)
    )
    first = draw(around)
    second = draw(inside) if geometry.p != 2 else first  # at p = 2 both are one set
    bound, printed = around.risk_bound(), convex_risk(geometry, N, epsilon, DELTA, purpose=purpose).printed
    ratio = max(first.risks.mean(), second.risks.mean()) / bound
    return (
        f"| {name} | {epsilon:g} | {purpose.upper()} | {first} | {first.outside:.0%} | {second} | {first.zero:.4f} | "
        f"{bound:.3f} | {ratio:.2f} | {printed:.3f} | {around.steps:,} | {first.seconds:.2f}, {second.seconds:.2f} |"
    )


def main() -> None:
    lines = [
        "# The Gibbs sampler in other norms\n", " ".join((__doc__ or "").split("\n\n")[1].split()).split(" Writes")[0],
        "", "| norm | ε | aim | risk, Euclidean ball | of it outside the norm's | risk, norm's ball | risk at 0 | "
        "bound | larger risk/bound | printed | steps | s a draw, each |", f"|{'---|' * 12}",
    ]  # fmt: skip
    for name, geometry in GEOMETRIES:
        for epsilon, purpose in CASES:
            lines.append(line(name, geometry, epsilon, purpose))
            print(lines[-1], flush=True)
    lines += [
        "",
        "The bound holds on both sets. A draw outside the norm's ball is compared with the minimum in it, so its risk",
        "may be below 0; in the norm's ball none is, but for how finely the minimum is found. At p = 2 both are one.",
        '"printed": what the source prints for its mechanism, which is less private than it says; "nan": it divides',
        "by 0. At p = 1 and p = ∞ the zero vector beats what ε = 1 buys for n = 1,000. Time is of a busy machine.",
        "Written by `python benchmarks/general_norms.py`.",
    ]
    RESULT.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
