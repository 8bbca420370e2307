"""Strategies for all ranges, as differences of prefix sums."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.factorisation import factorise, radius_of
from gaugedp.mechanisms.strategies.base import PrefixStrategy, Strategy
from gaugedp.mechanisms.strategies.dense import Dense, words_for


@dataclass(frozen=True, eq=False)
class RangeStrategy(Strategy):
    """Differences D·L of prefix sums, for the ranges i … j in lexicographic order."""

    inner: PrefixStrategy
    n_cells: int
    least: float = 0.0

    @property
    def radius(self) -> float:
        """The radius of the prefix sums."""
        return self.inner.radius

    @property
    def n_noise(self) -> int:
        """The number of variables of the prefix sums."""
        return self.inner.n_noise

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the differences of the noise at both ends."""
        prefix = np.pad(self.inner.apply(unit), ((0, 0), (1, 0)))
        first, last = np.triu_indices(self.n_cells)
        return prefix[:, last + 1] - prefix[:, first]

    def cells(self) -> np.ndarray | None:
        """Return the cells of the prefix sums."""
        return self.inner.cells()

    @cached_property
    def squares(self) -> np.ndarray:
        """C_jj − 2·C_ij + C_ii at the ends, C the prefix covariance."""
        table = np.pad(self.inner.covariance(), ((1, 0), (1, 0)))
        first, last = np.triu_indices(self.n_cells)
        diagonal = np.diag(table)
        return np.maximum(diagonal[last + 1] - 2 * table[first, last + 1] + diagonal[first], 0.0)

    @property
    def largest(self) -> np.ndarray:
        """The sum of the bounds at the two ends."""
        table = np.pad(self.inner.largest, (1, 0))
        first, last = np.triu_indices(self.n_cells)
        return table[last + 1] + table[first]

    def describe(self) -> str:
        """Return the inner strategy."""
        return f"{self.inner.describe()}, differences"


def optimal_ranges(body: Polytope) -> RangeStrategy:
    """Return the best Gaussian strategy for all ranges."""
    n = body.generators.n_generators
    place = np.arange(n)
    gram = (np.minimum.outer(place, place) + 1.0) * (n - np.maximum.outer(place, place))
    coordinates = np.linalg.cholesky(gram).T
    factorisation = factorise(_like(body, coordinates))
    matrix = np.cumsum(np.linalg.solve(coordinates, factorisation.left), axis=0)
    inverse = factorisation.inverse @ coordinates @ (np.eye(n) - np.eye(n, k=-1))
    prefixes = _like(body, np.tril(np.ones((n, n))))
    radius = radius_of(matrix, inverse, prefixes.symmetric_columns() * body.factor)
    return RangeStrategy(Dense(matrix, radius, words_for(factorisation)), n, factorisation.lower)


def _like(body: Polytope, columns: np.ndarray) -> Polytope:
    if body.differences:
        return Polytope.difference_hull(columns, body.factor, body.with_zero)
    return Polytope.symmetric_hull(columns, body.factor)
