"""How long does a draw of the Gibbs sampler take?

Logistic loss, 1,000 rows of random signs in the dual ball, ε = 1, δ = 1e-6. Writes docs/benchmarks/regression.md; some
five minutes.

    python benchmarks/norm_draws.py
"""

import time

import numpy as np
import pages

import gaugedp as gd
from gaugedp.optimization import Geometry, Gibbs, Logistic
from gaugedp.optimization.geometry import NormedSet

GUARANTEE = gd.ApproxDP(1.0, 1e-6)
DRAWS = [  # geometry, whether in the norm's ball, how many steps are run: all, or the first
    ("ℓ₁, d = 100", Geometry((100,), 1), True, None),
    ("ℓ₁, d = 1,000", Geometry((1000,), 1), True, None),
    ("Schatten 1, 30 × 30, Frobenius ball, q = 2", Geometry((30, 30), 1, q=2), False, None),
    ("Schatten 1, 30 × 30, the default", Geometry((30, 30), 1), True, None),
]


def table(geometry: NormedSet, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of dual norm 1, and signs that hang on the first column."""
    rng = np.random.default_rng(geometry.ambient_dim)
    rows = rng.choice([-1.0, 1.0], (n_rows, geometry.ambient_dim))
    rows /= geometry.dual_norm(rows)[:, None]
    return rows, np.where(rng.random(n_rows) < 0.5 + 0.3 * np.sign(rows[:, 0]), 1.0, -1.0)


def draw_line(name: str, geometry: Geometry, in_ball: bool, first: int | None) -> str:
    """Return the steps and the seconds of a draw."""
    mechanism = Gibbs.calibrate(geometry, Logistic(), 1000, GUARANTEE, in_ball=in_ball)
    rows, labels = table(geometry, 1000)
    sampler = mechanism.walk.sampler(mechanism.posterior(rows, labels), mechanism._pace)
    steps = mechanism.steps if first is None else first
    sampler.draw((1, geometry.ambient_dim), 3, gd.research_rng(1))  # compiles, where numba is installed
    start = time.process_time()
    sampler.draw((1, geometry.ambient_dim), steps, gd.research_rng(1))
    seconds = (time.process_time() - start) * mechanism.steps / steps
    words = f"{name}: {mechanism.steps:,} steps, {seconds:,.1f} s"
    print(words, f"{mechanism.risk_bound():.3g}", flush=True)
    return words


def main() -> None:
    """Write the page."""
    pages.put("regression", "draws", [f"- {draw_line(*case)}" for case in DRAWS])


if __name__ == "__main__":
    main()
