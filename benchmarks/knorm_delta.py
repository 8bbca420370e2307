"""How much does a δ save the noise of a ball?

Expected ℓ₂ lengths of the noise on an answer that one unit moves by at most 1: pure K-norm noise d/ε, Gaussian noise,
and K-norm noise calibrated to (ε, δ). Prints a table and writes docs/benchmarks/knorm.md.

    python benchmarks/knorm_delta.py
"""

import math

import numpy as np
import pages

import gaugedp as gd
from gaugedp.bodies import LpBall
from gaugedp.guarantees import SphericalLaplaceLoss

ASKED = [(1.0, 1e-6), (0.1, 1e-6), (1.0, 1e-3), (0.1, 1e-3)]
DIMENSIONS = (2, 3, 5, 10, 20, 50, 100, 1000)
COUNTS = (1, 10, 100)
# d·σ by algorithm 1 of arXiv 2502.15929 with the settings of the authors' program (google-research, dp_l2, read in
# November 2026): 1,000 radii each way, σ by bisection to 1e-3.
AUTHORS = {
    (1.0, 1e-6): {2: 2.0, 3: 3.0, 5: 4.9512, 10: 9.1895, 20: 15.4883, 50: 27.5391, 100: 40.625},
    (0.1, 1e-6): {2: 20.0, 3: 30.0, 5: 48.5400, 10: 86.4551, 20: 140.1758, 50: 241.9434, 100: 352.5391},
}


def row(d: int, epsilon: float, delta: float) -> str:
    gaussian = gaussian_length(d, epsilon, delta)
    loss = SphericalLaplaceLoss.calibrated(epsilon, delta, d)
    pure, ours = d / epsilon, d * loss.scale
    authors = AUTHORS.get((epsilon, delta), {}).get(d)
    return (
        f"| {d} | {pure:.4g} | {gaussian:.4g} | {ours:.4g} | {saved(d, epsilon, delta)} | "
        f"{f'{authors:.4g}' if authors else ''} | {measured(d, epsilon, delta)} |"
    )


def measured(d: int, epsilon: float, delta: float) -> str:
    """Return the mean length of 20,000 draws of the mechanism, and its standard error."""
    mechanism = gd.KNorm.calibrate(LpBall(d, 2), gd.ApproxDP(epsilon, delta))
    lengths = np.linalg.norm(mechanism.sample_noise(20_000, gd.research_rng(1)), axis=1)
    return f"{lengths.mean():.4g} ± {lengths.std() / math.sqrt(len(lengths)):.2g}"


def saved(d: int, epsilon: float, delta: float) -> str:
    """Return what K-norm noise with a δ saves, compared with the better of pure and Gaussian noise."""
    pure, ours = d / epsilon, d * SphericalLaplaceLoss.calibrated(epsilon, delta, d).scale
    return f"{100 * (1 - ours / min(pure, gaussian_length(d, epsilon, delta))):.2g} %"


def gaussian_length(d: int, epsilon: float, delta: float) -> float:
    std = float(gd.guarantees.gaussian_std(epsilon, delta))
    return std * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def composed(d: int, count: int) -> str:
    loss = SphericalLaplaceLoss.calibrated(0.1, 1e-6, d)
    epsilons = [float((count * loss).epsilon(1e-5, method)) for method in ("tight", "rdp")]
    pure = float((count * gd.PureDP(loss.shift)).epsilon(1e-5))
    return f"| {d} | {count} | {epsilons[0]:.4g} | {epsilons[1]:.4g} | {pure:.4g} |"


def main() -> None:
    """Write the blocks of the page."""
    (first, *others) = ASKED
    head = "| d | pure K-norm | Gaussian | K-norm with δ | saved | authors | drawn |"
    words = "ε = {:g}, δ = {:g}".format(*first)
    lines = [head, "|" + "---:|" * 7, *(row(d, *first) for d in DIMENSIONS), "", f"{words}."]
    pages.put("knorm", "delta", lines)
    heads = ["d", *("ε = {:g}, δ = {:g}".format(*requested) for requested in others)]
    cells = ([str(d), *(saved(d, *requested) for requested in others)] for d in DIMENSIONS)
    lines = [f"| {' | '.join(line)} |" for line in (heads, *cells)]
    pages.put("knorm", "saved", [lines[0], "|" + "---:|" * len(heads), *lines[1:]])
    lines = [composed(d, count) for d in (2, 10, 100) for count in COUNTS]
    pages.put("knorm", "composed", ["| d | k | exact | Rényi | as pure |", "|" + "---:|" * 5, *lines])


if __name__ == "__main__":
    main()
