"""What does K-norm noise without a walk cost, by rejection from the box around the body?

Random signs (d, n = 10·d) at ε = 1: expected errors beside the best other pure mechanism, trials and processor time of
a draw, and of a draw by the walk for δ = 1e-9. Prints the table and writes docs/benchmarks/knorm.md.

    python benchmarks/knorm_rejection.py
"""

import time
from collections.abc import Callable

import numpy as np
import pages

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.mechanisms import KNorm
from gaugedp.samplers.rejection import RejectionNoise

RANKS, DRAWS = (10, 15, 20), 20
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
    times = f"{pure.noise.expected_trials:.3g} | {by_rejection:.2g} | {by_walk:.2g}"
    return f"| {d} x {10 * d} | {error:.3g} | {other:.3g} | {times} |"


def main() -> None:
    head = "| d x n | KNorm | other pure noise | trials | rejection, s | walk, s |"
    pages.put("knorm", "rejection", [head, "|---|---:|---:|---:|---:|---:|", *map(row, RANKS)])


if __name__ == "__main__":
    main()
