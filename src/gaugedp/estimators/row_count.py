"""The number of rows: public where rows are replaced, private where they are added or removed."""

import math
from fractions import Fraction

import numpy as np

from gaugedp._internal.validate import decimal
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms import Gaussian, Laplace

PUBLIC_ROWS = 1000  # what is planned for where the number of rows is private
COUNT_SHARE = Fraction(1, 10)  # of ε, for the number of rows where it is private
_SQUARE_SHARE = 0.05  # of μ², where all else is Gaussian


def share_of(guarantee: Guarantee, share: Fraction) -> Guarantee:
    """Return the guarantee with `share` of its ε and all of its δ.

    By basic composition, two shares that add up to 1 compose to `guarantee` if one of the two is pure.
    """
    if isinstance(guarantee, ApproxDP):
        return ApproxDP(part(guarantee.epsilon_value, share), guarantee.delta_value)
    assert isinstance(guarantee, PureDP)
    return PureDP(part(guarantee.epsilon_value, share))


class NoisyRowCount:
    """The number of rows: exact for `neighbours` = "replace", else with Laplace noise for a tenth of ε, at least 1.

    `largest` caps the ε of the count. `remaining` is the guarantee for all other releases.
    """

    def __init__(self, guarantee: Guarantee, neighbours: str, largest: float | None = None) -> None:
        self.mechanism: Laplace | Gaussian | None = None
        self.mu_side = 0.0  # its μ where it is Gaussian
        self.remaining = guarantee
        if neighbours == "add_remove":
            epsilon = guarantee.epsilon_value if isinstance(guarantee, ApproxDP) else guarantee.epsilon(0)
            share = COUNT_SHARE if largest is None else min(COUNT_SHARE, decimal(largest) / decimal(epsilon))
            self.mechanism = Laplace.calibrate(LpBall(1, 1), PureDP(part(epsilon, share)))
            self.remaining = share_of(guarantee, 1 - share)

    @classmethod
    def gaussian(cls, guarantee: ApproxDP, neighbours: str) -> "NoisyRowCount":
        """Return the count for a fit of Gaussian releases: `mu_side`² is a twentieth of μ², which the others leave."""
        count = cls(guarantee, "replace")
        if neighbours == "add_remove":
            count.mu_side = math.sqrt(_SQUARE_SHARE) * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            count.mechanism = Gaussian.calibrate(LpBall(1, 1), GaussianDP(count.mu_side))
        return count

    def with_remaining(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee of the count and the other releases; theirs includes a Gaussian count already."""
        return guarantee if self.mechanism is None or self.mu_side > 0 else self.mechanism.guarantee + guarantee

    def draw(self, n_rows: int, rng: Entropy) -> float:
        """Return the number of rows."""
        if self.mechanism is None:
            return float(n_rows)
        step = self.mechanism.lattice_step
        noisy = self.mechanism.prepare(rng)(np.array([int(n_rows / step)]))
        return max(1.0, float(noisy[0] * step))

    def half_width(self, level: float) -> float:
        """Return by how much it may be off at `level`."""
        return 0.0 if self.mechanism is None else float(self.mechanism.half_widths(level)[0])
