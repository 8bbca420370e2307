"""Quantiles of |a − m·b| for noise (a, b): the half-widths of Fieller intervals for ratios of released answers.

For released S = s + a and N = n + b with s = m·n, S − m·N = a − m·b. So the m with |S − m·N| ≤ q(m) hold the true
quotient with the probability with which |a − m·b| ≤ q(m) (Fieller 1954). q is a norm of (1, m) where the noise is
log-concave, symmetric and continuous (Meyer and Reisner 1991), so that chords between places lie above it; on a
lattice they do with a step more. docs/theory/ratios.md
"""

from collections.abc import Sequence

import numpy as np

from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.noise_widths import safe_rank

PLACES = 9  # of m, from −1 to 1
_NUMBERS = 4 * 10**6  # sorted, with more than the fewest trials
_MOST_TRIALS, _FEWEST_TRIALS, _MOST_NUMBERS = 20_000, 2000, 2 * 10**7
_DIGITS, _ALIKE = 4, 3  # of a width, rounded up; of widths that are alike
_PUBLIC_SEED = 1954


class Quotients:
    """Widths for the quotients of answers `first` by answers `second`, index arrays, in units in which |m| ≤ 1.

    `units` (d,) are what the noise of each answer is counted in: one of an answer of `second` is as much as |m| may be
    of one of `first`.
    """

    def __init__(self, noise: AdditiveNoise, units: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        self._noise, self._units, self._first, self._second = noise, units, first, second
        self._trials = self._sorted_trials()

    def widths(self, level: float) -> np.ndarray:
        """Return q at PLACES from −1 to 1, shape (pairs, PLACES): each |a − m·b| is within it with chance `level`.

        An order statistic of trial draws with a public seed, three standard errors above the quantile, and a step of
        the lattice of both, for what chords fall short of; or the widths of both at (1 + level)/2 together, where there
        are too few draws or that is less. Pairs whose own widths are the same get the larger.
        """
        half_widths = self._noise.half_widths((1 + level) / 2) * self._units
        both = self._along(half_widths)
        rank = None if self._trials is None else safe_rank(len(self._trials), level)
        if self._trials is None or rank is None:
            return both
        quantiles = rounded_up(self._trials[rank] + self._along(float(self._noise.lattice_step) * self._units))
        _, alike = np.unique(
            np.column_stack([half_widths[self._first], half_widths[self._second]]), axis=0, return_inverse=True
        )
        largest = np.zeros((alike.max() + 1, PLACES))
        np.maximum.at(largest, alike.ravel(), quantiles)
        by_trials = largest[alike.ravel()]
        return np.where(by_trials.sum(axis=1, keepdims=True) < both.sum(axis=1, keepdims=True), by_trials, both)

    def _along(self, sizes: np.ndarray) -> np.ndarray:
        """Return size of the first + |m|·size of the second, at PLACES: straight on both sides of m = 0, a place."""
        return sizes[self._first, None] + sizes[self._second, None] * np.abs(np.linspace(-1, 1, PLACES))

    def _sorted_trials(self) -> np.ndarray | None:
        """Return |a − m·b| in order, shape (draws, pairs, PLACES), or None: for a walk, draws are not apart."""
        numbers = max(len(self._units), PLACES * len(self._first))
        used = np.concatenate([self._first, self._second])
        trials = public_trials(self._noise, _PUBLIC_SEED, _NUMBERS, numbers, numbers, used)
        if trials is None:
            return None
        top, bottom = np.split(trials * self._units[used], 2, axis=1)
        return np.sort(np.abs(top[:, :, None] - bottom[:, :, None] * np.linspace(-1, 1, PLACES)), axis=0)


def quotients(noise: AdditiveNoise, units: np.ndarray, terms: Sequence[tuple[int, int, float]]) -> Quotients | None:
    """Return the quotients of terms (start, n, reach): of n answers by the n after them; None without terms."""
    if not terms:
        return None
    first = np.concatenate([np.arange(start, start + n) for start, n, _ in terms])
    second = np.concatenate([np.arange(start + n, start + 2 * n) for start, n, _ in terms])
    scaled = units.copy()
    scaled[second] *= np.concatenate([np.full(n, reach) for _, n, reach in terms])
    return Quotients(noise, scaled, first, second)


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
