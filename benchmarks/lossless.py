"""Which numbers does the accountant give for Rényi bounds, samples, groups and few releases, beside a peer's?

Prints each number with its bracket and processor time, and that of dp-accounting where it is installed; then how far
random bounds of each part are above a reference of 50 digits. Writes docs/benchmarks/lossless.md.

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
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from lossless_truth import PARTS, Kind

import gaugedp as gd

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "lossless.md"
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

    def asked(pld: Any) -> float:
        made = pld.from_gaussian_mechanism(0.5, sampling_prob=0.2, value_discretization_interval=1e-4)
        return made.self_compose(count).get_delta_for_epsilon(1.0)

    return asked


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
    ("ε of (2, 0.1) at δ = 0.001", lambda: gd.RenyiDP([2], [0.1]).epsilon(1e-3), None),
    ("ε of (1.5, 0.2) at δ = 0.01", lambda: gd.RenyiDP([1.5], [0.2]).epsilon(1e-2), None),
    ("ε of (2, 0.01) at δ = 1e-6", lambda: gd.RenyiDP([2], [0.01]).epsilon(1e-6), None),
    ("P(E) of (2, 0.1) where Q(E) = 0.1", lambda: G.probability_range(gd.RenyiDP([2], [0.1]), 0.1)[1], None),
    ("ε of 782 steps to three people at δ = 1e-6", lambda: PEOPLE.epsilon(1e-6), peer_mixture),
    ("the same along a chain", lambda: G.Grouped(782 * G.SubsampledGaussian(0.0064, 1.0), 3).epsilon(1e-6), None),
    ("δ of 1 step of σ = 0.5, q = 0.2 at ε = 1", lambda: STEP.delta(1.0), peer_steps(1)),
    ("δ of 3 steps", lambda: (3 * STEP).delta(1.0), peer_steps(3)),
    ("δ of 10 steps", lambda: (10 * STEP).delta(1.0), peer_steps(10)),
    ("noise of 1 step for (1, 1e-5), q = 0.1", lambda: G.subsampled_noise_multiplier(1.0, 1e-5, 0.1, 1), None),
    ("noise of 10 steps", lambda: G.subsampled_noise_multiplier(1.0, 1e-5, 0.1, 10), None),
    ("noise of 2 steps", lambda: G.subsampled_noise_multiplier(1.0, 1e-5, 0.1, 2), None),
    ("noise of 5 steps", lambda: G.subsampled_noise_multiplier(1.0, 1e-5, 0.1, 5), None),
    ("noise of 50 steps", lambda: G.subsampled_noise_multiplier(1.0, 1e-5, 0.1, 50), None),
    ("D₂ of permute-and-flip, ε = 1", lambda: G.LaplaceLoss(1.0).renyi(2), None),
    ("D₂ of any 1-DP mechanism", lambda: gd.PureDP(1.0).renyi(2), None),
    ("D₃₂ of σ = 0.1, q = 0.01", lambda: G.SubsampledGaussian(0.01, 0.1).renyi(32), None),
    ("ε of 1,000 Laplace scales in 5 … 50, δ = 0.001", lambda: laplace(5, 50, 1e-3), None),
    ("the same, δ = 1e-6", lambda: laplace(5, 50, 1e-6), None),
    ("ε of 1,000 Laplace scales in 20 … 200, δ = 0.001", lambda: laplace(20, 200, 1e-3), None),
    ("the same, δ = 1e-6", lambda: laplace(20, 200, 1e-6), None),
    ("ε of 1,000 different releases, δ = 1e-6", lambda: mixed(1000, 1.0), peer_mixed),
    ("ε of 100,000 with ten times the noise", lambda: mixed(100_000, 10.0), None),
]


def main() -> None:
    """Write the page."""
    n_cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if len(sys.argv) > 2:
        print(*(part_line(part, kinds, n_cases) for part, kinds in PARTS.items() if part[0] in sys.argv[2]), sep="\n")
        return
    G.subsampled_noise_multiplier(1.0, 1e-5, 0.01, 3)  # what the first call loads
    lines = [line(*case) for case in CASES]
    text = "\n".join(
        [
            "# Numbers without loss",
            "",
            "Numbers of [Rényi bounds](../theory/renyi_region.md), [samples and groups](../theory/sampling.md) and",
            "[a few kinds of releases](../theory/accountant.md#a-few-kinds-of-releases-cells-of-losses). `low` is the",
            f"certified lower end of the bracket, seconds are of one processor. {_peer_words()}",
            "",
            "| number | ours | low | seconds | dp-accounting | its seconds |",
            "|---|---:|---:|---:|---:|---:|",
            *lines,
            "",
            *random_cases(n_cases),
            "",
            "Written by `python benchmarks/lossless.py`.",
        ]
    )
    print(text)
    PAGE.write_text(text + "\n", encoding="utf-8")


def line(words: str, asked: Callable[[], float], peer: Peer | None) -> str:
    """Return one line of the table."""
    start = time.process_time()
    result = asked()
    took = time.process_time() - start
    low = getattr(result, "low", 0.0)
    return f"| {words} | {result:.7g} | {f'{low:.7g}' if low else ''} | {took:.3f} | {_of_peer(peer)} |"


def _peer_words() -> str:
    known = importlib.util.find_spec("dp_accounting") is not None
    return "The peer is in the same run." if known else "The peer was not installed in this run."


def _of_peer(peer: Peer | None) -> str:
    if peer is None or importlib.util.find_spec("dp_accounting") is None:
        return " | " if peer is None else "not installed | "
    from dp_accounting.pld import privacy_loss_distribution

    start = time.process_time()
    result = peer(privacy_loss_distribution)
    return f"{result:.7g} | {time.process_time() - start:.3f}"


def random_cases(n_cases: int) -> list[str]:
    """Return how random bounds of each part compare with 50 digits."""
    lines = [part_line(part, kinds, n_cases) for part, kinds in PARTS.items()]
    return [
        f"{n_cases:,} random cases a part, each beside a reference of 50 digits (`benchmarks/lossless_truth.py`);",
        "numbers below 1e-12 are not counted. An upper bound is above the reference by so much of it:",
        "",
        "| part | cases | below the reference | above it, in the middle | at most | lower bounds above it | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *lines,
    ]


def part_line(part: str, kinds: list[Kind], n_cases: int) -> str:
    """Return the line of one part: its kinds take turns until there are enough cases."""
    rng, cases, start = np.random.default_rng(29), [], time.process_time()
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
    took = time.process_time() - start
    middle = f"{np.median(above):.1e} | {max(above):.1e}"
    return f"| {part} | {len(cases):,} | {n_below} | {middle} | {n_high} | {took:.0f} |"


if __name__ == "__main__":
    main()
