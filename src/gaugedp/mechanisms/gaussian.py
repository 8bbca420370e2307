"""The Gaussian mechanism on the integers."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.bodies.base import Body
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms.base import lattice_radius
from gaugedp.mechanisms.independent import IndependentNoise, laws_for
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.laws import DiscreteGaussian, Law, RoundedGaussian


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(IndependentNoise):
    """Independent Gaussian noise for each answer.

    Use it for many answers if you accept a small δ. Gaussian noise grows only with the square root of the number of
    answers that one unit can change, whereas Laplace noise grows with the number itself.

    Notes
    -----
    Let z be a change of the answers that one unit can cause, and w the weights (default 1). The largest Euclidean
    length of z/w is called the sensitivity Δ. Answer i gets noise of standard deviation w_i·σ. The number σ depends on
    the guarantee:

    - For μ-GDP, σ is Δ/μ. The noise is normal and then rounded to multiples of a public step. Rounding is
      post-processing, so the release is μ-GDP (Dong, Roth and Su 2022, theorem 2.7).
    - For (ε, δ)-DP, the mechanism uses the largest μ for which μ-GDP implies (ε, δ)-DP.
    - For ρ-zCDP, σ² is Δ²/(2ρ), and the noise is discrete Gaussian (Canonne, Kamath and Steinke 2020).

    The proofs are in docs/theory/gaussian.md.

    Examples
    --------
    If one unit changes two answers by a vector of length at most 1, (1, 10⁻⁶)-DP requires a standard deviation of 4.2:

    >>> import gaugedp as gd
    >>> gd.Gaussian.calibrate(gd.bodies.LpBall(2, 2), gd.ApproxDP(1, 1e-6))
    Gaussian(rounded Gaussian, std 4.22541 on steps of 1/8192, GaussianDP(0.2368), exact)
    """

    name: ClassVar[str] = "Gaussian"
    plan_order: ClassVar[int] = 7
    exactness: ClassVar[str] = "exact"
    p: ClassVar[float] = 2

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Gaussian":
        """Return the mechanism for ApproxDP, GaussianDP or ZCDP."""
        step, radius = lattice_radius(body, cls.p, weights)
        satisfied = _sharpen(guarantee)
        return cls(
            body,
            satisfied,
            weights,
            step,
            radius,
            laws_for(body, weights, radius, lambda width: _law(satisfied, width)),
        )

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Gaussian]":
        """Yield one mechanism, unless the guarantee is pure."""
        if not cls.why_not(body, guarantee, weights):
            yield cls.calibrate(body, guarantee, weights)

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        return "needs a δ, ρ or μ" if guarantee == pure_within(guarantee) else ""

    def recalibrated(self, guarantee: Guarantee) -> "Gaussian":
        """Return the mechanism for the same body and weights."""
        return Gaussian.calibrate(self.body, guarantee, self.weights)

    def describe(self) -> str:
        """Return the standard deviations, in the body's units."""
        kind = "discrete" if isinstance(self.guarantee, ZCDP) else "rounded"
        return f"{kind} Gaussian, std {self._in_units([law.variance**0.5 for _, law in self.runs])}"


def _sharpen(guarantee: Guarantee) -> GaussianDP | ZCDP:
    match guarantee:
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if delta > 0:
            return GaussianDP(gaussian_mu(epsilon, delta))
        case GaussianDP(mu=mu) if mu > 0:
            return guarantee
        case ZCDP(rho=rho) if rho > 0:
            return guarantee
    raise InvalidRequest(f"Gaussian noise does not support {guarantee!r}.", "Pass delta, rho or mu above 0.")


def _law(guarantee: GaussianDP | ZCDP, width: Fraction) -> Law:
    if isinstance(guarantee, ZCDP):
        return DiscreteGaussian(width**2 / (2 * decimal(guarantee.rho)))
    return RoundedGaussian(width / decimal(guarantee.mu))
