"""Would replicate weights tell the sampling error of a survey at ε = 1?

Successive difference replication estimates the variance of a total by (4/R)·Σ C², C = Σ (w_r − w)·y, for R contrasts
C. A row of weight w has w_r − w = ±w/√2 in half of them, and 0 in the others, so it moves the contrasts by b·√R/2 in
ℓ2 and by b·R/√8 in ℓ1, b the bound on a weight. A quarter of ε pays for their noise, whose variance is subtracted.
The total is that of half the rows, with equal weights of b/2; one row is added or removed, and contrasts are normal.
Prints the root mean square error of the standard error, relative to it, and that of released sums of squared weights.

    python benchmarks/replicate_weights.py
"""

import numpy as np

from gaugedp.guarantees.calibrate import gaussian_std

EPSILON, DELTA, BOUND, TIMES = 0.25, 1e-6, 2.0, 4000  # the bound in weights
ROWS, REPLICATES = (6_500, 50_000, 500_000), (5, 10, 20, 40, 80)


def error(estimates: np.ndarray, variance: float) -> float:
    """Return the root mean square error of estimated standard errors, in percent."""
    return float(100 * np.sqrt(np.mean((np.sqrt(np.maximum(estimates, 0) / variance) - 1) ** 2)))


def of_replicates(n: int, count: int, law: str, rng: np.random.Generator) -> float:
    """Return the error with `count` contrasts."""
    variance, size = n / 4, (TIMES, count)  # of the total, in squared weights
    contrasts = rng.normal(0, np.sqrt(variance) / 2, size)
    if law == "none":
        noise, square = np.zeros(size), 0.0
    elif law == "Gaussian":
        std = float(gaussian_std(EPSILON, DELTA)) * BOUND * np.sqrt(count) / 2
        noise, square = rng.normal(0, std, size), std**2
    else:
        scale = BOUND * count / np.sqrt(8) / EPSILON
        noise, square = rng.laplace(0, scale, size), 2 * scale**2
    return error(4 * (((contrasts + noise) ** 2).mean(axis=1) - square), variance)


def of_squares(n: int, rng: np.random.Generator) -> float:
    """Return the error with Σ w², with pure noise."""
    variance = n / 4
    return error(variance + rng.laplace(0, BOUND**2 / EPSILON, TIMES), variance)


def main() -> None:
    """Print the figures."""
    rng = np.random.default_rng(2026)
    for n in ROWS:
        print(f"{n:,} rows; Σ w²: {of_squares(n, rng):.2g} %")
        for law in ("none", "Gaussian", "Laplace"):
            errors = {count: of_replicates(n, count, law, rng) for count in REPLICATES}
            print(f"  {law}:", ", ".join(f"R = {count}: {size:.0f} %" for count, size in errors.items()))


if __name__ == "__main__":
    main()
