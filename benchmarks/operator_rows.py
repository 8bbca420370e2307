"""Trace regression on designs of operator norm 1: orthogonal matrices, permutations, single cells.

y = ⟨A, X⟩ for a rank-one X of nuclear norm 1, n = 8,000, ε = 1, δ = 1e-6, rows are replaced. The squared distance to X
over that of the zero matrix, which is 1, and the excess risk over that of the zero matrix. Writes
docs/benchmarks/matrices.md; takes some three minutes.

    python benchmarks/operator_rows.py
"""

import numpy as np
import pages

from gaugedp.estimators import TraceRegression

N_ROWS, REPEATS = 8_000, 5
SIZES = (8, 16, 32)
SOLVERS = ("auto", "moments", "grams", "descent", "frank_wolfe")


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
    model = TraceRegression(
        1.0, 1e-6, neighbours="replace", design_norm=1.0, norm="operator", target_bounds=(-1, 1), solver=solver
    ).fit(designs, target)
    others = KINDS[kind](N_ROWS, d, rng)
    missed, whole = (np.mean(np.einsum("nij,ij->n", others, part) ** 2) for part in (model.coef_ - true, true))
    return float(np.sum((model.coef_ - true) ** 2)), float(missed / whole), model.solver_


def measured(kind: str, d: int) -> list[float]:
    """Return the mean excess of each solver; NaN if it is left out."""
    shown = []
    for solver in SOLVERS:
        if solver == "moments" and d * d > 600:  # seconds a fit
            shown.append(np.nan)
            continue
        _, excesses, _ = zip(*(errors(kind, d, solver, key) for key in range(REPEATS)), strict=True)
        shown.append(float(np.mean(excesses)))
    print(kind, d, *shown, flush=True)
    return shown


def line(kind: str, d: int, excesses: list[float]) -> str:
    """Return one line of the table."""
    return f"| {kind} | {d} | {' | '.join(f'{excess:.3f}' for excess in excesses)} |"


def main() -> None:
    """Write the page."""
    found = {(kind, d): measured(kind, d) for kind in KINDS for d in SIZES}
    lines = [
        line(*case, excesses)
        for case, excesses in found.items()
        if case[1] == SIZES[1] or case == ("permutations", SIZES[0])
    ]
    least = min(np.nanmin(excesses) for (_, d), excesses in found.items() if d == SIZES[-1])
    last = f"With d = {SIZES[-1]}, no solver is much better than X = 0: the least excess is {least:.3f}."
    head = f"| designs | d | {' | '.join(SOLVERS)} |"
    pages.put("matrices", "operator_rows", [head, "|---|---:|" + "---:|" * len(SOLVERS), *lines, "", last])


if __name__ == "__main__":
    main()
