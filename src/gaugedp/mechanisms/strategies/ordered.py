"""The best Gaussian noise for prefix sums and ranges of one ordered attribute, by tridiagonal matrices."""

from dataclasses import dataclass

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.factorisation import GAP, radius_of
from gaugedp.mechanisms.strategies.base import Strategy
from gaugedp.mechanisms.strategies.dense import Dense
from gaugedp.mechanisms.strategies.ranges import Ranges

MOST_CELLS = 2048  # seconds, and 32 MB a matrix
_MOST_ROUNDS = 100
_SHORTEST, _LONGEST = 1.0, 8.0  # of a step; 1 is the fixed-point iteration itself
_DOWN = 1 - 2.0**-30


@dataclass(frozen=True)
class Bidiagonal:
    """The upper bidiagonal B with (BᵀB)⁻¹ = FᵀF, F the prefix sums or ranges of n cells."""

    diagonal: np.ndarray
    above: np.ndarray

    def roots(self, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of M(p) and the right singular vectors of F·diag(p)^½, as columns."""
        import scipy.linalg

        first, second = self._scaled(probability)
        squares = first**2
        squares[1:] += second**2
        values, vectors = scipy.linalg.eigh_tridiagonal(squares, first[:-1] * second)
        return values**-0.5, vectors

    def trace(self, probability: np.ndarray) -> float:
        """Return tr M(p) to 12 digits: the singular values of a bidiagonal matrix are eigenvalues without squaring."""
        import scipy.linalg

        alternating = np.empty(2 * len(probability) - 1)
        alternating[0::2], alternating[1::2] = self._scaled(probability)
        values = scipy.linalg.eigvalsh_tridiagonal(np.zeros(2 * len(probability)), alternating)
        return float((1 / values[len(probability) :]).sum())

    def _scaled(self, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sides = np.sqrt(probability)
        return self.diagonal / sides, self.above / sides[1:]


def prefix_sums(n: int) -> Bidiagonal:
    """Return the differences: those of prefix sums are the cells."""
    return Bidiagonal(np.ones(n), -np.ones(n - 1))


def all_ranges(n: int) -> Bidiagonal:
    """Return the Cholesky factor of tridiag(−1, 2, −1)/(n + 1): (FᵀF)_ij = (min(i, j) + 1)(n − max(i, j))."""
    place = np.arange(1, n + 1)
    diagonal = np.sqrt((place + 1) / place)
    return Bidiagonal(diagonal / np.sqrt(n + 1), -1 / diagonal[:-1] / np.sqrt(n + 1))


def best_ordered(body: Polytope, ranges: bool) -> Strategy:
    """Return the best Gaussian strategy for the prefix sums, or all ranges, of n cells of a counting body.

    Theorem (docs/theory/matrix.md, theorem 2). With p the best probabilities and F·diag(p)^½ = U·Σ·Vᵀ, the best L is
    F·diag(p)^½·V·Σ^(−½); tr M(p) = tr Σ bounds all strategies from below at any p. The radius is computed from L.
    """
    n = body.generators.n_generators
    bidiagonal = all_ranges(n) if ranges else prefix_sums(n)
    probability, upper = _best_probability(bidiagonal, n)
    lengths, vectors = bidiagonal.roots(probability)
    sides = np.sqrt(probability)[:, None]
    matrix = np.cumsum(sides * vectors / np.sqrt(lengths), axis=0)
    inverse = np.diff((np.sqrt(lengths) * vectors / sides).T, axis=1, append=0.0) * -1.0
    radius = body.factor * radius_of(matrix, inverse, np.tril(np.ones((n, n))))
    lower = bidiagonal.trace(probability) * _DOWN
    words = f"an optimal factorisation (gap {upper / lower - 1:.0e})"
    least = body.factor * lower
    if ranges:
        return Ranges(Dense(matrix, radius, words), n, least)
    return Dense(matrix, radius, words, least, float(np.linalg.norm(inverse, axis=0).sum()))


def _best_probability(bidiagonal: Bidiagonal, n: int) -> tuple[np.ndarray, float]:
    """Return the p of the least gap that was met, and its √(tr M(p)·max_j v_jᵀM⁻¹v_j).

    The fixed point p_j ← p_j·(v_jᵀM⁻¹v_j)/tr M, on log p and with the step of Barzilai and Borwein (1988).
    """
    logs, step = np.full(n, -np.log(n)), _SHORTEST
    best, lower, upper = np.full(n, 1 / n), 0.0, np.inf
    earlier: tuple[np.ndarray, np.ndarray] | None = None
    for _ in range(_MOST_ROUNDS):
        probability = np.exp(logs - logs.max())
        probability /= probability.sum()
        lengths, vectors = bidiagonal.roots(probability)
        trace, slopes = float(lengths.sum()), (vectors**2 @ lengths) / probability
        lower = max(lower, trace)
        if (bound := float(np.sqrt(trace * slopes.max()))) < upper:
            best, upper = probability, bound
        if upper <= lower * (1 + GAP / 2):
            break
        rise = np.log(slopes / trace)
        if earlier is not None:
            step = _step(logs - earlier[0], rise - earlier[1], step)
        earlier = logs, rise
        logs = logs + step * rise
    return best, upper


def _step(moved: np.ndarray, change: np.ndarray, before: float) -> float:
    slope = float(moved @ change)
    return min(max(-slope / float(change @ change), _SHORTEST), _LONGEST) if slope < 0 else before
