"""The number of rows, private if rows are added or removed."""

import math
from fractions import Fraction

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms import Gaussian, Laplace

PUBLIC_ROWS = 1000  # the number of rows to plan for, if theirs is private


def share_of(guarantee: Guarantee, share: Fraction) -> Guarantee:
    """Return the guarantee with a share of ε and all of δ.

    By basic composition, two shares with sum 1 compose to `guarantee` if one of the two is pure.
    """
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(part(guarantee.epsilon_value, share), guarantee.delta_value)
    assert isinstance(guarantee, PureDP)
    return PureDP(part(guarantee.epsilon_value, share))


class NoisyRowCount:
    """The number of rows: public if replaced, else noisy.

    The noisy count has Laplace noise for a share of ε, a tenth unless it is given, at most `largest`, and is at least
    1. `remaining` is the guarantee for all other releases.
    """

    def __init__(
        self,
        guarantee: Guarantee,
        neighbours: str,
        largest: float | None = None,
        share: Fraction = TUNED.count_share,
    ) -> None:
        self.mechanism: Laplace | Gaussian | None = None
        self.auxiliary_mu = 0.0  # its μ where it is Gaussian
        self.remaining = guarantee
        if neighbours == "add_remove":
            epsilon = guarantee.epsilon_value if isinstance(guarantee, ApproxDP) else guarantee.epsilon(0)
            share = share if largest is None else min(share, decimal(largest) / decimal(epsilon))
            self.mechanism = Laplace.calibrate(LpBall(1, 1), PureDP(part(epsilon, share)))
            self.remaining = share_of(guarantee, 1 - share)

    @classmethod
    def gaussian(cls, guarantee: ApproxDP, neighbours: str) -> "NoisyRowCount":
        """Return the count next to Gaussian releases, which takes a twentieth of their μ²."""
        count = cls(guarantee, "replace")
        if neighbours == "add_remove":
            mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            count.auxiliary_mu = math.sqrt(TUNED.count_share_gaussian) * mu
            count.mechanism = Gaussian.calibrate(LpBall(1, 1), GaussianDP(count.auxiliary_mu))
        return count

    def with_remaining(self, guarantee: Guarantee) -> Guarantee:
        """Return the total guarantee; that of the others includes a Gaussian count."""
        return guarantee if self.mechanism is None or self.auxiliary_mu > 0 else self.mechanism.guarantee + guarantee

    def others(self, guarantee: Guarantee) -> Guarantee:
        """Return what a guarantee that includes a Gaussian count leaves to the others."""
        if self.auxiliary_mu == 0:
            return guarantee
        assert isinstance(guarantee, GaussianDP)
        return GaussianDP(math.sqrt(guarantee.mu**2 - self.auxiliary_mu**2) * (1 - 2.0**-40))

    def draw(self, n_rows: int, rng: Entropy) -> float:
        """Return the (noisy) number of rows."""
        if self.mechanism is None:
            return float(n_rows)
        step = self.mechanism.lattice_step
        noisy = self.mechanism.prepare(rng)(np.array([int(n_rows / step)]))
        return max(1.0, float(noisy[0] * step))

    def half_width(self, level: float) -> float:
        """Return its half-width at `level`."""
        return 0.0 if self.mechanism is None else float(self.mechanism.half_widths(level)[0])
