"""How much does a δ save the noise of a ball?

Expected ℓ₂ lengths of the noise on an answer that one unit moves by at most 1: pure K-norm noise d/ε, Gaussian noise,
and K-norm noise calibrated to (ε, δ). Prints a table and writes docs/benchmarks/knorm.md.

    python benchmarks/knorm_delta.py
"""

import math

import pages

import gaugedp as gd
from gaugedp.guarantees import SphericalLaplaceLoss

ASKED = [(1.0, 1e-6), (0.1, 1e-6), (1.0, 1e-3), (0.1, 1e-3)]
DIMENSIONS = (2, 5, 10, 20, 100, 1000)
# d·σ by algorithm 1 of arXiv 2502.15929 with the settings of the authors' program (google-research, dp_l2, read in
# November 2026): 1,000 radii each way, σ by bisection to 1e-3.
AUTHORS = {2: 2.0, 3: 3.0, 5: 4.9512, 10: 9.1895, 20: 15.4883, 50: 27.5391, 100: 40.625}  # ε = 1, δ = 1e-6


def row(d: int) -> str:
    """Return a line: lengths for the first guarantee, and what the δ saves for all."""
    epsilon, delta = ASKED[0]
    ours, authors = d * SphericalLaplaceLoss.calibrated(epsilon, delta, d).scale, AUTHORS.get(d)
    lengths = (d / epsilon, gaussian_length(d, epsilon, delta), ours, authors)
    cells = [f"{length:.4g}" if length else "" for length in lengths]
    return f"| {d} | {' | '.join([*cells, *(saved(d, *requested) for requested in ASKED)])} |"


def saved(d: int, epsilon: float, delta: float) -> str:
    """Return what K-norm noise with a δ saves, compared with the better of pure and Gaussian noise."""
    pure, ours = d / epsilon, d * SphericalLaplaceLoss.calibrated(epsilon, delta, d).scale
    return f"{100 * (1 - ours / min(pure, gaussian_length(d, epsilon, delta))):.2g} %"


def gaussian_length(d: int, epsilon: float, delta: float) -> float:
    std = float(gd.guarantees.gaussian_std(epsilon, delta))
    return std * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def main() -> None:
    """Write the blocks of the page."""
    heads = (f"saved, ε = {epsilon:g}, δ = {delta:g}" for epsilon, delta in ASKED[1:])
    head = f"| d | pure K-norm | Gaussian | with δ | authors | saved | {' | '.join(heads)} |"
    pages.put("knorm", "delta", [head, "|" + "---:|" * 9, *map(row, DIMENSIONS)])


if __name__ == "__main__":
    main()
