"""The private mean of a target, around which slopes shrink."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.base import epsilon_and_delta
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.row_count import share_of
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import SUM_BITS, ball_noise, released, shared
from gaugedp.optimization.shrinkage import bounded_mean


@dataclass(frozen=True, eq=False)
class TargetMean:
    """Noise for the sum of a target in [−1, 1], at a share that public numbers choose, and what remains.

    Theorem. Weights are in [0, 1], so one row changes the sum by at most 2 if it is replaced and 1 if it is added or
    removed. For a share s of ε the sum is sε-DP, and both together satisfy the guarantee if the rest is for the others
    (basic composition), whatever the number of rows, which is public or was released before, makes of s. For μ-GDP, s
    is a share of μ².
    """

    noise: AdditiveNoise
    remaining: Guarantee
    n_rows: float
    weighted: MeanAlone | None = None  # releases the sum of weights too

    @classmethod
    def plan(cls, guarantee: Guarantee, n_rows: float, replaced: bool, has_weights: bool = False) -> "TargetMean":
        """Return the noise: near 0.02 or 0.03 of half the range, at a share within limits; weights for pure ε only."""
        ball = LpBall(1, 2, (2.0 if replaced else 1.0) * (1 + NORMS))
        if isinstance(guarantee, GaussianDP):
            square = float(ball_noise(ball, guarantee).variances.max()) / (n_rows * TUNED.mean_noise_gaussian) ** 2
            share = min(max(square, 0.02), 0.98)
            return cls(ball_noise(ball, shared(guarantee, share)), shared(guarantee, 1 - share), n_rows)
        epsilon = epsilon_and_delta(guarantee)[0]
        share = min(max(math.sqrt(2) * ball.radius(2) / (epsilon * n_rows * TUNED.mean_noise), 0.02), 0.98)
        whole = Fraction(round(share, 4)).limit_denominator(10_000)
        mine, remaining = PureDP(part(epsilon, whole)), share_of(guarantee, 1 - whole)
        if has_weights:
            weighted = MeanAlone.calibrate((n_rows, 1), mine, replaced, True, 1.0)
            return cls(weighted.noise, remaining, n_rows, weighted)
        return cls(ball_noise(ball, mine), remaining, n_rows)

    @property
    def variance(self) -> float:
        """Variance of the sum's noise."""
        return float(self.noise.variances.max())

    def total(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the noisy sum of a target (n,) with weights (n,)."""
        exact = np.trunc(target * weights * 2.0**SUM_BITS).sum() * 2.0**-SUM_BITS
        return float(released(np.array([exact]), self.noise, rng)[0])

    def release(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the mean of a target (n,) with weights (n,), in [−1, 1]."""
        if self.weighted:
            return self.weighted.start(target, weights, rng)
        return bounded_mean(self.total(target, weights, rng) / self.n_rows, math.sqrt(self.variance) / self.n_rows)
