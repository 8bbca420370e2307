"""The hull of finitely many points and their negatives, or of their differences."""

from dataclasses import dataclass

import numpy as np

from gaugedp._validate import positive
from gaugedp.bodies.base import Body, check_points
from gaugedp.bodies.generators import Generators, MatrixGenerators
from gaugedp.errors import InvalidRequest

_MOST_DENSE = 10**7
_OFF_SPAN = 1e-10  # relative distance from the span at which a point counts as off it


@dataclass(frozen=True)
class Polytope(Body):
    """factor·conv{±v_i}, or factor·conv({v_i − v_j} ∪ {±v_i where `with_zero`}) where `differences`.

    The first is the sensitivity body of a linear question whose units are added or removed, the second of one whose
    units are replaced; `with_zero` says that a unit may contribute nothing (THEORY: section 1 of the docs).
    """

    generators: Generators
    factor: float = 1
    differences: bool = False
    with_zero: bool = False

    @classmethod
    def symmetric_hull(cls, matrix: np.ndarray, factor: float = 1) -> "Polytope":
        """Return factor·conv{±v_i}, v_i the columns of `matrix` (d, n)."""
        positive(factor=factor)
        return cls(MatrixGenerators(matrix), factor)

    @classmethod
    def difference_hull(cls, matrix: np.ndarray, factor: float = 1, with_zero: bool = False) -> "Polytope":
        """Return factor·conv{v_i − v_j} (∪ {±v_i}), v_i the columns of `matrix` (d, n)."""
        positive(factor=factor)
        return cls(MatrixGenerators(matrix), factor, differences=True, with_zero=with_zero)

    @property
    def ambient_dim(self) -> int:
        """The number of rows of the generators."""
        return self.generators.ambient_dim

    @property
    def rank(self) -> int:
        """The rank of the generators, or of their differences."""
        if not self.differences or self.with_zero:
            return self.generators.rank
        columns = self._dense()
        return int(np.linalg.matrix_rank(columns[:, 1:] - columns[:, :1])) if columns.shape[1] > 1 else 0

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return factor times the largest norm of a generator, or of a difference of two; see the generators."""
        if not self.differences:
            return self.factor * self.generators.largest_norm(p, weights)
        apart = self.generators.largest_difference(p, weights)
        alone = self.generators.largest_norm(p, weights) if self.with_zero else 0.0
        return self.factor * max(apart, alone)

    @property
    def coefficient_radius(self) -> float:
        """The largest ℓ₁ norm of the coefficients that two neighbours differ by."""
        return self.factor * (2 if self.differences and self.generators.n_generators > 1 else 1)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the gauge by a linear program a point (least Σ|x| with F·x = point, or the least flow)."""
        rows = check_points(points, self.ambient_dim)
        columns = self._dense()
        return np.array([_least_norm(columns, row, self.differences) for row in rows]) / self.factor

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return factor·max|Fᵀy|, or factor·(max Fᵀy − min Fᵀy)."""
        return np.array([self._attained(row)[0] for row in np.atleast_2d(directions)])

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return a vertex for each direction."""
        return np.array([self._attained(row)[1] for row in np.atleast_2d(directions)])

    def _attained(self, direction: np.ndarray) -> tuple[float, np.ndarray]:
        products = self.generators.adjoint(direction)
        if not self.differences:
            index = int(np.abs(products).argmax())
            vertex = np.sign(products[index]) * self.generators.column(index)
            return self.factor * abs(float(products[index])), self.factor * vertex
        ends = [(products[i], self.generators.column(i)) for i in (int(products.argmax()), int(products.argmin()))]
        if self.with_zero:
            nothing = (0.0, np.zeros(self.ambient_dim))
            ends = [max(ends[0], nothing, key=_first), min(ends[1], nothing, key=_first)]
        (high, top), (low, bottom) = ends
        return self.factor * float(high - low), self.factor * (top - bottom)

    def _dense(self) -> np.ndarray:
        size = self.generators.n_generators
        if size * self.ambient_dim > _MOST_DENSE:
            raise InvalidRequest(
                f"The body has {size} generators in dimension {self.ambient_dim}.",
                "Its radius and support are at hand; gauge and rank need a smaller body.",
            )
        columns = np.stack([self.generators.column(i) for i in range(size)], axis=1).astype(float)
        return np.hstack([columns, np.zeros((self.ambient_dim, 1))]) if self.with_zero else columns

    def __repr__(self) -> str:
        shape = f"{self.ambient_dim} x {self.generators.n_generators}"
        kind = "differences" if self.differences else "symmetric"
        return f"Polytope({shape}, {kind}, factor={self.factor:g})"


def _first(pair: tuple[float, np.ndarray]) -> float:
    return float(pair[0])


def _least_norm(columns: np.ndarray, point: np.ndarray, flow: bool) -> float:
    """Return min Σ|x| with columns·x = point; for a flow, half of it, with Σx = 0."""
    import scipy.optimize

    length, width = float(np.abs(point).max()), float(np.abs(columns).max())
    if length == 0 or width == 0:
        return 0.0 if length == 0 else float("inf")
    point, columns = point / length, columns / width  # the tolerances of the solver are absolute
    if np.linalg.norm(columns @ np.linalg.lstsq(columns, point, rcond=None)[0] - point) > _OFF_SPAN:
        return float("inf")
    rows = np.vstack([columns, np.ones(columns.shape[1])]) if flow else columns
    target = np.append(point, 0.0) if flow else point
    costs = np.full(2 * columns.shape[1], 0.5 if flow else 1.0)
    answer = scipy.optimize.linprog(costs, A_eq=np.hstack([rows, -rows]), b_eq=target, method="highs")
    return float(answer.fun) * (length / width) if answer.status == 0 else float("inf")
