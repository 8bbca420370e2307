"""The private mean of a target, around which slopes shrink."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.base import epsilon_and_delta
from gaugedp.estimators.row_count import share_of
from gaugedp.estimators.rows import SUM_BITS
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, released
from gaugedp.optimization.shrinkage import bounded_mean

_WANTED = 0.04  # the deviation of the mean's noise, of half the range
_LEAST, _MOST = 0.02, 0.7  # of ε


@dataclass(frozen=True, eq=False)
class TargetMean:
    """Noise for the sum of a target in [−1, 1], at a share of ε that public numbers choose, and what remains.

    Theorem. Weights are in [0, 1], so one row changes the sum by at most 2 if it is replaced and 1 if it is added or
    removed. For a share s of ε the sum is sε-DP, and both together satisfy the guarantee if the rest is for the others
    (basic composition), whatever the number of rows, which is public or was released before, makes of s.
    """

    noise: AdditiveNoise
    remaining: Guarantee
    n_rows: float

    @classmethod
    def plan(cls, guarantee: Guarantee, n_rows: float, replaced: bool) -> "TargetMean":
        """Return the noise: near `_WANTED`, at a share within limits."""
        moved, epsilon = (2.0 if replaced else 1.0) * (1 + NORMS), epsilon_and_delta(guarantee)[0]
        share = min(max(math.sqrt(2) * moved / (epsilon * n_rows * _WANTED), _LEAST), _MOST)
        whole = Fraction(round(share, 4)).limit_denominator(10_000)
        noise = ball_noise(LpBall(1, 2, moved), PureDP(part(epsilon, whole)))
        return cls(noise, share_of(guarantee, 1 - whole), n_rows)

    def release(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return the mean of a target (n,) with weights (n,), in [−1, 1]."""
        total = np.trunc(target * weights * 2.0**SUM_BITS).sum() * 2.0**-SUM_BITS
        noisy = float(released(np.array([total]), self.noise, rng)[0])
        return bounded_mean(noisy / self.n_rows, math.sqrt(float(self.noise.variances.max())) / self.n_rows)
