"""Joint quantiles with proposed intervals that noisy counts verify."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp._internal.validate import between, decimal
from gaugedp.bodies import Body, Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import ApplyNoise, Mechanism
from gaugedp.mechanisms.nested_counts import NestedCounts
from gaugedp.mechanisms.noise_laws import RankLaw
from gaugedp.mechanisms.rank_budget import RankBudget
from gaugedp.mechanisms.rank_exponential import RankExponential, Runs, released
from gaugedp.mechanisms.rank_spreads import spread_with_noise
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.samplers.discrete import MAX_SCALE, check_scale

_SHARES = RankBudget((4, 7), counts=5), RankBudget((4, 4), counts=3)  # for one quantile, and for several


@dataclass(frozen=True, eq=False, repr=False)
class RankVerified(Mechanism):
    """Random draw of quantiles, with intervals that noisy counts verify.

    `gd.quantiles` uses it for medians and other quantiles if it gives the shortest intervals. It works in three steps:

    - A joint draw proposes interval ends, at a distance of some rows (`shifts`) from the rank of the quantile.
    - Noisy counts of the rows between the proposed ends show which of these ends lie on the right side of the quantile.
    - The answers are drawn. If the counts do not verify an end, an end that is so far off that it needs no verification
      (`far`) is drawn too.

    Notes
    -----
    Theorem (docs/theory/rank_verified.md). The proposals and the answers satisfy ExponentialLoss, and the counts
    satisfy PureDP, each with the multiple of `ranks.epsilon` that `ranks.budget` states. For every table, all intervals
    contain their true quantiles simultaneously with probability `ranks.level`. The distance does not depend on the
    number of values.
    """

    ranks: RankExponential
    guarantee: Guarantee

    name: ClassVar[str] = "RankVerified"
    exactness: ClassVar[str] = "exact"
    in_rows: ClassVar[bool] = True

    @classmethod
    def calibrate(
        cls, body: Body, guarantee: Guarantee, quantiles: Iterable[Fraction], level: float = 0.95, first: int = 0
    ) -> "RankVerified":
        """Return the mechanism for PureDP, ApproxDP, ZCDP or GaussianDP.

        See `RankExponential.calibrate`. Of a pure ε, the answers get 4/16, the proposals 7/16 and the counts 5/16; for
        several quantiles they get 4/11, 4/11 and 3/11. Noise that would not fit 64-bit numbers is refused too.
        """
        between(0, 1, level=level)
        ranks = RankExponential.calibrate(body, guarantee, quantiles, level, first)
        budget = _SHARES[len(ranks.quantiles) > 1]
        epsilon = budget.epsilon(guarantee)
        composition = budget.guarantee(epsilon)
        mechanism = cls(replace(ranks, epsilon=epsilon, guarantee=composition, budget=budget), composition)
        check_scale(mechanism.counts.largest_scale)
        farthest: Fraction = max(mechanism.far(quantile) * quantile.denominator for quantile in ranks.quantiles)
        limit = mechanism.ranks.limit(Fraction(min(budget.draws)), 3 * len(ranks.quantiles))
        if farthest > MAX_SCALE or limit > MAX_SCALE:
            raise InvalidRequest(f"{guarantee!r} is too small for verified interval ends.", "Use a larger guarantee.")
        return mechanism

    def recalibrated(self, guarantee: Guarantee) -> "RankVerified":
        """Return the mechanism with the same options for a guarantee."""
        if guarantee == self.guarantee:
            return self
        ranks = self.ranks
        return RankVerified.calibrate(ranks.body, guarantee, ranks.quantiles, 1 - ranks.miss, ranks.first)

    @property
    def body(self) -> Polytope:
        """The body of the histogram."""
        return self.ranks.body

    @cached_property
    def counts(self) -> NestedCounts:
        """The noisy counts of one cell and their ranks' widths."""
        epsilon = self.ranks.budget.counts * decimal(self.ranks.epsilon)
        miss = float(1 - TUNED.fallback) * self.ranks.miss / (2 * self.n_answers)
        return NestedCounts(self.ranks.quantiles, Fraction(self.body.coefficient_radius) / epsilon, miss)

    def noise_law(self) -> RankLaw:
        """Return the rates of the draws.

        Each row is in one of the counts.
        """
        return self.ranks.noise_law(1 / self.counts.scale / self.ranks.budget.counts)

    @property
    def n_answers(self) -> int:
        """The number of quantiles of all cells."""
        return self.ranks.n_answers

    @cached_property
    def shifts(self) -> list[tuple[Fraction, Fraction]]:
        """Targets (q, rows from q·n) of lower, then upper ends."""
        return [(quantile, side * self._shift(quantile, side)) for side in (-1, 1) for quantile in self.ranks.quantiles]

    def _shift(self, quantile: Fraction, side: int) -> Fraction:
        """Return t in rows, for which most proposals of ordinary tables are verified."""
        place, n_ends = self.ranks.quantiles.index(quantile), 2 * len(self.ranks.quantiles)
        cut = 2 * place + (side > 0)
        scales = self.counts.scales(cut, quantile)
        gap = 1 / (self.ranks.budget.draws[1] * float(self.ranks.rate(quantile)))
        share = TUNED.unverified_cells / n_ends
        rows = self.counts.width(cut, quantile) + spread_with_noise(n_ends, gap, scales, share)
        return Fraction(math.ceil(rows * quantile.denominator), quantile.denominator)

    def far(self, quantile: Fraction) -> Fraction:
        """Return the distance beyond which an end needs no count.

        It is in rows.
        """
        times = 2 * self.ranks.n_cells / (float(TUNED.fallback) * self.ranks.miss)
        rows = self.ranks.reach(3 * len(self.ranks.quantiles), times) / self._answer_rate(quantile)
        return Fraction(math.ceil(rows * quantile.denominator), quantile.denominator)

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return a bound on the expected rank distance, in rows.

        It bounds the norm over all answers that are drawn with ends: three values per quantile.
        """
        return 3 * self.ranks.error(norm, weights)

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the square of `error`, which bounds the mean square."""
        return self.error(2, weights) ** 2

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return the worst-case half-widths of the intervals, in rows.

        With probability at least `level`, per cell or simultaneously, the rank distance of each interval's ends from
        q·n, the rank of its quantile among n rows, is at most this number. The shape is (n_answers,).
        """
        between(0, 1, level=level)
        times = 2 * (self.ranks.n_cells if simultaneous else 1) / (1 - level)
        k, ends = len(self.ranks.quantiles), self.ranks.budget.draws[1]
        near = [
            abs(rows) + self.ranks.reach(2 * k, times) / (ends * self.ranks.rate(quantile))
            for quantile, rows in self.shifts
        ]
        far = [self.far(q) + self.ranks.reach(3 * k, times) / self._answer_rate(q) for q in self.ranks.quantiles]
        return np.full(self.n_answers, float(max(near + far)))

    def ordinary_widths(self) -> np.ndarray:
        """Return the expected half-widths on ordinary tables, in rows."""
        rows = np.abs([float(rows) for _, rows in self.shifts]).reshape(2, -1).max(axis=0)
        return np.tile(rows, self.ranks.n_cells)

    def is_valid_for(self, body: Body) -> bool:
        """Return True if forms agree and the sensitivity suffices."""
        if not isinstance(body, Polytope) or not self.ranks.is_valid_for(body):
            return False
        return body.coefficient_radius <= self.body.coefficient_radius

    def describe(self) -> str:
        """Return the draws' weights, the distances and the counts' scale."""
        near, far = max(self.ordinary_widths()), max(map(self.far, self.ranks.quantiles))
        return (
            f"{self.ranks.describe_answers()}; ends proposed {math.ceil(near):,} rows off, verified by counts with "
            f"discrete Laplace noise, scale {float(self.counts.scale):.4g} rows, or {math.ceil(far):,} rows off"
        )

    def _answer_rate(self, quantile: Fraction) -> Fraction:
        return self.ranks.answer_speed * self.ranks.rate(quantile)

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> Iterable[ApplyNoise]:  # noqa: ARG002
        return [partial(self._apply_noise, Entropy(rng.integer(256))) for _ in range(size)]

    def _apply_noise(self, stream: Entropy, answer: np.ndarray) -> np.ndarray:
        tables = answer.astype(np.int64).reshape(self.ranks.n_cells, self.ranks.n_values)
        return self.ranks.first + released(np.array([self._drawn(table, stream) for table in tables]))

    def _drawn(self, table: np.ndarray, stream: Entropy) -> np.ndarray:
        """Return the answers, the lower and the upper ends of a cell, shape (3, quantiles)."""
        runs, k = Runs.of(table), len(self.ranks.quantiles)
        proposed = self.ranks.draw_jointly(runs, self.shifts, self.ranks.budget.draws[1], stream)
        ends = np.sort(np.array(proposed).reshape(2, k))
        is_verified = self.counts.verify(table, ends, stream)
        targets = self.ranks.aims(0)
        if not is_verified.all():
            targets += [(quantile, side * self.far(quantile)) for side in (-1, 1) for quantile in self.ranks.quantiles]
        values, *far = np.reshape(self.ranks.draw_jointly(runs, targets, self.ranks.answer_speed, stream), (-1, k))
        return np.vstack([values, np.where(is_verified, ends, far or ends)])
