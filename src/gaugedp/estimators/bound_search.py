"""Private bounds of columns, from noisy counts."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP, compose
from gaugedp.mechanisms import Gaussian, Laplace
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import for_gaussian_releases, released, shared

_POWERS = range(-12, 41)  # of two: the magnitudes of the grid, in addition to 0
_CELL_HALVINGS = 6  # halvings of a cell of the grid


@dataclass(frozen=True)
class BoundSearch:
    """Bisection for bounds of d columns by noisy counts.

    In each round the counts of all columns beyond two points are released. The grid is 0 and ±2^k for k from −12 to 40;
    then the grid cell of each end is halved six more times.

    Theorem. One row changes the counts of a round, together with the number of rows, by at most √(2d + 1) in ℓ₂ and 2d
    + 1 in ℓ₁, whether it is replaced or added. The rounds compose to μ-GDP, or ε-DP. docs/theory/bound_search.md
    """

    n_columns: int
    noise: AdditiveNoise

    @classmethod
    def calibrate(cls, n_columns: int, guarantee: Guarantee) -> "BoundSearch":
        """Return the search, with Laplace noise for PureDP."""
        size, part = 2 * n_columns + 1, shared(for_gaussian_releases(guarantee), 1 / _rounds())
        if isinstance(part, PureDP):
            return cls(n_columns, Laplace.calibrate(LpBall(size, 1, float(size)), part))
        return cls(n_columns, Gaussian.calibrate(LpBall(size, 2, math.sqrt(size) * (1 + 2.0**-40)), part))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all rounds together."""
        return compose([(self.noise.guarantee, _rounds())])

    def find(self, columns: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds low < high (d,) of columns (n, d); missing values do not count. Charge the budget first."""
        grid = _grid()
        ends = Ends(np.zeros((2, self.n_columns), dtype=int), np.full((2, self.n_columns), len(grid) - 1))
        totals: list[float] = []
        for _ in range(_halvings(len(grid) - 1)):
            ends = ends.halved(self._too_many(columns, grid[ends.middle], totals, rng), ends.middle)
        near = Ends(grid[ends.first], grid[ends.last])
        for _ in range(_CELL_HALVINGS):
            near = near.halved(self._too_many(columns, near.centre, totals, rng), near.centre)
        return _apart(near.first[0], near.last[1], self._outside(totals) / max(float(np.mean(totals)), 1.0))

    def _too_many(self, columns: np.ndarray, places: np.ndarray, totals: list[float], rng: Entropy) -> np.ndarray:
        """Return a mask (2, d) of ends with too many values outside."""
        low, high = places
        exact = [(columns <= low).sum(axis=0), (columns >= high).sum(axis=0), [len(columns)]]
        noisy = released(np.concatenate(exact).astype(float), self.noise, rng)
        totals.append(float(noisy[-1]))
        return np.asarray(noisy[:-1].reshape(2, -1) > self._outside(totals))

    def _outside(self, totals: list[float]) -> float:
        noise, rows = math.sqrt(float(self.noise.variances.max())), max(float(np.mean(totals)), 1.0)
        outside = max(TUNED.outside_deviations * noise, TUNED.outside_share * rows)
        return min(outside, 0.25 * rows)  # noise that asks for more of the rows is too large


@dataclass(frozen=True, eq=False)
class Ends:
    """Intervals of both ends of each column, (2, d)."""

    first: np.ndarray
    last: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        """Middle indices, rounded up for low and down for high ends."""
        return (self.first + self.last + np.array([[1], [0]])) // 2

    @property
    def centre(self) -> np.ndarray:
        """Midpoints."""
        return (self.first + self.last) / 2

    def halved(self, is_inwards: np.ndarray, middle: np.ndarray) -> "Ends":
        """Return the outward halves where `is_inwards`, else the others."""
        is_lower = is_inwards ^ np.array([[False], [True]])
        return Ends(np.where(is_lower, self.first, middle), np.where(is_lower, middle, self.last))


def _apart(low: np.ndarray, high: np.ndarray, outside: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ends that are apart, wider if more values may lie outside, but not beyond 0."""
    low, high = np.minimum(low, high), np.maximum(low, high)
    width = np.maximum(high - low, np.maximum(np.abs(low), np.abs(high)) / 2**_CELL_HALVINGS + 2.0 ** _POWERS[0])
    more = width * min(4.0 * outside, 1.0) + (width - (high - low)) / 2
    floor, ceiling = np.where((low >= 0) & (high > 0), 0, -np.inf), np.where((high <= 0) & (low < 0), 0, np.inf)
    return np.maximum(low - more, floor), np.minimum(high + more, ceiling)


def _grid() -> np.ndarray:
    powers = 2.0 ** np.array(_POWERS)
    return np.concatenate([-powers[::-1], [0.0], powers])


def _halvings(n_cells: int) -> int:
    return math.ceil(math.log2(n_cells))


def _rounds() -> int:
    return _halvings(len(_grid()) - 1) + _CELL_HALVINGS
