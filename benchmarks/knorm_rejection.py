"""What does K-norm noise without a walk cost, by rejection from the box around the body?

Random signs (d, n = 10·d) at ε = 1: expected errors beside the best other pure mechanism, trials and processor time of
a draw, and of a draw by the walk for δ = 1e-9; what a walk with a proof would cost. Prints the tables and writes
docs/benchmarks/knorm.md.

    python benchmarks/knorm_rejection.py
"""

import math
import time
from collections.abc import Callable

import numpy as np
import pages

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms import KNorm
from gaugedp.samplers.rejection import RejectionNoise

RANKS, DRAWS = (9, 10, 12, 15, 20), 20
ONE = gd.PureDP(1.0)


def seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def row(d: int) -> str:
    signs = np.random.default_rng(1).integers(0, 2, (d, 10 * d)) * 2.0 - 1
    body = gd.bodies.Polytope.symmetric_hull(signs)
    walked, pure = KNorm.calibrate(body, ONE), KNorm.calibrate(body, ONE, walk=False)
    other = min(kind.calibrate(body, ONE).error() for kind in (gd.Cube, gd.Laplace, gd.EllipsoidNoise))
    error = pure.error()
    assert isinstance(pure.noise, RejectionNoise)
    _ = walked.steps
    by_rejection = seconds(lambda: pure.releasable(DRAWS, research_rng(1))) / DRAWS
    by_walk = seconds(lambda: walked.releasable(1, research_rng(1)))
    times = f"{pure.noise.expected_trials:.3g} | {by_rejection:.2g} | {walked.steps:,} | {by_walk:.2g}"
    return f"| {d} x {10 * d} | {error:.3g} | {other:.3g} | {times} |"


def proximal(d: int) -> str:
    """Return the steps of a bound: from a χ² of 1 and the least half width of 1,000 directions, at best."""
    signs = np.random.default_rng(1).integers(0, 2, (d, 10 * d)) * 2.0 - 1
    body = gd.bodies.Polytope.symmetric_hull(signs)
    directions = np.random.default_rng(2).normal(size=(1000, d))
    width = float((body.support(directions) / np.linalg.norm(directions, axis=1)).min())
    constant = 4 / 3 * (d + 1) * (d + 2) * float((body.support(np.eye(d)) ** 2).sum())
    steps = constant * 4 * d / width**2 * math.log((1 + math.e) / 2e-9)
    gauge = seconds(lambda: body.gauge(directions[:20])) / 20
    return (
        f"For a body of {d} x {10 * d}, it needs at least {steps:.2g} steps for δ = 10⁻⁹, which take "
        f"{2 * steps * gauge / 3600:.2g} hours a draw."
    )


def main() -> None:
    head = "| d x n | KNorm | other pure noise | trials | rejection, s | steps of the walk | walk, s |"
    pages.put("knorm", "rejection", [head, "|---|---:|---:|---:|---:|---:|---:|", *map(row, RANKS)])
    pages.put("knorm", "proximal", [proximal(RANKS[-1])])


if __name__ == "__main__":
    main()
