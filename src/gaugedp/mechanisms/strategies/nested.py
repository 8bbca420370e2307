"""Nested areas: counts of each level, combined by least squares."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.domain.nesting import Nesting, Recursion, Tables
from gaugedp.mechanisms.strategies.base import UP, Strategy


@dataclass(frozen=True, eq=False)
class NestedStrategy(Strategy):
    """L = F·A⁺, A the counts by level times c_l.

    It is the least-squares estimate for noise g/c_l on each level. A row is in one area of each level, so that
    ‖A·e_j‖_p = ‖c‖_p (docs/theory/nesting.md, theorem 4).
    """

    nesting: Nesting
    shares: np.ndarray
    radius: float

    @property
    def n_noise(self) -> int:
        """The number of counts, each with a noise variable."""
        return sum(place.stop - place.start for place in self.nesting.places)

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the least-squares estimate of the levels' noise, by recursion."""
        counts = self.nesting.split(unit)
        noise = [table / share for table, share in zip(counts, self.shares, strict=True)]
        return self.nesting.joined(self._recursion.estimates(noise))

    @cached_property
    def squares(self) -> np.ndarray:
        """The least-squares variances for noise of variance 1/c_l²."""
        return self._each_cell(self._recursion.variances)

    @cached_property
    def largest(self) -> np.ndarray:
        """Upper bounds on c_j·|Cov(x_i, x_j)| over the areas j.

        If j is i or below it, Cov(x_i, x_j) is the variance of x_i times the product of shares along the path. If i and
        j are below different parts of an area, it is (variance − room) of this area times both products.
        """
        recursion, nesting = self._recursion, self.nesting
        below = [np.full((place.n_areas, 1), share) for place, share in zip(nesting.places, self.shares, strict=True)]
        parts = Tables()
        for level in reversed(range(len(recursion.shares))):
            parts.insert(0, nesting.most(recursion.shares[level] * below[level + 1], level))
            below[level] = np.maximum(below[level], parts[0])
        tables, above = Tables(), np.zeros_like(below[0])
        for level, variance in enumerate(recursion.variances):
            tables.append(np.maximum(variance * below[level], above))
            if level < len(parts):
                beside = np.abs(variance - recursion.rooms[level]) * parts[level]
                most = np.maximum.reduce([above, self.shares[level] * variance, beside])
                above = recursion.shares[level] * nesting.handed(most, level)
        return self._each_cell(tables)

    def describe(self) -> str:
        """Return the shares of the levels, the coarsest first."""
        in_words = ", ".join(f"{share:.3g}" for share in self.shares)
        return f"{len(self.shares)} levels of areas with shares {in_words}"

    @cached_property
    def _recursion(self) -> Recursion:
        return _recursion(self.nesting, self.shares)

    def _each_cell(self, areas: Tables) -> np.ndarray:
        n_cells = [(place.stop - place.start) // place.n_areas for place in self.nesting.places]
        return self.nesting.joined(
            [np.broadcast_to(table, (len(table), size)) for table, size in zip(areas, n_cells, strict=True)]
        )


def nested(body: Polytope, nesting: Nesting, p: int, weights: np.ndarray | None) -> NestedStrategy:
    """Return the levels with the shares of least Δ·‖W⁻¹L‖_F."""
    demand = _demand(nesting, weights)
    shares = min((_searched(nesting, demand, p, start) for start in _starts(len(demand), p)), key=lambda pair: pair[0])[
        1
    ]
    apart = (2.0 ** (1 / p)) if body.differences and body.generators.n_generators > 1 else 1.0
    return NestedStrategy(nesting, shares, body.factor * apart * float(np.linalg.norm(shares, p)) * UP)


def _searched(nesting: Nesting, demand: Tables, p: int, start: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the minimum of log (Δ²·Σ demand·variance), and the shares."""
    import scipy.optimize

    def shares(logs: np.ndarray) -> np.ndarray:
        # -9.0: log of the least share of a level to the largest: fainter ones say nothing of any area
        return np.exp(np.maximum(logs - logs.max(), -9.0))

    def log_cost(logs: np.ndarray) -> float:
        variances = _recursion(nesting, shares(logs)).variances
        total = sum(float((variance * weight).sum()) for variance, weight in zip(variances, demand, strict=True))
        return float(np.log(total) + 2 * np.log(np.linalg.norm(shares(logs), p)))

    minimum = scipy.optimize.minimize(log_cost, start, method="BFGS", options={"gtol": 1e-4})
    return float(minimum.fun), shares(minimum.x) / float(np.linalg.norm(shares(minimum.x), p))


def _starts(n_levels: int, p: int) -> list[np.ndarray]:
    finest = np.where(np.arange(n_levels) == n_levels - 1, 0.0, -4.0)
    return [np.zeros(n_levels), finest][: 3 - p]


def _demand(nesting: Nesting, weights: np.ndarray | None) -> Tables:
    """Return Σ 1/weight² over the counts of each area."""
    sizes = sum(place.stop - place.start for place in nesting.places)
    squares = np.ones(sizes) if weights is None else 1 / np.asarray(weights, dtype=float) ** 2
    return [table.sum(axis=-1, keepdims=True) for table in nesting.split(squares)]


def _recursion(nesting: Nesting, shares: np.ndarray) -> Recursion:
    """Return the least squares of the areas for noise of variance 1/share²."""
    pairs = zip(nesting.places, shares, strict=True)
    return Recursion.of(nesting, [np.full((place.n_areas, 1), share**-2.0) for place, share in pairs])
