"""Noise of the hull of a box and its negative, with error bounds."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies.box_hull import BoxHull
from gaugedp.samplers.box_noise import logs_together, minus_log_bracket
from gaugedp.samplers.integer_exp import Bracket
from gaugedp.samplers.reals import WORD, Ends, RealFunction, Reals, joined
from gaugedp.samplers.variables import first_bits, unknown

_PICKS = 2  # numbers that pick a part and a turn


@dataclass(frozen=True, eq=False)
class SweptNoise(RealFunction):
    """Noise of the hull of a box and its negative.

    The density is ∝ e^{−‖z‖_K}, K = {t·c + (α − β·|t|)·y : |t| ≤ 1, y ∈ H}, c = `middle`, H = Π[−h_i, h_i]. (α, β) =
    `shrinking` is (1, 0), (2, 1), or (2, 0) with c = 0. A draw is ±Q·c + (α·R − β·Q)·y, R the sum of r + 1 exponentials
    and Q that of the first few of them (docs/theory/sums.md, theorem 4).
    """

    middle: tuple[Fraction, ...]
    half: tuple[Fraction, ...]
    shrinking: tuple[int, int]

    @property
    def d(self) -> int:
        """The length of c."""
        return len(self.middle)

    @property
    def n_reals(self) -> int:
        """Two picks, r + 1 for R, and one for each coordinate of y."""
        return _PICKS + self._rank + 1 + self.d

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the draws, with bounds proportional to coordinate sizes.

        Q and R − Q are logarithms of products, each with the numbers of the other set to 1. By lemma 1 for the float R̂
        of R the sum of their errors is at most δ = u·(5.2·R̂ + 40·l) + k/W, with l logarithms, the least word W, k = r
        + 1 and u = 2^−53. Coordinate j is ±Q·c_j + ((α − β)·Q + α·(R − Q))·h_j·y_j. Its slope in both Q and R − Q is at
        most a_j = |c_j| + (α + β)·h_j. Unknown bits of y_j move it by at most a_j·R·2^{1−n}, and nine roundings by
        9u·a_j·R. So a_j·(δ + (R̂ + δ)·(2^{1−n} + 12u)) suffices.
        """
        words, k = reals.words, self._rank + 1
        part, is_part = self._parts.picked(first_bits(words[:, 0], n_bits), n_bits)
        turn, is_turn = self._turns.picked(first_bits(words[:, 1], n_bits), n_bits)
        bits = first_bits(words[:, _PICKS : _PICKS + k], n_bits)
        places, numbers = self._swept[part], bits * 2.0**-n_bits
        is_first = np.less.outer(np.arange(k), np.where(places >= 0, turn % self._rank + 1, 0)).T
        (along, error), (rest, rest_error) = (logs_together(np.where(of, numbers, 1.0)) for of in (is_first, ~is_first))
        error += rest_error + unknown(bits, k)
        total, (alpha, beta) = np.abs(along) + np.abs(rest), self.shrinking
        error += (total + error) * (2.0 ** (1 - n_bits) + 12 * UNIT)
        error = np.where(is_part & is_turn, error * (1 + 2.0**-30), np.inf)
        across = (alpha - beta) * along + alpha * rest
        values = self._points(words[:, _PICKS + k :], across, places, turn, n_bits)
        values += np.multiply.outer(self._centre, along * self._signs(turn)).T
        return values, np.multiply.outer(self._row_sizes, error).T

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer sums of products of the ends."""
        k = self._rank + 1
        while (picks := self._picks(reals, draw, n_bits)) is None or 0 in (
            words := reals.many(draw, range(_PICKS, _PICKS + k), n_bits)
        ):
            n_bits += WORD
        (alpha, beta), (place, turn) = self.shrinking, picks
        sign, first = 1 if turn < self._rank else -1, turn % self._rank + 1
        along = minus_log_bracket(words[:first], n_bits) if place >= 0 else (0, 0)
        rest = minus_log_bracket(words[first * (place >= 0) :], n_bits)
        across: Ends = _plus(_times(Fraction(alpha - beta), along), _times(Fraction(alpha), rest))
        brackets = []
        for row in places:
            low, high = self._side(reals.bits(draw, _PICKS + k + row, n_bits), n_bits)
            if row == place:
                low = high = Fraction(sign if self.middle[row] > 0 else -sign)
            outer = across[low < 0] * low, across[high >= 0] * high
            ends = _plus(_times(sign * self.middle[row], along), _times(self.half[row], outer))
            brackets.append((ends[0] / 2**n_bits, ends[1] / 2**n_bits))
        return brackets

    def cube_gauge(self) -> Fraction:
        """Return a bound on Σ‖e_i‖_K over the unit vectors, if at most one h_i is 0, with c_i ≠ 0 there."""
        alpha, beta = self.shrinking
        total = Fraction(0)
        for c, h in zip(self.middle, self.half, strict=True):
            if h:
                total += 1 / (alpha * h)
            else:  # t = 1/c_i; the other coordinates stay 0
                shift = abs(1 / c)
                others = [shift * abs(x) / y + beta * shift for x, y in zip(self.middle, self.half, strict=True) if y]
                total += max([shift, *(size / alpha for size in others)])
        return total

    @cached_property
    def _rank(self) -> int:
        moving = sum(h > 0 for h in self.half)
        return moving + any(c and not h for c, h in zip(self.middle, self.half, strict=True))

    @cached_property
    def _volumes(self) -> dict[int, Fraction]:
        """Relative volumes of α·H (place −1) and the facets' sweeps."""
        (alpha, beta), rank = self.shrinking, self._rank
        pairs = list(zip(self.middle, self.half, strict=True))
        still = [place for place, (c, h) in enumerate(pairs) if c and not h]
        if still:
            return {still[0]: Fraction(1)}
        swept = 2**rank - 1 if beta else rank * alpha ** (rank - 1)
        sizes = {place: max(Fraction(0), abs(c) / h - beta) * swept for place, (c, h) in enumerate(pairs) if h}
        return {-1: Fraction(rank * alpha**rank)} | {place: size for place, size in sizes.items() if size}

    @cached_property
    def _swept(self) -> np.ndarray:
        return np.array(list(self._volumes))

    @cached_property
    def _parts(self) -> "Shares":
        unit = math.lcm(*(size.denominator for size in self._volumes.values()))
        return Shares([int(size * unit) for size in self._volumes.values()])

    @cached_property
    def _turns(self) -> "Shares":
        rank = self._rank
        return Shares([2 ** (rank - k) if self.shrinking[1] else 1 for k in range(1, rank + 1)] * 2)

    @cached_property
    def _centre(self) -> np.ndarray:
        return np.array([float(c) for c in self.middle])

    @cached_property
    def _sides(self) -> np.ndarray:
        return np.array([float(h) for h in self.half])

    @cached_property
    def _row_sizes(self) -> np.ndarray:
        """Bounds |c| + (α + β)·h per coordinate, shape (d,), or (1,) if they are similar."""
        sizes = (np.abs(self._centre) + sum(self.shrinking) * self._sides + 2.0**-500) * (1 + 2.0**-40)
        return joined(sizes)

    def _signs(self, turn: np.ndarray) -> np.ndarray:
        return np.where(turn < self._rank, 1.0, -1.0)

    def _points(
        self, words: np.ndarray, across: np.ndarray, places: np.ndarray, turn: np.ndarray, n_bits: int
    ) -> np.ndarray:
        """Return `across`·y, with a facet's own coordinate at its end."""
        sides = words.view(np.int64)
        sides = sides if n_bits == WORD else sides >> (WORD - n_bits)
        points = (across * 2.0 ** (1 - n_bits))[:, None] * sides
        rows = np.flatnonzero(places >= 0)
        points[rows, places[rows]] = across[rows] * self._signs(turn[rows]) * np.sign(self._centre[places[rows]])
        points *= self._sides
        return points

    def _picks(self, reals: Reals, draw: int, n_bits: int) -> tuple[int, int] | None:
        part = self._parts.index(reals.bits(draw, 0, n_bits), n_bits)
        turn = self._turns.index(reals.bits(draw, 1, n_bits), n_bits)
        return None if part is None or turn is None else (int(self._swept[part]), turn)

    @staticmethod
    def _side(word: int, n_bits: int) -> tuple[Fraction, Fraction]:
        side = word - (word >> (n_bits - 1) << n_bits)
        return Fraction(side, 1 << n_bits - 1), Fraction(side + 1, 1 << n_bits - 1)


def swept_noise(body: BoxHull) -> SweptNoise | None:
    """Return the unscaled noise of the body, up to 1,024 coordinates."""
    if body.ambient_dim > 1024:  # coordinates: shares are integers with as many factors
        return None
    alpha, beta = body.shrinking
    return SweptNoise(*body.rational, (int(alpha), int(beta)))


def _times(factor: Fraction, ends: Bracket | Ends) -> Ends:
    low, high = factor * ends[0], factor * ends[1]
    return min(low, high), max(low, high)


def _plus(first: Ends, second: Ends) -> Ends:
    return first[0] + second[0], first[1] + second[1]


@dataclass(frozen=True, eq=False)
class Shares:
    """Distribution over places with P(i) ∝ sizes[i], by comparing V·Σ sizes with partial sums of integers."""

    sizes: Sequence[int]

    def picked(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of numbers, and True where decided."""
        if n_bits not in self._thresholds:
            total = self._ends[-1]
            scaled = [end << n_bits for end in self._ends[:-1]]
            outside = np.array([-(-end // total) - 1 for end in scaled], dtype=np.uint64)
            self._thresholds[n_bits] = outside, np.array([end // total for end in scaled], dtype=np.uint64)
        outside, reached = self._thresholds[n_bits]  # the last word that begins before an end, the first beyond it
        index = np.searchsorted(outside, words, side="left")
        return index, index == np.searchsorted(reached, words, side="right")

    def index(self, word: int, n_bits: int) -> int | None:
        """Return the place of one number, or None if undecided."""
        total = self._ends[-1]
        index = bisect_right(self._ends, word * total >> n_bits)
        return index if (word + 1) * total <= self._ends[index] << n_bits else None

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(self.sizes))

    @cached_property
    def _thresholds(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}
