"""Exact guarantee of Laplace noise."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import decimal, positive
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import LARGEST, above, down_decimal, up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.laplace import LaplacePrivacyLoss
from gaugedp.guarantees.pure import pure_cost


@dataclass(frozen=True, eq=True, repr=False)
class LaplaceLoss(Guarantee):
    """Guarantee of Laplace noise at ℓ₁ sensitivity 1.

    Use it to account for Laplace noise of scale λ = `scale`, which satisfies (1/λ)-DP. The Rényi curve and the privacy
    profile of this class are exact, and therefore smaller than those of (1/λ)-DP (Mironov 2017, proposition 6).
    """

    scale: float
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        positive(scale=self.scale)
        self._set(scale=float(self.scale))
        if self.scale < 1e-300 and 1 / decimal(self.scale) > LARGEST:  # the inverse of what is larger is a float
            raise InvalidRequest(
                f"`scale` is {self.scale!r}, which is so small that 1/scale is not finite.", "Pass a larger scale."
            )

    @property
    def shift(self) -> float:
        """The largest loss 1/λ, rounded up."""
        return above(1 / decimal(self.scale))

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order a = `order`.

        With t = 1/λ it is log[a/(2a−1)·e^{(a−1)t} + (a−1)/(2a−1)·e^{−at}]/(a − 1); at order 1 it is t + e^{−t} − 1, and
        at infinity t.
        """
        check_order(order)
        shift = self.shift
        if order * shift > 1e300 or order > 1e300:  # the value at infinity is never less
            return shift
        if order == 1:
            return min(shift, up(_first(shift), relative=2.0**-46))
        log_moment = float(LaplacePrivacyLoss([(shift,)], [1]).log_moment(np.array([order - 1.0]))[0])
        return min(shift, up(log_moment / (order - 1), relative=2.0**-44) or math.ulp(0.0))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return two Laplace distributions."""
        raised = math.nextafter(math.nextafter(1 / self.scale, math.inf), math.inf)
        return Pair(LaplacePrivacyLoss, (raised,)) if raised <= LARGEST_LOSS else None

    def exact_delta(self, epsilon: float) -> float:
        """Return the exact δ at `epsilon`.

        For t = 1/λ it is 1 − e^{(ε − t)/2}, or 0.
        """
        gap = self.shift - epsilon + 2.0**-52 * self.shift  # so that both may be read as decimals
        return min(1.0, up(-math.expm1(-gap / 2))) if epsilon < self.shift else 0.0

    def exact_epsilon(self, delta: float) -> float:
        """Return the exact ε at `delta`.

        For t = 1/λ it is t + 2·log(1 − δ), or 0.
        """
        if delta >= 1:
            return 0.0
        lost = 2 * math.log1p(-delta)
        return min(self.shift, max(0.0, up(self.shift + lost) + 2.0**-50 * (self.shift - lost)))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the cost of (1/λ)-DP."""
        return pure_cost(1 / decimal(self.scale), self.shift, accounting)

    def _group(self, size: int) -> "LaplaceLoss":
        """Return the guarantee at `size` times the sensitivity."""
        return LaplaceLoss(down_decimal(decimal(self.scale) / size))


def _first(t: float) -> float:
    """Return t + e^{−t} − 1, by its series for small t."""
    if t > 0.5:
        return t + math.expm1(-t)
    return math.fsum((-1) ** n * t**n / math.factorial(n) for n in range(2, 20)) or math.ulp(0.0)
