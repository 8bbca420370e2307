"""Closed-form second moments of uniform points on bodies."""

import math

import numpy as np

from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, Product, SchattenBall


def second_moment(body: Body) -> np.ndarray | None:
    """Return E ZZᵀ of a uniform point Z, or None.

    The shape is (d, d), and Z is on the body in its span. It is `mean_square`·I on a ball of ℓ_p, AAᵀ/(r + 2) on an
    ellipsoid A·B₂ of rank r, the blocks of the parts on a product, and M·E ZZᵀ·Mᵀ on one-to-one images. On the m × n
    matrices of largest singular value `radius` it is radius²/(m + n + 1)·I, as E ZᵀZ = m/(m + n + 1)·I for a block of a
    Haar matrix (docs/theory/walks.md, theorem 2).
    """
    match body:
        case LpBall():
            return mean_square(body) * np.eye(body.d)
        case Ellipsoid():
            return body.matrix @ body.matrix.T / (body.rank + 2)
        case SchattenBall() if body.p == 2 or 1 in body.shape:
            return body.size**2 / (body.ambient_dim + 2) * np.eye(body.ambient_dim)
        case SchattenBall(p=math.inf):
            return body.size**2 / (sum(body.shape) + 1) * np.eye(body.ambient_dim)
        case Product():
            return _blocks([second_moment(part) for part in body.parts])
        case LinearImage():
            inner = second_moment(body.body) if body.rank == body.body.rank else None
            return None if inner is None else body.matrix @ inner @ body.matrix.T
    return None


def _blocks(moments: list[np.ndarray | None]) -> np.ndarray | None:
    from scipy.linalg import block_diag

    return None if any(moment is None for moment in moments) else np.asarray(block_diag(*moments))


def mean_square(body: LpBall) -> float:
    """Return E Z_1² = size²·Γ(3/p)·Γ(d/p + 1)/(Γ(1/p)·Γ((d + 2)/p + 1)), and size²/3 for p = ∞.

    With X of docs/theory/walks.md, theorem 1, X/‖X‖_p is independent of the Gamma variable S = ‖X‖_p^p, so E Z_1² = E
    X_1²/E S^{2/p}·E‖Z‖_p² at size 1, and E‖Z‖_p² = d/(d + 2).
    """
    inverse = 1 / body.p
    if inverse == 0:
        return body.size**2 / 3
    logarithm = math.lgamma(3 * inverse + 1) - math.lgamma(inverse + 1)  # Γ(x) = Γ(x + 1)/x is accurate at large p
    logarithm += math.lgamma(body.d * inverse + 1) - math.lgamma((body.d + 2) * inverse + 1)
    return body.size**2 * math.exp(logarithm) / 3
