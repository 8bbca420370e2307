"""How much does a δ save the noise of a ball?

Expected ℓ₂ lengths of the noise on an answer that one unit moves by at most 1: pure K-norm noise d/ε, Gaussian noise,
and K-norm noise calibrated to (ε, δ). Prints a table and writes docs/benchmarks/knorm.md.

    python benchmarks/knorm_delta.py
"""

import math

import pages

import gaugedp as gd
from gaugedp.guarantees import SphericalLaplaceLoss

EPSILON, DELTA = 1.0, 1e-6
DIMENSIONS = (2, 5, 10, 20, 100, 1000)
# d·σ by algorithm 1 of arXiv 2502.15929 with the settings of the authors' program (google-research, dp_l2, read in
# November 2026): 1,000 radii each way, σ by bisection to 1e-3.
AUTHORS = {2: 2.0, 3: 3.0, 5: 4.9512, 10: 9.1895, 20: 15.4883, 50: 27.5391, 100: 40.625}  # ε = 1, δ = 1e-6


def row(d: int) -> str:
    """Return a line: lengths, and what the δ saves, compared with the better of pure and Gaussian noise."""
    pure, gaussian = d / EPSILON, gaussian_length(d)
    ours, authors = d * SphericalLaplaceLoss.calibrated(EPSILON, DELTA, d).scale, AUTHORS.get(d)
    cells = [f"{length:.4g}" if length else "" for length in (pure, gaussian, ours, authors)]
    return f"| {d} | {' | '.join(cells)} | {100 * (1 - ours / min(pure, gaussian)):.2g} % |"


def gaussian_length(d: int) -> float:
    std = float(gd.guarantees.gaussian_std(EPSILON, DELTA))
    return std * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def main() -> None:
    """Write the blocks of the page."""
    head = "| d | pure K-norm | Gaussian | with δ | authors | saved |"
    pages.put("knorm", "delta", [head, "|" + "---:|" * 6, *map(row, DIMENSIONS)])


if __name__ == "__main__":
    main()
