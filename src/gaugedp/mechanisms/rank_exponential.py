"""Quantiles with intervals, by the exponential mechanism on rank distance."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp._internal.validate import between, decimal, one_of
from gaugedp.bodies import Body, Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import ApplyNoise, Mechanism
from gaugedp.mechanisms.independent import in_words
from gaugedp.mechanisms.noise_laws import RankLaw
from gaugedp.mechanisms.rank_budget import RankBudget
from gaugedp.mechanisms.rank_spreads import spread_of_draws
from gaugedp.samplers.choice import choose
from gaugedp.samplers.discrete import geometric

_LARGEST_SHIFT = 2**62  # in units of 1/b rows, and of a limit in parts; leaves space for ranks of 4·10^12 rows


@dataclass(frozen=True, eq=False, repr=False)
class RankExponential(Mechanism):
    """Random draw of several quantiles, with intervals.

    `gd.quantiles` uses it to release medians and other quantiles of a column, in one or several cells. It draws values
    at random: the nearer the rank of a value is to the rank of the quantile, the more probable it is. Two more draws
    give the lower and upper ends of the intervals, unless `level` is None.

    Notes
    -----
    The rank distance d of a value y from a rank s is the number of rows by which s lies outside the ranks of rows equal
    to y. For the quantile q of a cell with n rows, the rank s is q·n. For the ends of its interval, it is q·n − t and
    q·n + t with a public number t. The probability of values y_1, …, y_k is proportional to exp(−(ε/2)·max_j d_j/Δ_j),
    where Δ_j is `rank_sensitivity`, the largest change of d_j by one unit. `body` is that of the histogram, whose
    values vary fastest.

    Theorem (docs/theory/rank_exponential.md). One draw of all quantiles in all cells is ExponentialLoss(ε). `budget`
    states which multiple of ε each draw uses. All intervals together contain their quantiles with probability at least
    `level`.
    """

    body: Polytope
    guarantee: Guarantee
    quantiles: tuple[Fraction, ...]
    level: float | None
    first: int
    epsilon: float
    budget: RankBudget

    name: ClassVar[str] = "RankExponential"
    exactness: ClassVar[str] = "exact"
    in_rows: ClassVar[bool] = True

    @classmethod
    def calibrate(
        cls, body: Body, guarantee: Guarantee, quantiles: Iterable[Fraction], level: float | None = 0.95, first: int = 0
    ) -> "RankExponential":
        """Return the mechanism for the quantiles of a histogram.

        `body` is the sensitivity body of the histogram's counts, and `first` is the number that stands for its first
        value. The guarantee is PureDP, ApproxDP, ZCDP or GaussianDP. `level` (default 0.95) is for all intervals
        together. If it is None, there are no intervals, and the answers get all of a pure ε. Otherwise the answers get
        half of ε, or two thirds if there are several quantiles, and both kinds of ends share the rest.
        """
        shares = tuple(sorted(quantiles))
        between(0, 1, level=0.95 if level is None else level, **{f"quantile_{i}": one for i, one in enumerate(shares)})
        if not shares or len(set(shares)) < len(shares):
            raise InvalidRequest(
                "The list of quantiles must name at least one, and none twice.", "Pass, for example, [Fraction(1, 2)]."
            )
        if not isinstance(body, Polytope) or not _is_histogram(body):
            raise InvalidRequest(
                "Quantiles need the body of a histogram.", "Take it from gd.quantiles(...).sensitivity."
            )
        if any(quantile.denominator > 10**6 for quantile in shares):  # the largest denominator
            raise InvalidRequest("A quantile has more than six decimals.", "Round it to at most six.")
        budget = RankBudget((1,) if level is None else (2 if len(shares) == 1 else 4, 1, 1))
        epsilon = budget.epsilon(guarantee)
        mechanism = cls(body, budget.guarantee(epsilon), shares, level, first, epsilon, budget)
        longest: Fraction = max(mechanism.shift(quantile) * quantile.denominator for quantile in shares)
        if longest > _LARGEST_SHIFT or mechanism.limit(Fraction(1), len(shares)) > _LARGEST_SHIFT:
            raise InvalidRequest(f"The guarantee {guarantee!r} is too small for quantiles.", "Use a larger guarantee.")
        if mechanism._largest_product > _LARGEST_SHIFT:
            raise InvalidRequest("A unit may have too many rows for quantiles.", "Use a smaller `max_rows`.")
        return mechanism

    def recalibrated(self, guarantee: Guarantee) -> "RankExponential":
        """Return the mechanism with the same options for a guarantee."""
        if guarantee == self.guarantee:
            return self
        return RankExponential.calibrate(self.body, guarantee, self.quantiles, self.level, self.first)

    @property
    def form(self) -> str:
        """The form "value" for one cell and one quantile."""
        return "value" if self.n_answers == 1 else ""

    @property
    def n_cells(self) -> int:
        """The number of histograms."""
        return _shape(self.body)[0]

    @property
    def n_values(self) -> int:
        """The number of values of the lattice."""
        return _shape(self.body)[1]

    @property
    def n_answers(self) -> int:
        """The number of quantiles of all cells."""
        return self.n_cells * len(self.quantiles)

    @property
    def answer_speed(self) -> int:
        """The ratio of the answers' ε to `epsilon`."""
        return self.budget.draws[0]

    @property
    def miss(self) -> float:
        """Largest probability that some interval misses; 0.05 without ends."""
        return 1 - (self.level or 0.95)

    def rate(self, quantile: Fraction) -> Fraction:
        """Return ε/(2Δ), the decay of an end's probability per row."""
        return decimal(self.epsilon) / (2 * rank_sensitivity(self.body, quantile))

    def noise_law(self, of_counts: Fraction = Fraction(0)) -> RankLaw:
        """Return the rates of the draws, with what counts beside them cost per row, over their multiple of ε."""
        rates = tuple((quantile, self.rate(quantile)) for quantile in self.quantiles)
        return RankLaw(_shape(self.body), rates, of_counts, self.budget.guarantee, self.epsilon)

    def shift(self, quantile: Fraction) -> Fraction:
        """Return t in rows: some lower end of a cell is wrong with probability ≤ (1 − level)/(2·cells)."""
        rows = self.reach(len(self.quantiles), 2 * self.n_cells / self.miss) / self.rate(quantile)
        return Fraction(math.ceil(rows * quantile.denominator), quantile.denominator)

    def reach(self, n_targets: int, times: float) -> Fraction:
        """Return log(m^n·times), rounded up: draws are off by more than this/rate with probability ≤ 1/times."""
        return Fraction((n_targets * math.log(self.n_values) + math.log(times)) * (1 + 1e-12))  # for logarithms

    def probabilities(self, answer: np.ndarray) -> np.ndarray:
        """Return the answer's distribution (n_values,), for one cell and quantile."""
        if self.n_cells > 1 or len(self.quantiles) > 1:
            raise InvalidRequest(
                "The distribution is only available for one cell and one quantile.", "Use one of each.", ""
            )
        runs, speed = Runs.of(np.asarray(answer)), Fraction(self.answer_speed)
        gaps = self._parts_off(runs, self.quantiles[0], Fraction(0), self.limit(speed, 1))
        weights = np.exp(-float(self._part_rate(speed)) * gaps)
        shares = np.repeat(weights, runs.lengths)
        return shares / shares.sum()

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return a bound on the expected error in ranks.

        The error is the norm, over all answers, of the distances in rows between the rank of an answer and that of its
        quantile. `norm` is 1 or 2 (default 2), and `weights`, by default 1, divide the distances. The bound integrates
        the tail: with k quantiles of m values drawn at rate r, a distance exceeds T with probability at most
        m^k·e^{−rT}. Sorting the answers does not increase the error.
        """
        one_of(("1", "2"), norm=f"{norm:g}")
        size = float(self.reach(len(self.quantiles), 1))
        scales = np.ones(self.n_answers) if weights is None else np.asarray(weights, dtype=float)
        gaps = [1 / (self.answer_speed * float(self.rate(quantile))) for quantile in self.quantiles]
        mean_gaps = np.tile(gaps, self.n_cells) / scales
        if norm == 1:
            return float((size + 1) * mean_gaps.sum())
        return float(math.sqrt(size**2 + 2 * size + 2) * np.linalg.norm(mean_gaps))

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the square of `error`, which bounds the mean square."""
        return self.error(2, weights) ** 2

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return the half-widths of the intervals, in rows.

        With probability at least `level`, per cell or simultaneously, the rank distance of each interval's ends from
        q·n, the rank of its quantile among n rows, is at most this number. The shape is (n_answers,).
        """
        between(0, 1, level=level)
        cells = self.n_cells if simultaneous else 1
        n_sides = 1 if self.level is None else 2
        beyond = self.reach(len(self.quantiles), n_sides * cells / (1 - level))
        reach = [float(self._aim(quantile) + beyond / self.rate(quantile)) for quantile in self.quantiles]
        return np.full(self.n_answers, max(reach))

    def ordinary_widths(self) -> np.ndarray:
        """Return the expected half-widths on ordinary tables, in rows.

        Without intervals, an answer exceeds them with probability at most 1/20 if values are spread evenly.
        """
        spread = 0.0 if self.level is not None else spread_of_draws(len(self.quantiles), 0.95)
        rows = [float(self._aim(quantile) + Fraction(spread) / self.rate(quantile)) for quantile in self.quantiles]
        return np.tile(rows, self.n_cells)

    def _aim(self, quantile: Fraction) -> Fraction:
        return Fraction(0) if self.level is None else self.shift(quantile)

    def is_valid_for(self, body: Body) -> bool:
        """Return True if forms agree and the sensitivity suffices."""
        if not isinstance(body, Polytope) or not _is_histogram(body) or _shape(body) != _shape(self.body):
            return False
        return all(
            rank_sensitivity(body, quantile) <= rank_sensitivity(self.body, quantile) for quantile in self.quantiles
        )

    def describe(self) -> str:
        """Return the weights, the shift and the number of values."""
        if self.level is None:
            return self.describe_answers()
        shift = in_words([math.ceil(self.shift(quantile)) for quantile in self.quantiles])
        return f"{self.describe_answers()}, {self.answer_speed} times slower for ends, aimed {shift} rows off"

    def describe_answers(self) -> str:
        """Return the answers' weights and the number of values."""
        rate = in_words([self.answer_speed * float(self.rate(quantile)) for quantile in self.quantiles])
        return f"e^(-rate x rank distance) on {self.n_values:,} values, largest over the quantiles; rate {rate} a row"

    def draw_answers(self, table: np.ndarray, stream: Entropy) -> list[int]:
        """Return the sorted quantiles of one histogram (n_values,)."""
        return sorted(self.draw_jointly(Runs.of(table), self.aims(0), self.answer_speed, stream))

    def aims(self, side: int) -> list[tuple[Fraction, Fraction]]:
        """Return the targets (q, rows from q·n) of one draw."""
        return [(quantile, side * self.shift(quantile)) for quantile in self.quantiles]

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> Iterable[ApplyNoise]:  # noqa: ARG002
        return [partial(self._apply_noise, Entropy(rng.integer(256))) for _ in range(size)]

    def _apply_noise(self, stream: Entropy, answer: np.ndarray) -> np.ndarray:
        tables = answer.astype(np.int64).reshape(self.n_cells, self.n_values)
        places = np.array([self._drawn(Runs.of(table), stream) for table in tables])  # (cells, draws, quantiles)
        return self.first + released(places)

    def _drawn(self, runs: "Runs", stream: Entropy) -> list[list[int]]:
        sides = zip((0, -1, 1), self.budget.draws, strict=False)  # the answers alone, or the ends too
        return [self.draw_jointly(runs, self.aims(side), speed, stream) for side, speed in sides]

    def draw_jointly(
        self, runs: "Runs", targets: Sequence[tuple[Fraction, Fraction]], speed: int, stream: Entropy
    ) -> list[int]:
        """Return one value per target, within a joint radius.

        A target is (q, rows from q·n). P(radius = T) ∝ e^{−rate·T}·N_1(T)·…·N_k(T), N_j(T) the number of values at most
        T off: the largest occurring distance plus a geometric variable. Given the radius, which is exact, the values
        are independent and uniform within it.
        """
        limit, rate = self.limit(Fraction(speed), len(targets)), self._part_rate(Fraction(speed))
        windows = [Window.of(runs, self._parts_off(runs, *target, limit)) for target in targets]
        radii = np.unique(np.concatenate([window.radii for window in windows]))
        within = np.prod([window.counts_within(radii) for window in windows], axis=0)
        largest = int(choose(radii, rate, 1, stream, counts=np.diff(within, prepend=0))[0])
        radius = int(radii[largest]) + int(geometric(1, 1 / rate, stream)[0])
        return [window.draw(radius, stream) for window in windows]

    def _parts_off(self, runs: "Runs", quantile: Fraction, shift: Fraction, limit: int) -> np.ndarray:
        """Return min(⌈d/Δ⌉, limit) of each run, in parts of 1/`_n_parts`."""
        sensitivity = math.ceil(rank_sensitivity(self.body, quantile) * quantile.denominator)
        whole, rest = np.divmod(runs.gaps(quantile, shift), sensitivity)
        whole = np.minimum(whole, limit // self._n_parts + 1)  # so that the product fits 64 bits
        return np.minimum(whole * self._n_parts - (-rest * self._n_parts // sensitivity), limit)

    @cached_property
    def _n_parts(self) -> int:
        sensitivities = [math.ceil(rank_sensitivity(self.body, q) * q.denominator) for q in self.quantiles]
        rows = 2 * math.ceil(self.body.factor)
        exact = math.lcm(rows, *sensitivities)
        # at most 2^20 parts
        return exact if exact <= 2**20 else rows * max(1, 2**20 // rows)

    @property
    def _largest_product(self) -> int:
        return self._n_parts * max(math.ceil(rank_sensitivity(self.body, q) * q.denominator) for q in self.quantiles)

    def _part_rate(self, speed: Fraction) -> Fraction:
        return speed * decimal(self.epsilon) / (2 * self._n_parts)

    def limit(self, speed: Fraction, n_targets: int) -> int:
        """Return a limit of distances, exceeded with probability ≤ e^-60."""
        # 60: e^-60 is the chance, at most, that a draw reaches the limit of its distances
        return math.ceil((self.reach(n_targets, 2 * self.n_cells / self.miss) + 60) / self._part_rate(speed))


def released(places: np.ndarray) -> np.ndarray:
    """Return sorted answers, and twice the ends (cells, 1 or 3, quantiles), none of them beyond its answer."""
    values, *ends = np.sort(places, axis=2).transpose(1, 0, 2).reshape(places.shape[1], -1)
    beyond = [move(values, end) for move, end in zip((np.minimum, np.maximum), ends, strict=False)]
    return np.concatenate([values, *beyond, *beyond])


def rank_sensitivity(body: Polytope, quantile: Fraction) -> Fraction:
    """Return Δ, the joint sensitivity of rank distances, in rows.

    It is the body's support in the directions (1[x < y] − q) of the cells, with any signs: max(q, 1 − q) for an added
    or removed row; for a replaced one 1 in one cell, and 2·max(q, 1 − q) in several; times the rows of a unit.
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
    if not _is_histogram(body) or body.generators.structure is None:
        raise InvalidRequest("Quantiles need the body of a histogram.", "Take it from gd.quantiles(...).sensitivity.")
    *cells, values = body.generators.structure.shape
    return math.prod(cells), values


@dataclass(frozen=True)
class Window:
    """The range of values within each radius of a quantile.

    `distances` (runs,) are those of the runs; `radii` their distinct values, rising, and `counts` the values within.
    """

    runs: "Runs"
    distances: np.ndarray
    radii: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, runs: "Runs", distances: np.ndarray) -> "Window":
        """Return the window of distances that fall and then rise."""
        radii, places = np.unique(distances, return_inverse=True)
        per_radius = np.zeros(len(radii), dtype=np.int64)
        np.add.at(per_radius, places, runs.lengths)
        return cls(runs, distances, radii, np.cumsum(per_radius))

    def counts_within(self, radii: np.ndarray) -> np.ndarray:
        """Return the number of values within each radius (Python integers)."""
        places = np.searchsorted(self.radii, radii, side="right")
        return np.concatenate([[0], self.counts])[places].astype(object)

    def draw(self, radius: int, rng: Entropy) -> int:
        """Return a uniform value within the radius."""
        inside = self.distances <= radius
        return int(self.runs.starts[inside.argmax()]) + _below(int(self.runs.lengths[inside].sum()), rng)


@dataclass(frozen=True)
class Runs:
    """The values of a histogram, in runs of equal ranks.

    Each value that occurs is a run, and each gap between two of these. `starts` and `lengths` locate them; `below` are
    the rows below each run, `up_to` those below or in it.
    """

    starts: np.ndarray
    lengths: np.ndarray
    below: np.ndarray
    up_to: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> "Runs":
        """Return the runs of a histogram (n_values,)."""
        running = np.concatenate([[0], np.cumsum(table)])
        occurring = np.flatnonzero(table)
        starts = np.unique(np.concatenate([[0, 1, len(table) - 1], occurring, occurring + 1]))
        starts = starts[starts < len(table)]
        return cls(starts, np.diff(starts, append=len(table)), running[starts], running[starts + 1])

    def gaps(self, quantile: Fraction, shift: Fraction) -> np.ndarray:
        """Return the rank distances from q·n + shift, in 1/b rows for q = a/b."""
        b = quantile.denominator
        target = quantile.numerator * int(self.up_to[-1]) + int(shift * b)
        above, beneath = b * self.below - target, target - b * self.up_to
        if shift < 0:
            above[0] = 0  # no row is below the first value
        if shift > 0:
            beneath[-1] = 0  # nor above the last
        return np.maximum(np.maximum(above, beneath), 0)


def _below(count: int, rng: Entropy) -> int:
    n_bits = (count - 1).bit_length()
    while n_bits:
        word = rng.integer(n_bits)
        if word < count:
            return word
    return 0
