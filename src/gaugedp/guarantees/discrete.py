"""Guarantees of discrete Laplace and discrete Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaugedp._internal.rounding import NORMAL_TAIL
from gaugedp._internal.validate import decimal, positive, whole
from gaugedp.accountant.loss import LARGEST_LOSS, Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import LARGEST, above, up, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss
from gaugedp.guarantees.losses.lattice_gaussian import LatticeGaussianPrivacyLoss
from gaugedp.guarantees.losses.response import ResponsePrivacyLoss
from gaugedp.guarantees.pure import pure_cost

LEAST_RATIO, MOST_RATIO = 1e-3, 1e100  # of a deviation to the sensitivity
_MOST_SHIFT = 100_000


@dataclass(frozen=True, eq=True, repr=False)
class DiscreteLaplaceLoss(Guarantee):
    """Guarantee of discrete Laplace noise on an integer.

    Use it to account for noise that takes the integer k with probability proportional to e^{−|k|/scale}. `sensitivity`
    is the largest change of the integer by one unit. With sensitivity 1 the guarantee is that of randomized response at
    ε = 1/scale.
    """

    scale: float
    sensitivity: int = 1
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        positive(scale=self.scale)
        whole(minimum=1, sensitivity=self.sensitivity)
        self._set(scale=float(self.scale), sensitivity=int(self.sensitivity))
        if self._pure > LARGEST or self.sensitivity > _MOST_SHIFT:
            raise InvalidRequest(
                f"`sensitivity` is {self.sensitivity!r}, which is too large for a `scale` of {self.scale!r}.",
                f"Divide the answer by its step (`sensitivity` may be {_MOST_SHIFT} at most), or use more noise.",
            )

    @property
    def _pure(self) -> Fraction:
        return self.sensitivity / decimal(self.scale)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order `order`.

        It is log M(z)/z for z = order − 1, where M(z) is the moment of the losses: v and −v, with P(v) the probability
        of v, add P(v)·e^{−v/2}·4·sinh((z + 1)v/2)·sinh(zv/2) to M(z) − 1.
        """
        check_order(order)
        largest = above(self._pure)
        values, weights = (np.array(numbers) for numbers in self._atoms())
        values, weights = values[values > 0], weights[values > 0]
        if order * largest > 1e300 or order > 1e300:  # the value at infinity is never less
            return largest
        if order == 1:
            return min(largest, up(float(weights @ (-np.expm1(-values) * values)), relative=2.0**-44))
        z = float(order) - 1
        if (z + 1) * largest > 600:
            row = (Atoms(*self._atoms()),)
            log_moment = float(FinitePrivacyLoss([row], [1]).log_moment(np.array([z]))[0])
            return min(largest, up(log_moment / z, relative=2.0**-40))
        grown = weights * np.exp(-values / 2) * 4 * np.sinh((z + 1) * values / 2) * np.sinh(z * values / 2)
        return min(largest, up(math.log1p(float(grown.sum())) / z, relative=2.0**-42) or math.ulp(0.0))

    def _atoms(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        d, step = self.sensitivity, 1 / self.scale
        rate = math.exp(-step)
        values = [(2 * k - d) / self.scale for k in range(d + 1)]
        inside = [math.exp(-(d - k) * step) * -math.expm1(-step) / (1 + rate) for k in range(1, d)]
        return tuple(values), (math.exp(-d * step) / (1 + rate), *inside, 1 / (1 + rate))

    def dominating_pair(self, removed: int) -> Pair | None:  # noqa: ARG002
        """Return the noise and the shifted noise."""
        if self._pure > LARGEST_LOSS:
            return None
        if self.sensitivity == 1:
            return Pair(ResponsePrivacyLoss, (up_decimal(self._pure),))
        values, weights = self._atoms()
        lattice = (-self._pure, 2 / decimal(self.scale))
        return Pair(FinitePrivacyLoss, (Atoms(values, weights, lattice),))

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the charge of ε-DP, where ε = sensitivity/scale."""
        return pure_cost(self._pure, up_decimal(self._pure), accounting)

    def _group(self, size: int) -> "DiscreteLaplaceLoss":
        """Return the guarantee at `size` times the sensitivity."""
        return DiscreteLaplaceLoss(self.scale, self.sensitivity * size)


@dataclass(frozen=True, eq=True, repr=False)
class DiscreteGaussianLoss(Guarantee):
    """Guarantee of discrete Gaussian noise on an integer.

    Use it to account for noise that takes the integer k with probability proportional to e^{−k²/2σ²}, where σ is
    `noise_std` (Canonne, Kamath and Steinke 2020). `sensitivity` is the largest change of the integer by one unit. The
    Rényi curve is never above that of Gaussian noise; the privacy profile may be.
    """

    noise_std: float
    sensitivity: int = 1
    written = "{:.12g}".format

    def __post_init__(self) -> None:
        positive(noise_std=self.noise_std)
        whole(minimum=1, sensitivity=self.sensitivity)
        self._set(noise_std=float(self.noise_std), sensitivity=int(self.sensitivity))
        if not LEAST_RATIO <= self.noise_std / self.sensitivity <= MOST_RATIO:
            raise InvalidRequest(
                f"`noise_std` is {self.noise_std!r}, which is too small or too large for a `sensitivity` of "
                f"{self.sensitivity!r}.",
                "Pass a `noise_std` between 0.001 and 1e100 times the `sensitivity`.",
            )

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of order `order`.

        With a = `order`, d = `sensitivity` and θ(u) = Σ e^{−(k+u)²/2σ²}, it is a·d²/(2σ²) + log(θ((a − 1)d)/θ(0))/(a −
        1).
        """
        check_order(order)
        ratio = decimal(self.sensitivity) / decimal(self.noise_std)
        gaussian = up_decimal(ratio**2 / 2)
        if order == 1 or order > 1e100:
            return up(gaussian * order)
        losses = LatticeGaussianPrivacyLoss([(self.noise_std, self.sensitivity)], [1])
        divergence = float(losses.log_moment(np.array([order - 1.0]))[0]) / (order - 1)
        return min(up(gaussian * order), up(divergence, relative=2.0**-44))

    def dominating_pair(self, removed: int) -> Pair:  # noqa: ARG002
        """Return the noise and the shifted noise."""
        return Pair(LatticeGaussianPrivacyLoss, (self.noise_std, self.sensitivity))

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the exact δ at `epsilon`.

        It is Σ P(y)·(1 − e^{ε − l(y)}) over the outputs y with loss l(y) > ε, or None for wide noise or large ε.
        """
        if self.noise_std > 1e4 or epsilon > LARGEST_LOSS:  # too many values to sum
            return None
        std, size = self.noise_std, self.sensitivity
        first = math.floor(std**2 * epsilon / size - size / 2)
        y = np.arange(first, max(first, 0) + math.ceil(NORMAL_TAIL * std) + 2, dtype=float)
        over = (size**2 + 2 * size * y) / (2 * std**2) - epsilon
        noise = np.arange(-math.ceil(NORMAL_TAIL * std), math.ceil(NORMAL_TAIL * std) + 1, dtype=float)
        weights = np.exp(-(y**2) / (2 * std**2)) / float(np.exp(-(noise**2) / (2 * std**2)).sum())
        rounding = 2.0**-48 * (abs(epsilon) + size**2 / std**2 + 1)
        delta = float(weights @ -np.expm1(-np.maximum(over, 0.0)))
        slack = float(weights[over > -rounding].sum()) * rounding
        raised = max(math.ulp(0.0), up(delta + slack, relative=2.0**-42))
        return min(1.0, raised) if slack <= 1e-8 * delta else None

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return d²/(2σ²) in "zcdp" for sensitivity d, else None."""
        square = (decimal(self.sensitivity) / decimal(self.noise_std)) ** 2
        return (square / 2,) if accounting == "zcdp" else None

    def _group(self, size: int) -> "DiscreteGaussianLoss":
        """Return the guarantee at `size` times the sensitivity."""
        return DiscreteGaussianLoss(self.noise_std, self.sensitivity * size)
