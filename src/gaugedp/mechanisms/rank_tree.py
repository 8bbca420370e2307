"""Joint quantiles with intervals from a tree of noisy counts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress
from gaugedp._internal.validate import between
from gaugedp.bodies import Body, Polytope
from gaugedp.entropy import Entropy
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import ApplyNoise, Mechanism
from gaugedp.mechanisms.count_tree import STEPS, CountTree, NoisyCounts
from gaugedp.mechanisms.noise_laws import RankLaw
from gaugedp.mechanisms.rank_budget import RankBudget
from gaugedp.mechanisms.rank_exponential import RankExponential
from gaugedp.samplers.discrete import check_scale


@dataclass(frozen=True, eq=False, repr=False)
class RankTree(Mechanism):
    """Private quantiles, with intervals from a tree of noisy counts.

    `gd.quantiles` uses it for medians and other quantiles if it gives the shortest intervals. It draws the quantiles,
    and in addition releases noisy counts of the rows in ranges of values. The ranges form a tree, because each one is
    divided into smaller ones. The ends of the intervals are read off from these counts.

    Notes
    -----
    Let ε be `ranks.epsilon`. The noisy counts are 2ε-DP together, and the draw of the quantiles has the guarantee
    `ExponentialLoss` for a public multiple of ε. Computing the ends of the intervals from the noisy counts spends none
    of the budget.

    There are two intervals for each quantile. For every table, the simultaneous intervals contain all true quantiles
    together with probability `ranks.level`, and each individual interval contains its quantile with probability
    `alone` (docs/theory/rank_tree.md).
    """

    ranks: RankExponential
    alone: float
    guarantee: Guarantee

    name: ClassVar[str] = "RankTree"
    exactness: ClassVar[str] = "exact"
    in_rows: ClassVar[bool] = True

    @classmethod
    def calibrate(
        cls,
        body: Body,
        guarantee: Guarantee,
        quantiles: Iterable[Fraction],
        level: float | None = 0.95,
        first: int = 0,
        alone: float = 0.95,
    ) -> "RankTree":
        """Return the mechanism for PureDP, ApproxDP, ZCDP or GaussianDP.

        See `RankExponential.calibrate`. The answers get half of ε (pure), or two thirds if there are several, and the
        counts the rest. Noise that would not fit 64-bit numbers is refused too.
        """
        between(0, 1, alone=alone)
        between(0, 1, level=level)
        ranks = RankExponential.calibrate(body, guarantee, quantiles, level, first)
        budget = RankBudget(ranks.budget.draws[:1], counts=2)
        epsilon = budget.epsilon(guarantee)
        composition = budget.guarantee(epsilon)
        mechanism = cls(replace(ranks, epsilon=epsilon, guarantee=composition, budget=budget), alone, composition)
        check_scale(mechanism.tree.scale)
        return mechanism

    def recalibrated(self, guarantee: Guarantee) -> "RankTree":
        """Return the mechanism with the same options for a guarantee."""
        if guarantee == self.guarantee:
            return self
        ranks = self.ranks
        return RankTree.calibrate(ranks.body, guarantee, ranks.quantiles, ranks.level, ranks.first, self.alone)

    @property
    def body(self) -> Polytope:
        """The body of the histogram."""
        return self.ranks.body

    @cached_property
    def tree(self) -> CountTree:
        """The tree of the counts of each cell."""
        return CountTree(self.ranks.n_values, Fraction(self.body.coefficient_radius), 2 * self.ranks.epsilon)

    def noise_law(self) -> RankLaw:
        """Return the rates of the draw.

        A row is counted once on each level of the tree.
        """
        return self.ranks.noise_law(STEPS * self.tree.shape[1] / self.tree.scale / self.ranks.budget.counts)

    @property
    def n_answers(self) -> int:
        """The number of quantiles of all cells."""
        return self.ranks.n_answers

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return a bound on the expected rank distance, in rows.

        It bounds the norm over all answers.
        """
        return self.ranks.error(norm, weights)

    def mean_square(self, weights: np.ndarray | None = None) -> float:
        """Return the square of `error`, which bounds the mean square."""
        return self.ranks.mean_square(weights)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return the half-widths of the intervals, in rows.

        With probability at least `level`, pointwise or simultaneously, the rank distance of each interval's ends from
        q·n, the rank of its quantile among n rows, is at most this number. The shape is (n_answers,).
        """
        between(0, 1, level=level)
        count = self.n_answers if simultaneous else 1
        miss = self._misses[0 if simultaneous else 1]
        spread = (1 - level) / (2 * count)
        reach = [self.tree.reach(q, miss) + self.tree.spread(q, spread) for q in self.ranks.quantiles]
        return np.tile(reach, self.ranks.n_cells)

    def ordinary_widths(self) -> np.ndarray:
        """Return the expected half-widths on ordinary tables, in rows."""
        rows = [self.tree.ordinary(quantile, self._misses[1]) for quantile in self.ranks.quantiles]
        return np.tile(rows, self.ranks.n_cells)

    def is_valid_for(self, body: Body) -> bool:
        """Return True if forms agree and the sensitivity suffices."""
        if not isinstance(body, Polytope) or not self.ranks.is_valid_for(body):
            return False
        return body.coefficient_radius <= self.body.coefficient_radius

    def describe(self) -> str:
        """Return the draw's weights and the tree's shape and scale."""
        branching, height = self.tree.shape
        rows = float(self.tree.scale) / 64
        return (
            f"{self.ranks.describe_answers()}; ends from counts in a tree of {height} levels, branching {branching}, "
            f"discrete Laplace, scale {rows:.4g} rows on steps of 1/64"
        )

    @property
    def _misses(self) -> tuple[float, float]:
        return self.ranks.miss / (2 * self.n_answers), (1 - self.alone) / 2

    def _finishers(self, size: int, rng: Entropy, progress: Progress) -> Iterable[ApplyNoise]:  # noqa: ARG002
        return [partial(self._apply_noise, Entropy(rng.integer(256))) for _ in range(size)]

    def _apply_noise(self, stream: Entropy, answer: np.ndarray) -> np.ndarray:
        tables = answer.astype(np.int64).reshape(self.ranks.n_cells, self.ranks.n_values)
        places = np.array([self._drawn(table, stream) for table in tables])  # (cells, 5, quantiles)
        values, *ends = places.transpose(1, 0, 2).reshape(5, -1)
        bounded = [np.minimum(values, ends[0]), np.maximum(values, ends[1])]
        alone = [np.minimum(values, ends[2]), np.maximum(values, ends[3])]
        return self.ranks.first + np.concatenate([values, *bounded, *alone])

    def _drawn(self, table: np.ndarray, stream: Entropy) -> list[list[int]]:
        counts = NoisyCounts(self.tree, table, stream)
        ends = [
            [counts.end(quantile, side, miss) for quantile in self.ranks.quantiles]
            for miss in self._misses
            for side in (-1, 1)
        ]
        return [self.ranks.draw_answers(table, stream), *ends]
