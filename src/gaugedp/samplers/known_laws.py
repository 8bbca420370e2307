"""Noise of balls and ellipsoids that is drawn from their radius, as a function of real numbers."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.schatten import SchattenBall
from gaugedp.samplers.box_noise import BoxNoise, box_sides
from gaugedp.samplers.combined import Alone, Combined
from gaugedp.samplers.near_inverse import round_gauge
from gaugedp.samplers.reals import Law
from gaugedp.samplers.variables import Spherical

_MOST_WRITTEN = 1024  # rows of an ellipsoid's matrix, each a sum that is written out


class Known(NamedTuple):
    """A law, what each coordinate is times, and at least Σ‖e_i‖_K over the unit vectors, where that is proved."""

    law: Law | None = None
    sides: np.ndarray = np.ones(1)
    cube_gauge: Fraction | None = None


def known_law(body: Body) -> Known:
    """Return noise of upright boxes, of Euclidean balls, and of ellipsoids by matrices with independent columns."""
    if (sides := box_sides(body)) is not None:
        each = np.resize(sides, body.rank)
        return Known(BoxNoise(body.rank), sides, sum((1 / Fraction(float(side)) for side in each), Fraction(0)))
    match body:
        case LpBall(p=2) | SchattenBall(p=2):
            law = Alone(Spherical(body.ambient_dim))
            return Known(law, np.array([body.size]), body.ambient_dim / Fraction(body.size))
        case Ellipsoid(matrix=matrix) if body.rank == matrix.shape[1] and len(matrix) <= _MOST_WRITTEN:
            return Known(Combined(np.eye(len(matrix)), matrix, Spherical), cube_gauge=round_gauge(matrix))
    return Known()
