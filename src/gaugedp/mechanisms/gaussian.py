"""The Gaussian mechanism on the integers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._validate import decimal
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian import GaussianDP, gaussian_mu
from gaugedp.guarantees.zcdp import ZCDP
from gaugedp.mechanisms.base import Mechanism, lattice_radius
from gaugedp.mechanisms.independent import IndependentNoise, as_runs
from gaugedp.mechanisms.laplace import scales_in_words
from gaugedp.samplers.laws import DiscreteGaussian, Law, RoundedGaussian


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Mechanism):
    """Independent Gaussian noise of deviation w_i·σ, Δ the ℓ₂ radius of the body over the weights w.

    For (ε, δ)-DP or μ-GDP: a normal variable rounded to the lattice, σ = Δ/μ. Rounding is post-processing of
    Gaussian noise on lattice answers, so the release is exactly μ-GDP (Dong, Roth and Su 2022, theorem 2.7); μ is the
    largest whose profile is at most δ at ε. For ρ-zCDP: the discrete Gaussian with σ² = Δ²/(2ρ) (Canonne, Kamath
    and Steinke 2020, theorem 14). See docs/theory/gaussian.md.
    """

    body: Body
    guarantee: Guarantee
    step: Fraction
    radius: Fraction
    weights: np.ndarray | None
    noise: IndependentNoise
    name: ClassVar[str] = "Gaussian"
    exactness: ClassVar[str] = "exact"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Gaussian":
        """Return the mechanism for ApproxDP, GaussianDP or ZCDP; its own guarantee is the sharper curve."""
        step, radius = lattice_radius(body, 2, weights)
        promise = _sharpen(guarantee)
        runs = as_runs(weights, body.ambient_dim)
        laws = tuple((count, _law(promise, radius * Fraction(weight))) for count, weight in runs)
        return cls(body, promise, step, radius, weights, IndependentNoise(laws))

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws in lattice steps."""
        return self.noise.draw(size, rng)

    @property
    def variances(self) -> np.ndarray:
        """The variances of the coordinates."""
        return self.noise.variances * float(self.step) ** 2

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected ℓ₁ or ℓ₂ norm of noise/weights, to 1e-4."""
        scales = np.ones(self.body.ambient_dim) if weights is None else weights
        return self.noise.expected_norm(norm, scales) * float(self.step)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return exact quantiles of the law, as multiples of the step."""
        return self.noise.half_widths(level, simultaneous) * float(self.step)

    def covers(self, body: Body) -> bool:
        """Whether the body's ℓ₂ radius is no larger."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        step, radius = lattice_radius(body, 2, self.weights)
        return step == self.step and radius <= self.radius

    def describe(self) -> str:
        """Return the deviations."""
        kind = "discrete" if isinstance(self.guarantee, ZCDP) else "rounded"
        return f"{kind} Gaussian, std {scales_in_words([law.variance**0.5 for _, law in self.noise.runs])}"


def _sharpen(guarantee: Guarantee) -> Guarantee:
    match guarantee:
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if delta > 0:
            return GaussianDP(gaussian_mu(epsilon, delta))
        case GaussianDP(mu=mu) if mu > 0:
            return guarantee
        case ZCDP(rho=rho) if rho > 0:
            return guarantee
    raise InvalidRequest(f"Gaussian noise cannot be made for {guarantee!r}.", "Give delta, rho or mu above 0.")


def _law(promise: Guarantee, radius: Fraction) -> Law:
    if isinstance(promise, ZCDP):
        return DiscreteGaussian(radius**2 / (2 * decimal(promise.rho)))
    if isinstance(promise, GaussianDP):
        return RoundedGaussian(radius / decimal(promise.mu))
    raise InvalidRequest(f"No Gaussian law belongs to {promise!r}.", "Give GaussianDP or ZCDP.")
