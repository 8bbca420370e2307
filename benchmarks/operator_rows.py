"""Trace regression on designs of operator norm 1: orthogonal matrices, permutations, single cells.

y = ⟨A, X⟩ for a rank-one X of nuclear norm 1, n = 8,000, ε = 1, δ = 1e-6, rows are replaced. The squared distance to X
over that of the zero matrix, which is 1, and the excess risk over that of the zero matrix. Writes
docs/benchmarks/operator_rows.md; takes some three minutes.

    python benchmarks/operator_rows.py
"""

import sys
from pathlib import Path

import numpy as np

from gaugedp.estimators import TraceRegression

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "operator_rows.md"
N_ROWS, REPEATS = 8_000, 5
SIZES = (4, 8, 16, 32)
SOLVERS = ("auto", "moments", "grams", "descent", "frank_wolfe")
BEFORE = {4: 0.43, 8: 0.67, 16: 0.95, 32: 1.01}  # what 0.1.0 reached on orthogonal designs, in the first figure


def orthogonal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform over all orthogonal matrices."""
    upper = np.linalg.qr(rng.standard_normal((n, d, d)))
    return upper.Q * np.sign(np.einsum("nii->ni", upper.R))[:, None, :]


def permutations(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return np.eye(d)[np.argsort(rng.random((n, d)), axis=1)]


def cells(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """e_i·e_jᵀ, with i and j likelier the smaller they are."""
    weights = 0.9 ** np.arange(d) / np.sum(0.9 ** np.arange(d))
    rows, columns = rng.choice(d, n, p=weights), rng.choice(d, n, p=weights)
    made = np.zeros((n, d, d))
    made[np.arange(n), rows, columns] = 1.0
    return made


KINDS = {"orthogonal": orthogonal, "permutations": permutations, "single cells": cells}


def errors(kind: str, d: int, solver: str, key: int) -> tuple[float, float, str]:
    """Return the squared distance to X, the excess over that of X = 0, and the solver that was taken."""
    rng = np.random.default_rng((list(KINDS).index(kind), d, key))
    designs = KINDS[kind](N_ROWS, d, rng)
    sides = rng.standard_normal((2, d))
    true = np.outer(*(sides / np.linalg.norm(sides, axis=1, keepdims=True)))
    target = np.einsum("nij,ij->n", designs, true)
    model = TraceRegression(1.0, 1e-6, design_norm=1.0, norm="operator", target_bounds=(-1, 1), solver=solver).fit(
        designs, target
    )
    others = KINDS[kind](N_ROWS, d, rng)
    missed, whole = (np.mean(np.einsum("nij,ij->n", others, part) ** 2) for part in (model.coef_ - true, true))
    return float(np.sum((model.coef_ - true) ** 2)), float(missed / whole), model.solver_


def line(kind: str, d: int) -> str:
    """Return one line of the table."""
    shown, taken = [], ""
    for solver in SOLVERS:
        if solver == "moments" and d * d > 600:  # seconds a fit
            shown.append("–")
            continue
        distances, excesses, names = zip(*(errors(kind, d, solver, key) for key in range(REPEATS)), strict=True)
        shown.append(f"{np.mean(distances):.3f}, {np.mean(excesses):.3f}")
        taken = names[0] if solver == "auto" else taken
    before = f"{BEFORE[d]:.2f}" if kind == "orthogonal" else "–"
    text = "| " + " | ".join([kind, str(d), taken, *shown, before]) + " |"
    print(text, flush=True)
    return text


def main() -> None:
    """Write the page."""
    lines = [line(kind, d) for kind in KINDS for d in SIZES]
    head = [
        "# Trace regression: designs of bounded operator norm",
        "",
        f"y = ⟨A, X⟩, X of rank one and nuclear norm 1, {N_ROWS:,} rows, ε = 1, δ = 1e-6, rows are replaced.",
        f"Means of {REPEATS} repetitions. Of each solver: the squared distance to X, then the excess risk over that of",
        "X = 0, which has 1 and 1. *Orthogonal*: uniform over all orthogonal matrices. *Permutations*: uniform.",
        "*Single cells*: entries of X, some seen more often. The last column is the distance that 0.1.0 reached.",
        f"Python {sys.version.split()[0]}, numpy {np.__version__}. Written by `benchmarks/operator_rows.py`.",
        "",
        "| designs | d | auto takes | " + " | ".join(SOLVERS) + " | 0.1.0 |",
        "|---" * (len(SOLVERS) + 4) + "|",
    ]
    PAGE.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
