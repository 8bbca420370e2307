"""What does one exact draw cost, beside opendp's exact samplers and numpy's floats, which protect nobody?

Each cell is the median over rounds; in every round all samplers take their turn. Checks that a draw is at least 15
times faster than opendp's and at most 30 times slower than numpy's. Prints a table and writes docs/benchmarks/noise.md.

    python benchmarks/noise.py
"""

import importlib.metadata
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pages

from gaugedp.entropy import system_rng
from gaugedp.samplers.discrete import discrete_gaussian, discrete_laplace, rounded_gaussian

SIZE = 1_000_000
PEER_SIZE = 20_000
ROUNDS = 5
SCALES = (Fraction(10), Fraction(1000))
FASTER_THAN_OPENDP, SLOWER_THAN_NUMPY = 15, 30

Act = Callable[[], object]
RNG = system_rng()
FLOATS = np.random.default_rng()  # not private: numpy's generator and its rounded floats can be attacked


def opendp_act(shape: str, scale: float) -> Act:
    """Return PEER_SIZE draws of opendp's integer noise: a vector of zeros goes through the mechanism."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if shape == "laplace":
        noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    else:
        noise = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    zeros = [0] * PEER_SIZE
    return lambda: noise(zeros)


def acts(name: str, scale: Fraction) -> dict[str, tuple[Act, int]]:
    """Return for each column what to time and how many draws it makes."""
    draw: dict[str, Act] = {
        "discrete_laplace": lambda: discrete_laplace(SIZE, scale, RNG),
        "discrete_gaussian": lambda: discrete_gaussian(SIZE, scale**2, RNG),
        "rounded_gaussian": lambda: rounded_gaussian(SIZE, scale, RNG),
    }
    shape = "laplace" if name == "discrete_laplace" else "gaussian"
    floats: Act = lambda: FLOATS.laplace(scale=float(scale), size=SIZE)  # noqa: E731
    if shape == "gaussian":
        floats = lambda: float(scale) * FLOATS.standard_normal(SIZE)  # noqa: E731
    results = {"gaugedp": (draw[name], SIZE), "numpy": (floats, SIZE)}
    if has_opendp():
        results["opendp"] = (opendp_act(shape, float(scale)), PEER_SIZE)
    return results


def has_opendp() -> bool:
    return importlib.util.find_spec("opendp") is not None


def nanoseconds(columns: dict[str, tuple[Act, int]]) -> dict[str, float]:
    """Return the median time of one draw in every column; the columns take turns, after one unmeasured round."""
    times: dict[str, list[float]] = {column: [] for column in columns}
    for turn in range(ROUNDS + 1):
        for column, (act, size) in columns.items():
            start = time.perf_counter_ns()
            act()
            if turn:
                times[column].append((time.perf_counter_ns() - start) / size)
    return {column: statistics.median(each) for column, each in times.items()}


def row(name: str, scale: Fraction) -> tuple[str, list[str]]:
    """Return a line of the table and what it breaks of the requirement."""
    result = nanoseconds(acts(name, scale))
    ours, floor, peer = result["gaugedp"], result["numpy"], result.get("opendp")
    faults = []
    if ours > SLOWER_THAN_NUMPY * floor:
        faults.append(f"{name} at {scale}: {ours / floor:.0f} times slower than numpy")
    if peer is not None and peer < FASTER_THAN_OPENDP * ours:
        faults.append(f"{name} at {scale}: only {peer / ours:.0f} times faster than opendp")
    seen = ("–", "–") if peer is None else (f"{peer:,.0f}", f"{peer / ours:.0f}")
    return f"| `{name}` | {scale} | {ours:,.0f} | {seen[0]} | {seen[1]} | {floor:,.1f} | {ours / floor:.1f} |", faults


def main() -> int:
    rows, faults = [], []
    for name in ("discrete_laplace", "discrete_gaussian", "rounded_gaussian"):
        for scale in SCALES:
            line, broken = row(name, scale)
            rows.append(line)
            faults += broken
    lines = [
        "| sampler | scale | gaugedp ns | opendp ns | times faster than opendp | numpy ns | times slower than numpy |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
        f"Medians of {ROUNDS} rounds; {SIZE:,} draws a call ({PEER_SIZE:,}: opendp).",
        *faults,
    ]
    pages.put("noise", "noise", lines)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
