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
from functools import reduce
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


def peer_steps(count: int) -> Peer:
    """Releases of N(0, ¼) on samples of a fifth, by the peer."""

    def requested(pld: Any) -> float:
        made = pld.from_gaussian_mechanism(0.5, sampling_prob=0.2, value_discretization_interval=1e-4)
        return made.self_compose(count).get_delta_for_epsilon(1.0)

    return requested


def scales(count: int, least: float, most: float) -> list[float]:
    """Return different scales of Laplace noise."""
    return [float(scale) for scale in np.random.default_rng(29).uniform(least, most, count)]


def laplace(least: float, most: float, delta: float) -> Any:
    """Return ε of a thousand different Laplace releases."""
    return G.compose([(G.LaplaceLoss(scale), 1) for scale in scales(1000, least, most)]).epsilon(delta)


def mixed(count: int, factor: float) -> Any:
    """Return ε of different releases, a third each of Gaussian, Laplace and response, with `factor` times the noise."""
    rows = zip(scales(count, 5 * factor, 50 * factor), range(count), strict=True)
    makes = (lambda scale: gd.GaussianDP(1 / scale), G.LaplaceLoss, lambda scale: G.RandomizedResponseLoss(1 / scale))
    return G.compose([(makes[k % 3](scale), 1) for scale, k in rows]).epsilon(1e-6)


def peer_mixed(pld: Any) -> float:
    """A thousand of them by the peer, one after another."""
    facts = {"value_discretization_interval": 1e-4}
    makes = (
        lambda scale: pld.from_gaussian_mechanism(scale, **facts),
        lambda scale: pld.from_laplace_mechanism(scale, **facts),
        lambda scale: pld.from_randomized_response(2 / (1 + math.exp(1 / scale)), 2, **facts),
    )
    made = [makes[k % 3](scale) for k, scale in enumerate(scales(1000, 5, 50))]
    return reduce(lambda one, other: one.compose(other), made).get_epsilon_for_delta(1e-6)


CASES: list[tuple[str, Callable[[], float], Peer | None]] = [
    ("ε of 782 steps to three people at δ = 1e-6", lambda: PEOPLE.epsilon(1e-6), peer_mixture),
    ("δ of 10 steps of σ = 0.5, q = 0.2 at ε = 1", lambda: (10 * STEP).delta(1.0), peer_steps(10)),
    ("ε of 1,000 Laplace scales in 5 … 50, δ = 0.001", lambda: laplace(5, 50, 1e-3), None),
    ("ε of 1,000 different releases, δ = 1e-6", lambda: mixed(1000, 1.0), peer_mixed),
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
