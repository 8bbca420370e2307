"""Draws of noise with public seeds, of which the widths of pivots are quantiles. Nobody releases them."""

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise

_MOST_TRIALS, _FEWEST_TRIALS, _MOST_NUMBERS = 20_000, 2000, 2 * 10**7
_DIGITS, _ALIKE = 4, 3  # of a width, rounded up; of widths that are alike


def public_trials(
    noise: AdditiveNoise, seed: int, at_once: int, numbers: int, lasting: int, places: np.ndarray | None = None
) -> np.ndarray | None:
    """Return trial draws, `numbers` of each, `at_once` in all; None for walks, or where `lasting` ones are too many.

    With `places`, of the noise of these answers alone.
    """
    size = min(_MOST_TRIALS, max(at_once // numbers, _FEWEST_TRIALS))
    if size * lasting > _MOST_NUMBERS or noise.exactness == "mixing":
        return None
    return noise.trial_noise(size, seed) if places is None else noise.trials_of(places, size, seed)


def kinds_of(widths: np.ndarray) -> np.ndarray:
    """Return numbers (n,) that are the same where rows of widths (n, m) agree in their first digits."""
    digits = [[float(f"{width:.{_ALIKE}g}") for width in row] for row in widths]
    return np.asarray(np.unique(digits, axis=0, return_inverse=True)[1]).ravel()


def rounded_up(sizes: np.ndarray) -> np.ndarray:
    """Return sizes with so few digits that a release stays short."""
    unit = 10.0 ** (np.ceil(np.log10(np.maximum(sizes, 1e-300))) - _DIGITS)
    return np.ceil(sizes / unit) * unit
