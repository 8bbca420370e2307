"""Direct uniform sampling of bodies in floating point (docs/theory/walks.md)."""

import math

import numpy as np

from gaugedp.bodies import Body, BoxHull, Ellipsoid, LinearImage, LpBall, Product, SchattenBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import exponentials, normals, signs, uniforms


def has_direct(body: Body) -> bool:
    """Return True if `uniform_direct` supports the body."""
    match body:
        case LpBall() | Ellipsoid():
            return True
        case SchattenBall():
            return body.p == 2 or math.isinf(body.p) or 1 in body.shape
        case BoxHull():
            return body.rank > 0
        case Product():
            return all(map(has_direct, body.parts))
        case LinearImage():
            return has_direct(body.body) and body.rank == body.body.rank
    return False


def uniform_direct(body: Body, size: int, rng: Entropy) -> np.ndarray:
    """Return independent uniform draws (size, d); see `has_direct`."""
    if not has_direct(body):
        raise InvalidRequest(f"There is no direct uniform sampler for {body!r}.", "Use samplers.uniform.")
    match body:
        case LpBall():
            points = body.size * _ball(size, body.d, body.p, rng)
        case Ellipsoid():
            points = _ball(size, body.rank, 2, rng) @ body.frame.columns.T
        case BoxHull():
            points = _swept(body, size, rng)
        case Product():
            points = np.hstack([uniform_direct(part, size, rng) for part in body.parts])
        case LinearImage():
            points = uniform_direct(body.body, size, rng) @ body.matrix.T
        case SchattenBall() if math.isinf(body.p) and 1 not in body.shape:
            points = body.size * _spectral(size, body.shape, rng)
        case _:
            points = body.radius(2) * _ball(size, body.ambient_dim, 2, rng)
    return points


def _ball(size: int, d: int, p: float, rng: Entropy) -> np.ndarray:
    """Return uniform points on an ℓ_p ball.

    They are X/(Σ|X_i|^p + E)^{1/p} with X_i of density ∝ e^{−|x|^p} and E ~ Exp(1) (Barthe, Guédon, Mendelson and Naor
    2005; docs/theory/walks.md). |X_i| = V·G^{1/p}, V uniform on [0, 1] and G ~ Gamma(1 + 1/p).
    """
    shares = uniforms(size * d, rng).reshape(size, d)
    sides = signs(size * d, rng).reshape(size, d)
    if math.isinf(p):
        return sides * shares
    scales = gammas_above_one(1 + 1 / p, size * d, rng).reshape(size, d)
    total = (shares**p * scales).sum(axis=1, keepdims=True) + exponentials(size, rng)[:, None]
    return sides * shares * (scales / total) ** (1 / p)


def _swept(body: BoxHull, size: int, rng: Entropy) -> np.ndarray:
    """Return draws on α·H or a facet's sweep, picked by volume."""
    (alpha, beta), r = body.shrinking, body.rank
    ends = np.cumsum(body.shares)
    parts = np.searchsorted(ends[:-1], uniforms(size, rng) * ends[-1], side="right")
    inside = (2 * uniforms(size * body.ambient_dim, rng).reshape(size, body.ambient_dim) - 1) * body.half
    rows, places = np.flatnonzero(parts), parts[parts > 0] - 1
    inside[rows, places] = np.where(body.middle < 0, -body.half, body.half)[places]
    shares = uniforms(size, rng)
    shifts = alpha - 2 * (2.0**-r + (1 - 2.0**-r) * shares) ** (1 / r) if beta else shares
    shifts = np.where(parts > 0, shifts, 0.0)[:, None]
    return signs(size, rng)[:, None] * (shifts * body.middle + (alpha - beta * shifts) * inside)


def _spectral(size: int, shape: tuple[int, int], rng: Entropy) -> np.ndarray:
    """Return draws on {σ_1(Z) ≤ 1}: blocks of Haar orthogonal matrices of m + n + 1 rows.

    Such a block is A·S^{−1/2}, S = AᵀA + W, W = CᵀC, for independent standard Gaussian A (m, n) and C (n + 1, n). W has
    the Wishart density ∝ det(W)^{(n + 1 − n − 1)/2}·e^{−tr W/2} = e^{−tr W/2}, so (A, W) has the density ∝ e^{−tr S/2}
    on W > 0. As dA·dW = det(S)^{m/2}·dZ·dS, and W > 0 means S^{1/2}(I − ZᵀZ)S^{1/2} > 0, (Z, S) has the density ∝
    e^{−tr S/2}·det(S)^{m/2} on {S > 0} × {σ_1(Z) < 1}. So Z is uniform, and independent of S.
    """
    low, high = sorted(shape)
    rows = low + high + 1
    gaussian = normals(size * rows * low, rng).reshape(size, rows, low)
    frames, triangles = np.linalg.qr(gaussian)
    blocks = frames[:, :high] * np.sign(np.diagonal(triangles, axis1=1, axis2=2))[:, None, :]
    return (blocks if shape[0] == high else blocks.swapaxes(1, 2)).reshape(size, low * high)


def gammas_above_one(shape: float, size: int, rng: Entropy) -> np.ndarray:
    """Return Gamma draws of `shape` ≥ 1 (Marsaglia and Tsang 2000, section 2)."""
    a = shape - 1 / 3
    batches: list[np.ndarray] = []
    missing = size
    while missing > 0:
        count = missing + missing // 16 + 16
        normal = normals(count, rng)
        cube = np.maximum(1 + normal / math.sqrt(9 * a), 0.0) ** 3
        with np.errstate(divide="ignore"):
            log_chance = normal**2 / 2 + a * (1 - cube + np.log(cube))
        accepted = cube[exponentials(count, rng) > -log_chance][:missing]
        batches.append(a * accepted)
        missing -= len(accepted)
    return np.concatenate(batches) if batches else np.empty(0)
