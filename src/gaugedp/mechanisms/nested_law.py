"""Noise of several levels as a function of real numbers, where their answers are proved to determine the question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.derived import LinearImage
from gaugedp.bodies.lp import LpBall
from gaugedp.bodies.polytope import Polytope
from gaugedp.samplers.gauge_noise import GaugeNoise
from gaugedp.samplers.known_laws import Known
from gaugedp.samplers.mapped import Mapped, Summed
from gaugedp.samplers.reals import UNIT

_UP = 1 + 2.0**-30  # covers the rounding of the bounds themselves


@dataclass(frozen=True, eq=False)
class Level:
    """K-norm noise of the body projected on the columns of `basis` (d, k), with all of ε.

    The columns of `short` (k, ·) are what is kept of it for good, those of `long` (k, ·) what the next level answers
    anew; `short_square` and `long_square` are the mean squares of the noise on both.
    """

    basis: np.ndarray
    noise: GaugeNoise
    short: np.ndarray
    long: np.ndarray
    short_square: float
    long_square: float

    def kept(self, weight: float) -> np.ndarray:
        """Return what its noise adds to the answers where what follows has so much weight, shape (d, k)."""
        return np.asarray(self.basis @ (self.short @ self.short.T + (1 - weight) * self.long @ self.long.T))


def nested_law(
    body: Body, levels: Sequence[Level], maps: Sequence[np.ndarray], shares: np.ndarray, most: float
) -> Known:
    """Return the law of Σ_l C_l·η_l, η_l the levels' noise, C_l = `maps`[l] (d, k), or none where nothing is proved.

    Then each point z of the body is Σ_l C_l·u_l with Σ_l‖u_l‖_{S_l} ≤ `most`, S_l the body of the level's noise
    (docs/theory/nim.md).
    """
    size, d = _size(body), body.ambient_dim
    gauges = [gauge for level in levels if (gauge := level.noise.cube_gauge) is not None]
    laws = [law for level in levels if (law := level.noise.law) is not None]
    if size is None or len(gauges) + len(laws) < 2 * len(levels) or levels[0].basis.shape[1] < d:
        return Known()
    scaled = [matrix * level.noise.sides for matrix, level in zip(maps, levels, strict=True)]
    missed = _missed(levels, scaled, shares)
    if not missed < 1e-3:
        return Known()
    off = Fraction(((2 * d + 8) * UNIT + 2 * missed / (1 - missed)) * size * _UP)
    cube = sum((Fraction(float(share)) * gauge for share, gauge in zip(shares, gauges, strict=True)), Fraction(0))
    if not sum(map(Fraction, shares.tolist())) + off * cube <= Fraction(most):
        return Known()
    law = Summed(tuple(Mapped(matrix, part) for matrix, part in zip(scaled, laws, strict=True)))
    return Known(law, cube_gauge=cube * Fraction(math.sqrt(d) * (1 + 2e-3)))


def _missed(levels: Sequence[Level], scaled: Sequence[np.ndarray], shares: np.ndarray) -> float:
    """Return at least ‖I − Σ_l share_l·C_l·Q_lᵀ‖_F, C_l the scaled maps over the sides of the noise."""
    d = len(levels[0].basis)
    total, sizes = -np.eye(d), np.eye(d)
    for level, matrix, share in zip(levels, scaled, shares, strict=True):
        answers = (level.basis * (share / level.noise.sides)).T
        total += matrix @ answers
        sizes += np.abs(matrix) @ np.abs(answers)
    return float(np.linalg.norm(np.abs(total) + (d + 4 * len(levels) + 8) * UNIT * sizes)) * _UP


def _size(body: Body) -> float | None:
    """Return what bounds the rounding of shadows: a coordinate of one is off by less than (2d + 8)·2^−53 of it."""
    match body:
        case Polytope():
            return float(body.factor * np.linalg.norm(body.columns(), axis=0).max()) * _UP
        case LinearImage(body=LpBall(size=size), matrix=matrix):
            return float(size * np.linalg.norm(np.abs(matrix).sum(axis=1))) * _UP
    return None
