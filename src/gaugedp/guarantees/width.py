"""Calibration of noise to a confidence interval."""

import math
from collections.abc import Callable

import numpy as np
import scipy

from gaugedp._internal.bisection import root_of
from gaugedp._internal.validate import between, decimal, non_negative, one_of, whole
from gaugedp.accountant.rounding import down_decimal, up_decimal
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.calibrate import Noise
from gaugedp.guarantees.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.laplace import LaplaceLoss

_LOGS = (-4.0, 14.0)  # range of log scales of discrete noise
_SUMMED_PLACES = 10**4  # largest values of discrete Gaussian noise that are summed
_SHORTFALL = 1e-12  # relative distance of the result below the largest noise


def interval_noise(
    half_width: float, level: float = 0.95, law: str = "discrete_laplace", sensitivity: int = 1
) -> Noise:
    """Return the largest noise that a confidence interval allows.

    Use it if an answer must be accurate to ± `half_width`. For example, an office may promise counts that are accurate
    to ± 5. The privacy guarantee then follows from the accuracy, not the other way round.

    Parameters
    ----------
    half_width : float
        Half the length of the interval. For discrete noise, only its integer part counts.
    level : float
        The probability with which the noise must be at most `half_width` in size. Default 0.95.
    law : {"laplace", "discrete_laplace", "gaussian", "discrete_gaussian"}
        The distribution of the noise. Default "discrete_laplace".
    sensitivity : int
        The largest change of the answer by one unit. Default 1.

    Returns
    -------
    Noise
        The scale (Laplace) or standard deviation (Gaussian), rounded down, with the `guarantee` of one answer. For
        discrete Gaussian noise beyond 10⁴ the result is within 1 in 10⁴ of the largest.

    Examples
    --------
    Discrete Laplace noise of this scale stays within ±5 with probability 95 %:

    >>> from gaugedp.guarantees import interval_noise
    >>> round(interval_noise(half_width=5), 2)
    1.86
    """
    non_negative(half_width=half_width)
    between(0, 1, level=level)
    one_of(tuple(_LAWS), law=law)
    whole(minimum=1, sensitivity=sensitivity)
    most, guarantee = _LAWS[law]
    if half_width == 0 and not law.startswith("discrete"):
        raise InvalidRequest(
            "`half_width` is 0, which continuous noise cannot achieve.", "Pass a positive one, or use discrete noise."
        )
    noise = most(float(half_width), float(level)) * (1 - _SHORTFALL)
    return Noise(noise, guarantee(noise, int(sensitivity)), 4 * _SHORTFALL)


def _laplace(half_width: float, level: float) -> float:
    return half_width / -math.log1p(-level)


def _gaussian(half_width: float, level: float) -> float:
    return half_width / -float(scipy.special.ndtri((1 - level) / 2))


def _discrete_laplace(half_width: float, level: float) -> float:
    """Return the scale, by P(|X| > h) = 2·r^{h + 1}/(1 + r), r = e^{−1/λ}."""
    places = math.floor(half_width) + 1

    def log_beyond(scale: float) -> float:
        return math.log(2) - places / scale - math.log1p(math.exp(-1 / scale))

    return _largest(log_beyond, level)


def _discrete_gaussian(half_width: float, level: float) -> float:
    """Return σ, by P(|X| > h) = 2·Σ_{k > h} e^{−k²/2σ²}/Z.

    Beyond `_SUMMED_PLACES` places P(|X| > h) ≤ P(|N(0, σ²)| > h) (Canonne, Kamath and Steinke 2020, proposition 25).
    """
    place = math.floor(half_width)
    if place > _SUMMED_PLACES:
        return _gaussian(place, level)

    def log_beyond(std: float) -> float:
        if level < 0.99:
            return math.log(max(1 - (1 + 2 * _weights(1, place, std)) / _total(std), 1e-300))
        return math.log(max(2 * _weights(place + 1, place + 2 + math.ceil(12 * std), std), 1e-300) / _total(std))

    return _largest(log_beyond, level)


def _weights(first: int, last: int, std: float) -> float:
    """Return Σ e^{−k²/2σ²} from k = `first` to `last`."""
    return float(np.exp(-(np.arange(first, last + 1, dtype=float) ** 2) / (2 * std**2)).sum())


def _total(std: float) -> float:
    """Return Σ_k e^{−k²/2σ²}, for large σ by Poisson summation."""
    if std < 1:
        return 1 + 2 * _weights(1, 12, std)
    return std * math.sqrt(2 * math.pi) * (1 + 2 * math.exp(-2 * (math.pi * std) ** 2))


def _largest(log_beyond: Callable[[float], float], level: float) -> float:
    target = math.log1p(-level)

    def excess(log_noise: float) -> float:
        return max(log_beyond(math.exp(log_noise)), -1e6) - target

    if excess(_LOGS[0]) > 0 or excess(_LOGS[1]) < 0:
        raise InvalidRequest(
            "Discrete noise has scales from e^−4 to e^14, but this `half_width` needs a scale outside this range.",
            "Pass another `half_width`, or use continuous noise.",
        )
    return math.exp(root_of(excess, *_LOGS, 1e-14))


_LAWS: dict[str, tuple[Callable[[float, float], float], Callable[[float, int], Guarantee]]] = {
    "laplace": (_laplace, lambda scale, sensitivity: LaplaceLoss(down_decimal(decimal(scale) / sensitivity))),
    "discrete_laplace": (_discrete_laplace, DiscreteLaplaceLoss),
    "gaussian": (_gaussian, lambda std, sensitivity: GaussianDP(up_decimal(sensitivity / decimal(std)))),
    "discrete_gaussian": (_discrete_gaussian, DiscreteGaussianLoss),
}
