"""The private mean of a target, released alone where noise hides slopes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp._internal.rounding import SCORES
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import GaussianDP, Guarantee
from gaugedp.mechanisms import Gaussian, Laplace
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.lattice import BITS, SUM_BITS, released
from gaugedp.optimization.least_squares import Sums, deviation_of, level_sums
from gaugedp.optimization.row_blocks import RowBlocks
from gaugedp.optimization.shrinkage import bounded_mean

_HALVES = np.array([[0.5, 0.5], [-0.5, 0.5]])  # Σ w(t + 1)/2 and Σ w(1 − t)/2
_COUNT_SCALE = 0.625  # of Σ w next to Σ wt, where noise is Gaussian: less noise unless the mean is near an end


@dataclass(frozen=True, eq=False)
class MeanAlone:
    """Noise for the weighted mean of a target in [−1, 1].

    Theorem. A row with target t and weight w ∈ [0, 1] adds (wt, w) to two sums (Σ wt, Σ w), which `mix` maps to the
    released ones. If `mix` halves their sum and difference, a row moves them by at most 1 in ℓ₁ if it is added or
    removed, and by at most 2 if it is replaced. If it scales Σ w by s, the row moves them by at most √(1 + s²) in ℓ₂.
    If the sum of weights is public, only Σ wt is released: a replaced row moves it by at most 2. docs/theory/weights.md
    """

    noise: AdditiveNoise
    mix: np.ndarray  # (m, 2), of the released numbers
    n_rows: float  # the sum of weights, if it is public
    n_columns: int
    constant: float  # the last feature of all rows
    solver: str = "mean"

    @classmethod
    def calibrate(
        cls, shape: tuple[float, int], guarantee: Guarantee, replaced: bool, has_weights: bool, constant: float
    ) -> "MeanAlone":
        """Return the noise for public `shape` = (rows, columns): Gaussian for GDP, Laplace for other guarantees."""
        radius = (2.0 if replaced else 1.0) * (1 + SCORES)
        if isinstance(guarantee, GaussianDP):
            ball, mix = LpBall(2, 2, radius * math.hypot(1.0, _COUNT_SCALE)), np.diag([1.0, _COUNT_SCALE])
            return cls(Gaussian.calibrate(ball, guarantee), mix, *shape, constant)
        mix = _HALVES if has_weights or not replaced else np.array([[1.0, 0.0]])
        noise = Laplace.calibrate(LpBall(len(mix), 1, radius), pure_within(guarantee))
        return cls(noise, mix, *shape, constant)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the mean."""
        return self.noise.guarantee

    @property
    def exactness(self) -> str:
        """Exactness of the noise."""
        return self.noise.exactness

    def describe(self) -> str:
        """Describe the noise."""
        return f"mean of the target alone, noise of deviation {deviation_of(self.noise):.6g} on its sum"

    def start(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the noisy mean of a target (n,) in [−1, 1] with weights (n,) in [0, 1]."""
        parts = np.trunc(np.stack([weights * target, weights]) * 2.0**SUM_BITS)
        return self._released(parts.sum(axis=1) * 2.0**-SUM_BITS, rng)

    def solve(self, rows: RowBlocks, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, str, dict[str, Any]]:
        """Return slopes of 0, exactness and facts."""
        del rows, target, rng
        return np.zeros(self.n_columns), self.exactness, {"steps": 0, "noise": self.describe()}

    def solve_sums(self, sums: Sums, rng: Entropy, span: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        """Return weights that predict the mean, by sums over rows in integer steps."""
        del span
        unit = np.rint(self.constant * 2.0**BITS)
        level = self._released(sums(level_sums) / (unit * np.array([2.0**BITS, unit])), rng)
        return np.append(np.zeros(self.n_columns - 1), level / self.constant), None

    def _released(self, sums: np.ndarray, rng: Entropy) -> float:
        """Return the noisy mean in [−1, 1] by Σ wt and Σ w."""
        noisy, deviation = released(self.mix @ sums, self.noise, rng), deviation_of(self.noise)
        if len(noisy) == 1:
            return bounded_mean(float(noisy[0]) / self.n_rows, deviation / self.n_rows)
        back = np.linalg.inv(self.mix)
        total, whole = back @ noisy
        whole = max(float(whole), 1.0)
        mean, errors = float(total) / whole, deviation * np.linalg.norm(back, axis=1)
        return bounded_mean(mean, math.hypot(errors[0], errors[1] * min(abs(mean), 1.0)) / whole)
