"""Noise of balls and ellipsoids, with error bounds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies import Body, Ellipsoid, LinearImage, LpBall, SchattenBall
from gaugedp.samplers.box_noise import MANTISSA, BoxNoise, minus_log, minus_log_bracket
from gaugedp.samplers.combined import Alone, Combined
from gaugedp.samplers.integer_exp import Bracket, exp_negative
from gaugedp.samplers.integer_log import log_bracket, logs_bracket
from gaugedp.samplers.mapped import Mapped
from gaugedp.samplers.near_inverse import cross_gauge, round_gauge
from gaugedp.samplers.reals import WORD, Ends, RealFunction, Reals
from gaugedp.samplers.variables import LaplaceVariables, Spherical, first_bits

_NUMBERS = 3  # of a trial
_LARGEST_SHARE = 0.25  # of a share: |e^s − 1| and |log(1 ± s)| are at most 1.2·s
_SLOPE = 1.2 * (1 + 2.0**-30)
_LOG_2_PARTS = 0.6931471803691238, 1.9082149292705877e-10  # the first of 32 bits, so that its product with k is exact
_EXP = [1 / math.factorial(k) for k in range(14)]
_MOST_ROWS = 1024  # rows of a matrix, each an explicit sum


class Tried(NamedTuple):
    """Signed x, x^p and t − x^p of trials (m, k), their acceptance, and True if it is certain."""

    point: np.ndarray
    power: np.ndarray
    rest: np.ndarray
    is_taken: np.ndarray
    is_known: np.ndarray


class Off(NamedTuple):
    """Error bounds of log x, p·log x and t."""

    point: float
    power: float
    size: float


class TrialPoint(NamedTuple):
    """Sign of x, and brackets of log |x|, t and |x|^p, which is (0, 0) after rejection."""

    sign: int
    logarithm: Bracket
    size: Bracket
    power: Bracket


_UNKNOWN = Off(math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class LpNoise(RealFunction):
    """Noise of an ℓ_p ball, 1 < p ≤ 64, from accepted trials.

    It is (T − N)·x/N^{1/p}, x the points of d accepted trials, N = Σ|x_i|^p and T the sum of their t. A trial uses
    three numbers: t = −log(U·min(1, p·Q)), and x = ±W·(p − 1 + t)/p, the first bit of a number the sign and the rest W.
    It is accepted if |x|^p ≤ t. Coordinate i is that of trial i; if it is rejected, of the next accepted one beyond d.
    There are more trials than initial numbers, if necessary.
    """

    size: int
    p: float

    @property
    def d(self) -> int:
        """The dimension `size`."""
        return self.size

    @property
    def n_reals(self) -> int:
        """The number of reals with which about one draw in 10^4 needs more."""
        return _NUMBERS * (self.d + 2 + math.ceil(self.d / 7 + 1.2 * math.sqrt(self.d)))

    def floats(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the draws, with the bound of the largest coordinate for all."""
        values, shares = self._drawn(reals.words, n_bits)
        return values, ((np.abs(values).max(axis=1) + 2.0**-500) * shares)[:, None]

    def closer(self, reals: Reals, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the draws with bounds as shares of the coordinates."""
        values, shares = self._drawn(reals.words, n_bits)
        return values, (np.abs(values) + 2.0**-500) * shares[:, None]

    def _drawn(self, words: np.ndarray, n_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the draws and their relative error bounds (m,), infinite if unknown.

        A trial is decided if t and |x|^p are farther apart than 1.2η·|x|^p + δ, with δ, ξ and η the largest of `_off`
        for these trials. So log N is off by η + d·u, and T − N by 1.2η·N + d·(δ + u·(T − N)), u = 2^−53. The draw
        x·(T − N)·e^{−log N/p} is off by ξ + 1.2·(1.2η·N + d·δ)/(T − N) + η/p + u·(7·|log N|/p + 2d + 16).
        """
        kept, off = self._kept(words, n_bits)
        total, power = kept.rest.sum(axis=1), kept.power.sum(axis=1)
        is_known = kept.is_known.all(axis=1) & kept.is_taken.all(axis=1) & (np.minimum(total, power) > 2.0**-500)
        total, power = np.where(is_known, total, 1.0), np.where(is_known, power, 1.0)
        logarithm = minus_log(power) / self.p
        share = _SLOPE * (_SLOPE * off.power * power + self.d * off.size) / total
        share += off.point + off.power / self.p + UNIT * (7 * np.abs(logarithm) + 2 * self.d + 16)
        is_known &= share < _LARGEST_SHARE
        factor = np.where(is_known, total * exponential(logarithm), 0.0)
        return kept.point * factor[:, None], np.where(is_known, _SLOPE * share, np.inf)

    def _kept(self, words: np.ndarray, n_bits: int) -> tuple[Tried, Off]:
        """Return the trials of the coordinates, with rejected ones replaced by accepted ones beyond d."""
        width = _NUMBERS * self.d
        kept, off = self._tried(words[:, :width], n_bits)
        rows, places = np.nonzero(~kept.is_taken)
        missing = np.bincount(rows, minlength=len(words))
        ends = np.cumsum(missing)
        for start, end in pairwise((width, width + _NUMBERS * math.ceil(self.d / 8), words.shape[1])):
            left = np.flatnonzero((missing > 0) & kept.is_known.all(axis=1))
            if not len(left):
                break
            again, others = self._tried(words[left, start:end], n_bits)
            off = Off(*map(max, off, others))
            before = np.cumsum(again.is_taken, axis=1) - again.is_taken
            is_used = before < missing[left, None]
            kept.is_known[left[(is_used & ~again.is_known).any(axis=1)]] = False
            filled, trials = np.nonzero(is_used & again.is_taken)
            at = (left[filled], places[(ends - missing)[left[filled]] + before[filled, trials]])
            for all_of_them, new in zip(kept, again, strict=True):
                all_of_them[at] = new[filled, trials]
            missing[left] -= np.bincount(filled, minlength=len(left))
        return kept, off

    def _tried(self, words: np.ndarray, n_bits: int) -> tuple[Tried, Off]:
        """Return trials from the words (m, 3·k)."""
        unit = 2.0**-n_bits
        first, second, third = (first_bits(words[:, place::_NUMBERS], n_bits) for place in range(_NUMBERS))
        third = third & np.uint64(2 ** (n_bits - 1) - 1)
        size = minus_log(first * unit * np.minimum(second * (unit * self.p), 1.0))
        np.maximum(size, 0.0, out=size)
        width = size + (self.p - 1)
        point = third * (2 * unit / self.p)
        point *= width
        logarithm = minus_log(point)
        logarithm *= -self.p
        off = self._off([first, second, third], size, width, logarithm)
        power = exponential(logarithm)
        rest = size - power
        point = np.copysign(point, words[:, _NUMBERS - 1 :: _NUMBERS].view(np.int64))
        is_known = np.abs(rest) > power * (_SLOPE * off.power) + off.size
        return Tried(point, power, rest, rest > 0, is_known), off

    def _off(self, parts: list[np.ndarray], size: np.ndarray, width: np.ndarray, logarithm: np.ndarray) -> Off:
        """Return error bounds by lemmas 2 and 4, including unknown bits; relative ones above 1/4 count as unknown.

        Errors of positive numbers are those of their logarithms, since |e^ρ − 1| and |log(1 ± ρ)| are below 1.2ρ for
        ρ ≤ 1/4. Let w be the least word without its first bit. t ≥ 0 is off by δ = u·(4t + 9) + 2/w, log x by ξ =
        1.2δ/(p − 1 + t) + 6u + 1/w, and p·log x by η = p·ξ + u·(5p·|log x| + 4p + 4), u = 2^−53. An x^p below e^−690
        counts as e^−690.
        """
        least = min(int(part.min()) for part in parts)
        if not least:
            return _UNKNOWN
        size_off = UNIT * (4 * float(size.max()) + 9) + 2 / least
        point = _SLOPE * size_off / float(width.min()) + 6 * UNIT + 1 / least
        steepest = max(float(logarithm.max()), -float(logarithm.min()))
        power = self.p * point + UNIT * (5 * steepest + 4 * self.p + 4)
        return Off(point, power, size_off) if power < _LARGEST_SHARE else _UNKNOWN

    def brackets(self, reals: Reals, draw: int, places: Iterable[int], n_bits: int) -> list[Ends]:
        """Return the outer products of the ends: x/N^{1/p} is e to the power log x − log N/p ≤ 0."""
        while (kept := self._points(reals, draw, n_bits)) is None or not (power := _sum(of.power for of in kept))[0]:
            n_bits += WORD
        low, high = _minus(_sum(of.size for of in kept), power)
        least, most = (Fraction(end) / Fraction(self.p) for end in _log(power, n_bits))
        points = []
        for sign, logarithm, *_ in (kept[place] for place in places):
            ends = _minus_exp((least - logarithm[1], most - logarithm[0]), n_bits)
            signed = sorted((sign * max(0, low) * ends[0], sign * high * ends[1]))
            points.append((Fraction(signed[0], 4**n_bits), Fraction(signed[1], 4**n_bits)))
        return points

    def _points(self, reals: Reals, draw: int, n_bits: int) -> list[TrialPoint] | None:
        points, further = [], count(self.d)
        for place in range(self.d):
            point = self._trial(reals, draw, place, n_bits)
            while point is not None and not point.power[1]:
                point = self._trial(reals, draw, next(further), n_bits)
            if point is None:
                return None
            points.append(point)
        return points

    def _trial(self, reals: Reals, draw: int, place: int, n_bits: int) -> TrialPoint | None:
        first, second, third = (reals.bits(draw, _NUMBERS * place + i, n_bits) for i in range(_NUMBERS))
        part, is_negative = third & (1 << n_bits - 1) - 1, third >> n_bits - 1
        if not (first and second and part):
            return None
        above, below = self.p.as_integer_ratio()
        first_bracket, second_bracket = minus_log_bracket([first], n_bits), minus_log_bracket([second], n_bits)
        ratio = _minus(log_bracket(above, n_bits), log_bracket(below, n_bits))
        size = (
            first_bracket[0] + max(0, second_bracket[0] - ratio[1]),
            first_bracket[1] + max(0, second_bracket[1] - ratio[0]),
        )
        low, high = ((part + i) * ((above - below << n_bits) + below * size[i]) for i in (0, 1))
        x = low // (above << n_bits - 1), -(-high // (above << n_bits - 1))
        if not (x[0] and size[0]):
            return None
        logarithm, whole = _log(x, n_bits), _log(size, n_bits)
        gap = whole[0] + -above * logarithm[1] // below, whole[1] - above * logarithm[0] // below
        if gap[0] < 0 <= gap[1]:
            return None
        share = (0, 0) if gap[0] < 0 else _minus_exp((Fraction(gap[0]), Fraction(gap[1])), n_bits)
        power = size[0] * share[0] >> n_bits, -(-size[1] * share[1] >> n_bits)
        return TrialPoint(-1 if is_negative else 1, logarithm, size, power)


def exponential(x: np.ndarray) -> np.ndarray:
    """Return e^x to 4·2^−53 relative, for floats x from −690 to 690.

    Lower x give ≤ 2^−900. x = k·log 2 + r and e^r by 14 terms: lemma 4 in docs/theory/reals.md.
    """
    x = np.clip(x, -690.0, 690.0)  # e^±690 are floats
    exponent = np.rint(x * (1 / math.log(2)))
    rest = x - exponent * _LOG_2_PARTS[0]
    rest -= exponent * _LOG_2_PARTS[1]
    total = np.full_like(rest, _EXP[-1])
    for factor in _EXP[-2::-1]:
        total *= rest
        total += factor
    total.view(np.int64)[...] += exponent.astype(np.int64) << MANTISSA
    return total


def _log(ends: Bracket, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·log x from a positive bracket of 2^n_bits·x."""
    return _minus(logs_bracket(*ends, n_bits), log_bracket(1 << n_bits, n_bits))


def _minus(first: Bracket, second: Bracket) -> Bracket:
    return first[0] - second[1], first[1] - second[0]


def _minus_exp(ends: Ends, n_bits: int) -> Bracket:
    """Bracket 2^n_bits·e^−x from ends of 2^n_bits·x, x ≥ 0."""
    low, high = (max(end, Fraction(0)) / 2**n_bits for end in ends)
    return exp_negative(high, n_bits)[0], exp_negative(low, n_bits)[1]


def _sum(brackets: Iterable[Bracket]) -> Bracket:
    low, high = zip(*brackets, strict=True)
    return sum(low), sum(high)


class Known(NamedTuple):
    """A distribution, factors of its coordinates, and a certified bound on Σ‖e_i‖_K or None."""

    law: RealFunction | None = None
    sides: np.ndarray = np.ones(1)
    cube_gauge: Fraction | None = None


def known_law(body: Body) -> Known:
    """Return the noise of ℓ_p balls, their images, and ellipsoids.

    p ≤ 64 or ∞, images are one-to-one, columns of ellipsoids independent, and matrices have at most 1,024 rows.
    """
    match body:
        case LpBall() | SchattenBall(p=2):
            law = _of_ball(body.ambient_dim, body.p)
            return Known(law, np.array([body.size]), body.ambient_dim / Fraction(body.size))
        case LinearImage(body=LpBall(size=1.0) as ball, matrix=matrix) if is_upright(matrix):
            sides = np.diag(matrix)
            return Known(
                _of_ball(ball.d, ball.p), sides, sum((1 / Fraction(float(side)) for side in sides), Fraction(0))
            )
        case LinearImage(body=LpBall() as ball, matrix=matrix) if body.rank == ball.d and len(matrix) <= _MOST_ROWS:
            return _of_image(ball, matrix)
        case Ellipsoid(matrix=matrix) if body.rank == matrix.shape[1] and len(matrix) <= _MOST_ROWS:
            return Known(Combined(np.eye(len(matrix)), matrix, Spherical), cube_gauge=round_gauge(matrix))
    return Known()


def _of_ball(d: int, p: float) -> RealFunction | None:
    """Return noise of density ∝ e^{−‖z‖_p} on ℝ^d."""
    if p in (1, 2):
        return Alone(LaplaceVariables(d) if p == 1 else Spherical(d))
    if math.isinf(p):
        return BoxNoise(d)
    if d == 1:
        return Alone(LaplaceVariables(1))
    return LpNoise(d, p) if p <= 64.0 else None


def _of_image(ball: LpBall, matrix: np.ndarray) -> Known:
    """Return noise of a ball's image: ‖M⁻¹·e_i‖_p is at most ‖·‖₂ for p ≥ 2, and at most ‖·‖₁ always."""
    inner = _of_ball(ball.d, ball.p)
    gauge = round_gauge(matrix, ball.size) if ball.p >= 2 else cross_gauge(matrix, ball.size)
    return Known() if inner is None else Known(Mapped(matrix, inner), np.array([ball.size]), gauge)


def is_upright(matrix: np.ndarray) -> bool:
    """Return True for a diagonal matrix with positive entries."""
    return bool((np.diag(matrix) > 0).all() and np.array_equal(matrix, np.diag(np.diag(matrix))))
