"""Exact sums, released with noise that lives on a lattice, and how releases share a guarantee."""

import math
from collections.abc import Callable

import numpy as np

from gaugedp._internal.rounding import NORMS, TABLES
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Gaussian, KNorm
from gaugedp.mechanisms.base import AdditiveNoise

BITS = 12  # of a coordinate of a row, a slope or a target in [−1, 1]: sums of products over 2^28 rows are exact
WEIGHT_BITS = 30  # of weights over their radius: predictions are exact too, whatever the order of additions


def weight_step(radius: float) -> float:
    """Return the lattice step of weights: a power of two near 2^−30 of the radius."""
    return 2.0 ** (math.ceil(math.log2(radius)) - WEIGHT_BITS)


def released(exact: np.ndarray, noise: AdditiveNoise, rng: Entropy) -> np.ndarray:
    """Return `exact`, rounded to the lattice of the noise, plus noise drawn now."""
    return with_noise(exact, noise, noise.prepare(rng))


def with_noise(exact: np.ndarray, noise: AdditiveNoise, prepared: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the same with noise that was `prepared` before; the shape of `exact` is kept."""
    step = float(noise.lattice_step)
    noisy = prepared(np.rint(exact.ravel() / step).astype(np.int64)) * step
    return noisy.reshape(exact.shape)


def for_gaussian_releases(guarantee: Guarantee) -> Guarantee:
    """Return the largest μ-GDP within (ε, δ), which all Gaussian releases keep together; any other as it is."""
    if isinstance(guarantee, ApproxDP):
        return GaussianDP(gaussian_mu(guarantee.epsilon_value, guarantee.delta_value))
    return guarantee


def shared(guarantee: Guarantee, share: float) -> GaussianDP | PureDP:
    """Return what a release with this share keeps, a hair less for the rounding: of μ² for μ-GDP, of ε for ε-DP."""
    if isinstance(guarantee, GaussianDP):
        return GaussianDP(guarantee.mu * math.sqrt(share) * (1 - 2.0**-40))
    if isinstance(guarantee, PureDP):
        return PureDP(guarantee.epsilon_value * share * (1 - 2.0**-40))
    raise InvalidRequest(f"{guarantee!r} cannot be shared by steps.", "Give epsilon, or epsilon and delta.")


def sum_ball(n_coordinates: int, sensitivity: float) -> LpBall:
    """Return the ball in which sums of up to 2^28 numbers move by one row, with what floats may add."""
    return LpBall(n_coordinates, 2, sensitivity * (1 + NORMS) + TABLES * math.sqrt(n_coordinates))


def ball_noise(ball: LpBall, guarantee: GaussianDP | PureDP) -> AdditiveNoise:
    """Return noise for sums that move within the ball: Gaussian for μ-GDP, of the ball's own shape for ε-DP."""
    if isinstance(guarantee, GaussianDP):
        return Gaussian.calibrate(ball, guarantee)
    return KNorm.calibrate(ball, guarantee)
