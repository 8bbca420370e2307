"""Public noise draws for the widths of pivots, never released."""

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise


def public_trials(
    noise: AdditiveNoise, seed: int, at_once: int, numbers: int, lasting: int, places: np.ndarray | None = None
) -> np.ndarray | None:
    """Return public trial draws, or None for walks.

    A draw takes `numbers` numbers, `at_once` in total; None if `lasting` ones are too many. `places` selects answers.
    """
    size = min(20_000, max(at_once // numbers, 2000))
    if size * lasting > 2 * 10**7 or noise.exactness == "mixing":
        return None
    return noise.trial_noise(size, seed) if places is None else noise.trials_of(places, size, seed)


def kinds_of(widths: np.ndarray) -> np.ndarray:
    """Return equal numbers for rows of widths with equal first digits."""
    digits = [[float(f"{width:.3g}") for width in row] for row in widths]
    return np.asarray(np.unique(digits, axis=0, return_inverse=True)[1]).ravel()


def rounded_up(sizes: np.ndarray) -> np.ndarray:
    """Return sizes rounded up to few digits, for short releases."""
    unit = 10.0 ** (np.ceil(np.log10(np.maximum(sizes, 1e-300))) - 4)
    return np.ceil(sizes / unit) * unit
