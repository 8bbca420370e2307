"""Exact sums, released with noise that lives on a lattice."""

from collections.abc import Callable

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.mechanisms.base import AdditiveNoise


def released(exact: np.ndarray, noise: AdditiveNoise, rng: Entropy) -> np.ndarray:
    """Return `exact`, rounded to the lattice of the noise, plus noise drawn now."""
    return with_noise(exact, noise, noise.prepare(rng))


def with_noise(exact: np.ndarray, noise: AdditiveNoise, prepared: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the same with noise that was `prepared` before; the shape of `exact` is kept."""
    step = float(noise.lattice_step)
    noisy = prepared(np.rint(exact.ravel() / step).astype(np.int64)) * step
    return noisy.reshape(exact.shape)
