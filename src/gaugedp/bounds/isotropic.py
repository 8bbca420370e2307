"""The linear map of a body to isotropic position."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import Body, volume
from gaugedp.bounds.geometry import isotropic_constant
from gaugedp.samplers.uniform import moments


@dataclass(frozen=True, eq=False)
class IsotropicPosition:
    """Linear map that brings a body into isotropic position.

    `isotropic_position` returns it. `map` is a matrix T of shape (r, d). The image T·K of the body K has the same
    volume as K, and a uniform point of the image varies equally in all directions: its covariance is `deviation`²·I.

    `constant` is the isotropic constant L_K, or an upper bound on it if only a lower bound on the volume is known. `c`
    is the least number for which K itself is c-approximately isotropic. `kind` states how the second moments are known,
    "exact" or "estimated".
    """

    map: np.ndarray
    constant: float
    c: float
    deviation: float
    kind: str

    def root_mean_square(self, epsilon: float) -> float:
        """Bound the root mean square of K-norm noise.

        The upper bound is c·L_K·√((r + 1)(r + 2)r)·vol_r(K)^{1/r}/ε for the least c (`is_approximately_isotropic`);
        after Lodrant (2019), theorem 7.4.
        """
        positive(epsilon=epsilon)
        rank = len(self.map)
        return self.c * self.deviation * math.sqrt((rank + 1) * (rank + 2) * rank) / epsilon


def isotropic_position(body: Body) -> IsotropicPosition:
    """Return the linear map that makes a body isotropic.

    A body is isotropic if a random point, drawn uniformly from it, varies equally in all directions. Use the map to see
    how far a body is from that, or to compare bodies of different shapes.

    Parameters
    ----------
    body : Body
        A body with known moments and volume; see `samplers.moments` and `bodies.volume`.

    Returns
    -------
    IsotropicPosition
        The map T = det(C)^{1/(2r)}·C^{−1/2}·Sᵀ with its constants. Here r is the rank, S is body.span, and C (r, r) is
        the covariance of a uniform point in coordinates of S.

    Raises
    ------
    InvalidRequest
        If the moments or the volume of the body are not known.

    Notes
    -----
    The map is unique up to a rotation (Milman and Pajor 1989, section 1.6; Lodrant 2019, propositions 7.2 and 8.7).

    Examples
    --------
    A rectangle with sides in the ratio 4 : 1 becomes a square of the same area:

    >>> import numpy as np
    >>> from gaugedp.bodies import LpBall, image
    >>> from gaugedp.bounds import isotropic_position
    >>> position = isotropic_position(image(LpBall(2, np.inf), [[4.0, 0.0], [0.0, 1.0]]))
    >>> position.map.round(6).tolist(), round(position.constant, 6), round(position.c, 6)
    ([[0.5, 0.0], [0.0, 2.0]], 0.288675, 2.0)
    """
    span, measured = body.span, moments(body)
    covariance = span.T @ measured.second_moment @ span
    constant = isotropic_constant(covariance, volume(body))
    values, vectors = np.linalg.eigh(covariance)
    deviation = math.exp(float(np.log(values).mean()) / 2)
    whitened = vectors / np.sqrt(values) @ vectors.T
    c = math.sqrt(values[-1]) / deviation
    return IsotropicPosition(deviation * whitened @ span.T, constant, c, deviation, measured.kind)
