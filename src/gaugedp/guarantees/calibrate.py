"""The least noise that satisfies a guarantee, rounded up."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from gaugedp._internal.bisection import root_of
from gaugedp._internal.validate import between, decimal, non_negative, positive, whole
from gaugedp.accountant.rounding import up, up_decimal
from gaugedp.accountant.tight import saddle, tight_delta
from gaugedp.accountant.total import Total
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.discrete import LEAST_RATIO, MOST_RATIO, DiscreteGaussianLoss, DiscreteLaplaceLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.subsampled import LEAST_NOISE, MOST_NOISE, SubsampledGaussian

_COARSE = 1e-6
_LIMITS = (1e-86, 1e86)
_PRECISION = 1e-10  # relative: how near to the least noise the search goes


class Noise(float):
    """A noise parameter with the `guarantee` of all releases together, and its `slack`.

    The search found that value/(1 + slack) is too little for the guarantee; or value·(1 + slack) too much for the
    interval, where the most noise was looked for.
    """

    guarantee: Guarantee
    slack: float

    def __new__(cls, value: float, guarantee: Guarantee, slack: float) -> "Noise":
        """Return the noise."""
        noise = super().__new__(cls, value)
        noise.guarantee, noise.slack = guarantee, slack
        return noise

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.guarantee, self.slack)


def gaussian_std(epsilon: float, delta: float, sensitivity: float = 1.0, count: int = 1) -> Noise:
    """Return the least σ, rounded up, with which `count` Gaussian answers together are (`epsilon`, `delta`)-DP.

    `sensitivity` is the ℓ₂ sensitivity of each answer; together they are (√count·Δ/σ)-GDP. `epsilon` ≥ 0, 0 < δ < 1
    (Balle and Wang 2018, theorem 8).
    """
    positive(sensitivity=sensitivity)
    whole(minimum=1, count=count)
    mu = gaussian_mu(epsilon, delta)
    std = up(sensitivity * math.sqrt(count) / mu)
    return Noise(std, GaussianDP(mu), 1e-12)


def laplace_scale(epsilon: float, delta: float = 0.0, sensitivity: float = 1.0, count: int = 1) -> Noise:
    """Return the least λ, rounded up, with which `count` Laplace answers together are (`epsilon`, `delta`)-DP.

    `sensitivity` is the ℓ₁ sensitivity of each answer. At δ = 0 it is count·Δ/ε.
    """
    positive(sensitivity=sensitivity)
    if delta == 0:
        positive(epsilon=epsilon)
        whole(minimum=1, count=count)
        scale = up_decimal(count / decimal(epsilon))
        noise = Noise(scale, count * LaplaceLoss(scale), 1e-15)
    else:
        noise = _least(LaplaceLoss, epsilon, delta, count)
    return noise if sensitivity == 1 else Noise(up(noise * sensitivity), noise.guarantee, noise.slack)


def discrete_laplace_scale(epsilon: float, delta: float = 0.0, sensitivity: int = 1, count: int = 1) -> Noise:
    """Return the least scale, rounded up, with which `count` discrete Laplace answers are (`epsilon`, `delta`)-DP.

    `sensitivity` is a whole number. At δ = 0 it is count·d/ε.
    """
    whole(minimum=1, sensitivity=sensitivity, count=count)
    if delta == 0:
        positive(epsilon=epsilon)
        scale = up_decimal(sensitivity * count / decimal(epsilon))
        return Noise(scale, count * DiscreteLaplaceLoss(scale, sensitivity), 1e-15)
    return _least(lambda scale: DiscreteLaplaceLoss(scale, sensitivity), epsilon, delta, count, sensitivity)


def discrete_gaussian_std(epsilon: float, delta: float, sensitivity: int = 1, count: int = 1) -> Noise:
    """Return the least σ, rounded up, with which `count` discrete Gaussian answers are (`epsilon`, `delta`)-DP."""
    whole(minimum=1, sensitivity=sensitivity, count=count)
    start = gaussian_std(epsilon, delta, float(sensitivity), count)
    limits = (LEAST_RATIO * sensitivity, MOST_RATIO)
    return _least(lambda std: DiscreteGaussianLoss(std, sensitivity), epsilon, delta, count, start, limits)


def subsampled_noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> Noise:
    """Return the least noise multiplier, rounded up, with which `steps` steps are (`epsilon`, `delta`)-DP.

    Every step is Gaussian noise on a Poisson sample of rate `rate`, neighbours differ by one unit added or removed.
    """
    SubsampledGaussian(rate, 1.0)
    limits = (LEAST_NOISE, MOST_NOISE)
    return _least(lambda noise: SubsampledGaussian(rate, noise), epsilon, delta, steps, limits=limits)


def largest_parameter(make: Callable[[float], Guarantee], epsilon: float, delta: float) -> float:
    """Return the largest x, to one part in a million from below, for which `make`(x) is (`epsilon`, `delta`)-DP.

    `make` must guarantee less the smaller x is: 1/noise, or ρ. For compositions that no closed form calibrates.
    """
    positive(epsilon=epsilon)
    between(0, 1, delta=delta)

    @cache
    def excess(log: float) -> float:
        return _log_ratio(make(math.exp(log)).epsilon(delta), epsilon)  # nearly a line, which few steps follow

    low = high = 0.0
    while excess(low) > 0:
        low, high = low - 2, low
        if low < -100:
            raise InvalidRequest("No noise keeps this guarantee.", "Give a larger epsilon or delta.")
    while excess(high) <= 0:
        low, high = high, high + 2
        if high > 100:
            raise InvalidRequest("Any noise keeps this guarantee.", "Give a smaller epsilon or delta.")
    root = root_of(excess, low, high, _COARSE / 4)
    while excess(root) > 0:
        root -= _COARSE / 2
    return math.exp(root)


def _least(
    make: Callable[[float], Guarantee],
    epsilon: float,
    delta: float,
    count: int,
    start: float = 1.0,
    limits: tuple[float, float] = _LIMITS,
) -> Noise:
    """Return the least noise at which `count` · `make`(noise) is proved, by a search on a logarithmic scale.

    `make` knows noise between the `limits`; nothing beyond is tried.
    """
    non_negative(epsilon=epsilon)
    between(0, 1, delta=delta)
    whole(minimum=1, count=count)

    orders: list[float] = []

    @cache
    def excess(log_noise: float, removed: int = 1, is_last: bool = False) -> float:
        """Return log of δ over the target; removals usually need more, so the search looks at them alone.

        At last the order is looked for anew, as the guarantee itself does.
        """
        guarantee = count * make(math.exp(log_noise))
        closed = guarantee.exact_delta(epsilon)
        if closed is not None:
            return _log_ratio(closed, delta)
        total = Total(guarantee.components(), removed)
        if total.others:
            return _log_ratio(1.0, delta)
        orders.append(saddle(total, epsilon, orders[-1] if orders and not is_last else None))
        enough = 0.0 if removed else delta  # additions need only be below the target
        return _log_ratio(tight_delta(total, epsilon, orders[-1], least=enough, with_low=False).high, delta)

    lowest, highest = math.log(limits[0]) + _COARSE, math.log(limits[1]) - _COARSE
    low, high = _around(excess, math.log(start), lowest, highest)
    root = root_of(excess, low, high, _PRECISION / 4)
    gap = _PRECISION / 4
    while excess(root, 1, True) > 0 or excess(root, 0, True) > 0:
        root, gap = root + gap, 2 * gap
    noise = math.exp(root)
    slack = max(_PRECISION, 2 * gap)
    while excess(max(root - slack, lowest)) <= 0 and slack < 1:
        slack *= 4
    return Noise(noise, count * make(noise), slack)


def _log_ratio(cost: float, target: float) -> float:
    return max(-60.0, min(60.0, math.log(cost / target))) if cost > 0 else -60.0


def _around(excess: Callable[[float], float], start: float, lowest: float, highest: float) -> tuple[float, float]:
    """Return logarithms of noise that is too small and of noise that is enough, both between `lowest` and `highest`."""
    low = high = min(max(start, lowest), highest)
    step = 0.5
    while excess(high) > 0:
        if high == highest:
            raise InvalidRequest(
                f"No noise up to {math.exp(highest):.3g} keeps this guarantee.", "Give a larger epsilon or delta."
            )
        low, high, step = high, min(high + step, highest), 2 * step
    while low == high or excess(low) <= 0:
        if low == lowest:
            raise InvalidRequest(
                f"Any noise from {math.exp(lowest):.3g} on keeps this guarantee.", "Give a smaller epsilon or delta."
            )
        high, low, step = low, max(low - step, lowest), 2 * step
    return low, high
