"""What does an exact draw in many dimensions cost, beside the same noise in floats, which is rounded and not exact?

Each cell is the least processor time over rounds in which both take turns. Checks that a draw on the counts' lattice
costs at most 1.5 times the floats'. Prints a table and writes docs/benchmarks/noise.md.

With several threads of linear algebra and other work on the machine, products of matrices wait for each other.

    OPENBLAS_NUM_THREADS=1 python benchmarks/exact_noise.py
"""

import math
import sys
import time
from collections.abc import Callable

import numpy as np
import pages

import gaugedp as gd
from gaugedp.bodies import BoxHull, Ellipsoid, LpBall, Polytope, image
from gaugedp.entropy import system_rng
from gaugedp.mechanisms.unit_draws import drawn
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.reals import RealFunction, rounded_draws

ROUNDS = 60
MOST = 1.5
COUNTS, FINE = 40.0, 2.0**12  # steps to a unit of the noise: of counts, and of real answers for each dimension
CUBES = [(1, COUNTS), (3, COUNTS), (10, COUNTS), (100, COUNTS), (2000, COUNTS), (100, 100 * FINE), (2000, 2000 * FINE)]
PREFIXES = (8, 40, 120)
SHAPES = {
    "facets, six directions": Polytope.symmetric_hull(
        np.array([[1.0, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1], [0, 0, 1, 0, 1, 1]])
    ),
    "octahedron": LpBall(10, 1),
    "Euclidean ball": LpBall(10, 2),
    "ball of p = 1.5": LpBall(3, 1.5),
    "ball of p = 1.5, ten answers": LpBall(10, 1.5),
    "ball of p = 3": LpBall(10, 3),
    "ball of p = 4, units of their own": image(LpBall(3, 4), np.diag([1.0, 2.0, 5.0])),
    "sums": BoxHull.of(np.zeros(12), np.ones(12)),
    "ellipsoid": Ellipsoid(np.eye(6) + 0.5),
}
NUMBERS = 10**6  # in a call
RNG = system_rng()

Act = Callable[[], object]


def in_turns(acts: list[Act]) -> list[float]:
    """Return the least processor seconds of each act; they take turns, after one unmeasured round."""
    times: list[list[float]] = [[] for _ in acts]
    for turn in range(ROUNDS + 1):
        for act, seen in zip(acts, times, strict=True):
            start = time.process_time()
            act()
            if turn:
                seen.append(time.process_time() - start)
    return [min(seen) for seen in times]


def row(name: str, law: RealFunction, floats: Callable[[int], np.ndarray], scale: float) -> tuple[str, float]:
    """Return a label, and how many times slower the exact draw is."""
    size, lattice = max(100, NUMBERS // 10 // law.n_reals), np.array([scale])
    old: Act = lambda: np.rint(floats(size) * scale).astype(np.int64)  # noqa: E731
    before, exact = in_turns([old, lambda: rounded_draws(law, size, lattice, RNG)])
    kind = "real answers" if scale > 100 * COUNTS else "answers"
    label = f"{name.removesuffix(', ten answers')}, {law.d:,} {kind if law.d > 1 else 'answer'}"
    print(label, f"{exact * 1e6 / size:.3g} µs", f"{exact / before:.2f}", flush=True)
    return label, exact / before


def rows() -> list[tuple[bool, str, float]]:
    """Return whether it is on a lattice of counts, the label and the ratio for each case."""
    results = []
    for d, scale in CUBES:
        cube = gauge_noise(LpBall(d, math.inf))
        assert cube.law is not None
        results.append((scale == COUNTS, *row("Cube", cube.law, lambda size, cube=cube: cube.draw(size, RNG), scale)))
    for name, body in SHAPES.items():
        noise = gauge_noise(body)
        assert noise.law is not None
        results.append((True, *row(f"K-norm, {name}", noise.law, lambda n, noise=noise: noise.draw(n, RNG), COUNTS)))
    for n in PREFIXES:
        query = gd.workload(np.tril(np.ones((n, n), dtype=int)).tolist(), gd.Domain.of(x=gd.integers(1, n)))
        mechanism = gd.Matrix.calibrate(query.sensitivity(gd.PrivacyUnit()), gd.PureDP(0.1))
        strategy = mechanism.strategy
        assert strategy.law is not None
        floats = lambda size, strategy=strategy: drawn(strategy, size, False, RNG)  # noqa: E731
        results.append((True, *row("Matrix, prefix sums", strategy.law, floats, mechanism.scale)))
    return results


def main() -> int:
    result = rows()
    draw([label for _, label, _ in result], [ratio for *_, ratio in result])
    counts = [ratio for is_counts, _, ratio in result if is_counts]
    most = max(ratio for *_, ratio in result)
    lines = [
        f"Ratios are between {min(counts):.2f} and {max(counts):.2f} for counts, and at most {most:.2f} for real "
        f"answers. Least processor time of {ROUNDS} rounds.",
    ]
    pages.put("noise", "exact_noise", lines)
    return 0 if max(counts) <= MOST else 1


def draw(labels: list[str], ratios: list[float]) -> None:
    """Draw the ratios."""
    pages.dots("exact_noise", labels, {"exact": ratios}, "time over that of the same noise in floating point", line=1)


if __name__ == "__main__":
    sys.exit(main())
