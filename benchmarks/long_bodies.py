"""Which pure noise is best for bodies that are longer in some directions than in others?

Random signs whose row i is scaled by base^-i; expected lengths at ε = 1 of K-norm noise, the recursive mechanism at its
best depth, and the best ellipsoid. Prints a table and writes docs/benchmarks/long_bodies.md.

    python benchmarks/long_bodies.py
"""

from pathlib import Path

import numpy as np

import gaugedp as gd

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "long_bodies.md"
CASES = ((1.0, 10, 100), (1.3, 16, 160), (2.0, 16, 160), (10.0, 5, 50))
ONE = gd.PureDP(1.0)


def row(base: float, d: int, n: int) -> str:
    signs = np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1
    body = gd.bodies.Polytope.symmetric_hull((base ** -np.arange(float(d)))[:, None] * signs)
    nested = gd.NIM.calibrate(body, ONE)
    errors = [kind.calibrate(body, ONE).error() for kind in (gd.KNorm, gd.EllipsoidNoise, gd.Cube, gd.Laplace)]
    two = gd.NIM.calibrate(body, ONE, 2).error() if base == 1 else nested.error()
    shown = [errors[0], nested.error(), two, *errors[1:]]
    return f"| {base:g} | {d} x {n} | {nested.depth} | " + " | ".join(f"{error:.3g}" for error in shown) + " |"


def main() -> None:
    lines = [
        "# Noise for long bodies",
        "",
        "Expected ℓ₂ lengths at ε = 1; F is `default_rng(1).integers(0, 2, (d, n))*2 - 1`, row i times base^-i.",
        "",
        "| base | d x n | best depth | KNorm | NIM | NIM, 2 levels at base 1 | Ellipsoid | Cube | Laplace |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
        *(row(*case) for case in CASES),
        "",
        "Written by `python benchmarks/long_bodies.py`.",
    ]
    print("\n".join(lines))
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
