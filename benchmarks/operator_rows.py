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
SOLVERS = ("moments", "grams", "descent", "frank_wolfe")
MOST_ENTRIES = 600  # moments of more take seconds a fit
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


def repetition(kind: str, d: int, key: int) -> dict[str, tuple[float, float]]:
    """Return of each solver the squared distance to X, and the excess over that of X = 0, on the same rows."""
    rng = np.random.default_rng((list(KINDS).index(kind), d, key))
    designs, others, sides = KINDS[kind](N_ROWS, d, rng), KINDS[kind](N_ROWS, d, rng), rng.standard_normal((2, d))
    true = np.outer(*(sides / np.linalg.norm(sides, axis=1, keepdims=True)))
    target, whole = np.einsum("nij,ij->n", designs, true), np.mean(np.einsum("nij,ij->n", others, true) ** 2)
    found = {}
    for solver in SOLVERS:
        if solver != "moments" or d * d <= MOST_ENTRIES:
            off = fitted(solver, designs, target, key).coef_ - true
            missed = np.mean(np.einsum("nij,ij->n", others, off) ** 2)
            found[solver] = float(np.sum(off**2)), float(missed / whole)
    return found


def fitted(solver: str, designs: np.ndarray, target: np.ndarray, key: int) -> TraceRegression:
    return TraceRegression(
        1.0, 1e-6, design_norm=1.0, norm="operator", target_bounds=(-1, 1), solver=solver, random_state=key
    ).fit(designs, target)


def taken(d: int) -> str:
    """Return the solver that `auto` takes, by public numbers."""
    return fitted("auto", np.zeros((N_ROWS, d, d)), np.zeros(N_ROWS), 0).solver_


def cell(kind: str, d: int) -> list[dict[str, tuple[float, float]]]:
    return [repetition(kind, d, key) for key in range(REPEATS)]


def line(kind: str, d: int) -> str:
    """Return one line of the table."""
    rounds, auto, shown, means = cell(kind, d), taken(d), [], {}
    for solver in SOLVERS:
        values = np.array([found[solver] for found in rounds if solver in found])
        if not len(values):
            shown.append("–")
            continue
        means[solver] = values[:, 1].mean()
        shown.append(f"{values[:, 0].mean():.3f}, {means[solver]:.3f}")
    over = means[auto] / min(means.values())
    before = f"{BEFORE[d]:.2f}" if kind == "orthogonal" else "–"
    text = "| " + " | ".join([kind, str(d), *shown, auto, f"{over:.2f}", before]) + " |"
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
        "*Single cells*: entries of X, some seen more often. All solvers of a repetition have the same rows. Then the",
        "excess of what `auto` takes over the least of the solvers, and the distance that 0.1.0 reached.",
        f"Python {sys.version.split()[0]}, numpy {np.__version__}. Written by `benchmarks/operator_rows.py`.",
        "",
        "| designs | d | " + " | ".join(SOLVERS) + " | auto takes | over the best | 0.1.0 |",
        "|---" * (len(SOLVERS) + 5) + "|",
    ]
    PAGE.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
