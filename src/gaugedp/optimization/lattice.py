"""Exact sums with lattice noise, and shares of guarantees."""

import math
from collections.abc import Callable

import numpy as np

from gaugedp._internal.rounding import NORMS, TABLES
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import AdditiveNoise, Gaussian, KNorm

BITS = 12  # of a coordinate of a row, a slope or a target in [−1, 1]: sums of products over 2^28 rows are exact
SUM_BITS = 22  # of numbers whose sums over 2^30 rows are exact
WEIGHT_BITS = 30  # of weights over their radius: predictions are exact too, whatever the order of additions


def weight_step(radius: float) -> float:
    """Return the lattice step of weights, about 2^−30 radii."""
    return 2.0 ** (math.ceil(math.log2(radius)) - WEIGHT_BITS)


def released(exact: np.ndarray, noise: AdditiveNoise, rng: Entropy) -> np.ndarray:
    """Return `exact`, rounded to the noise's lattice, plus fresh noise."""
    return with_noise(exact, noise, noise.prepare(rng))


def with_noise(exact: np.ndarray, noise: AdditiveNoise, prepared: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return `exact` plus noise that was `prepared` before."""
    step = float(noise.lattice_step)
    noisy = prepared(np.rint(exact.ravel() / step).astype(np.int64)) * step
    return noisy.reshape(exact.shape)


def for_gaussian_releases(guarantee: Guarantee) -> Guarantee:
    """Return the largest μ-GDP within (ε, δ); other guarantees unchanged."""
    if isinstance(guarantee, ApproxDP):
        return GaussianDP(gaussian_mu(guarantee.epsilon_value, guarantee.delta_value))
    return guarantee


def shared(guarantee: Guarantee, share: float) -> GaussianDP | PureDP:
    """Return a share of the guarantee, of μ² for GDP or of ε for PureDP, slightly less for rounding."""
    if isinstance(guarantee, GaussianDP):
        return GaussianDP(guarantee.mu * math.sqrt(share) * (1 - 2.0**-40))
    if isinstance(guarantee, PureDP):
        return PureDP(guarantee.epsilon_value * share * (1 - 2.0**-40))
    raise InvalidRequest(f"{guarantee!r} cannot be divided between steps.", "Specify epsilon, or epsilon and delta.")


def sum_ball(n_coordinates: int, sensitivity: float) -> LpBall:
    """Return the sensitivity ball of sums of up to 2^28 numbers, with float errors."""
    return LpBall(n_coordinates, 2, sensitivity * (1 + NORMS) + TABLES * math.sqrt(n_coordinates))


def ball_noise(ball: LpBall, guarantee: GaussianDP | PureDP) -> AdditiveNoise:
    """Return Gaussian noise for μ-GDP, K-norm noise for ε-DP."""
    if isinstance(guarantee, GaussianDP):
        return Gaussian.calibrate(ball, guarantee)
    return KNorm.calibrate(ball, guarantee)
