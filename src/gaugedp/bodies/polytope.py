"""Convex hulls of points and their negatives or differences."""

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies.base import Body, check_points
from gaugedp.bodies.frame import independent
from gaugedp.bodies.generators import Generators, MatrixGenerators
from gaugedp.bodies.prepare import PreparedGenerators, prepared
from gaugedp.errors import InvalidRequest

MOST_DENSE = 10**7


@dataclass(frozen=True)
class Polytope(Body):
    """Convex hull of the changes that possible rows cause.

    It is the sensitivity body of counts and other linear queries: it contains every change of the answers that one
    protected unit can cause. You describe it by the changes v_1, …, v_n that single rows can cause, one column for each
    kind of row. Use `symmetric_hull` if neighbouring tables differ by an added or removed unit, and `difference_hull`
    if a unit is replaced.

    Notes
    -----
    For added or removed units, the body is the convex hull of all points v_i and −v_i, times `factor`, which is for
    example the largest number of rows per unit. For replaced units, it is the hull of all differences v_i − v_j,
    because one row takes the place of another. With `with_zero`, a unit may also contribute nothing, so this hull also
    contains the points v_i and −v_i.

    Examples
    --------
    A row counts in the first answer, in the second, or in both. It can change them by (1, 1), with norm 1, but not by
    (1, −1), with norm 2:

    >>> from gaugedp.bodies import Polytope
    >>> Polytope.symmetric_hull([[1, 0, 1], [0, 1, 1]]).gauge([[1, 1], [1, -1]]).round(6).tolist()
    [1.0, 2.0]
    """

    generators: Generators
    factor: float = 1
    differences: bool = False
    with_zero: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.generators, "ambient_dim"):
            raise InvalidRequest(
                f"`generators` is of type {type(self.generators).__name__}, which is not supported.",
                "For a matrix (d, n) of points, use Polytope.symmetric_hull(matrix) or "
                "Polytope.difference_hull(matrix).",
            )

    @classmethod
    def symmetric_hull(cls, matrix: np.ndarray, factor: float = 1) -> "Polytope":
        """Return the polytope for units that are added or removed.

        It is factor·conv{±v_i} for the columns v_i of `matrix` (d, n), which must not all be zero. Default factor = 1.
        """
        positive(factor=factor)
        generators = MatrixGenerators(matrix)
        if not generators.matrix.any():
            raise InvalidRequest(
                "Every generator is 0, so no unit can change the answer and no noise is needed.",
                "Pass at least one generator that is not 0.",
            )
        return cls(generators, factor)

    @classmethod
    def difference_hull(cls, matrix: np.ndarray, factor: float = 1, with_zero: bool = False) -> "Polytope":
        """Return the polytope for units that are replaced.

        It is factor·conv{v_i − v_j} for the columns v_i of `matrix` (d, n). `with_zero` adds the points ±v_i to the
        hull.
        """
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
        return len(independent(self._from_one_end))

    @property
    def span(self) -> np.ndarray:
        """An orthonormal basis of the span."""
        if self._is_origin:
            return np.zeros((self.ambient_dim, 0))
        return self.prepared.frame.span

    @cached_property
    def prepared(self) -> PreparedGenerators:
        """The distinct generators or differences, with a basis.

        They do not include the factor.
        """
        return prepared(self._from_one_end)

    @cached_property
    def distinct(self) -> PreparedGenerators:
        """Distinct points v_j with a basis.

        The body is factor·conv{±v_j}.
        """
        return prepared(self.symmetric_columns()) if self.differences else self.prepared

    def radius(self, p: float, weights: np.ndarray | None = None) -> float:
        """Return the largest norm of a generator or difference."""
        if not self.differences:
            return self.factor * self.generators.largest_norm(p, weights)
        apart = self.generators.largest_difference(p, weights)
        alone = self.generators.largest_norm(p, weights) if self.with_zero else 0.0
        return self.factor * max(apart, alone)

    @property
    def coefficient_radius(self) -> float:
        """The largest ℓ₁ distance between the coefficients of two neighbours."""
        return self.factor * (2 if self.differences and self.generators.n_generators > 1 else 1)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """Return the norm of each point, by a linear program.

        The norm of a point is the smallest factor by which the body must be multiplied to contain the point, so it is
        at most 1 inside the body. It is infinite for a point that no multiple of the body contains.

        Notes
        -----
        The norm is the smallest sum of absolute coefficients with which the point is a combination of the generators,
        divided by the body's `factor`. For differences of generators, it is the cost of a minimum-cost flow between
        them. The linear program has a relative error of about 1e−7. If the distinct generators are linearly
        independent, no program is needed, and the norm is exact up to rounding.
        """
        rows = check_points(points, self.ambient_dim)
        if self._is_origin:
            return np.where(rows.any(axis=1), np.inf, 0.0)
        coordinates, inside = self.prepared.frame.coordinates(rows)
        gauges = np.full(len(rows), np.inf)
        gauges[inside] = [self._least(target) for target in coordinates[inside]]
        return gauges / self.factor

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Return how far the body reaches in each direction y.

        It is factor·max|Fᵀy|, or factor·(max Fᵀy − min Fᵀy) for differences, where F has the generators as columns.
        """
        return np.array([self._attained(row)[0] for row in np.atleast_2d(directions)])

    def argmax(self, directions: np.ndarray) -> np.ndarray:
        """Return a vertex for each direction."""
        return np.array([self._attained(row)[1] for row in np.atleast_2d(directions)])

    def _attained(self, direction: np.ndarray) -> tuple[float, np.ndarray]:
        (high, top_index), (low, bottom_index) = self.generators.extremes(direction)
        if not self.differences:
            value, index, sign = (high, top_index, 1.0) if high >= -low else (-low, bottom_index, -1.0)
            return self.factor * value, self.factor * sign * self.generators.column(index)
        ends = [(high, self.generators.column(top_index)), (low, self.generators.column(bottom_index))]
        if self.with_zero:
            nothing = (0.0, np.zeros(self.ambient_dim))
            ends = [max(ends[0], nothing, key=itemgetter(0)), min(ends[1], nothing, key=itemgetter(0))]
        (high, top), (low, bottom) = ends
        return self.factor * float(high - low), self.factor * (top - bottom)

    def columns(self) -> np.ndarray:
        """Return the generators as a matrix (d, n).

        They do not include the factor.
        """
        size = self.generators.n_generators
        self._check_size(size)
        if size <= 512:  # generators up to which a product with unit vectors is faster than one column after another
            return np.ascontiguousarray(self.generators.apply(np.eye(size)).T.astype(float))
        return np.stack([self.generators.column(i) for i in range(size)], axis=1).astype(float)

    def symmetric_columns(self) -> np.ndarray:
        """Return points (d, k) whose symmetric hull is the body.

        The body is factor·conv{±column} over these columns.
        """
        columns = self._dense()
        if self.differences:
            first, second = np.triu_indices(columns.shape[1], 1)
            self._check_size(max(len(first), 1))
            columns = columns[:, first] - columns[:, second] if len(first) else 0 * columns
        return columns

    @property
    def representation(self) -> np.ndarray:
        """Columns (m, n) that express the gauge as a minimum.

        The gauge is min{Σ|λ| : columns·λ = point}/`coefficient_radius`, in the coordinates of `prepared`; m is the
        rank. For differences the columns have a last row of ones, and points have a last 0.
        """
        columns = self._coordinates
        return np.vstack([columns, np.ones(columns.shape[1])]) if self.differences else columns

    def _least(self, target: np.ndarray) -> float:
        if not self.differences and self.prepared.coordinates.shape[1] == self.prepared.rank:
            return float(np.abs(target).sum())
        return _least_norm(self._coordinates, target, self.differences)

    @cached_property
    def _coordinates(self) -> np.ndarray:
        if not self.differences:
            return self.prepared.coordinates
        return self.prepared.frame.coordinates(self._from_one_end.T)[0].T

    @cached_property
    def _from_one_end(self) -> np.ndarray:
        """F, or the differences v_i − v_1 of equal span."""
        columns = self._dense()
        return columns - columns[:, :1] if self.differences else columns

    @cached_property
    def _is_origin(self) -> bool:
        return not self._from_one_end.any()

    def _dense(self) -> np.ndarray:
        columns = self.columns()
        return np.hstack([columns, np.zeros((self.ambient_dim, 1))]) if self.with_zero else columns

    def _check_size(self, size: int) -> None:
        if size * self.ambient_dim > MOST_DENSE:
            raise InvalidRequest(
                f"This method lists the generators of the body, of which there are {size} in dimension "
                f"{self.ambient_dim}: too many.",
                "Use `radius` or `support`, which do not list the generators of large bodies, or pass fewer "
                "generators.",
            )

    def __repr__(self) -> str:
        shape = f"{self.ambient_dim} x {self.generators.n_generators}"
        kind = "differences" if self.differences else "symmetric"
        return f"Polytope({shape}, {kind}, factor={self.factor:g})"


def _least_norm(columns: np.ndarray, point: np.ndarray, flow: bool) -> float:
    """Return min Σ|x| with columns·x = point; for flows, half of it with Σx = 0."""
    import scipy.optimize

    length = float(np.abs(point).max())
    if length == 0:
        return 0.0
    rows = np.vstack([columns, np.ones(columns.shape[1])]) if flow else columns
    target = np.append(point / length, 0.0) if flow else point / length  # the solver's tolerances are absolute
    costs = np.full(2 * columns.shape[1], 0.5 if flow else 1.0)
    answer = scipy.optimize.linprog(costs, A_eq=np.hstack([rows, -rows]), b_eq=target, method="highs")
    if answer.status != 0:
        raise InvalidRequest(
            f"The linear program for the norm of a point failed: {answer.message}",
            "Scale the generators so that their largest entry is near 1.",
        )
    return float(answer.fun) * length
