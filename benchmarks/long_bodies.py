"""Which pure noise is best for bodies that are longer in some directions than in others?

Random signs whose row i is scaled by base^-i; expected lengths at ε = 1 of K-norm noise, the recursive mechanism at its
best depth, and the best ellipsoid. Prints the table and writes docs/benchmarks/knorm.md.

    python benchmarks/long_bodies.py
"""

import numpy as np
import pages

import gaugedp as gd

CASES = ((1.0, 10, 100), (1.3, 16, 160), (2.0, 16, 160), (10.0, 5, 50))
ONE = gd.PureDP(1.0)


def row(base: float, d: int, n: int) -> str:
    signs = np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1
    body = gd.bodies.Polytope.symmetric_hull((base ** -np.arange(float(d)))[:, None] * signs)
    nested = gd.NIM.calibrate(body, ONE)
    errors = [kind.calibrate(body, ONE).error() for kind in (gd.KNorm, gd.EllipsoidNoise, gd.Cube, gd.Laplace)]
    shown = [errors[0], nested.error(), *errors[1:]]
    return f"| {base:g} | {d} x {n} | {nested.depth} | " + " | ".join(f"{error:.3g}" for error in shown) + " |"


def main() -> None:
    head = "| base | d x n | best depth | KNorm | NIM | Ellipsoid | Cube | Laplace |"
    pages.put("knorm", "long", [head, "|---:|---|---:|---:|---:|---:|---:|---:|", *(row(*case) for case in CASES)])


if __name__ == "__main__":
    main()
