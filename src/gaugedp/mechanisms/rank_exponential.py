"""Quantiles by the exponential mechanism on rank distance, each with the ends of an interval."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np

from gaugedp._progress import Progress
from gaugedp._validate import between, decimal, one_of
from gaugedp.bodies.base import Body
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.zcdp import ZCDP
from gaugedp.mechanisms.base import ApplyNoise, Mechanism
from gaugedp.mechanisms.independent import in_words
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.samplers.choice import choose

_DIGITS = 12  # of an ε: then its double and its multiples are decimals that floats hold
_NEAR = 1e-4  # how near the ε of a composition comes to the one asked for
_ROUNDS = 8
_LARGEST_DENOMINATOR = 10**6
_LARGEST_SHIFT = 2**62  # in units of 1/b rows; the ranks of 4·10^12 rows fit beside it
_UP = 1 + 1e-12  # for logarithms


@dataclass(frozen=True, eq=False, repr=False)
class RankExponential(Mechanism):
    """Quantiles: values y of a lattice with P(y) ∝ e^{−ε·d(y)/(2Δ)}, d the distance of the ranks of y from a target.

    In each cell, of a histogram with n rows, L below y and E at y, d(y) = max(L − s, s − L − E, 0). The target s is
    q·n for the answer, q·n − t and q·n + t for the ends of its interval, t a public number of rows; for the ends, what
    lies beyond the lattice counts as far away. `body` is that of the histogram, the values of the lattice fastest.

    Theorem. Between neighbours the d of all cells together move by at most Δ = `rank_sensitivity`, whatever t is, so
    each draw, in all cells at once, is ExponentialLoss(ε); a quantile is one draw at 2ε and two at ε = `epsilon`.
    Whatever the histogram, all intervals hold all their true quantiles at once with probability `level`.
    docs/theory/rank_exponential.md
    """

    body: Polytope
    guarantee: Guarantee
    quantiles: tuple[Fraction, ...]
    level: float
    first: int
    epsilon: float

    name: ClassVar[str] = "RankExponential"
    exactness: ClassVar[str] = "exact"
    in_rows: ClassVar[bool] = True

    @classmethod
    def calibrate(
        cls, body: Body, guarantee: Guarantee, quantiles: Iterable[Fraction], level: float = 0.95, first: int = 0
    ) -> "RankExponential":
        """Return the mechanism for PureDP, ApproxDP, ZCDP or GaussianDP; `first` is the value of the first step.

        `body` belongs to the counts of a histogram. An answer gets half of ε and each end a quarter (pure).
        """
        shares = tuple(sorted(quantiles))
        between(0, 1, level=level, **{f"quantile_{i}": quantile for i, quantile in enumerate(shares)})
        if not isinstance(body, Polytope) or not shares or len(set(shares)) < len(shares):
            raise InvalidRequest("Quantiles need a histogram and different numbers.", "Give the body and each once.")
        _shape(body)
        if any(quantile.denominator > _LARGEST_DENOMINATOR for quantile in shares):
            raise InvalidRequest("A quantile has too many digits.", "Give at most six.")
        epsilon = _epsilon(guarantee, len(shares))
        mechanism = cls(body, _guarantee(epsilon, len(shares)), shares, level, first, epsilon)
        if any(mechanism.shift(quantile) * quantile.denominator > _LARGEST_SHIFT for quantile in shares):
            raise InvalidRequest(f"{guarantee!r} is too small a guarantee for quantiles.", "Give a larger one.")
        return mechanism

    def recalibrated(self, guarantee: Guarantee) -> "RankExponential":
        """Return the mechanism for the same histogram and quantiles; itself for the composition that it keeps."""
        if guarantee == self.guarantee:
            return self
        return RankExponential.calibrate(self.body, guarantee, self.quantiles, self.level, self.first)

    @property
    def form(self) -> str:  # type: ignore[override]
        """ "value": the law of the answer is computed for one cell and one quantile."""
        return "value" if self.n_cells * len(self.quantiles) == 1 else ""

    @property
    def n_cells(self) -> int:
        """The number of histograms."""
        return _shape(self.body)[0]

    @property
    def n_values(self) -> int:
        """The number of values of the lattice."""
        return _shape(self.body)[1]

    def rate(self, quantile: Fraction) -> Fraction:
        """Return ε/(2Δ), by which a row away from the target makes an end less likely; answers have twice that."""
        return decimal(self.epsilon) / (2 * rank_sensitivity(self.body, quantile))

    def shift(self, quantile: Fraction) -> Fraction:
        """Return t in rows: an end passes its quantile with probability at most (1 − level)/(2·answers)."""
        count = (self.n_values - 1) * 2 * self.n_cells * len(self.quantiles) / (1 - self.level)
        rows = Fraction(math.log(count) * _UP) / self.rate(quantile)
        return Fraction(math.ceil(rows * quantile.denominator), quantile.denominator)

    def probabilities(self, answer: np.ndarray) -> np.ndarray:
        """Return the law of the answer, shape (n_values,), for one histogram and one quantile, in floating point."""
        if self.n_cells > 1 or len(self.quantiles) > 1:
            raise InvalidRequest("The law is computed for one cell and one quantile.", "Ask for one.", "")
        runs = _Runs.of(np.asarray(answer))
        quantile, shift, rate = self._aims[0][0]
        gaps = runs.gaps(quantile, shift)
        weights = np.exp(-float(rate / quantile.denominator) * (gaps - gaps.min()))
        shares = np.repeat(weights, runs.lengths)
        return shares / shares.sum()

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return a bound on the expected ℓ₁ or ℓ₂ norm of the answers' rank distances, in rows.

        P(d > T) ≤ m·e^{−rT}, m the number of values and r the rate, so E d ≤ (log m + 1)/r and E d² ≤ (log² m +
        2·log m + 2)/r².
        """
        one_of(("1", "2"), norm=f"{norm:g}")
        size = math.log(self.n_values)
        scales = np.ones(self.n_cells * len(self.quantiles)) if weights is None else np.asarray(weights, dtype=float)
        mean_gaps = (
            np.tile([1 / (2 * float(self.rate(quantile))) for quantile in self.quantiles], self.n_cells) / scales
        )
        if norm == 1:
            return float((size + 1) * mean_gaps.sum())
        return float(math.sqrt(size**2 + 2 * size + 2) * np.linalg.norm(mean_gaps))

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return how many rows the intervals that are released reach to either side, at most, shape (answers,).

        With probability at least `level`, for each cell or all at once, the end y of an interval has a rank distance of
        at most that from q·n.
        """
        between(0, 1, level=level)
        cells = self.n_cells if simultaneous else 1
        count = self.n_values * 4 * cells * len(self.quantiles) / (1 - level)
        reach = [
            float(self.shift(quantile) + Fraction(math.log(count) * _UP) / self.rate(quantile))
            for quantile in self.quantiles
        ]
        return np.full(self.n_cells * len(self.quantiles), max(reach))

    def is_valid_for(self, body: Body) -> bool:
        """Whether the body belongs to a histogram of the same form whose ranks move no further."""
        if not isinstance(body, Polytope) or not _is_histogram(body) or _shape(body) != _shape(self.body):
            return False
        return all(
            rank_sensitivity(body, quantile) <= rank_sensitivity(self.body, quantile) for quantile in self.quantiles
        )

    def describe(self) -> str:
        """Return the weights, the shift and the number of values."""
        rate = in_words([float(self.rate(quantile)) for quantile in self.quantiles])
        shift = in_words([math.ceil(self.shift(quantile)) for quantile in self.quantiles])
        return (
            f"e^(-rate x rank distance) on {self.n_values:,} values, rate {rate} a row for ends, twice for answers; "
            f"ends aimed {shift} rows off"
        )

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> Iterable[ApplyNoise]:  # noqa: ARG002
        return [partial(self._apply_noise, Entropy(rng.integer(256))) for _ in range(size)]

    def _apply_noise(self, stream: Entropy, answer: np.ndarray) -> np.ndarray:
        """Return the answers, the lower and the upper ends, in steps, of histograms (cells·values,)."""
        tables = answer.reshape(self.n_cells, self.n_values)
        places = np.array([self._drawn(_Runs.of(table), stream) for table in tables])  # (cells, 3, quantiles)
        values, lower, upper = np.sort(places, axis=2).transpose(1, 0, 2).reshape(3, -1)
        return self.first + np.concatenate([values, np.minimum(lower, values), np.maximum(upper, values)])

    def _drawn(self, runs: "_Runs", stream: Entropy) -> list[list[int]]:
        return [[runs.draw(*aim, stream) for aim in aims] for aims in self._aims]

    @cached_property
    def _aims(self) -> list[list[tuple[Fraction, Fraction, Fraction]]]:
        """(quantile, shift, rate) for each draw: answers at twice the rate, then lower ends, then upper ends."""
        return [
            [(quantile, side * self.shift(quantile), speed * self.rate(quantile)) for quantile in self.quantiles]
            for side, speed in ((0, 2), (-1, 1), (1, 1))
        ]


@dataclass(frozen=True)
class _Runs:
    """The values of a histogram in runs of equal ranks: each value that occurs, and each gap between two of these.

    `starts` and `lengths` say where; `below` are the rows below each run, `up_to` those below or in it.
    """

    starts: np.ndarray
    lengths: np.ndarray
    below: np.ndarray
    up_to: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> "_Runs":
        """Return the runs of a histogram (n_values,); the first and the last value stand alone."""
        running = np.concatenate([[0], np.cumsum(table)])
        occurring = np.flatnonzero(table)
        starts = np.unique(np.concatenate([[0, 1, len(table) - 1], occurring, occurring + 1]))
        starts = starts[starts < len(table)]
        return cls(starts, np.diff(starts, append=len(table)), running[starts], running[starts + 1])

    def gaps(self, quantile: Fraction, shift: Fraction) -> np.ndarray:
        """Return the rank distances from q·n + shift, in units of 1/b rows, b the denominator of q."""
        b = quantile.denominator
        target = quantile.numerator * int(self.up_to[-1]) + int(shift * b)
        above, beneath = b * self.below - target, target - b * self.up_to
        if shift < 0:
            above[0] = 0  # no row is below the first value
        if shift > 0:
            beneath[-1] = 0  # nor above the last
        return np.maximum(np.maximum(above, beneath), 0)

    def draw(self, quantile: Fraction, shift: Fraction, rate: Fraction, rng: Entropy) -> int:
        """Return one value with P ∝ e^{−rate·distance}, exactly: a run, then any of its values."""
        gaps = self.gaps(quantile, shift)
        run = int(choose(gaps, rate / quantile.denominator, 1, rng, counts=self.lengths)[0])
        return int(self.starts[run]) + _below(int(self.lengths[run]), rng)


def rank_sensitivity(body: Polytope, quantile: Fraction) -> Fraction:
    """Return Δ: how far the rank distances of all cells together can move between neighbours, in rows.

    It is the support of the body in the directions (1[x < y] − q) of the cells, with any signs: max(q, 1 − q) for a row
    that is added or removed; for one that is replaced 1 in one cell, and twice max(q, 1 − q) where it may change its
    cell; times the rows of a unit.
    """
    alone = max(quantile, 1 - quantile)
    cells_apart = Fraction(1) if _shape(body)[0] == 1 else 2 * alone
    return Fraction(body.factor) * (cells_apart if body.differences else alone)


def _is_histogram(body: Polytope) -> bool:
    structure = body.generators.structure
    if structure is None or len(structure.blocks) != 1:
        return False
    block = structure.blocks[0]
    return block.kind == "cells" and block.axes == tuple(range(len(structure.shape))) and structure.shape[-1] > 1


def _shape(body: Polytope) -> tuple[int, int]:
    """Return the numbers of cells and of values; refuse what is no histogram."""
    if not _is_histogram(body) or body.generators.structure is None:
        raise InvalidRequest("Quantiles need the body of a histogram.", "Take it from gd.quantiles(...).sensitivity.")
    *cells, values = body.generators.structure.shape
    return math.prod(cells), values


def _guarantee(epsilon: float, count: int) -> Guarantee:
    return count * ExponentialLoss(2 * epsilon) + 2 * count * ExponentialLoss(epsilon)


def _epsilon(guarantee: Guarantee, count: int) -> float:
    """Return the ε of an end, rounded down: `count` answers at 2ε and twice as many ends at ε keep what is asked."""
    match guarantee:
        case ZCDP(rho=rho) if rho > 0:
            return _rounded(Fraction(math.sqrt(4 * rho / (3 * count)) / _UP))  # count·((2ε)² + 2ε²)/8 = ρ
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if epsilon > 0 and delta > 0:
            return _tight(epsilon, delta, count)
        case PureDP() | ApproxDP() | GaussianDP() if pure_within(guarantee).epsilon_value > 0:
            return _rounded(decimal(pure_within(guarantee).epsilon_value) / (4 * count))
    raise InvalidRequest(
        f"Quantiles cannot be drawn for {guarantee!r}.", "Give a guarantee with epsilon, rho or mu above 0."
    )


@cache
def _tight(epsilon: float, delta: float, count: int) -> float:
    """Return nearly the largest ε of an end that the accountant allows; at least what plain sums allow."""
    best = _rounded(decimal(epsilon) / (4 * count))
    root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))  # of a ρ that suffices
    tried = max(best, _rounded(Fraction(root * math.sqrt(4 / (3 * count)))))
    points: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        spent = float(_guarantee(tried, count).epsilon(delta))
        if spent <= epsilon:
            best = max(best, tried)
        if epsilon * (1 - _NEAR) <= spent <= epsilon:
            break
        points.append((math.log(tried), math.log(max(spent, epsilon / 100))))
        aim = (math.log(epsilon * (1 - _NEAR / 2)) - points[-1][1]) / _slope(points)
        tried = _rounded(Fraction(math.exp(points[-1][0] + aim)))
    return best


def _slope(points: list[tuple[float, float]]) -> float:
    """Return how fast the last two points rise, kept between 1/2 and 3: a composition's ε grows like ε to ε²."""
    if len(points) < 2 or points[-1][0] == points[-2][0]:
        return 1.5
    return min(3.0, max(0.5, (points[-1][1] - points[-2][1]) / (points[-1][0] - points[-2][0])))


def _rounded(exact: Fraction) -> float:
    """Return the largest number of 12 digits that is not above."""
    unit = Fraction(10) ** (math.floor(math.log10(exact)) - _DIGITS + 1)
    return float(math.floor(exact / unit) * unit)


def _below(count: int, rng: Entropy) -> int:
    """Return a uniform whole number below `count`: a number of as many bits, drawn again until it is below."""
    n_bits = (count - 1).bit_length()
    while n_bits:
        word = rng.integer(n_bits)
        if word < count:
            return word
    return 0
