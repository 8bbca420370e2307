"""Noise of balls and ellipsoids that is drawn from their radius, as a function of real numbers."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.derived import LinearImage
from gaugedp.bodies.ellipsoid import Ellipsoid
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.schatten import SchattenBall
from gaugedp.samplers.box_noise import BoxNoise
from gaugedp.samplers.combined import Alone, Combined
from gaugedp.samplers.lp_noise import MOST_P, LpNoise
from gaugedp.samplers.mapped import Mapped
from gaugedp.samplers.near_inverse import cross_gauge, round_gauge
from gaugedp.samplers.reals import Law
from gaugedp.samplers.variables import Laplace, Spherical

_MOST_WRITTEN = 1024  # rows of a matrix, each a sum that is written out


class Known(NamedTuple):
    """A law, what each coordinate is times, and at least Σ‖e_i‖_K over the unit vectors, where that is proved."""

    law: Law | None = None
    sides: np.ndarray = np.ones(1)
    cube_gauge: Fraction | None = None


def known_law(body: Body) -> Known:
    """Return noise of ℓ_p balls, p ≤ 64 or ∞, of their images by a one-to-one matrix, and of ellipsoids.

    The columns of an ellipsoid's matrix are independent, and matrices have at most 1,024 rows.
    """
    match body:
        case LpBall() | SchattenBall(p=2):
            law = _of_ball(body.ambient_dim, body.p)
            return Known(law, np.array([body.size]), body.ambient_dim / Fraction(body.size))
        case LinearImage(body=LpBall(size=1.0) as ball, matrix=matrix) if is_upright(matrix):
            sides = np.diag(matrix)
            return Known(
                _of_ball(ball.d, ball.p), sides, sum((1 / Fraction(float(side)) for side in sides), Fraction(0))
            )
        case LinearImage(body=LpBall() as ball, matrix=matrix) if body.rank == ball.d and len(matrix) <= _MOST_WRITTEN:
            return _of_image(ball, matrix)
        case Ellipsoid(matrix=matrix) if body.rank == matrix.shape[1] and len(matrix) <= _MOST_WRITTEN:
            return Known(Combined(np.eye(len(matrix)), matrix, Spherical), cube_gauge=round_gauge(matrix))
    return Known()


def _of_ball(d: int, p: float) -> Law | None:
    """Return the law of density ∝ e^{−‖z‖_p} on ℝ^d."""
    if p in (1, 2):
        return Alone(Laplace(d) if p == 1 else Spherical(d))
    if math.isinf(p):
        return BoxNoise(d)
    if d == 1:
        return Alone(Laplace(1))
    return LpNoise(d, p) if p <= MOST_P else None


def _of_image(ball: LpBall, matrix: np.ndarray) -> Known:
    """Each M⁻¹·e_i has ‖·‖_p at most ‖·‖₂ for p ≥ 2, and at most ‖·‖₁ in any case."""
    inner = _of_ball(ball.d, ball.p)
    gauge = round_gauge(matrix, ball.size) if ball.p >= 2 else cross_gauge(matrix, ball.size)
    return Known() if inner is None else Known(Mapped(matrix, inner), np.array([ball.size]), gauge)


def is_upright(matrix: np.ndarray) -> bool:
    """Whether it is a diagonal matrix with positive entries."""
    return bool((np.diag(matrix) > 0).all() and np.array_equal(matrix, np.diag(np.diag(matrix))))
