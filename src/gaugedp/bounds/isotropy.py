"""How round a body is: its isotropic constant, and the quantity that the literature compares errors with."""

import math

import numpy as np

from gaugedp._validate import positive
from gaugedp.bodies.base import Body
from gaugedp.bodies.volume import Volume, volume
from gaugedp.errors import InvalidRequest


def isotropic_constant(covariance: np.ndarray, volume: Volume) -> float:
    """Return L_K = det(Cov)^{1/(2r)}/vol_r(K)^{1/r}, the same for every one-to-one linear image of K.

    `covariance` (r, r) is that of a uniform point of K, in coordinates of an orthonormal basis of the span: SᵀCS for a
    C of shape (d, d), S = body.span. L_K is 1/√12 = 0.2887 for a cube and at least that of the ball,
    Γ(1 + r/2)^{1/r}/√(π(r + 2)), for every body (Milman and Pajor 1989).
    """
    logs = np.log(_eigenvalues(covariance))
    return math.exp(float(logs.mean()) / 2 - volume.log_volume / len(logs))


def is_approximately_isotropic(covariance: np.ndarray, c: float) -> bool:
    """Return whether λ_max(Cov) ≤ c²·L_K²·vol_r(K)^{2/r}, Cov as for `isotropic_constant`.

    The right side is c²·det(Cov)^{1/r}: the volume cancels. The root mean square of K-norm noise is then at most
    c·L_K·√((r + 1)(r + 2)·r)·vol_r(K)^{1/r}/ε (docs/theory/lower-bound.md, theorem 5).
    """
    positive(c=c)
    values = _eigenvalues(covariance)
    return bool(math.log(values[-1]) <= 2 * math.log(c) + float(np.log(values).mean()) + 1e-12)


def volume_quantity(body: Body, epsilon: float) -> float:
    """Return r·√r·vol_r(K)^{1/r}/ε, r the rank: the order of the volume bound of Hardt and Talwar 2010.

    It is no bound: that one has a constant that this leaves out, and mechanisms have a third of this error.
    """
    positive(epsilon=epsilon)
    rank = body.rank
    return rank * math.sqrt(rank) * math.exp(volume(body).log_volume / rank) / epsilon


def _eigenvalues(covariance: np.ndarray) -> np.ndarray:
    matrix = np.asarray(covariance, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InvalidRequest(f"The covariance has shape {matrix.shape}.", "Give a square matrix of finite numbers.")
    values = np.linalg.eigvalsh(matrix)
    if not values[0] > 0:
        raise InvalidRequest("The covariance is singular.", "Give it in coordinates of the body's span.")
    return values
