"""Which numbers does the accountant give for Rényi bounds, samples, groups and few releases, beside a peer's?

Prints each number with its bracket and processor time, and that of dp-accounting where it is installed; then how far
random bounds of each part are above a reference of 50 digits. Writes docs/benchmarks/accountant.md.

    python benchmarks/lossless.py [random cases]
    python benchmarks/lossless.py 2000 1          the line of part 1 alone, printed
"""

import importlib.util
import itertools
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pages
from lossless_truth import PARTS, Kind

import gaugedp as gd

G = gd.guarantees
Peer = Callable[[Any], float]
STEP = G.SubsampledGaussian(0.2, 0.5)
PEOPLE = (782 * G.SubsampledGaussian(0.0064, 1.0)).group(3)


def peer_mixture(pld: Any) -> float:
    """Three people as the peer sees them: a mixture of Gaussians with means 0 to 3."""
    chances = [math.comb(3, k) * 0.0064**k * (1 - 0.0064) ** (3 - k) for k in range(4)]
    made = pld.from_mixture_gaussian_mechanism(1.0, [0.0, 1.0, 2.0, 3.0], chances)
    return made.self_compose(782).get_epsilon_for_delta(1e-6)


def scales(count: int, least: float, most: float) -> list[float]:
    """Return different scales of Laplace noise."""
    return [float(scale) for scale in np.random.default_rng(29).uniform(least, most, count)]


def laplace(least: float, most: float, delta: float) -> Any:
    """Return ε of a thousand different Laplace releases."""
    return G.compose([(G.LaplaceLoss(scale), 1) for scale in scales(1000, least, most)]).epsilon(delta)


CASES: list[tuple[str, Callable[[], float], Peer | None]] = [
    ("ε of 782 steps to three people at δ = 1e-6", lambda: PEOPLE.epsilon(1e-6), peer_mixture),
    ("ε of 1,000 Laplace scales in 5 … 50, δ = 0.001", lambda: laplace(5, 50, 1e-3), None),
]


def main() -> None:
    """Write the page."""
    n_cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if len(sys.argv) > 2:
        print(*(part_line(part, kinds, n_cases) for part, kinds in PARTS.items() if part[0] in sys.argv[2]), sep="\n")
        return
    STEP.delta(1.0)  # what the first call loads
    lines = [line(*case) for case in CASES]
    head = "| number | gaugedp | low | seconds | dp-accounting | its seconds |"
    pages.put("accountant", "lossless", [head, "|---|---:|---:|---:|---:|---:|", *lines])
    pages.put("accountant", "random", random_cases(n_cases))


def line(words: str, requested: Callable[[], float], peer: Peer | None) -> str:
    """Return one line of the table."""
    start = time.process_time()
    result = requested()
    took = time.process_time() - start
    low = getattr(result, "low", 0.0)
    return f"| {words} | {result:.7g} | {f'{low:.7g}' if low else ''} | {took:.3f} | {_of_peer(peer)} |"


def _of_peer(peer: Peer | None) -> str:
    if peer is None or importlib.util.find_spec("dp_accounting") is None:
        return " | " if peer is None else "not installed | "
    from dp_accounting.pld import privacy_loss_distribution

    start = time.process_time()
    result = peer(privacy_loss_distribution)
    return f"{result:.7g} | {time.process_time() - start:.3f}"


def random_cases(n_cases: int) -> list[str]:
    """Return how random bounds of each part compare with 50 digits."""
    found = [part_line(part, kinds, n_cases) for part, kinds in PARTS.items()]
    below, above = (sum(each[place] for each in found) for place in (1, 2))
    words = "; ".join(line for line, *_ in found)
    return [
        f"Median and largest excess: {words}.",
        f"Upper bounds below the reference: {below}. Lower bounds above it: {above}.",
    ]


def part_line(part: str, kinds: list[Kind], n_cases: int) -> tuple[str, int, int]:
    """Return the line of one part and its wrong bounds: its kinds take turns until there are enough cases."""
    rng, cases = np.random.default_rng(29), []
    with mpmath.workdps(50):
        for kind in itertools.cycle(kinds):
            case = kind(rng)
            if case is not None:
                cases.append(case)
            if len(cases) == n_cases:
                break
        above = [float(mpmath.mpf(case.high) / case.truth - 1) for case in cases]
        n_below = sum(mpmath.mpf(case.high) < case.truth for case in cases)
        n_high = sum(case.low is not None and mpmath.mpf(case.low) > case.truth for case in cases)
    middle = f"{np.median(above):.1e}, {max(above):.1e}"
    return f"{part[3:]} {middle}", n_below, n_high


if __name__ == "__main__":
    main()
