"""Noise on the cells instead of the answers: the norm of the question itself where its columns are independent."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaugedp._validate import decimal, one_of
from gaugedp.bodies.base import Body
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.pure import PureDP
from gaugedp.mechanisms.base import Mechanism, lattice_radius
from gaugedp.mechanisms.independent import in_words
from gaugedp.samplers.laws import DiscreteLaplace

MOST_CELLS = 10**6
_ERROR_CELLS = 2 * 10**6  # cells of noise drawn to estimate an expected error
_WIDTH_CELLS = 2 * 10**7  # and the widths of the chosen mechanism
_WIDE_TABLE = 10**4  # above, the draws would be too few for a quantile
_MOST_NUMBERS = 10**7  # drawn numbers that are kept in memory
_PUBLIC_SEED = 20240229


@dataclass(frozen=True, eq=False, repr=False)
class Identity(Mechanism):
    """F·η, η independent discrete Laplace noise of scale c/ε on every cell of the joint table.

    Theorem. Where neighbours' answers differ by F·z with z integer and ‖z‖₁ ≤ c, the release F(x + η) is a function
    of the ε-DP histogram x + η, hence ε-DP. Where F has as many distinct columns as its rank (a histogram, prefix
    sums, all ranges), this is the K-norm mechanism of F (Hardt and Talwar 2010; docs/theory/identity.md).
    """

    body: Polytope
    guarantee: PureDP
    law: DiscreteLaplace
    name: ClassVar[str] = "Identity"
    exactness: ClassVar[str] = "exact"

    @property
    def lattice_step(self) -> Fraction:
        """1: the answers are integers."""
        return Fraction(1)

    @classmethod
    def calibrate(cls, body: Body, guarantee: PureDP) -> "Identity":
        """Return the mechanism for the body of a counting question with at most 10^6 joint cells."""
        if not isinstance(guarantee, PureDP) or guarantee.value <= 0:
            raise InvalidRequest(
                f"Laplace noise cannot be made for {guarantee!r}.", "Give PureDP with epsilon above 0."
            )
        if not isinstance(body, Polytope) or not body.generators.counting:
            raise InvalidRequest("Noise on cells needs a question that counts rows.", "Use Laplace or Gaussian.")
        if body.generators.n_generators > MOST_CELLS:
            raise InvalidRequest(
                f"The joint table has {body.generators.n_generators:,} cells.", "Use Laplace or Gaussian."
            )
        lattice_radius(body, 1, None)  # refuses a body that is a point
        return cls(body, guarantee, DiscreteLaplace(Fraction(body.coefficient_radius) / decimal(guarantee.value)))

    @property
    def is_knorm(self) -> bool:
        """Whether this is the K-norm mechanism: as many cells as the rank."""
        return not self.body.differences and self.body.rank == self.body.generators.n_generators

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws of F·η."""
        cells = self.law.draw(size * self._n_cells, rng).reshape(size, self._n_cells)
        return self.body.generators.apply(cells)

    @property
    def variances(self) -> np.ndarray:
        """The variance of a cell times the squared norm of each row of F."""
        return self.law.variance * self.body.generators.row_squares()

    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the mean norm of trial draws with a public seed (relative standard error below 0.02)."""
        one_of(("1", "2"), norm=f"{norm:g}")
        scales = np.ones(self.body.ambient_dim) if weights is None else weights
        return float(np.linalg.norm(self._trials(max(40, _ERROR_CELLS // self._n_cells)) / scales, norm, axis=1).mean())

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return exact quantiles for answers that are one cell; quantiles of trial draws for others.

        The latter are raised by three standard errors, and are Chernoff bounds where the draws are too few. All at
        once: the quantile of the largest noise relative to its deviation.
        """
        widths = self._together(level) if simultaneous else self._each(level)
        return np.ceil(self._chernoff(level, simultaneous) if widths is None else widths)

    def covers(self, body: Body) -> bool:
        """Whether the body belongs to the same columns and is no larger."""
        return (
            isinstance(body, Polytope)
            and body.generators == self.body.generators
            and body.coefficient_radius <= self.body.coefficient_radius
        )

    def describe(self) -> str:
        """Return the scale on the cells."""
        return f"F x discrete Laplace, scale {in_words([float(self.law.scale)])} on {self._n_cells:,} cells"

    @property
    def _n_cells(self) -> int:
        return self.body.generators.n_generators

    def _each(self, level: float) -> np.ndarray | None:
        single = self.body.generators.row_squares() == 1
        exact = float(self.law.half_width(level))
        sizes = np.empty((0, 0)) if single.all() else self._sorted_trials[0]
        rank = _safe_rank(len(sizes), level)
        if not single.all() and rank is None:
            return None
        return np.full(len(single), exact) if rank is None else np.where(single, exact, sizes[rank])

    def _together(self, level: float) -> np.ndarray | None:
        ratios = self._sorted_trials[1]
        rank = _safe_rank(len(ratios), level)
        return None if rank is None else np.sqrt(self.variances) * ratios[rank]

    def _trials(self, size: int) -> np.ndarray:
        size = min(size, _MOST_NUMBERS // self.body.ambient_dim, 20_000)
        cells = self.law.draw(size * self._n_cells, research_rng(_PUBLIC_SEED))
        return self.body.generators.apply(cells.reshape(size, self._n_cells).astype(float))

    @cached_property
    def _sorted_trials(self) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of each answer's noise, and the largest relative to its deviation, in order."""
        sizes = np.abs(self._trials(_WIDTH_CELLS // self._n_cells if self._n_cells <= _WIDE_TABLE else 1))
        deviations = np.sqrt(self.variances)
        ratios = np.divide(sizes, deviations, out=np.zeros_like(sizes), where=deviations > 0)
        return np.sort(sizes, axis=0), np.sort(ratios.max(axis=1))

    def _chernoff(self, level: float, simultaneous: bool) -> np.ndarray:
        """Return widths by Chernoff's bound for S = Σ_j F_j·η_j.

        log E e^(sη) ≤ s²b²/(1 − s²b²) ≤ 2s²b² for |s|·b ≤ 1/√2, b the scale, entries of F at most m in size;
        so P(|S| > w) ≤ 2·exp(−w²/(8b²q)) for w ≤ 2√2·bq/m, else 2·exp(−w/(2√2·bm)), q the row's squared norm.
        """
        miss = (1 - level) / (self.body.ambient_dim if simultaneous else 1)
        need = math.log(2 / miss)
        scale = float(self.law.scale)
        largest = self.body.generators.largest_norm(math.inf, None)
        squares = self.body.generators.row_squares()
        return np.maximum(scale * np.sqrt(8 * squares * need), 2 * math.sqrt(2) * scale * largest * need)


def _safe_rank(size: int, level: float) -> int | None:
    """Return the index of the order statistic three standard errors above the quantile, None where there is none."""
    rank = math.ceil(size * level + 3 * math.sqrt(size * level * (1 - level)))
    return rank if rank < size else None
