"""Which pure noise is best for bodies that are longer in some directions than in others?

Random signs whose row i is scaled by base^-i; expected lengths at ε = 1 of K-norm noise, the recursive mechanism at its
best depth, and the best ellipsoid. Then ellipsoids and balls of ℓ_p, with the proved lower bound. Prints the tables and
writes docs/benchmarks/knorm.md.

    python benchmarks/long_bodies.py
"""

import numpy as np
import pages

import gaugedp as gd

CASES = ((1.0, 10, 100), (1.3, 16, 160), (2.0, 16, 160), (10.0, 5, 50))
ONE = gd.PureDP(1.0)
RANK, CONDITIONS, POWERS = 8, (1e1, 1e2, 1e4), (1.5, 2, np.inf)


def row(base: float, d: int, n: int) -> str:
    signs = np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1
    body = gd.bodies.Polytope.symmetric_hull((base ** -np.arange(float(d)))[:, None] * signs)
    nested = gd.NIM.calibrate(body, ONE)
    errors = [kind.calibrate(body, ONE).error() for kind in (gd.KNorm, gd.EllipsoidNoise, gd.Cube, gd.Laplace)]
    shown = [errors[0], nested.error(), *errors[1:]]
    return f"| {base:g} | {d} x {n} | {nested.depth} | " + " | ".join(f"{error:.3g}" for error in shown) + " |"


def ball_row(p: float, condition: float) -> str:
    body = gd.bodies.image(gd.bodies.LpBall(RANK, p), np.diag(np.geomspace(1, 1 / condition, RANK)))
    nested = gd.NIM.calibrate(body, ONE)
    errors = [mechanism.error() for mechanism in (gd.KNorm.calibrate(body, ONE), nested)]
    bound = float(gd.bounds.lower_bound(body, 1.0))
    shown = " | ".join(f"{error:.3g}" for error in (*errors, bound, errors[1] / bound))
    return f"| {'∞' if np.isinf(p) else f'{p:g}'} | {condition:g} | {shown} |"


def main() -> None:
    head = "| base | d x n | best depth | KNorm | NIM | Ellipsoid | Cube | Laplace |"
    pages.put("knorm", "long", [head, "|---:|---|---:|---:|---:|---:|---:|---:|", *(row(*case) for case in CASES)])
    head = "| p | condition | KNorm | NIM | lower bound | NIM over the bound |"
    rows = (ball_row(p, condition) for p in POWERS for condition in CONDITIONS)
    pages.put("knorm", "balls", [head, "|---:|---:|---:|---:|---:|---:|", *rows])


if __name__ == "__main__":
    main()
