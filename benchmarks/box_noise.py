"""What does an exact draw of a cube's noise cost, beside the same noise in floats, which is rounded and not exact?

Each cell is the median over rounds in which both take turns. Checks that a draw on the counts' lattices costs at most
1.5 times the floats'. Prints a table and writes docs/benchmarks/box_noise.md.

    python benchmarks/box_noise.py
"""

import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import system_rng
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.reals import Reals, rounded_draws

ROUNDS = 9
MOST = 1.5
COUNTS, FINE = 40.0, 2.0**12  # steps to a unit of the noise: of counts, and of real answers for each dimension
CASES = [
    (1, 10**5, COUNTS),
    (3, 10**5, COUNTS),
    (10, 10**5, COUNTS),
    (100, 10**4, COUNTS),
    (2000, 300, COUNTS),
    (10, 10**5, 10 * FINE),
    (100, 10**4, 100 * FINE),
    (2000, 300, 2000 * FINE),
]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "box_noise.md"
RNG = system_rng()


def in_turns(acts: list[Callable[[], object]]) -> list[float]:
    """Return the median seconds of each act; they take turns, after one unmeasured round."""
    times: list[list[float]] = [[] for _ in acts]
    for turn in range(ROUNDS + 1):
        for act, seen in zip(acts, times, strict=True):
            start = time.perf_counter()
            act()
            if turn:
                seen.append(time.perf_counter() - start)
    return [statistics.median(seen) for seen in times]


def decided_again(d: int, scale: float) -> float:
    """Return the share of draws in which integers decide a coordinate."""
    noise = gauge_noise(LpBall(d, math.inf))
    assert noise.law is not None
    reals = Reals((max(1, 10**6 // d), noise.law.n_reals), RNG)
    values, bounds = noise.law.floats(reals, 64)
    away = np.abs(values * scale - np.rint(values * scale))
    return float((away >= 0.5 - bounds * scale).any(axis=1).mean())


def row(d: int, size: int, scale: float) -> tuple[str, float]:
    """Return a line of the table, and how many times slower the exact draw is."""
    noise = gauge_noise(LpBall(d, math.inf))
    law = noise.law
    assert law is not None
    floats, exact = in_turns(
        [
            lambda: np.rint(noise.draw(size, RNG) * scale).astype(np.int64),
            lambda: rounded_draws(law, size, np.array([scale]), RNG),
        ]
    )
    again = decided_again(d, scale)
    ratio = exact / floats
    micro = 1e6 / size
    return f"| {d:,} | {scale:,.0f} | {floats * micro:.3g} | {exact * micro:.3g} | {ratio:.2f} | {again:.2g} |", ratio


def main() -> int:
    rows = [(scale, *row(d, size, scale)) for d, size, scale in CASES]
    worst = max(ratio for scale, _, ratio in rows if scale == COUNTS)
    kept = worst <= MOST
    lines = [
        "# Exact noise of a cube, beside floats",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}; {os.cpu_count()} cores. Medians of {ROUNDS}",
        "rounds in which both take turns. The scale is in lattice steps to a unit of the noise: 40 for counts, 2^12",
        "for each dimension for real answers. Decided again: the share of draws in which integers decide a coordinate.",
        "",
        "| d | scale | floats, µs a draw | exact, µs a draw | times slower | decided again |",
        "|---:|---:|---:|---:|---:|---:|",
        *(line for _, line, _ in rows),
        "",
        f"Required: at most {MOST} times slower on the lattices of counts: {'kept' if kept else 'BROKEN'}.",
        "",
        "Written by `python benchmarks/box_noise.py`.",
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
