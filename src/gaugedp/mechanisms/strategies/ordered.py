"""Optimal Gaussian noise for prefix sums, in linear time."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.mechanisms.factorisation import GAP
from gaugedp.mechanisms.strategies.base import PrefixStrategy, Strategy
from gaugedp.mechanisms.strategies.ranges import RangeStrategy
from gaugedp.mechanisms.strategies.tridiagonal import Chain, Poles, negative_power

MOST_CELLS = 2**20  # half a minute


@dataclass(frozen=True)
class WeightedPrefixes:
    """F·diag(p)·Fᵀ for the prefix sums F of n cells.

    For ranges, F has these and 0, less their mean over all n + 1. Its inverse S, on the span of F, is the chain of
    conductances 1/p_j, one per cell, from node to node.
    """

    probability: np.ndarray
    ranges: bool

    @property
    def nodes(self) -> Chain:
        """The chain S; node 0 is the ground for prefix sums."""
        ends = [0.0] if self.ranges else []
        conductances = np.concatenate([ends, 1 / self.probability, [0.0]])
        return Chain(conductances, np.ones(len(conductances) - 1))

    @property
    def cells(self) -> Chain:
        """The chain (FᵀF)⁻¹, with the probabilities as masses."""
        conductances = np.ones(len(self.probability) + 1)
        conductances[0] = float(self.ranges)
        return Chain(conductances, self.probability)

    def poles(self, alpha: float) -> Poles:
        """Return poles for x^−α on bounds of S's spectrum (trace and Gershgorin)."""
        place = np.arange(len(self.probability), dtype=float)
        squares = len(place) - place
        if self.ranges:
            squares *= (place + 1) / (len(place) + 1)
        inverse = np.append(1 / self.probability, 0.0)
        low, high = 1 / float(self.probability @ squares), 2 * float((inverse[:-1] + inverse[1:]).max())
        return negative_power(alpha, 0.99 * low, 1.01 * high)

    def squares(self) -> tuple[np.ndarray, float]:
        """Return ‖M^(−½)·F·e_j‖² per cell, M = S^(−½), and the relative error."""
        poles = self.poles(0.5)
        n = len(self.probability)
        return self.cells.diagonal(poles), poles.error + (8 * n**2 + 256) * 2.0**-53


@dataclass(frozen=True, eq=False)
class Ordered(PrefixStrategy):
    """L = S^(−¼) as a sum of poles; for ranges, relative to the first node."""

    weighted: WeightedPrefixes
    radius: float
    gap: float
    least: float

    @property
    def n_noise(self) -> int:
        """The number of nodes."""
        return len(self.weighted.nodes.masses)

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return L·unit."""
        return self._power(0.25, unit)

    def covariance(self) -> np.ndarray:
        """Return S^(−½)."""
        return self._from_first(self._power(0.5, np.eye(self.n_noise)).T).T

    @cached_property
    def squares(self) -> np.ndarray:
        """The diagonal of S^(−½)."""
        if self.weighted.ranges:
            return np.diag(self.covariance())
        return self.weighted.nodes.diagonal(self.weighted.poles(0.5))

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the eigenvalues of S^(−½) for up to 2,048 unweighted prefix sums."""
        import scipy.linalg

        if weights is not None or self.weighted.ranges or self.n_noise > 2048:  # eigenvalues at most
            return None
        inverse = 1 / self.weighted.probability
        values = scipy.linalg.eigvalsh_tridiagonal(inverse + np.append(inverse[1:], 0.0), -inverse[1:])
        return values**-0.5, np.ones(self.n_noise)

    def describe(self) -> str:
        """Return its description, with its gap."""
        return f"an optimal factorisation (gap {self.gap:.0e})"

    def _power(self, alpha: float, unit: np.ndarray) -> np.ndarray:
        if self.weighted.ranges:
            unit = unit - unit.mean(axis=1, keepdims=True)
        solved = self.weighted.nodes.solve(self.weighted.poles(alpha), np.asfortranarray(unit.T)).T
        return self._from_first(solved)

    def _from_first(self, nodes: np.ndarray) -> np.ndarray:
        return nodes[:, 1:] - nodes[:, :1] if self.weighted.ranges else nodes


def best_ordered(n: int, ranges: bool, factor: float = 1.0) -> Strategy:
    """Return the best Gaussian strategy for prefix sums or ranges.

    There are n cells and `factor` rows per person. Theorem (docs/theory/matrix.md, theorem 6). With S =
    (F·diag(p)·Fᵀ)⁻¹ and p the best probabilities, L = S^(−¼) is optimal; tr S^(−½) bounds all strategies from below at
    any p. The radius is the poles'.
    """
    weighted = best_probability(n, ranges, max(GAP, 5e-9 * n))  # the gap per cell where there are more than 200
    squares, error = weighted.squares()
    trace = float(weighted.probability @ squares)
    largest = float(squares.max()) / (1 - error) / (1 - weighted.poles(0.25).error) ** 2
    least = trace * (1 - error)
    gap = math.sqrt(trace * (1 + error) * largest) / least - 1
    scale = math.sqrt(n + 1) if ranges else 1.0  # all differences of n + 1 nodes have the square n + 1 times theirs
    prefixes = Ordered(weighted, factor * math.sqrt(largest), gap, factor * scale * least)
    return RangeStrategy(prefixes, n, prefixes.least) if ranges else prefixes


def best_probability(n: int, ranges: bool, gap: float) -> WeightedPrefixes:
    """Return the p of the least gap found."""
    logs, search = _start(n, ranges), _Accelerated()
    best, lower, upper = WeightedPrefixes(np.full(n, 1 / n), ranges), 0.0, math.inf
    for _ in range(min(60, max(4, 2**22 // n))):
        probability = np.exp(logs - logs.max())
        weighted = WeightedPrefixes(probability / probability.sum(), ranges)
        squares, _ = weighted.squares()
        trace = float(weighted.probability @ squares)
        lower = max(lower, trace)
        if (bound := math.sqrt(trace * float(squares.max()))) < upper:
            best, upper = weighted, bound
        if upper <= lower * (1 + gap / 2):
            break
        logs = search.step(logs, np.log(squares / trace), np.sqrt(weighted.probability))
    return best


def _start(n: int, ranges: bool) -> np.ndarray:
    if n <= 32:
        return np.zeros(n)
    coarse = best_probability(n // 4, ranges, 1e-4).probability
    places, coarse_places = _log_odds(n), _log_odds(len(coarse))
    return np.interp(places * (coarse_places[-1] / places[-1]), coarse_places, np.log(coarse))


def _log_odds(n: int) -> np.ndarray:
    place = np.arange(n) + 0.5
    return np.log(place / (n - place))


class _Accelerated:
    """Anderson acceleration of a fixed-point iteration."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.residuals: list[np.ndarray] = []

    def step(self, point: np.ndarray, residual: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the next point, by weighted least squares of residuals."""
        self.points = [*self.points, point][-5:]
        self.residuals = [*self.residuals, residual][-5:]
        steps, changed = np.diff(self.points, axis=0), np.diff(self.residuals, axis=0)
        shares = np.linalg.lstsq((changed * weights).T, residual * weights, rcond=1e-10)[0]
        return point + 2.0 * residual - shares @ (steps + 2.0 * changed)
