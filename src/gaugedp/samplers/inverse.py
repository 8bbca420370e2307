"""Exact inversion sampling of distributions on 0, 1, 2, …."""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.integer_exp import Bracket, exp_negative, multiply
from gaugedp.samplers.reals import WORD

Weights = Callable[[int], tuple[list[Bracket], Bracket]]
_SPARE_BITS = 32  # the rounding of a few thousand products stays below


class InverseTable:
    """Exact inversion sampler of P(k) ∝ w_k, k ≥ 0.

    `weights(n_bits)` returns brackets of 2^n_bits·w_k for k = 0 … m and a bracket of the sum of all later weights,
    which must be small enough at that precision (0 for finite support, with last weight w_m). A uniform number is known
    by its first 64 bits. If they do not decide between two values (probability about table length·2^−64), further bits
    of the same number are drawn: nothing is rounded and nothing starts again, so the distribution is exact.
    `first_bits` < 64 serves tests of that path.
    """

    def __init__(self, weights: Weights, first_bits: int = WORD) -> None:
        self._weights = weights
        self._first_bits = first_bits
        self._known: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` independent draws, shape (size,), dtype int64."""
        uniform = rng.words(size) >> np.uint64(WORD - self._first_bits)
        lows, highs = self._arrays
        values = np.searchsorted(highs, uniform, side="left")
        unsure = np.append(lows, np.uint64(2**64 - 1))[values] <= uniform
        unsure &= values < len(lows)
        for index in np.flatnonzero(unsure):
            values[index] = self._refine(int(uniform[index]), rng)
        return values.astype(np.int64, copy=False)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        lows, highs = self._thresholds(self._first_bits)
        return np.array(lows, dtype=np.uint64), np.array(highs, dtype=np.uint64)

    def _refine(self, uniform: int, rng: Entropy) -> int:
        n_bits = self._first_bits
        while True:
            uniform, n_bits = uniform << WORD | rng.integer(WORD), n_bits + WORD
            lows, highs = self._thresholds(n_bits)
            value = bisect_left(highs, uniform)
            if value == len(lows) or uniform < lows[value]:
                return value

    def _thresholds(self, n_bits: int) -> tuple[list[int], list[int]]:
        """Return floors of 2^n_bits times lower and upper bounds of each P(X ≤ k)."""
        if n_bits not in self._known:
            self._known[n_bits] = _cumulative(*self._weights(n_bits + 32), n_bits)
        return self._known[n_bits]


def _cumulative(brackets: list[Bracket], tail: Bracket, n_bits: int) -> tuple[list[int], list[int]]:
    if tail[1] == 0:
        tail, brackets = brackets[-1], brackets[:-1]
    below_low = list(accumulate(low for low, _ in brackets))
    below_high = list(accumulate(high for _, high in brackets))
    above_low = [below_low[-1] - low + tail[0] for low in below_low] if brackets else []
    above_high = [below_high[-1] - high + tail[1] for high in below_high] if brackets else []
    lows = [(low << n_bits) // (low + above) for low, above in zip(below_low, above_high, strict=True)]
    highs = [(high << n_bits) // (high + above) for high, above in zip(below_high, above_low, strict=True)]
    top = (1 << n_bits) - 1
    return [min(low, top) for low in lows], [min(high, top) for high in highs]


def decaying_weights(rate: Fraction, growth: Fraction = Fraction(0), length: int | None = None) -> Weights:
    """Return w_0 = 1, w_{k+1} = w_k·e^(−rate − k·growth), below `length`."""

    def weights(n_bits: int) -> tuple[list[Bracket], Bracket]:
        work = n_bits + _SPARE_BITS
        unit = 1 << work
        ratio, shrink = exp_negative(rate, work), exp_negative(growth, work)
        brackets = [(unit, unit)]
        while brackets[-1][1] >> _SPARE_BITS if length is None else len(brackets) < length:
            brackets.append(multiply(brackets[-1], ratio, work))
            ratio = multiply(ratio, shrink, work)
        if length is not None:
            return brackets, (0, 0)
        last = brackets.pop()  # the ratios decrease, so the rest is at most last/(1 − ratio)
        return brackets, (last[0], (last[1] << work) // (unit - ratio[1]) + 1)

    return weights
