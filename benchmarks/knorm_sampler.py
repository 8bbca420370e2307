"""What does one K-norm sample cost, beside the walk of the source?

The source (a thesis after Hardt and Talwar) walks 202 steps of a ball walk inside the body and solves a quadratic
program a proposal, to see whether it is inside. Here a proposal is one such program by cvxopt; ours is a walk over
facets, of which a nearly independent sample takes one autocorrelation time. All are timed in turns, in one run. Prints
a table and writes docs/benchmarks/knorm.md.

    python benchmarks/knorm_sampler.py
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pages

import gaugedp as gd
from gaugedp.entropy import system_rng
from gaugedp.samplers import facet_walk
from gaugedp.samplers.gauge_noise import WalkNoise, gauge_noise

SHAPES = ((20, 200), (40, 200))
SOURCE_PROPOSALS = {20: 244, 40: 234}  # of 202 accepted moves, with those that it repeats, counted in exact bodies
ROUNDS, STEPS, CHAINS = 5, 640, 32

Act = Callable[[], object]


class Row(NamedTuple):
    """One way to a sample: seconds of a sample, and of what it repeats."""

    way: str
    unit: str
    seconds_a_unit: float
    units: float

    @property
    def seconds(self) -> float:
        return self.seconds_a_unit * self.units


def matrix(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1


def program(generators: np.ndarray) -> Act:
    """Return one membership test of the source: min ‖F(u − v) − z‖² over u, v ≥ 0, Σ(u + v) ≤ 1."""
    import cvxopt

    cvxopt.solvers.options["show_progress"] = False
    both = np.hstack([generators, -generators])
    count = both.shape[1]
    limits = cvxopt.matrix(np.vstack([-np.eye(count), np.ones((1, count))]))
    bounds = cvxopt.matrix(np.concatenate([np.zeros(count), [1.0]]))
    square = cvxopt.matrix(both.T @ both)
    rng = np.random.default_rng(2)  # a benchmark's points, no noise

    def act() -> object:
        point = generators @ rng.dirichlet(np.ones(generators.shape[1])) * 0.9
        return cvxopt.solvers.qp(square, cvxopt.matrix(-both.T @ point), limits, bounds)

    return act


def walk(noise: WalkNoise, chains: int, kernel: Callable[..., None]) -> Act:
    """Return STEPS steps of the walk over facets in so many chains, with the random numbers they take."""
    rng = system_rng()
    state = facet_walk.started(noise.columns, chains, rng)
    state.take(*state.draws(256, rng), kernel)
    return lambda: state.take(*state.draws(STEPS, rng), kernel)


def timed(acts: dict[str, Act]) -> dict[str, float]:
    """Return the median seconds of each, in ROUNDS rounds in which all take their turn."""
    results: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(ROUNDS):
        for name, act in acts.items():
            start = time.perf_counter()
            act()
            results[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in results.items()}


def rows(d: int, n: int) -> tuple[list[Row], float]:
    """Return the ways to a sample at one shape, and the autocorrelation time."""
    noise = gauge_noise(gd.bodies.Polytope.symmetric_hull(matrix(d, n)))
    assert isinstance(noise, WalkNoise)
    apart = noise.autocorrelation_time
    acts: dict[str, Act] = {"source": program(matrix(d, n))}
    kernels = {"numpy": facet_walk.numpy_steps}
    if facet_walk.fastest() is not facet_walk.numpy_steps:
        kernels["compiled"] = facet_walk.fastest()
    for name, kernel in kernels.items():
        acts[f"{name}, {CHAINS} walks together"] = walk(noise, CHAINS, kernel)
        acts[f"{name}, one walk"] = walk(noise, 1, kernel)
    seconds = timed(acts)
    results = [Row("published walk", "quadratic program", seconds.pop("source"), SOURCE_PROPOSALS[d])]
    for name, taken in seconds.items():
        chains = CHAINS if "walks" in name else 1
        results.append(Row(name, "step", taken / STEPS / chains, apart))
    return results, apart


def main() -> None:
    pages.put("knorm", "sampler", [*table(), "", f"Medians of {ROUNDS} rounds."])


def table() -> list[str]:
    results = [rows(*shape)[0] for shape in SHAPES]
    heads = (f"d = {d}, n = {n}: s | times faster" for d, n in SHAPES)
    lines = [f"| method | {' | '.join(heads)} |", "|---|" + "---:|" * 2 * len(SHAPES)]
    for same in zip(*results, strict=True):
        cells = (
            f"{row.seconds:.3g} | {found[0].seconds / row.seconds:,.0f}"
            for row, found in zip(same, results, strict=True)
        )
        lines.append(f"| {same[0].way} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
