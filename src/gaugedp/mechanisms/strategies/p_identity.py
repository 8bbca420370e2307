"""Laplace noise for explicit queries: cells and weighted sums."""

from typing import NamedTuple

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.trial_stream import PUBLIC_SEED
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.prepare import distinct
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.strategies.blocks import block_sums
from gaugedp.mechanisms.strategies.dense import Dense
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.near_inverse import Inverse

MOST_COLUMNS = 128
MOST_ENTRIES = 2 * 10**6


class _Part(NamedTuple):
    """Distinct columns of some answers, A for them with columns of sum 1, and the squared length of their noise."""

    columns: np.ndarray
    strategy: np.ndarray
    square: float


def p_identity(body: Polytope, weights: np.ndarray | None) -> Dense:
    """Return L = F·A⁺ with A = (I above Θ)·D.

    F's columns are merged, Θ is (p, n), and D such that each column has ‖·‖₁ = 1. It is a local minimum of
    tr(W⁻¹F(AᵀA)⁻¹FᵀW⁻¹) over Θ (McKenna, Miklau, Hay and Machanavajjhala 2018), never worse than Θ = 0, noise on the
    merged cells. L is F·H in rational numbers, H the floats of A⁺. Every generator is v = ±F·e_j = ±L·u, u = A·(I −
    E)⁻¹·e_j with E = I − H·A, hence the radius ‖A‖₁/(1 − ‖E‖₁) (docs/theory/reals.md, theorem 5).
    """
    part = _searched(body.columns(), weights)
    n = part.columns.shape[1]
    return _stacked(body, [part], [1.0], f"{n} merged cells and {len(part.strategy) - n} sums")


def by_block(body: Polytope, heights: list[int], weights: np.ndarray | None) -> Dense:
    """Return a strategy of its own for each block of answers, `heights` rows each, which share the budget.

    L is block diagonal, so that the radii add up (docs/theory/reals.md, theorem 5). The shares are ∝ the cube roots of
    the squared errors: the least sum of square/share².
    """
    ends = np.cumsum(heights)[:-1]
    scales = [None] * len(heights) if weights is None else np.split(np.asarray(weights, dtype=float), ends)
    pairs = zip(np.split(body.columns(), ends), scales, strict=True)
    parts = [_searched(rows, scale, 512) for rows, scale in pairs]  # an inverse takes a second
    roots = np.cbrt([part.square for part in parts])
    return _stacked(body, parts, (roots / roots.sum()).tolist(), f"{len(parts)} strategies, one per table")


def _searched(matrix: np.ndarray, weights: np.ndarray | None, most: int = MOST_COLUMNS) -> _Part:
    columns = matrix[:, distinct(matrix)]
    n = columns.shape[1]
    if n > most or columns.size > MOST_ENTRIES:
        what = f"Matrix noise with pure differential privacy is not available for {n:,} cells."
        raise InvalidRequest(what, "Use Identity, Laplace or Gaussian.")
    scaled = columns if weights is None else columns / np.asarray(weights, dtype=float)[:, None]
    gram = scaled.T @ scaled
    strategy = _strategy(_best_sums(gram, max(2, n // 8)) if n <= MOST_COLUMNS else block_sums(scaled))
    return _Part(columns, strategy, float((gram * np.linalg.inv(strategy.T @ strategy)).sum()))


def _stacked(body: Polytope, parts: list[_Part], shares: list[float], words: str) -> Dense:
    import scipy.linalg

    radius, tables, inverses = 0.0, [], []
    for part, share in zip(parts, shares, strict=True):
        strategy = part.strategy * share
        inverse, missed = _inverse(strategy)
        # 1e-7: the most that ‖I − H·A‖₁ may be
        if not missed <= 1e-7:  # noise on the merged cells needs no search
            strategy = np.eye(strategy.shape[1]) * share
            inverse, missed = _inverse(strategy)
        radius += float(np.abs(strategy).sum(axis=0).max()) * (1 + 2 * missed)
        tables.append(strategy)
        inverses.append(inverse)
    law = Combined(scipy.linalg.block_diag(*(part.columns for part in parts)), scipy.linalg.block_diag(*inverses))
    cube = proved_cube(law) if len(parts) == 1 else None  # several tables count rows, and are not rounded
    return Dense(
        law.matrix,
        body.coefficient_radius * radius * UP,
        words,
        cube=cube,
        law=law,
        is_cube_proved=cube is not None,
        table=tables[0] if len(tables) == 1 else _joint(body, parts, tables),
    )


def _joint(body: Polytope, parts: list[_Part], tables: list[np.ndarray]) -> np.ndarray:
    """Return A with L·A = F, the distinct generators: in each block the column of A_b for that of F_b, or 0."""
    matrix, row, found = body.columns(), 0, []
    matrix = matrix[:, distinct(matrix)]
    for part, table in zip(parts, tables, strict=True):
        height = len(part.columns)
        places = {column.tobytes(): place for place, column in enumerate(np.ascontiguousarray(part.columns.T))}
        rows = np.ascontiguousarray(matrix[row : row + height].T)
        at = [places.get(column.tobytes(), -1) for column in rows]
        found.append(np.pad(table, ((0, 0), (0, 1)))[:, at])
        row += height
    return np.vstack(found)


def _inverse(strategy: np.ndarray) -> tuple[np.ndarray, float]:
    """Return H near A⁺ by A = QR, and an upper bound of ‖I − H·A‖₁."""
    frame, triangle = np.linalg.qr(strategy)
    inverse = np.linalg.solve(triangle, frame.T)
    missed = np.abs(np.eye(len(inverse)) - inverse @ strategy)
    missed += (len(strategy) + 2) * UNIT * (np.abs(inverse) @ np.abs(strategy) + 1)
    return inverse, float(missed.sum(axis=0).max()) * UP


def _strategy(sums: np.ndarray) -> np.ndarray:
    return np.vstack([np.eye(sums.shape[1]), sums]) / (1 + np.abs(sums).sum(axis=0))


def _best_sums(gram: np.ndarray, p: int) -> np.ndarray:
    import scipy.optimize

    n = len(gram)
    gram = gram / np.trace(gram)

    def cost(flat: np.ndarray) -> tuple[float, np.ndarray]:
        return _cost(gram, flat.reshape(p, n))

    start = uniforms(p * n, research_rng(PUBLIC_SEED))
    bounds = scipy.optimize.Bounds(0.0, 1e3)  # the largest sum of the weights Θ, so that A keeps its digits
    minimum = scipy.optimize.minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500, "maxfun": 600}
    )
    return minimum.x.reshape(p, n) if minimum.fun < 1 else np.zeros((p, n))


def _cost(gram: np.ndarray, sums: np.ndarray) -> tuple[float, np.ndarray]:
    """Return tr(G·(AᵀA)⁻¹) and its gradient in Θ ≥ 0.

    AᵀA = D·(I + ΘᵀΘ)·D with D⁻¹ = diag(1 + the column sums of Θ), and (I + ΘᵀΘ)⁻¹ = I − Θᵀ(I + ΘΘᵀ)⁻¹Θ.
    """
    heights = 1 + sums.sum(axis=0)
    inverse = np.eye(len(gram)) - sums.T @ np.linalg.solve(np.eye(len(sums)) + sums @ sums.T, sums)
    tall = gram * np.multiply.outer(heights, heights)
    inner = sums @ inverse
    slope = -2 * inner @ tall @ inverse + 2 * (gram * inverse) @ heights
    return float((tall * inverse).sum()), slope.ravel()


def proved_cube(law: Combined) -> float | None:
    """Return a proved cube bound of ‖u‖₁, or None."""
    if np.linalg.matrix_rank(law.left) < law.d:
        return None
    sizes = (law.left.shape[1] + 2) * np.abs(law.left) @ np.abs(law.right)
    inverse = Inverse.of(law.matrix, 1, sizes)
    return None if inverse is None else inverse.cube
