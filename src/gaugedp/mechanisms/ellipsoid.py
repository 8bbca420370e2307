"""Noise shaped like the best ellipsoid around the sensitivity body."""

import contextlib
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp.bodies import Body, Ellipsoid, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import is_integer
from gaugedp.mechanisms.body_limits import TOO_WIDE, has_delta, is_long, size, why_not_long
from gaugedp.mechanisms.factorisation import Factorisation, factorise
from gaugedp.mechanisms.norm_noise import NormNoise, lattice_of, rate_for
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.mechanisms.strategies.certified import Proved, proved
from gaugedp.mechanisms.strategies.dense import Dense, words_for
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.variables import Spherical


@dataclass(frozen=True, eq=False, repr=False)
class EllipsoidNoise(NormNoise):
    """Noise that is larger in directions of larger changes.

    Use it under pure differential privacy if one unit can change some combinations of answers much more than others.
    The set of possible changes, called the sensitivity body, is then long and thin. The mechanism encloses this body in
    the ellipsoid for which the expected squared error is smallest, and draws noise with the shape of the ellipsoid.

    Notes
    -----
    Let E be the ellipsoid, the image of the unit ball under a matrix L, and let ‖z‖_E be the smallest t for which z
    lies in t·E. If the body lies in Δ·E, noise with a density proportional to exp(−ε‖z‖_E/Δ) is ε-DP. If the body spans
    r dimensions, the covariance of this noise is (r + 1)(Δ/ε)²·LLᵀ. The matrix L minimises its trace among all matrices
    for which E contains the change that each single row can cause (docs/theory/ellipsoid.md).

    Examples
    --------
    One unit changes the first answer by 1, the second by 100, or both. The expected length of the noise is then 129,
    compared with 164 for Laplace noise:

    >>> import gaugedp as gd
    >>> body = gd.bodies.Polytope.symmetric_hull([[1, 0, 1], [0, 100, 100]])
    >>> [round(noise.calibrate(body, gd.PureDP(1)).error()) for noise in (gd.EllipsoidNoise, gd.Laplace)]
    [129, 164]
    """

    name: ClassVar[str] = "Ellipsoid"
    plan_order: ClassVar[int] = 5

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "EllipsoidNoise":
        """Return the mechanism for PureDP(ε) or ApproxDP(ε, δ)."""
        if not isinstance(body, Polytope):
            raise InvalidRequest(f"{body!r} is not a polytope.", "Use KNorm, whose noise has the shape of the body.")
        if not body.radius(2) > 0:
            raise InvalidRequest("No unit can change these answers.", "Use a query that depends on the rows.")
        factorisation = factorise(body, weights)
        shape = Ellipsoid(factorisation.left)
        noise, radius = _proved_noise(body, factorisation, gauge_noise(shape))
        epsilon, satisfied = rate_for(guarantee, noise)
        step, scale_factor = lattice_of(body, shape, radius, noise.cube_gauge)
        return cls(body, satisfied, shape, noise, epsilon, scale_factor, step)

    @classmethod
    def candidates(
        cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None
    ) -> "Iterator[EllipsoidNoise]":
        """Yield one mechanism for long bodies with redundant generators."""
        rank, count = size(body)
        with contextlib.suppress(InvalidRequest):  # noise beyond 64 bits
            if rank < count and is_long(body, weights):
                yield cls.calibrate(body, guarantee if has_delta(guarantee) else pure_within(guarantee), weights)

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        return why_not_long(body, weights) or TOO_WIDE

    @property
    def _is_scale_proved(self) -> bool:
        """True for integer answers, or a proved gauge of the cube."""
        return is_integer(self.body) or self.noise.cube_gauge is not None

    def describe(self) -> str:
        """Return rank and rate."""
        return f"ellipsoidal noise of rank {self.noise.rank}, rate {self.epsilon:.6g}"


def _proved_noise(body: Polytope, factorisation: Factorisation, noise: GaugeNoise) -> tuple[GaugeNoise, float]:
    strategy, exact = (
        proved(body, Dense(factorisation.left, factorisation.radius, words_for(factorisation)), 2),
        copy(noise),
    )
    if not isinstance(strategy, Proved):
        exact.law = None
        return exact, factorisation.radius
    exact.law, exact.sides = replace(strategy.law, kind=Spherical), np.ones(1)
    exact.cube_gauge = None if strategy.cube is None else Fraction(strategy.cube)
    return exact, strategy.radius
