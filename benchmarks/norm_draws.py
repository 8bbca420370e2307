"""How long does a draw of the Gibbs sampler take, and how often does it look at a loss?

Logistic loss, 1,000 rows of random signs in the dual ball, ε = 1, δ = 1e-6. Then the hinge loss in ℓ₂ with 10 weights,
by values of single losses and by looks at whole tables. Writes docs/benchmarks/regression.md; some eight minutes.

    python benchmarks/norm_draws.py
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pages

import gaugedp as gd
from gaugedp.optimization import Geometry, Gibbs, Hinge, Logistic
from gaugedp.optimization.geometry import NormedSet
from gaugedp.optimization.posterior import Posterior
from gaugedp.optimization.value_loss import ValueLoss

GUARANTEE = gd.ApproxDP(1.0, 1e-6)
DRAWS = [  # geometry, whether in the norm's ball, how many steps are run: all, or the first
    ("ℓ₁, d = 100", Geometry((100,), 1), True, None),
    ("ℓ₁, d = 1,000", Geometry((1000,), 1), True, None),
    ("Schatten 1, 30 × 30, Frobenius ball, q = 2", Geometry((30, 30), 1, q=2), False, None),
    ("Schatten 1, 30 × 30, the default", Geometry((30, 30), 1), True, None),
    ("Schatten 1, 30 × 30, q of the least bound", Geometry((30, 30), 1, q=Geometry((30, 30), 1).exponent), True, 1000),
    ("Schatten 1, 30 × 30, q = 2", Geometry((30, 30), 1, q=2), True, None),
]
DIMENSION, SIZES, FORMULA = 10, (10_000, 100_000), 5.5e11  # (kG)²/(kμ)·log² of the source at n = 1e5; it grows as n²
VALUE_STEPS, TABLE_STEPS = 3000, 300


def table(geometry: NormedSet, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of dual norm 1, and signs that hang on the first column."""
    rng = np.random.default_rng(geometry.ambient_dim)
    rows = rng.choice([-1.0, 1.0], (n_rows, geometry.ambient_dim))
    rows /= geometry.dual_norm(rows)[:, None]
    return rows, np.where(rng.random(n_rows) < 0.5 + 0.3 * np.sign(rows[:, 0]), 1.0, -1.0)


def draw_line(name: str, geometry: Geometry, in_ball: bool, first: int | None) -> str:
    """Return a row: steps, seconds and the bound."""
    mechanism = Gibbs.calibrate(geometry, Logistic(), 1000, GUARANTEE, in_ball=in_ball)
    rows, labels = table(geometry, 1000)
    sampler = mechanism.walk.sampler(mechanism.posterior(rows, labels), mechanism._pace)
    steps = mechanism.steps if first is None else first
    sampler.draw((1, geometry.ambient_dim), 3, gd.research_rng(1))  # compiles, where numba is installed
    start = time.process_time()
    sampler.draw((1, geometry.ambient_dim), steps, gd.research_rng(1))
    seconds = (time.process_time() - start) * mechanism.steps / steps
    cells = (name, f"{mechanism.steps:,}", f"{seconds:,.1f}", f"{mechanism.risk_bound():.3g}")
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def hinge(weights: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The hinge loss of pairs."""
    return np.maximum(0.0, 1 - labels * (weights * rows).sum(axis=1))


@dataclass(frozen=True, eq=False)
class CountedPotential:
    """A potential that counts the rows that it looks at."""

    posterior: Posterior
    looks: list[int] = field(default_factory=list)

    def _count(self, method: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
        self.looks.append(len(points) * len(self.posterior.rows))
        return method(points)

    def value(self, points: np.ndarray) -> np.ndarray:
        """See Potential."""
        return self._count(self.posterior.value, points)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """See Potential."""
        return self._count(self.posterior.gradient, points)


def values_per_step(mechanism: Gibbs) -> float:
    """Return how many values of single losses a step asks for, on average over the last half of a walk."""
    sampler = mechanism._query_sampler(*table(mechanism.geometry, mechanism.n_rows), ValueLoss(hinge, 1.0))
    rng = gd.research_rng(2)
    point = sampler.draw(mechanism.walk.start, VALUE_STEPS // 2, rng)
    before = sampler.queries.total
    sampler.draw(point, VALUE_STEPS // 2, rng)
    return (sampler.queries.total - before) / (VALUE_STEPS // 2)


def looks_per_step(mechanism: Gibbs) -> float:
    """Return how many rows a step of the library's hinge loss looks at."""
    potential = CountedPotential(mechanism.posterior(*table(mechanism.geometry, mechanism.n_rows)))
    sampler = replace(mechanism.walk.sampler(potential.posterior, mechanism._pace), potential=potential)
    sampler.draw((1, DIMENSION), TABLE_STEPS, gd.research_rng(3))
    return sum(potential.looks) / TABLE_STEPS


def hinge_line(n_rows: int) -> str:
    """Return a row: the bound on values, what a walk asks for, and the library's looks."""
    geometry = Geometry((DIMENSION,), 2)
    by_value = Gibbs.calibrate(geometry, hinge, n_rows, GUARANTEE, lipschitz=1.0)
    by_table = Gibbs.calibrate(geometry, Hinge(), n_rows, GUARANTEE)
    formula = FORMULA * (n_rows / SIZES[-1]) ** 2
    measured = values_per_step(by_value) * by_value.steps
    looks = looks_per_step(by_table) * by_table.steps
    figures = (by_value.query_bound, measured, looks, formula)
    cells = (f"{n_rows:,}", *(f"{figure:.2g}" for figure in figures))
    print(*cells, flush=True)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Write the page."""
    head = "| geometry | steps | processor s | bound on the mean excess risk |"
    pages.put("regression", "draws", [head, "|---|---:|---:|---:|", *(draw_line(*case) for case in DRAWS)])
    head = (
        "| rows | certified values | measured values | row evaluations by `Hinge`, measured | published formula, "
        "constant 1 |"
    )
    pages.put("regression", "hinge", [head, f"|{'---:|' * 5}", *(hinge_line(n_rows) for n_rows in SIZES)])


if __name__ == "__main__":
    main()
