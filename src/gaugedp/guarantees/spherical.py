"""Exact guarantee of spherical Laplace noise."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import decimal, positive
from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import above, down_decimal, up
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.spherical import SphericalPrivacyLoss
from gaugedp.guarantees.pure import pure_cost
from gaugedp.guarantees.spherical_curve import check_noise, spherical_delta, spherical_epsilon, spherical_shift


@dataclass(frozen=True, eq=True, repr=False)
class SphericalLaplaceLoss(Guarantee):
    """Guarantee of spherical Laplace noise at ℓ₂ sensitivity 1.

    Use it to account for `KNorm`, which adds this noise if the sensitivity body is a Euclidean ball. The noise has a
    density proportional to e^{−‖z‖₂/σ} in d = `dimension` ≥ 2 dimensions, where σ = `scale`. No privacy loss exceeds
    1/σ.

    Notes
    -----
    Answers of neighbours that are farther apart are easier to distinguish. It is therefore enough to compare the noise
    with the noise shifted by 1, the largest distance. The reason is that the density is log-concave and depends only on
    the length (docs/theory/knorm_delta.md). The noise is the ℓ₂ mechanism of Joseph, Kulesza and Yu 2025; its
    composition is also in Wei, Bienstock and Polychroniadou 2026.

    Examples
    --------
    100 releases with ε = 0.1 each cost less with this noise than if only ε-DP is known of them:

    >>> from gaugedp.guarantees import PureDP, SphericalLaplaceLoss
    >>> [round((100 * guarantee).epsilon(1e-6), 2) for guarantee in (SphericalLaplaceLoss(10.0, 3), PureDP(0.1))]
    [2.61, 4.77]
    """

    scale: float
    dimension: int
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        positive(scale=self.scale)
        check_noise(1 / self.scale, self.dimension)
        self._set(scale=float(self.scale), dimension=int(self.dimension))

    @classmethod
    def calibrated(cls, epsilon: float, delta: float, dimension: int) -> "SphericalLaplaceLoss":
        """Return the guarantee of the least (`epsilon`, `delta`)-DP noise."""
        return cls(up(1 / spherical_shift(epsilon, delta, dimension)), dimension)

    @property
    def shift(self) -> float:
        """The largest loss 1/σ, rounded up."""
        return above(1 / decimal(self.scale))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order `order`.

        It is log M(order − 1)/(order − 1), where M are the moments of the loss. At order 1 it is the mean of the loss,
        and at infinity 1/σ.
        """
        check_order(order)
        if order > 1e5:  # from here on the value at infinity is returned: it is never less
            return self.shift
        loss = SphericalPrivacyLoss([(self.shift, self.dimension)], [1])
        if order == 1:
            return min(self.shift, up(loss.mean, relative=2.0**-40))
        excess = float(order) - 1
        at = np.array([excess])
        log_moment = float(loss.log_moment(at)[0] + loss.rounding(at)[0])
        return min(self.shift, up(log_moment / excess, relative=2.0**-44) or math.ulp(0.0))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the noise and the shifted noise.

        In many dimensions it is None.
        """
        if self.dimension > 2000:  # dimensions; beyond, compositions use the Rényi curve
            return None
        return Pair(SphericalPrivacyLoss, (self.shift, self.dimension))

    def exact_delta(self, epsilon: float) -> float:
        """Return the profile, by quadrature and rounded up."""
        return spherical_delta(self.shift, self.dimension, epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return the inverse of the profile, rounded up."""
        return spherical_epsilon(self.shift, self.dimension, delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge of t-DP for t = 1/σ.

        In "zcdp" it is the lower mean of the loss, because D_a ≤ a·D_1 at every order a for the Rényi divergences D.
        """
        if accounting == "zcdp":
            return (decimal(self.renyi(1)),)
        return pure_cost(1 / decimal(self.scale), self.shift, accounting)

    def _group(self, size: int) -> "SphericalLaplaceLoss":
        """Return the guarantee for answers of sensitivity `size`."""
        return SphericalLaplaceLoss(down_decimal(decimal(self.scale) / size), self.dimension)
