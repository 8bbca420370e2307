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
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.independent import in_words
from gaugedp.samplers.laws import DiscreteLaplace

MOST_CELLS = 10**6
_ERROR_CELLS = 2 * 10**6  # cells of noise drawn to estimate an expected error
_WIDTH_CELLS = 2 * 10**7  # and the widths of the chosen mechanism
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
        return float(np.linalg.norm(self._trials(_ERROR_CELLS) / scales, norm, axis=1).mean())

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return exact quantiles for answers that are one cell; quantiles of trial draws for others.

        The latter are raised by three standard errors, and are Chernoff bounds where the draws are too few. All at
        once: the quantile of the largest noise relative to its deviation.
        """
        sizes, largest = self._sorted_trials
        rank = math.ceil(len(sizes) * level + 3 * math.sqrt(len(sizes) * level * (1 - level)) + 1)
        if simultaneous:
            enough = rank <= len(sizes)
            return np.ceil(np.sqrt(self.variances) * largest[rank - 1]) if enough else self._chernoff(level, True)
        widths = sizes[rank - 1].astype(float) if rank <= len(sizes) else self._chernoff(level, False)
        return np.where(self._single, self.law.half_width(level), widths)

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

    @property
    def _single(self) -> np.ndarray:
        """Which answers are one cell, or its negative."""
        return self.body.generators.row_squares() == 1

    def _trials(self, n_cells: int) -> np.ndarray:
        most = min(n_cells // self._n_cells, _MOST_NUMBERS // self.body.ambient_dim, 20_000)
        return self.draw(max(most, 40), research_rng(_PUBLIC_SEED))

    @cached_property
    def _sorted_trials(self) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of each answer's noise, and the largest relative to its deviation, in order."""
        sizes = np.abs(self._trials(_WIDTH_CELLS))
        return np.sort(sizes, axis=0), np.sort((sizes / np.sqrt(self.variances)).max(axis=1))

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
        return np.ceil(np.maximum(scale * np.sqrt(8 * squares * need), 2 * math.sqrt(2) * scale * largest * need))
