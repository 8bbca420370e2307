"""Whether draws look uniform on a body: tests by gauge and by odd functionals. None can prove that they are."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from gaugedp.bodies import Body
from gaugedp.errors import InvalidRequest
from tests.samplers.dependent import estimate


@dataclass(frozen=True)
class GaugePower:
    """How far ‖z‖_K^r is from uniform on [0, 1]: its mean (1/2), Kolmogorov's distance and a p-value."""

    mean: float
    distance: float
    p_value: float
    effective_size: float


@dataclass(frozen=True)
class OddFunctionals:
    """z-scores of the means of odd functionals, all of them 0 under a symmetric law.

    `largest` is the largest |z-score|; `p_value` is that of its normal tail times their number, 1 at most.
    """

    z_scores: tuple[float, ...]
    effective_sizes: tuple[float, ...]
    largest: float
    p_value: float


def gauge_power_test(body: Body, draws: np.ndarray) -> GaugePower:
    """Return how well ‖z‖_K^r fits the uniform law on [0, 1], which it has for z uniform on K, r the rank.

    `draws` has shape (n, d), in the order of time, or (c, n, d) for c walks. The p-value is Kolmogorov's for the
    effective number of draws, by the larger of the times τ of u = ‖z‖_K^r and of |u − 1/2|: an approximation, which
    came out too large for draws with a long memory, hence on the side of silence.
    """
    walks = _walks(draws)
    gauges = body.gauge(walks.reshape(-1, walks.shape[2])).reshape(walks.shape[:2])
    powers = np.minimum(gauges, 2 ** (1 / body.rank)) ** body.rank
    sizes = [estimate(series).effective_size for series in (powers, np.abs(powers - 0.5))]
    size = max(min(sizes), 1.0)
    distance = _distance_from_uniform(powers.ravel())
    root = math.sqrt(size)
    p_value = float(scipy.special.kolmogorov((root + 0.12 + 0.11 / root) * distance))  # Stephens 1970
    return GaugePower(float(powers.mean()), distance, p_value, size)


def odd_functionals(draws: np.ndarray) -> OddFunctionals:
    """Return z-scores of the means of z_i, of ⟨v, z⟩ for the longest and shortest axis v of the draws, and of z_i³.

    `draws` has shape (n, d), in the order of time, or (c, n, d) for c walks. Each z-score uses its own effective
    number of draws. Coordinates that are constant are left out.
    """
    walks = _walks(draws)
    flat = walks.reshape(-1, walks.shape[2])
    varying = walks[:, :, np.ptp(flat, axis=0) > 0]
    if not varying.size:
        raise InvalidRequest("The draws are all the same point.", "Pass draws of a walk that moved.")
    moments = np.cov(varying.reshape(-1, varying.shape[2]), rowvar=False, ddof=0).reshape(varying.shape[2], -1)
    axes = np.linalg.eigh(moments)[1][:, [-1, 0]]
    functionals = np.concatenate([varying, varying @ axes, varying**3], axis=2)
    estimates = [estimate(functionals[:, :, index]) for index in range(functionals.shape[2])]
    scores = tuple(mean.mean / mean.standard_error for mean in estimates if mean.standard_error > 0)
    largest = max(map(abs, scores))
    p_value = min(1.0, len(scores) * math.erfc(largest / math.sqrt(2)))
    return OddFunctionals(scores, tuple(mean.effective_size for mean in estimates), largest, p_value)


def _walks(draws: np.ndarray) -> np.ndarray:
    array = np.asarray(draws, dtype=float)
    walks = array[None] if array.ndim == 2 else array
    if walks.ndim != 3 or not np.isfinite(walks).all():
        raise InvalidRequest(f"The draws have shape {array.shape}.", "Pass finite points, shape (n, d) or (c, n, d).")
    return walks


def _distance_from_uniform(values: np.ndarray) -> float:
    """Return sup over t of |share of values ≤ t, less t|."""
    ordered = np.sort(values)
    count = len(ordered)
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))
