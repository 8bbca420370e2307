"""The cube mechanism: noise with the shape of a box that holds the sensitivity body."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.bodies.derived import LinearImage
from gaugedp.bodies.lp import LpBall
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import lattice_radius
from gaugedp.mechanisms.body_limits import MANY_ANSWERS, MOST_ANSWERS, TOO_WIDE
from gaugedp.mechanisms.norm_noise import NormNoise, pure_or_approx
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.gauge_noise import gauge_noise


@dataclass(frozen=True, eq=False, repr=False)
class Cube(NormNoise):
    """Noise of density ∝ e^{−ε·max|z_i|/(w_i·Δ)}, Δ the ℓ_∞ radius of the body over the weights w.

    It is R·U, R ~ Gamma(d + 1) and U uniform on the box with half sides w_i·Δ/ε (Steinke and Ullman 2017, for w = 1).
    Good where the body nearly fills the box: many more random generators than answers.
    """

    name: ClassVar[str] = "Cube"
    plan_order: ClassVar[int] = 6

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Cube":
        """Return the mechanism for PureDP(ε) or ApproxDP(ε, δ), of which it needs ε; `weights` (d,) are half sides."""
        epsilon, satisfied = pure_or_approx(guarantee, walks=False)
        step, radius = lattice_radius(body, np.inf, weights)
        box: Body = LpBall(body.ambient_dim, np.inf)
        if weights is not None:
            box = LinearImage(box, np.diag(np.asarray(weights, dtype=float)))
        return cls(body, satisfied, box, gauge_noise(box), epsilon, float(radius * step) * (1 + 2.0**-40), step)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Cube]":
        """Yield one for 2 to 2,000 answers."""
        with contextlib.suppress(InvalidRequest):  # noise beyond 64 bits
            if 1 < body.ambient_dim <= MOST_ANSWERS:
                yield cls.calibrate(body, pure_within(guarantee), weights)

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return why it is no candidate, in words."""
        if body.ambient_dim == 1:
            return "of one answer it is the same as Laplace"
        return MANY_ANSWERS if body.ambient_dim > MOST_ANSWERS else TOO_WIDE

    def is_valid_for(self, body: Body) -> bool:
        """Whether the body has the same dimension and lattice step, and no larger a radius."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        weights = np.diag(self.shape.matrix) if isinstance(self.shape, LinearImage) else None
        step, radius = lattice_radius(body, np.inf, weights)
        return step == self.step and float(radius * step) <= self.scale_factor

    def describe(self) -> str:
        """Return the widest half side over ε."""
        return f"uniform on a cube, times Gamma({self.noise.rank + 1}), scale {self.scale_factor / self.epsilon:.6g}"
