"""The strategy for the Minkowski sum of a segment and a box."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.bodies import BoxHull, Polytope
from gaugedp.bodies.base import with_weights
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.base import UP, Strategy
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.variables import Normal

_EQUAL_UP_TO = 1e-12  # what rounding leaves between equal numbers


@dataclass(frozen=True, eq=False)
class SegmentAndBox(Strategy):
    """L = (g, diag(e)): the noise is ξ_0·g + (ξ_i·e_i)_i.

    `along` is g and `across` e, shape (d,) each. The radius, for p = 2, is 1 up to rounding.
    """

    along: np.ndarray
    across: np.ndarray
    least: float
    radius: float = UP

    @property
    def n_noise(self) -> int:
        """The number d + 1 of noise variables."""
        return len(self.along) + 1

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return L·unit."""
        return unit[:, :1] * self.along + unit[:, 1:] * self.across

    @cached_property
    def squares(self) -> np.ndarray:
        """g² + e²."""
        return self.along**2 + self.across**2

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the eigenvalues of diagonal plus rank 1, if few."""
        scales = with_weights(weights, len(self.along))
        along, across = self.along / scales, self.across / scales
        if len(along) > 1 and np.ptp(across) <= _EQUAL_UP_TO * across[0]:
            return across[0] ** 2 + np.array([0.0, along @ along]), np.array([len(along) - 1.0, 1.0])
        if len(along) > 600:  # eigenvalues at most
            return None
        values = np.linalg.eigvalsh(np.outer(along, along) + np.diag(across**2))
        return np.maximum(values, 0.0), np.ones(len(values))

    def cube_radius(self) -> float:
        """Return a bound on the preimages of the cube's corners."""
        still = np.flatnonzero(self.across == 0)
        if len(still) > 1 or (len(still) and not self.along[still[0]]):
            raise InvalidRequest(
                "Some answers follow from others, such as a total from its parts, and rounded noise would break "
                "this relation.",
                "Omit answers that follow from others, or use gaugedp.bodies.project(body, body.span).",
            )
        shift = 1 / abs(float(self.along[still[0]])) if len(still) else 0.0
        moving = self.across > 0
        lengths = (1 + np.abs(self.along[moving]) * shift) / self.across[moving]
        return math.hypot(shift, float(np.linalg.norm(lengths))) * (1 + 1e-3)

    def proof(self, body: Polytope) -> tuple[float, Combined, float | None] | None:
        """Return the radius in rational numbers (docs/theory/reals.md, theorem 10)."""
        still, d = np.flatnonzero(self.across == 0), len(self.along)
        if not isinstance(body, BoxHull) or d > 512 or len(still) > 1 or not self.along[still].all():
            return None
        (alpha, beta), (middle, half) = (map(int, body.shrinking), body.rational)
        across = [alpha * h for h in half]
        if any(h and not e for h, e in zip(half, self.across, strict=True)):
            return None
        segment = [
            max(abs(c) - beta * h, Fraction(0)) * (1 if c > 0 else -1) for c, h in zip(middle, half, strict=True)
        ]
        place = int(still[0]) if len(still) else int(np.abs(self.along).argmax())
        turn = 1 / Fraction(float(self.along[place])) if self.along[place] else Fraction(0)
        radius = body.factor * self._length(segment, across, segment[place] * turn)
        cube = self._length([Fraction(0)] * d, [Fraction(1)] * d, turn if len(still) else Fraction(0))
        law = Combined(np.eye(d), np.column_stack([self.along, np.diag(self.across)]), Normal)
        return radius * UP, law, cube * UP if body.rank == d else None

    def _length(self, segment: list[Fraction], across: list[Fraction], share: Fraction) -> float:
        """Return an upper bound of ‖u‖₂ over L·u = σ_0·segment + (σ_i·across_i)_i, u_0 = σ_0·share."""
        square = share**2
        for along, e, c, h in zip(self.along, self.across, segment, across, strict=True):
            if e:
                square += ((h + abs(c - share * Fraction(float(along)))) / Fraction(float(e))) ** 2
        return math.sqrt(square) * UP

    def describe(self) -> str:
        """Return its description."""
        return "a segment and a box"


def segment_and_box(body: BoxHull, weights: np.ndarray | None) -> SegmentAndBox:
    """Return the best strategy with one variable per zonotope generator.

    Theorem (docs/theory/sums.md, theorem 3). The body lies in {Σ σ_j·g_j : |σ_j| ≤ 1} for g_0 = c̃, c̃_i =
    sgn(c_i)·(|c_i| − β·h_i)₊, and g_i = α·h_i·e_i, and is equal to it for add_remove. For positive λ of sum 1 that lies
    in L·B₂, L = (g_j/√λ_j). ‖W⁻¹L‖_F is least for λ_j ∝ ‖W⁻¹g_j‖, and is T = Σ‖W⁻¹g_j‖ = ‖c̃/w‖₂ + α·Σ h_i/w_i.
    """
    (alpha, beta), scales = body.shrinking, with_weights(weights, body.ambient_dim)
    middle = np.sign(body.middle) * np.maximum(np.abs(body.middle) - beta * body.half, 0.0)
    half = alpha * body.half
    length = float(np.linalg.norm(middle / scales))
    total = length + float((half / scales).sum())
    along = middle * math.sqrt(total / length) if length else middle
    return SegmentAndBox(along, np.sqrt(half * scales * total), _least(body, scales))


def _least(body: BoxHull, scales: np.ndarray) -> float:
    """Return a lower bound on Δ·‖W⁻¹L‖_F over all strategies.

    It is tr √(E W⁻¹vvᵀW⁻¹) for a distribution of points v of the body. For the corners of α·H, independent and fair, it
    is α·Σ h_i/w_i. If |c_i|/w_i = a and h_i/w_i = b are the same for all i: for the corners c + (±h_i) of B of which j
    lie beyond c, each with equal probability; the best j.
    """
    middle, half = np.abs(body.middle) / scales, body.half / scales
    least, d = body.shrinking[0] * float(half.sum()), len(half)
    if d > 1 and max(np.ptp(middle), np.ptp(half)) <= _EQUAL_UP_TO * least:
        a, b, tilt = middle[0], half[0], 2 * np.arange(d + 1) - d
        first_moment, second_moment = tilt / d, (tilt**2 - d) / (d * (d - 1))
        across = b**2 * (1 - second_moment)
        together = np.maximum(across + d * (a**2 + 2 * a * b * first_moment + b**2 * second_moment), 0.0)
        least = max(least, float(((d - 1) * np.sqrt(across) + np.sqrt(together)).max()))
    return least * (1 - 2 * d * _EQUAL_UP_TO)
