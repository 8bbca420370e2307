"""Exact random choices with weights e^{−rate·gap}, and exact coins.

Floating point decides first, with a margin for its rounding; a draw inside the margin (probability about 1e-9 for a
thousand candidates) is decided in integers, with further bits of the same uniform number.
"""

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.integer_exp import exp_negative
from gaugedp.samplers.reals import WORD

_UNIT = 2.0**-WORD
_MARGIN = 2.0**-39  # for e^{−x} in floating point: x ≤ 745 is rounded by 2^−43, and twice in a quotient
_EACH = 2.0**-59  # for each weight that is cut to an integer


def choose(gaps: np.ndarray, rate: Fraction, size: int, rng: Entropy, counts: np.ndarray | None = None) -> np.ndarray:
    """Return `size` exact independent indices, P(i) ∝ counts_i·e^{−rate·gaps_i}."""
    shifted = gaps - (gaps if counts is None else gaps[counts > 0]).min()
    words = rng.words(size)
    shares = _shares(np.maximum(shifted, 0), _as_float(rate), counts)
    places = words * _UNIT
    indices = np.searchsorted(shares, places, side="right")
    # 2.0**-32: where logarithms up to 10^4 are added first: each is rounded by 2^−39
    margin = (_MARGIN if counts is None or counts.dtype != object else 2.0**-32) + len(gaps) * _EACH
    near = np.minimum(np.abs(shares[np.minimum(indices, len(shares) - 1)] - places), places - _before(shares, indices))
    for index in np.flatnonzero((near <= margin) | (indices == len(shares))):
        indices[index] = _Decision(shifted, rate, counts).settle(int(words[index]), rng)
    return indices.astype(np.int64, copy=False)


def coins(gaps: np.ndarray, rate: Fraction, rng: Entropy) -> np.ndarray:
    """Return exact independent coins, P(heads) = e^{−rate·gaps}, for integer gaps ≥ 0 and rate > 0."""
    words = rng.words(gaps.size).reshape(gaps.shape)
    chances = np.exp(-_as_float(rate) * gaps.astype(float))
    places = words * _UNIT
    heads: np.ndarray = places < chances
    for index in np.argwhere(np.abs(places - chances) <= _MARGIN):
        place = tuple(index)
        heads[place] = _settle_coin(rate * int(gaps[place]), int(words[place]), rng)
    return heads


def one_of_each(heads: np.ndarray, rng: Entropy) -> np.ndarray:
    """Return an exact uniform index among the True entries of each row."""
    indices = np.zeros(len(heads), dtype=np.int64)
    undecided = np.arange(len(heads))
    while len(undecided):
        words = rng.words(heads[undecided].size).reshape(heads[undecided].shape) >> np.uint64(1)
        words = np.where(heads[undecided], words + np.uint64(1), np.uint64(0))
        best = words.max(axis=1)
        indices[undecided] = words.argmax(axis=1)
        undecided = undecided[(words == best[:, None]).sum(axis=1) > 1]
    return indices


def _shares(gaps: np.ndarray, rate: float, counts: np.ndarray | None) -> np.ndarray:
    """Return P(X ≤ i) with an error below the margin."""
    weights = _weights(-rate * gaps.astype(float), counts)
    scale = 2.0 ** (61 - np.ceil(np.log2(weights.sum())))  # the weights, as integers, add up to less than 2^62
    running = np.cumsum((weights * scale).astype(np.int64))
    return running / float(running[-1])


def _weights(logs: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """Return counts·e^logs, up to a factor for large counts."""
    if counts is None or counts.dtype != object:
        return np.exp(logs) * (1.0 if counts is None else counts)
    logs = logs + np.array([math.log(count) if count else -math.inf for count in counts])
    return np.exp(logs - logs.max())


def _as_float(rate: Fraction) -> float:
    return float(min(rate, Fraction(2) ** 900))  # from far below on, only a gap of 0 has any weight


def _before(shares: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the threshold below each index, or −1."""
    return np.where(indices > 0, shares[indices - 1], -1.0)


class _Decision:
    """The distribution in integers, to any precision."""

    def __init__(self, gaps: np.ndarray, rate: Fraction, counts: np.ndarray | None) -> None:
        self._distinct, self._which = np.unique(gaps, return_inverse=True)
        self._rate, self._counts = rate, None if counts is None else [int(count) for count in counts]

    def settle(self, uniform: int, rng: Entropy) -> int:
        """Return the index of a uniform number, drawing more bits as needed."""
        n_bits = WORD
        while True:
            uniform, n_bits = uniform << WORD | rng.integer(WORD), n_bits + WORD
            lows, highs = self._thresholds(n_bits)
            index = bisect_left(highs, uniform)
            if uniform < lows[index]:
                return index

    def _thresholds(self, n_bits: int) -> tuple[list[int], list[int]]:
        """Bracket 2^n_bits·P(X ≤ i) for every i."""
        lows, highs = (list(accumulate(side)) for side in self._weights(n_bits + 32))
        below = [(low << n_bits) // (low + highs[-1] - high) for low, high in zip(lows, highs, strict=True)]
        above = [-(-(high << n_bits) // (high + lows[-1] - low)) for low, high in zip(lows, highs, strict=True)]
        return below, above

    def _weights(self, n_bits: int) -> tuple[list[int], list[int]]:
        brackets = [exp_negative(self._rate * max(0, int(gap)), n_bits) for gap in self._distinct]
        counts = self._counts or [1] * len(self._which)
        masses = [brackets[which] for which in self._which]
        lows = [count * low for count, (low, _) in zip(counts, masses, strict=True)]
        return lows, [count * high for count, (_, high) in zip(counts, masses, strict=True)]


def _settle_coin(exponent: Fraction, uniform: int, rng: Entropy) -> bool:
    n_bits = WORD
    while True:
        low, high = exp_negative(exponent, n_bits)
        if uniform < low:
            return True
        if uniform >= high:
            return False
        uniform, n_bits = uniform << WORD | rng.integer(WORD), n_bits + WORD
