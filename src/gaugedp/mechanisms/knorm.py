"""The K-norm mechanism: noise shaped like the sensitivity body."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.bodies import Body, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.body_limits import (
    TOO_WIDE,
    body_noise,
    exact_noise,
    uses_delta,
    why_no_body_noise,
    why_no_direct_noise,
)
from gaugedp.mechanisms.noise_laws import HullLaw, NoiseLaw, Unchecked
from gaugedp.mechanisms.norm_noise import NormNoise, is_own_scale_proved, lattice_of, rate_for
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.gauge_noise import gauge_noise
from gaugedp.samplers.lattice_rejection import lattice_noise
from gaugedp.samplers.rejection import RejectionNoise


@dataclass(frozen=True, eq=False, repr=False)
class KNorm(NormNoise):
    """Noise with the shape of the possible changes.

    Use it for a few correlated answers under pure differential privacy. All changes that one protected unit can cause
    in the answers form the sensitivity body K, a symmetric convex set. Noise with the shape of K is large only in
    directions in which the answers can change. It can therefore be much smaller than independent noise on each answer.

    Notes
    -----
    Let ‖z‖_K be the smallest t for which z lies in t·K. The density of the noise is proportional to exp(−ε‖z‖_K), which
    is ε-DP (Hardt and Talwar 2010).

    The noise is drawn directly for balls, ellipsoids, hulls of boxes, polytopes of rank at most 8, and polytopes with
    as many generators as their rank. (Generators are the points v_i for which a polytope is the hull of all ±v_i.) In
    plans, it is drawn from a box if the answers are integers and the body is flat.

    For all other bodies, a random walk draws the noise. The mechanism is then "mixing", and its guarantee is
    ApproxDP(ε, δ) even if you requested PureDP(ε). Here δ is an allowance for the distance of the walk from its target
    distribution. That the walk meets this allowance is measured but not proved (docs/theory/knorm.md).

    Examples
    --------
    If one unit can change three answers by any vector of length 1, the expected length of K-norm noise is 3.01,
    compared with 3.65 for Laplace noise:

    >>> import gaugedp as gd
    >>> body = gd.bodies.LpBall(3, 2)
    >>> [round(noise.calibrate(body, gd.PureDP(1)).error(), 2) for noise in (gd.KNorm, gd.Laplace)]
    [3.01, 3.65]
    """

    name: ClassVar[str] = "KNorm"
    plan_order: ClassVar[int] = 3

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, walk: bool = True) -> "KNorm":
        """Return the mechanism for PureDP(ε) or ApproxDP(ε, δ).

        Parameters
        ----------
        body : Body
            The sensitivity body, which contains all changes that one unit can cause in the answers.
        guarantee : PureDP or ApproxDP
            The guarantee of the release. For balls and ellipsoids, a positive δ makes the noise smaller
            (docs/theory/knorm_delta.md). For other bodies only ε matters, because no proof is known that δ permits
            smaller noise.
        walk : bool
            Whether a random walk may draw the noise if it cannot be drawn directly. With a walk, the guarantee is
            ApproxDP(ε, δ′), where δ′ is the smaller of 1e−9 and a positive δ that you requested. If False, such noise
            is drawn by rejection from a box, which remains pure, and which is exact for integer answers in a flat body
            (docs/theory/walks.md and docs/theory/flat_knorm.md). Default True.

        Raises
        ------
        InvalidRequest
            If the guarantee is not supported, or if `walk` is False and the draws would need too many trials.
        """
        noise = gauge_noise(body)
        if noise.walks and not walk:
            noise = _without_walk(cast(Polytope, body), noise)
        epsilon, satisfied = rate_for(guarantee, noise)
        step, scale_factor = lattice_of(body, body, 1.0, noise.cube_gauge)
        return cls(body, satisfied, body, noise, epsilon, scale_factor, step)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[KNorm]":
        """Yield mechanisms for ellipsoids, closed forms and other polytopes."""
        if uses_delta(body, guarantee):
            yield cls.calibrate(body, guarantee)
        if not body.has_closed_form:
            exact = next(exact_noise(cls.calibrate, body, guarantee, weights), None)
            yield from body_noise(cls.calibrate, body, guarantee, weights) if exact is None else (exact,)
        elif not why_no_direct_noise(body):
            with contextlib.suppress(InvalidRequest):  # noise beyond 64 bits
                yield cls.calibrate(body, pure_within(guarantee))

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        return why_no_direct_noise(body) or TOO_WIDE if body.has_closed_form else why_no_body_noise(body, guarantee)

    def noise_law(self) -> NoiseLaw:
        """Return the distribution, if the body's generators can be listed."""
        if self.noise.walks:
            return Unchecked(f"{self.name}: the distribution of a finite walk is not known exactly")
        if not isinstance(self.body, Polytope):
            return super().noise_law()
        if (lattice := self.noise.lattice) is not None:
            return HullLaw(lattice.lattice_columns, lattice.n_columns, lattice.unit(decimal(self.epsilon)))
        n, scale = self.body.generators.n_generators, Fraction(self._scale) * Fraction(self.body.factor)
        return HullLaw(self.body.symmetric_columns, n * (n + 1) // 2 if self.body.differences else n, scale)

    @property
    def _is_scale_proved(self) -> bool:
        return is_own_scale_proved(self.body, self.noise)

    def describe(self) -> str:
        """Return the rank, the rate and the cost of drawing."""
        walk = f", {self.steps:,} steps of a walk, {self.cost_of_walk}" if self.noise.walks else ""
        return f"K-norm noise of rank {self.noise.rank}, rate {self.epsilon:.6g}{walk}{self.noise.price}"


def _without_walk(body: Polytope, walk: GaugeNoise) -> GaugeNoise:
    """Return exact noise on the lattice of a flat body, otherwise noise from the box around it."""
    if body.rank == body.ambient_dim:
        return RejectionNoise(body, walk)
    return lattice_noise(body, lattice_of(body, body, 1.0)[0])
