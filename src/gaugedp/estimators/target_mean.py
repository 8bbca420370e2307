"""The private mean of a target, around which slopes shrink."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.rows import SUM_BITS
from gaugedp.guarantees import GaussianDP, PureDP
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, released, shared
from gaugedp.optimization.shrinkage import bounded_mean

_WANTED = 0.05  # the deviation of the mean's noise, of half the range
_SHARES = 0.02, 0.5  # of μ² or of ε, at least and at most


@dataclass(frozen=True, eq=False)
class TargetMean:
    """Noise for the sum of a target in [−1, 1], at the `share` of a guarantee that public numbers choose.

    Theorem. Weights are in [0, 1], so one row changes the sum by at most 2 if it is replaced and 1 if it is added or
    removed. Given the number of rows, which is public or was released before, the share is fixed.
    """

    noise: AdditiveNoise
    share: float
    n_rows: float

    @classmethod
    def plan(cls, guarantee: GaussianDP | PureDP, n_rows: float, replaced: bool) -> "TargetMean":
        """Return the noise: near `_WANTED`, at a share within limits."""
        ball = LpBall(1, 2, (2.0 if replaced else 1.0) * (1 + NORMS))
        whole = math.sqrt(float(ball_noise(ball, guarantee).variances.max())) / (n_rows * _WANTED)
        share = min(max(whole**2 if isinstance(guarantee, GaussianDP) else whole, _SHARES[0]), _SHARES[1])
        return cls(ball_noise(ball, shared(guarantee, share)), share, n_rows)

    def release(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the mean of a target (n,) with weights (n,), in [−1, 1]."""
        total = np.trunc(target * weights * 2.0**SUM_BITS).sum() * 2.0**-SUM_BITS
        noisy = float(released(np.array([total]), self.noise, rng)[0])
        return bounded_mean(noisy / self.n_rows, math.sqrt(float(self.noise.variances.max())) / self.n_rows)
