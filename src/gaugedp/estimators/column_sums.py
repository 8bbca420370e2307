"""Noisy sums of short vectors by group."""

from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, for_gaussian_releases, released, shared
from gaugedp.optimization.trace_designs import cut


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Noisy sums over the rows of each group.

    The vectors v (m,) belong to rows in one group or in none.

    Theorem. Vectors of ℓ₂ norm at most `radius`, truncated towards 0 to multiples of 2^−12, have exact sums. A row
    changes the groups' sums by lengths that add up to at most `radius` if it is added or removed, and twice that if it
    is replaced. Gaussian noise for μ on all, or noise of the ball for ε on each, satisfies (ε, δ), or ε, and so do
    several `releases` that share it, each chosen after those before it. docs/theory/means.md
    """

    n_groups: int
    size: int
    noise: AdditiveNoise
    guarantee: Guarantee

    @classmethod
    def calibrate(
        cls, shape: tuple[int, int], radius: float, requested: Guarantee, neighbours: str, releases: int = 1
    ) -> "GroupSums":
        """Return the sums for `shape` = (groups, numbers)."""
        guarantee = for_gaussian_releases(requested)
        distance = radius * (2.0 if neighbours == "replace" else 1.0) * (1 + NORMS)
        at_once = 1 if isinstance(guarantee, PureDP) else shape[0]
        noise = ball_noise(LpBall(at_once * shape[1], 2, distance), shared(guarantee, 1 / releases))
        return cls(*shape, noise, guarantee)

    def release(self, vectors: np.ndarray, groups: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return the sums (groups, numbers) of vectors; group −1 is none."""
        exact, whole = np.zeros((self.n_groups, self.size)), cut(vectors)
        for group in range(self.n_groups):
            exact[group] = whole[groups == group].sum(axis=0)
        parts = exact.reshape(-1, self.noise.body.ambient_dim)
        return np.stack([released(part, self.noise, rng) for part in parts]).reshape(exact.shape)


def moments_of(
    sums: np.ndarray, counts: np.ndarray, squares: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return clipped means and variances from noisy sums."""
    rows = np.maximum(counts, 1.0)
    means = np.clip(sums / rows, -1.0, 1.0)
    return means, np.clip(squares / rows - means**2, least, 1.0)
