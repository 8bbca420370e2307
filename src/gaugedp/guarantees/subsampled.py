"""Exact guarantee of Gaussian noise on a Poisson sample."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.validate import one_of, positive, whole
from gaugedp.accountant.loss import Pair
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee, check_order
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.groups import Grouped
from gaugedp.guarantees.losses.finite import Atoms, FinitePrivacyLoss
from gaugedp.guarantees.losses.gaussian import GaussianPrivacyLoss
from gaugedp.guarantees.losses.small_noise import FaintPrivacyLoss
from gaugedp.guarantees.losses.subsampled import SubsampledPrivacyLoss
from gaugedp.guarantees.sampling import amplified, sampled_delta, solved

LEAST_NOISE, MOST_NOISE = 1e-3, 1e6
_MOST_UNITS = 16  # largest group with a pair of mixtures; larger ones use a chain of neighbours
_LEAST_STD = 0.05  # noise below which quadratures need too many nodes, and samples are distinguished up to 2e−23


@dataclass(frozen=True, eq=True, repr=False)
class SubsampledGaussian(Guarantee):
    """Guarantee of Gaussian noise on a Poisson sample's sum.

    Use it to account for DP-SGD: it describes one step, so multiply it by the number of steps. Each unit is in the
    sample with probability q = `rate`. The sum has ℓ₂ sensitivity 1, and its noise has the standard deviation σ =
    `noise_multiplier`. With `neighbours` = "add_remove", neighbours differ by one unit, or by a group of `size` units,
    added or removed. With "replace", one unit is replaced.

    Notes
    -----
    If a units are removed and b added, the number of them in the sample is binomial. So the worst outputs to tell apart
    are the mixtures Σ Bin(a, q)(i)·N(i, σ²) and Σ Bin(b, q)(j)·N(−j, σ²) (docs/theory/sampling.md; Zhu, Dong and Wang
    2022, theorem 11, for one unit). A composition uses the same (a, b) for all releases, and takes the worst of those
    with a + b = `size`. If units are replaced, a = b = `size`.

    Examples
    --------
    1,000 steps of DP-SGD with batches of 1 % of the units have this ε at δ = 10⁻⁶:

    >>> from gaugedp.guarantees import SubsampledGaussian
    >>> round((1000 * SubsampledGaussian(rate=0.01, noise_multiplier=1.0)).epsilon(1e-6), 2)
    2.12
    """

    rate: float
    noise_multiplier: float
    size: int = 1
    neighbours: str = "add_remove"

    def __post_init__(self) -> None:
        positive(rate=self.rate, noise_multiplier=self.noise_multiplier)
        if self.rate > 1:
            raise InvalidRequest(f"`rate` is {self.rate!r}, but must be a probability.", "Pass one above 0.")
        if not LEAST_NOISE <= self.noise_multiplier <= MOST_NOISE or self.rate < 1e-12:
            raise InvalidRequest(
                f"`rate` is {self.rate!r} and `noise_multiplier` is {self.noise_multiplier!r}, but the smallest "
                "rate is 1e-12, and noise multipliers lie from 0.001 to 1e6.",
                "Pass values in these ranges.",
            )
        whole(minimum=1, size=self.size)
        one_of(("add_remove", "replace"), neighbours=self.neighbours)
        if self._n_moved > 1 and (self._n_moved > _MOST_UNITS or self._is_faint):
            raise InvalidRequest(
                f"A `size` of {self.size!r} with a `noise_multiplier` of {self.noise_multiplier!r} is not supported.",
                f"For more than {_MOST_UNITS} units, or noise below {_LEAST_STD}, use the method group(size).",
            )
        self._set(rate=float(self.rate), noise_multiplier=float(self.noise_multiplier))

    @property
    def n_units(self) -> int:
        """The size of the group; 1 if units are replaced."""
        return 1 if self._is_replaced else self.size

    @property
    def _is_replaced(self) -> bool:
        return self.neighbours == "replace"

    @property
    def _n_moved(self) -> int:
        return self.size * (2 if self._is_replaced else 1)

    @property
    def pair_has_curve(self) -> bool:
        """True unless the noise is small.

        For small noise the pair has an infinite loss.
        """
        return not self._is_faint

    @property
    def pair_is_least(self) -> bool:
        """True unless the noise is small.

        For small noise the pair reveals the sample.
        """
        return not self._is_faint

    @property
    def _is_faint(self) -> bool:
        return self.noise_multiplier < _LEAST_STD and self.rate < 1

    @property
    def _whole(self) -> GaussianDP:
        return GaussianDP(up(self._n_moved / self.noise_multiplier))

    @property
    def stated_neighbours(self) -> frozenset[str]:
        """The set of `neighbours`."""
        return frozenset({self.neighbours})

    def renyi(self, order: float) -> float:
        """Return the largest Rényi divergence of all directions.

        It is computed by quadrature and never exceeds that of the Gaussian without sampling. For small noise it is a
        bound by Minkowski's inequality, a·log(1 − q + q·e^{(a−1)/2σ²})/(a − 1) for a = `order`.
        """
        check_order(order)
        if self.rate == 1 or math.isinf(order):
            return self._whole.renyi(order)
        shift = np.array([max(order - 1.0, 1e-13)])
        if self._is_faint:
            return min(self._whole.renyi(order), self._by_norms(float(shift[0])))
        curves = []
        for removed in range(self.n_units + 1):
            losses = SubsampledPrivacyLoss([self._row(removed)], [1])
            curves.append((float(losses.log_moment(shift)[0]) + float(losses.rounding(shift)[0])) / float(shift[0]))
        return min(self._whole.renyi(order), up(max(curves)))

    def _row(self, removed: int) -> tuple[float, float, int, int]:
        pair = (self.size, self.size) if self._is_replaced else (removed, self.size - removed)
        return self.rate, self.noise_multiplier, *pair

    def _by_norms(self, shift: float) -> float:
        log_norm = amplified(shift / 2 / self.noise_multiplier**2, self.rate)
        return up(max((shift + 1) / shift * log_norm, -math.log1p(-self.rate)), relative=2.0**-40)

    def dominating_pair(self, removed: int) -> Pair:
        """Return the pair of mixtures; for small noise, dominating pairs.

        If one unit is added, the loss −log r of small noise counts as its upper bound −log(1 − q), since r ≥ 1 − q.
        """
        if self.rate == 1:
            return Pair(GaussianPrivacyLoss, (self._whole.mu,))
        if self._is_faint and removed:
            mistaken = max(2 * float(scipy.special.ndtr(-0.5 / self.noise_multiplier)), math.ulp(0.0))
            return Pair(FaintPrivacyLoss, (self.rate, self.noise_multiplier), Fraction(up(mistaken)))
        if self._is_faint:
            return Pair(FinitePrivacyLoss, (Atoms((up(-math.log1p(-self.rate)),), (1.0,)),))
        return Pair(SubsampledPrivacyLoss, self._row(removed))

    def exact_delta(self, epsilon: float) -> float | None:
        """Return the exact δ at `epsilon`, for one unit.

        It is q·G(ε′), where e^{ε′} = 1 + (e^ε − 1)/q and G is the privacy profile of the Gaussian without sampling.
        """
        return None if self._n_moved > 1 else self._exact_delta(epsilon)

    def _exact_delta(self, epsilon: float) -> float:
        return sampled_delta(self._whole.exact_delta, self.rate, epsilon)

    def exact_epsilon(self, delta: float) -> float | None:
        """Return the exact ε at `delta`, for one unit.

        It is log(1 + q·(e^ε − 1)), where ε is that of the Gaussian without sampling at δ/q.
        """
        if delta == 0 or self._n_moved > 1:
            return math.inf if delta == 0 else None
        if delta >= self._exact_delta(0.0):
            return 0.0
        inner = self._whole.exact_epsilon(min(1.0, delta / self.rate))
        return solved(self._exact_delta, amplified(inner, self.rate), delta)

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the cost of the release without sampling."""
        return self._whole.cost(accounting)

    def _group(self, size: int) -> Guarantee:
        """Return the guarantee for groups, for large ones and small noise along a chain."""
        total = self.size * size
        if size == 1 or (self._n_moved * size <= _MOST_UNITS and not self._is_faint):
            return replace(self, size=total)
        return Grouped(replace(self, size=1), total)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that differ from their defaults."""
        plain = {"size": 1, "neighbours": "add_remove"}
        return {name: value for name, value in super().to_dict().items() if plain.get(name) != value}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "SubsampledGaussian":
        """Return the guarantee."""
        others = (numbers.get("size", 1), numbers.get("neighbours", "add_remove"))
        return cls(numbers["rate"], numbers["noise_multiplier"], *others)

    def __repr__(self) -> str:
        words = ', neighbours="replace"' if self._is_replaced else ""
        single = f"{type(self).__name__}({self.rate:.12g}, {self.noise_multiplier:.12g}{words})"
        return single if self.size == 1 else f"{single}.group({self.size})"
