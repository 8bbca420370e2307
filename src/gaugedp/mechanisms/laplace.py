"""The Laplace mechanism on the integers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gaugedp._validate import decimal
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.pure import PureDP
from gaugedp.mechanisms.base import Mechanism, lattice_radius
from gaugedp.mechanisms.independent import IndependentNoise, as_runs
from gaugedp.samplers.laws import DiscreteLaplace


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(Mechanism):
    """Independent discrete Laplace noise of scale w_i·Δ/ε, Δ the ℓ₁ radius of the body over the weights w.

    Theorem. Answers on the lattice whose neighbours differ by a point of `body` are released with ε-DP: the ratio of
    two outputs' probabilities is at most exp(Σ_i |z_i|·ε/(w_i·Δ)) ≤ e^ε (Ghosh, Roughgarden and Sundararajan 2012
    for one answer; docs/theory/laplace.md).
    """

    body: Body
    guarantee: PureDP
    step: Fraction
    radius: Fraction
    weights: np.ndarray | None
    noise: IndependentNoise
    name: ClassVar[str] = "Laplace"
    exactness: ClassVar[str] = "exact"

    @classmethod
    def calibrate(cls, body: Body, guarantee: PureDP, weights: np.ndarray | None = None) -> "Laplace":
        """Return the mechanism for a body and a pure guarantee; `weights` (d,) are relative widths of the noise."""
        if not isinstance(guarantee, PureDP) or guarantee.value <= 0:
            raise InvalidRequest(f"Laplace noise cannot be made for {guarantee!r}.", "Give PureDP with epsilon above 0.")
        step, radius = lattice_radius(body, 1, weights)
        scale = radius / decimal(guarantee.value)
        runs = as_runs(weights, body.ambient_dim)
        laws = tuple((count, DiscreteLaplace(Fraction(weight) * scale)) for count, weight in runs)
        return cls(body, guarantee, step, radius, weights, IndependentNoise(laws))

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
        """Return exact quantiles of the discrete law, as multiples of the step."""
        return self.noise.half_widths(level, simultaneous) * float(self.step)

    def covers(self, body: Body) -> bool:
        """Whether the body's ℓ₁ radius is no larger."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        step, radius = lattice_radius(body, 1, self.weights)
        return step == self.step and radius <= self.radius

    def describe(self) -> str:
        """Return the scales."""
        return f"discrete Laplace, scale {scales_in_words([float(law.scale) for _, law in self.noise.runs])}"


def scales_in_words(scales: list[float]) -> str:
    """Return one number, or the least and the largest."""
    low, high = min(scales), max(scales)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
