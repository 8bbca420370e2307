"""Noisy sums of short vectors by group."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.mechanisms import Gaussian, KNorm, Laplace
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.lattice import for_gaussian_releases, released, shared
from gaugedp.optimization.trace_designs import cut


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Noisy sums over the rows of each group.

    The vectors v (m,), in [−1, 1]^m, belong to rows in one group or in none.

    Theorem. Vectors truncated towards 0 to multiples of 2^−12 have exact sums. A row changes the groups' sums by
    vectors whose largest entries add up to at most 1 if it is added or removed, and 2 if it is replaced; and whose ℓ₂
    norms to at most √m, or 2√m. Numbers in [0, 1] of a replaced row move the sums by at most 2 in ℓ₁ and √2 in ℓ₂, if
    m = 1. Gaussian noise for μ on all, or noise of the cube for ε on each, satisfies (ε, δ), or ε, and so do several
    releases with shares that add up to 1, each chosen after those before it. docs/theory/means.md
    """

    n_groups: int
    size: int
    noise: AdditiveNoise
    guarantee: Guarantee

    @classmethod
    def calibrate(
        cls, shape: tuple[int, int], requested: Guarantee, neighbours: str, share: float = 1.0
    ) -> "GroupSums":
        """Return the sums for `shape` = (groups, numbers), at a share of ε or μ²."""
        guarantee, twice = for_gaussian_releases(requested), 2.0 if neighbours == "replace" else 1.0
        within = shared(guarantee, share)
        if isinstance(within, PureDP):
            return cls(*shape, KNorm.calibrate(LpBall(shape[1], math.inf, twice), within), guarantee)
        distance = math.sqrt(shape[1]) * twice * (1 + NORMS)
        return cls(*shape, Gaussian.calibrate(LpBall(math.prod(shape), 2, distance), within), guarantee)

    @classmethod
    def counting(cls, n_groups: int, requested: Guarantee, neighbours: str, share: float = 1.0) -> "GroupSums":
        """Return the sums of weights in [0, 1], which are counts, at a share of ε or μ²."""
        total, rows = for_gaussian_releases(requested), 2.0 if neighbours == "replace" else 1.0
        part = shared(total, share)
        if isinstance(part, PureDP):
            return cls(n_groups, 1, Laplace.calibrate(LpBall(n_groups, 1, rows), part), total)
        return cls(n_groups, 1, Gaussian.calibrate(LpBall(n_groups, 2, math.sqrt(rows) * (1 + NORMS)), part), total)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a sum."""
        return math.sqrt(float(self.noise.variances.max()))

    def release(self, vectors: np.ndarray, groups: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return the sums (groups, numbers) of vectors; group −1 is none."""
        exact, is_in = np.zeros((self.n_groups, self.size)), groups >= 0
        np.add.at(exact, groups[is_in], cut(vectors)[is_in])
        parts = exact.reshape(-1, self.noise.body.ambient_dim)
        return np.stack([released(part, self.noise, rng) for part in parts]).reshape(exact.shape)


def least_noise(shape: tuple[int, int], requested: Guarantee, neighbours: str, share: float = 1.0) -> Guarantee:
    """Return ε-DP in place of (ε, δ) if sums at this `share` have less noise, by public numbers."""
    pure = pure_within(requested) if isinstance(requested, ApproxDP) and requested.epsilon_value else requested
    kinds = [pure, requested]
    return min(kinds, key=lambda kind: GroupSums.calibrate(shape, kind, neighbours, share).deviation)


def moments_of(
    sums: np.ndarray, counts: np.ndarray, squares: np.ndarray, least: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return clipped means and variances from noisy sums."""
    rows = np.maximum(counts, 1.0)
    means = np.clip(sums / rows, -1.0, 1.0)
    return means, np.clip(squares / rows - means**2, np.minimum(least, 1.0), 1.0)
