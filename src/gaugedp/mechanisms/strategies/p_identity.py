"""Laplace noise for explicit queries: cells and weighted sums."""

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp._internal.trial_stream import PUBLIC_SEED
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.prepare import distinct
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.strategies.dense import Dense
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.near_inverse import Inverse

MOST_COLUMNS = 128
MOST_ENTRIES = 2 * 10**6


def p_identity(body: Polytope, weights: np.ndarray | None) -> Dense:
    """Return L = F·A⁺ with A = (I above Θ)·D.

    F's columns are merged, Θ is (p, n), and D such that each column has ‖·‖₁ = 1. It is a local minimum of
    tr(W⁻¹F(AᵀA)⁻¹FᵀW⁻¹) over Θ (McKenna, Miklau, Hay and Machanavajjhala 2018), never worse than Θ = 0, noise on the
    merged cells. L is F·H in rational numbers, H the floats of A⁺. Every generator is v = ±F·e_j = ±L·u, u = A·(I −
    E)⁻¹·e_j with E = I − H·A, hence the radius ‖A‖₁/(1 − ‖E‖₁) (docs/theory/reals.md, theorem 5).
    """
    matrix = body.columns()
    columns = matrix[:, distinct(matrix)]
    n = columns.shape[1]
    if n > MOST_COLUMNS or columns.size > MOST_ENTRIES:
        what = f"Matrix noise with pure differential privacy is not available for {n:,} cells."
        raise InvalidRequest(what, "Use Identity, Laplace or Gaussian.")
    scaled = columns if weights is None else columns / np.asarray(weights, dtype=float)[:, None]
    strategy = _strategy(_best_sums(scaled.T @ scaled, max(2, n // 8)))
    inverse, missed = _inverse(strategy)
    # 1e-7: the most that ‖I − H·A‖₁ may be
    if not missed <= 1e-7:  # noise on the merged cells needs no inverse
        strategy = inverse = np.eye(n)
        missed = 0.0
    radius = body.coefficient_radius * float(np.abs(strategy).sum(axis=0).max()) * (1 + 2 * missed) * UP
    words, law = f"{n} merged cells and {len(strategy) - n} sums", Combined(columns, inverse)
    cube = proved_cube(law)
    return Dense(law.matrix, radius, words, cube=cube, law=law, is_cube_proved=cube is not None, table=strategy)


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
