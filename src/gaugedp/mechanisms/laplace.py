"""The Laplace mechanism on the integers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import between, decimal
from gaugedp.bodies.base import Body
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import lattice_radius
from gaugedp.mechanisms.independent import IndependentNoise, laws_for
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.laws import DiscreteLaplace


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(IndependentNoise):
    """Independent Laplace noise for each answer.

    Use it for a single count or a histogram under pure differential privacy: it is the simplest mechanism and the usual
    choice. If one unit can change all answers together by at most Δ, every answer gets noise of scale Δ/ε.

    Notes
    -----
    Let z be a change of the answers that one unit can cause, and w the weights (default 1). The largest sum of
    |z_i|/w_i over the answers i is called the sensitivity Δ. Answer i gets discrete Laplace noise of scale w_i·Δ/ε.

    Theorem. If neighbouring answers, rounded to multiples of a public step, differ by a point of `body`, the release is
    ε-DP. The probabilities of an output differ by at most the factor exp(Σ_i |z_i|·ε/(w_i·Δ)), which is at most e^ε
    (docs/theory/laplace.md; Ghosh, Roughgarden and Sundararajan 2012 for one answer).

    Examples
    --------
    Two answers that one unit changes by at most 1 in total need noise of scale 1 at ε = 1:

    >>> import gaugedp as gd
    >>> gd.Laplace.calibrate(gd.bodies.LpBall(2, 1), gd.PureDP(1))
    Laplace(discrete Laplace, scale 1.00024 on steps of 1/8192, PureDP(1), exact)

    The scale is slightly larger than 1, because the answers are first rounded to multiples of 1/8192.
    """

    name: ClassVar[str] = "Laplace"
    plan_order: ClassVar[int] = 1
    exactness: ClassVar[str] = "exact"
    p: ClassVar[float] = 1

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Laplace":
        """Return the mechanism for pure DP.

        `weights`, shape (d,), are relative scales of the answers' noise, by default 1.
        """
        if not isinstance(guarantee, PureDP) or guarantee.epsilon_value <= 0:
            raise InvalidRequest(f"Laplace noise does not support {guarantee!r}.", "Use PureDP with epsilon above 0.")
        step, radius = lattice_radius(body, cls.p, weights)
        epsilon = decimal(guarantee.epsilon_value)
        runs = laws_for(body, weights, radius, lambda width: DiscreteLaplace(width / epsilon))
        return cls(body, guarantee, weights, step, radius, runs)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Laplace]":
        """Yield one mechanism, for every body."""
        yield cls.calibrate(body, pure_within(guarantee), weights)

    def recalibrated(self, guarantee: Guarantee) -> "Laplace":
        """Return the mechanism for the same body and weights."""
        return Laplace.calibrate(self.body, guarantee, self.weights)

    def error_bound(self, failure: float) -> float:
        """Return a bound t on the noise.

        P(max_i |noise_i|/w_i > t) is at most `failure` for t = log(d/failure)·Δ/ε (Dwork and Roth 2014, theorem 3.8).
        Rounding to the lattice increases Δ slightly and adds one step, or 1/w_i steps if the noise is divided by w_i.
        """
        between(0, 1, failure=failure)
        scale = float(self.radius) / float(self.guarantee.epsilon(0))
        widest_step = 1.0 if self.weights is None else 1 / float(np.min(self.weights))
        return (math.log(self.body.ambient_dim / failure) * scale + widest_step) * float(self.step)

    def describe(self) -> str:
        """Return the scales, in the body's units."""
        scales = [float(law.scale) for _, law in self.runs if isinstance(law, DiscreteLaplace)]
        return f"discrete Laplace, scale {self._in_units(scales)}"
