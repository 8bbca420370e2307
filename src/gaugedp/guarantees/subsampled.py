"""The exact guarantee of Gaussian noise on a Poisson sample."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from gaugedp._validate import positive, whole
from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.groups import Grouped
from gaugedp.guarantees.losses.faint import FaintPrivacyLoss
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss
from gaugedp.guarantees.losses.gaussian import GaussianPrivacyLoss
from gaugedp.guarantees.losses.subsampled import SubsampledPrivacyLoss
from gaugedp.guarantees.sampling import amplified, sampled_delta, solved

LEAST_NOISE, MOST_NOISE = 1e-3, 1e6
_FAINT = 0.05  # noise below which quadratures need too many nodes, and samples are told apart but for 2e−23


@dataclass(frozen=True, eq=True, repr=False)
class SubsampledGaussian(Guarantee):
    """Each unit is in the sample with probability q = `rate`, and the sum over the sample, of ℓ₂ sensitivity 1, gets
    Gaussian noise of deviation σ = `noise_multiplier`; neighbours differ by one unit added or removed.

    The pair (1 − q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), and its reverse, dominate (Zhu, Dong and Wang 2022,
    theorem 11); one does for all removals in a composition, the other for all additions.
    """

    rate: float
    noise_multiplier: float
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        positive(rate=self.rate, noise_multiplier=self.noise_multiplier)
        if self.rate > 1:
            raise InvalidRequest(f"rate is {self.rate!r}.", "Give rate as a probability: above 0, at most 1.")
        if not LEAST_NOISE <= self.noise_multiplier <= MOST_NOISE or self.rate < 1e-12:
            raise InvalidRequest(
                f"rate is {self.rate!r} and noise_multiplier is {self.noise_multiplier!r}.",
                "Give a rate of at least 1e-12 and a noise_multiplier from 0.001 to 1e6.",
            )
        object.__setattr__(self, "rate", float(self.rate))
        object.__setattr__(self, "noise_multiplier", float(self.noise_multiplier))

    @property
    def pair_has_curve(self) -> bool:  # type: ignore[override]
        """Whether the pair is the mechanism's own; that of faint noise has an infinite loss."""
        return not self._is_faint

    @property
    def _is_faint(self) -> bool:
        return self.noise_multiplier < _FAINT and self.rate < 1

    @property
    def _whole(self) -> GaussianDP:
        return GaussianDP(up(1 / self.noise_multiplier))

    def renyi(self, order: float) -> float:
        """Return the larger curve of both directions, by quadrature, never above the Gaussian's.

        Of faint noise its bound by convexity: log(1 − q + q·e^{a(a−1)/2σ²})/(a − 1), a = `order`.
        """
        check_order(order)
        if self.rate == 1 or math.isinf(order):
            return self._whole.renyi(order)
        shift = np.array([max(order - 1.0, 1e-13)])
        if self._is_faint:
            return min(self._whole.renyi(order), self._convex(float(shift[0])))
        curves = []
        for remove in (True, False):
            losses = SubsampledPrivacyLoss([(self.rate, self.noise_multiplier, remove)], [1])
            curves.append((float(losses.log_moment(shift)[0]) + losses.rounding(float(shift[0]))) / float(shift[0]))
        return min(self._whole.renyi(order), up(max(curves)))

    def _convex(self, shift: float) -> float:
        grown = shift * (shift + 1) / 2 / self.noise_multiplier**2
        log_moment = amplified(grown, self.rate)
        return up(max(log_moment / shift, -math.log1p(-self.rate)), relative=2.0**-40)

    def dominating_pair(self, remove: bool) -> Pair:
        """Return the mixture against the noise alone, or the reverse; of faint noise, pairs that dominate these."""
        if self.rate == 1:
            return Pair(GaussianPrivacyLoss, (self._whole.mu,))
        if self._is_faint and remove:
            mistaken = max(2 * float(scipy.special.ndtr(-0.5 / self.noise_multiplier)), math.ulp(0.0))
            return Pair(FaintPrivacyLoss, (self.rate, self.noise_multiplier), Fraction(up(mistaken)))
        if self._is_faint:
            return Pair(FinitePrivacyLoss, (Atoms((up(-math.log1p(-self.rate)),), (1.0,)),))
        return Pair(SubsampledPrivacyLoss, (self.rate, self.noise_multiplier, remove))

    def exact_delta(self, epsilon: float) -> float:
        """Return q·G(ε′), e^{ε′} = 1 + (e^ε − 1)/q, G the profile of the Gaussian; additions never need more."""
        return sampled_delta(self._whole.exact_delta, self.rate, epsilon)

    def exact_epsilon(self, delta: float) -> float:
        """Return log(1 + q·(e^ε − 1)), ε that of the Gaussian at δ/q."""
        if delta == 0:
            return math.inf
        if delta >= self.exact_delta(0.0):
            return 0.0
        inner = self._whole.exact_epsilon(min(1.0, delta / self.rate))
        return solved(self.exact_delta, amplified(inner, self.rate), delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return what the release without sampling costs: sampling never hurts."""
        return self._whole.cost(accounting)

    def group(self, size: int) -> Guarantee:
        """Return what the Rényi curve says to a group."""
        whole(minimum=1, size=size)
        return self if size == 1 else Grouped(self, int(size))
