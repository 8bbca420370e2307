"""Do two published mechanisms keep their guarantee? An audit of somebody else's code, by its outputs alone.

1. diffprivlib's Bingham mechanism, which releases the top eigenvector of a covariance matrix (its PCA uses it), is
   asked for ε = 2. Its rejection step divides by (xᵀΩx)^{d/2} where the sampler of Kent, Ganeiber and Mardia
   multiplies, so it draws from another density, and ε is more than 2. The two matrices differ by one unit row that is
   replaced: A = diag(L, L, 0, …) + e₁e₁ᵀ and B = diag(L, L, 0, …) + e₂e₂ᵀ. The wrong factor is (xᵀΩx)^{−d}, and the
   gap L between the first two directions and the others makes Ω steep where A and B differ.
2. Laplace noise made of NumPy's floats: the low-order bits tell the answer, whatever the scale.
3. Laplace noise of this library, for comparison.

    python examples/audit_a_peer.py [--runs 3000] [--gap 200]

Takes about two minutes. The first part needs diffprivlib, of which only the mechanisms are loaded: its models do not
load beside scikit-learn 1.8 and later.
"""

import argparse
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.audit import Audit, audit
from gaugedp.bodies import LpBall

EPSILON, N_DIMENSIONS = 2.0, 7
SHOWN_EVERY = 250


def matrices(gap: float, n: int = N_DIMENSIONS) -> tuple[np.ndarray, np.ndarray]:
    """Two scatter matrices: one unit row e₁ is replaced by e₂."""
    common, rows = np.diag([gap, gap, *[0.0] * (n - 2)]), np.eye(n)
    return common + np.outer(rows[0], rows[0]), common + np.outer(rows[1], rows[1])


def bingham(epsilon: float) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return diffprivlib's mechanism as a function of a matrix; None where diffprivlib is not installed."""
    found = importlib.util.find_spec("diffprivlib")
    if found is None or found.submodule_search_locations is None:
        return None
    if "diffprivlib" not in sys.modules:  # the package without its models
        package = types.ModuleType("diffprivlib")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["diffprivlib"] = package
    mechanisms = importlib.import_module("diffprivlib.mechanisms")
    return mechanisms.Bingham(epsilon=epsilon, sensitivity=1.0).randomise  # type: ignore[no-any-return]


def counted(mechanism: Callable[[Any], Any], runs: int) -> Callable[[Any], Any]:
    """Return the mechanism with its progress on standard error."""
    done = iter(range(1, runs + 1))

    def run(answer: Any) -> Any:
        number = next(done)
        if number % SHOWN_EVERY == 0:
            print(f"  {number:,} of {runs:,} runs", file=sys.stderr, flush=True)
        return mechanism(answer)

    return run


def audit_bingham(runs: int, gap: float) -> Audit | None:
    mechanism = bingham(EPSILON)
    if mechanism is None:
        return None
    a, b = matrices(gap)
    return audit(counted(mechanism, runs), a, b, gd.PureDP(EPSILON), runs=runs, confidence=0.99)


def audit_floats(runs: int = 20_000) -> Audit:
    noise = np.random.default_rng()
    return audit(lambda answer: answer + noise.laplace(), 0.0, 1.0, gd.PureDP(1.0), runs=runs)


def audit_ours(runs: int = 20_000) -> Audit:
    mechanism = gd.Laplace.calibrate(LpBall(1, 1, 1.0), gd.PureDP(1.0))
    return audit(mechanism, [0.0], [1.0], runs=runs)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--gap", type=float, default=200.0)
    options = parser.parse_args(arguments)
    print(f"1. diffprivlib's Bingham, epsilon = {EPSILON:g}, {N_DIMENSIONS} dimensions")
    found = audit_bingham(options.runs, options.gap)
    print("diffprivlib is not installed: left out." if found is None else found)
    print("\n2. Laplace noise of NumPy's floats, epsilon = 1")
    print(audit_floats())
    print("\n3. gaugedp's Laplace, epsilon = 1")
    print(audit_ours())


if __name__ == "__main__":
    main()
