"""Calibration of noise to a guarantee, rounded up."""

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
_PRECISION = 1e-10  # relative precision of the search for the least noise


class Noise(float):
    """Noise parameter: a float with the guarantee of all releases.

    `guarantee` is the guarantee that the noise satisfies. `slack` is the relative accuracy of the search: noise that is
    smaller by more than this does not satisfy the request.
    """

    guarantee: Guarantee
    slack: float

    def __new__(cls, value: float, guarantee: Guarantee, slack: float) -> "Noise":
        """Create a float with these two attributes."""
        noise = super().__new__(cls, value)
        noise.guarantee, noise.slack = guarantee, slack
        return noise

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.guarantee, self.slack)


def gaussian_std(epsilon: float, delta: float, sensitivity: float = 1.0, count: int = 1) -> Noise:
    """Return the standard deviation of Gaussian noise for (ε, δ)-DP.

    Use it if you add noise yourself. The result is the smallest standard deviation σ, rounded up, with which `count`
    answers together satisfy (ε, δ)-DP (Balle and Wang 2018, theorem 8).

    Parameters
    ----------
    epsilon, delta : float
        ε ≥ 0 and 0 < δ < 1 of all answers together.
    sensitivity : float
        The ℓ₂ sensitivity of one answer: the largest change that one unit, such as a person, can cause. Default 1.
    count : int
        Number of answers. Default 1.

    Examples
    --------
    One answer of sensitivity 1 needs noise with this standard deviation:

    >>> from gaugedp.guarantees import gaussian_std
    >>> round(gaussian_std(1.0, 1e-6), 2)
    4.22
    """
    positive(sensitivity=sensitivity)
    whole(minimum=1, count=count)
    mu = gaussian_mu(epsilon, delta)
    std = up(sensitivity * math.sqrt(count) / mu)
    return Noise(std, GaussianDP(mu), 1e-12)


def laplace_scale(epsilon: float, delta: float = 0.0, sensitivity: float = 1.0, count: int = 1) -> Noise:
    """Return the scale of Laplace noise for (ε, δ)-DP.

    Use it if you add noise yourself. The result is the smallest scale, rounded up, with which `count` answers together
    satisfy (ε, δ)-DP. At δ = 0 it is count·Δ/ε, where Δ is the `sensitivity`.

    Parameters
    ----------
    epsilon, delta : float
        ε and 0 ≤ δ < 1 of all answers together. Default δ = 0.
    sensitivity : float
        The ℓ₁ sensitivity Δ of one answer: the largest change that one unit, such as a person, can cause. Default 1.
    count : int
        Number of answers. Default 1.

    Examples
    --------
    Ten answers together satisfy ε = 0.5, so the noise of each has the scale 10/0.5 = 20:

    >>> from gaugedp.guarantees import laplace_scale
    >>> round(laplace_scale(0.5, count=10), 9)
    20.0
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
    """Return the scale of discrete Laplace noise for (ε, δ)-DP.

    The arguments are those of `laplace_scale`, for integer answers of an integer sensitivity. At δ = 0 the scale is
    count·sensitivity/ε.
    """
    whole(minimum=1, sensitivity=sensitivity, count=count)
    if delta == 0:
        positive(epsilon=epsilon)
        scale = up_decimal(sensitivity * count / decimal(epsilon))
        return Noise(scale, count * DiscreteLaplaceLoss(scale, sensitivity), 1e-15)
    return _least(lambda scale: DiscreteLaplaceLoss(scale, sensitivity), epsilon, delta, count, sensitivity)


def discrete_gaussian_std(epsilon: float, delta: float, sensitivity: int = 1, count: int = 1) -> Noise:
    """Return σ of discrete Gaussian noise for (ε, δ)-DP.

    The arguments are those of `gaussian_std`, for integer answers.
    """
    whole(minimum=1, sensitivity=sensitivity, count=count)
    start = gaussian_std(epsilon, delta, float(sensitivity), count)
    limits = (LEAST_RATIO * sensitivity, MOST_RATIO)
    return _least(lambda std: DiscreteGaussianLoss(std, sensitivity), epsilon, delta, count, start, limits)


def subsampled_noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> Noise:
    """Return the noise multiplier of DP-SGD for (ε, δ)-DP.

    Use it before training, to find the noise for a given budget. The noise multiplier is the standard deviation of the
    noise divided by the clipping norm. The result is the smallest one, rounded up, with which all steps together
    satisfy (ε, δ)-DP. Each step adds Gaussian noise to a sum over a random (Poisson) sample of the units. Neighbouring
    tables differ by one unit added or removed.

    Parameters
    ----------
    epsilon, delta : float
        ε and δ of all steps together.
    rate : float
        Sampling rate: the probability with which a unit is in a batch.
    steps : int
        Number of steps.

    Examples
    --------
    1,000 steps of DP-SGD satisfy ε = 2 and δ = 1e-6 with this multiplier:

    >>> from gaugedp.guarantees import subsampled_noise_multiplier
    >>> round(subsampled_noise_multiplier(2.0, 1e-6, rate=0.01, steps=1000), 2)
    1.03
    """
    SubsampledGaussian(rate, 1.0)
    limits = (LEAST_NOISE, MOST_NOISE)
    return _least(lambda noise: SubsampledGaussian(rate, noise), epsilon, delta, steps, limits=limits)


def largest_parameter(make: Callable[[float], Guarantee], epsilon: float, delta: float) -> float:
    """Return the largest (ε, δ)-DP parameter of `make`.

    It is accurate to one part in a million, from below. `make` must give a weaker guarantee for larger parameters, such
    as 1/noise or ρ. This calibrates compositions that have no closed form.
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
            raise InvalidRequest("No value of the parameter achieves this guarantee.", "Use a larger epsilon or delta.")
    while excess(high) <= 0:
        low, high = high, high + 2
        if high > 100:
            raise InvalidRequest("Every parameter satisfies this guarantee.", "Use a smaller epsilon or delta.")
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
    """Return the least certified noise for `count` · `make`(noise).

    The search is on a logarithmic scale. `make` is defined between the `limits`; nothing beyond them is tried.
    """
    non_negative(epsilon=epsilon)
    between(0, 1, delta=delta)
    whole(minimum=1, count=count)

    orders: list[float] = []

    @cache
    def excess(log_noise: float, removed: int = 1, is_last: bool = False) -> float:
        """Return the log of δ over the target, by removals, which usually need more noise.

        The last evaluation searches for the order again.
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
    low = high = min(max(start, lowest), highest)
    step = 0.5
    while excess(high) > 0:
        if high == highest:
            raise InvalidRequest(
                f"Even noise of size {math.exp(highest):.3g}, the largest that is tried, does not achieve this "
                "guarantee.",
                "Use a larger epsilon or delta.",
            )
        low, high, step = high, min(high + step, highest), 2 * step
    while low == high or excess(low) <= 0:
        if low == lowest:
            raise InvalidRequest(
                f"Even noise of size {math.exp(lowest):.3g}, the smallest that is tried, achieves this guarantee, "
                "so there is no best size.",
                "Use a smaller epsilon or delta.",
            )
        high, low, step = low, max(low - step, lowest), 2 * step
    return low, high
