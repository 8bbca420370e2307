"""A tree of noisy counts, searched for interval ends."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import scipy

from gaugedp._internal.validate import decimal
from gaugedp.entropy import Entropy
from gaugedp.mechanisms.strategies.trees import height_for
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.samplers.discrete import discrete_laplace

STEPS = 64  # noise steps per row


@dataclass(frozen=True)
class CountTree:
    """Noisy counts of the values below each tree node.

    The noise is discrete Laplace of scale height·rows/ε rows. `rows` is how many counts of a level one unit can change
    by one. All counts of all levels together are ε-DP: a unit moves them by height·rows in ℓ₁ norm. Each boundary
    between two values has a rank, less q·n: the counts to its left times 1 − q less those to its right times q.
    """

    n_values: int
    rows: Fraction
    epsilon: float

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(branching, height) of about the least noise at a boundary."""
        heights = {b: max(1, height_for(self.n_values, b)) for b in range(2, 64 + 1)}  # branches at most
        return min(heights.items(), key=lambda tree: tree[1] ** 2 * (tree[1] * (tree[0] - 1) + 1))

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps of 1/64 row."""
        return STEPS * self.shape[1] * self.rows / decimal(self.epsilon)

    def widths(self, quantile: Fraction, depth: int, n_left: int, miss: float) -> np.ndarray:
        """Return a node's boundary widths, in 1/(64·b) row for a quantile a/b."""
        return _widths(self, quantile, depth, n_left, miss)

    def reach(self, quantile: Fraction, miss: float) -> float:
        """Return the largest width over all boundaries, in rows.

        It has the larger weight on every node: a Laplace variable of larger scale is less peaked, also after adding
        symmetric unimodal ones (Birnbaum 1948, On random variables with comparable peakedness).
        """
        depths = range(1, self.shape[1] + 1)
        return max(self._widest(quantile, depth, self._part(depth, miss)) for depth in depths) + 1 / STEPS

    def spread(self, quantile: Fraction, miss: float) -> float:
        """Return a one-sided bound, in rows, of the noise along a path, exceeded with probability ≤ `miss`."""
        branching, height = self.shape
        return self._widest(quantile, height, miss / (height * (branching - 1)))

    def ordinary(self, quantile: Fraction, miss: float) -> float:
        """Return the width, in rows, of a boundary of the last level with half of its nodes to each side."""
        branching, height = self.shape
        n_nodes = height * (branching - 1) + 1
        return float(self.rows_wide(quantile, np.array([n_nodes // 2]), n_nodes, self._part(height, miss))[0])

    def _widest(self, quantile: Fraction, depth: int, miss: float) -> float:
        return _widest(self, max(quantile, 1 - quantile), depth, miss)

    def _part(self, depth: int, miss: float) -> float:
        height = self.shape[1]
        lowest = TUNED.lowest_level
        return miss * (1.0 if height == 1 else lowest if depth == height else (1 - lowest) / (height - 1))

    def rows_wide(self, quantile: Fraction, n_left: np.ndarray, n_nodes: int, miss: float) -> np.ndarray:
        """Return the widths, in rows, of boundaries with `n_left` (n,) of `n_nodes` to the left."""
        return rows_wide(self.scale, (n_left, n_nodes - n_left), (float(1 - quantile), float(quantile)), miss)


def rows_wide(
    scale: Fraction, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float], miss: float
) -> np.ndarray:
    """Return w (n,) in rows with P(a·S − b·S′ ≥ w) ≤ miss.

    S and S′ are sums of `counts` (n,) discrete Laplace variables of `scale`, in steps of 1/64 row.

    Theorem. Let X be a combination with coefficients a_i of independent Laplace variables of one scale, D the same of
    discrete Laplace variables, and A = Σ a_i². Then P(D ≥ w)·(1 − e^{−r²/(2A)}) ≤ P(X ≥ w − r).

    Proof. The integer part of an exponential variable is geometric and independent of the fraction. So X has the
    distribution of D + R with R = Σ a_i·(F_i − F_i′), F_i and F_i′ in [0, 1) and independent of D. Hence P(D ≥ w)·P(R ≥
    −r) ≤ P(X ≥ w − r); apply Hoeffding's inequality to R. At r² = 42·A the exponential is below 2^−30. For the counts
    of verified ends, T is on a finer lattice than the theorem assumes for a coefficient h, which only shortens R.
    """
    laplace = upper_quantiles(miss * (1 - 2.0**-30), counts, weights) * float(scale)
    squares = counts[0] * weights[0] ** 2 + counts[1] * weights[1] ** 2
    # e^−21 < 2^−30 bounds the probability that the rounding exceeds its part
    return np.asarray(laplace + np.sqrt(2 * 21.0 * squares)) / STEPS


@lru_cache(maxsize=1000)
def _widest(tree: CountTree, heavy: Fraction, depth: int, miss: float) -> float:
    n_nodes = depth * (tree.shape[0] - 1) + 1
    return float(tree.rows_wide(1 - heavy, np.array([n_nodes]), n_nodes, miss)[0])


@lru_cache(maxsize=10_000)
def _widths(tree: CountTree, quantile: Fraction, depth: int, n_left: int, miss: float) -> np.ndarray:
    branching = tree.shape[0]
    n_nodes, to_left = depth * (branching - 1) + 1, n_left + np.arange(1, branching)
    sizes = tree.rows_wide(quantile, to_left, n_nodes, tree._part(depth, miss))
    units = [math.ceil(Fraction(size) * STEPS * quantile.denominator) for size in sizes.tolist()]
    return np.array(units, dtype=object)


class NoisyCounts:
    """The tree of one histogram (n_values,), with lazily drawn noise."""

    def __init__(self, tree: CountTree, histogram: np.ndarray, rng: Entropy) -> None:
        self._tree, self._rng = tree, rng
        self._running = np.concatenate([[0], np.cumsum(histogram)])
        self._nodes: dict[tuple[int, int], np.ndarray] = {}

    def children(self, depth: int, place: int) -> np.ndarray:
        """Return the noisy counts of a node's children, in steps."""
        if (depth, place) not in self._nodes:
            branching, height = self._tree.shape
            ends = np.minimum(
                (place * branching + np.arange(branching + 1)) * branching ** (height - depth), self._tree.n_values
            )
            noise = discrete_laplace(branching, self._tree.scale, self._rng)
            self._nodes[depth, place] = (np.diff(self._running[ends]).astype(object) * STEPS) + noise
        return self._nodes[depth, place]

    def end(self, quantile: Fraction, side: int, miss: float) -> int:
        """Return an end that passes the quantile with probability ≤ `miss`, the lower one if side is −1."""
        branching, height = self._tree.shape
        place, n_left, left, right = 0, 0, 0, 0
        for depth in range(1, height + 1):
            counts = self.children(depth, place)
            to_left = np.cumsum(counts)[:-1]
            ranks = _ranks(quantile, left + to_left, right + counts.sum() - to_left)
            widths = self._tree.widths(quantile, depth, n_left, miss)
            child = _first(ranks + widths >= 0) if side < 0 else branching - 1 - _first((ranks - widths <= 0)[::-1])
            left, right = left + counts[:child].sum(), right + counts[child + 1 :].sum()
            place, n_left = place * branching + child, n_left + child
        return min(place, self._tree.n_values - 1)


def _ranks(quantile: Fraction, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return #left − q·n in units of 1/(64·b) row, exactly."""
    return (quantile.denominator - quantile.numerator) * left - quantile.numerator * right


def _first(is_met: np.ndarray) -> int:
    places = np.flatnonzero(is_met)
    return int(places[0]) if len(places) else len(is_met)


def upper_quantiles(miss: float, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]) -> np.ndarray:
    """Return t with P(a·S − b·S′ ≥ t) ≤ miss.

    The shape is (n,). S and S′ are sums of `counts` (n,) independent Laplace variables of scale 1; a, b > 0 are
    `weights`, 0 < miss < 1/2; at each index one of the counts is at least 1. With K the logarithm of E e^{sX}, P(X ≥ t)
    = (1/2πi)·∫ e^{K(s) − st}/s ds along any line that crosses the real axis between 0 and the least 1/a, 1/b in use.
    The line is bent to the right and ends where e^{−st} vanishes; the trapezoidal rule is exact beyond the digits used,
    and Newton iterations start from the normal distribution. docs/theory/rank_tree.md
    """
    first, second = (np.asarray(count, dtype=float)[:, None] for count in counts)
    a, b = weights
    pole = np.minimum(np.where(first > 0, 1 / a, np.inf), np.where(second > 0, 1 / b, np.inf))
    std = np.sqrt(2 * (first * a**2 + second * b**2))
    places = -float(scipy.special.ndtri(miss)) * std
    for _ in range(40):
        saddles = _saddles(places, pole, (first, second), weights)
        tails, densities = _line(places, saddles, (first, second), weights)
        steps = (tails - miss) / densities
        places = np.maximum(places + np.clip(steps, -std, std), 1e-3 * std)
        if (np.abs(steps) <= 1e-10 * std).all():
            break
    return (places * (1 + 1e-9))[:, 0]  # covers the rounding of sums and the error of the rule


def _saddles(
    places: np.ndarray, pole: np.ndarray, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]
) -> np.ndarray:
    """Return the minimiser s of K(s) − s·place − log s."""
    saddles = 0.5 * pole
    low, high = np.zeros_like(pole), pole.copy()
    for _ in range(40):
        slopes, curves = -places - 1 / saddles, 1 / saddles**2
        for count, weight in zip(counts, weights, strict=True):
            square = (weight * saddles) ** 2
            slopes += 2 * count * weight**2 * saddles / (1 - square)
            curves += 2 * count * weight**2 * (1 + square) / (1 - square) ** 2
        low, high = np.where(slopes < 0, saddles, low), np.where(slopes < 0, high, saddles)
        newton, before = saddles - slopes / curves, saddles
        saddles = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        # the line need not be through the saddle itself
        if (np.abs(saddles - before) <= 0.02 * np.minimum(saddles, pole - saddles)).all():
            break
    return saddles


def _line(
    places: np.ndarray, saddles: np.ndarray, counts: tuple[np.ndarray, np.ndarray], weights: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(X ≥ place) and the density, (n, 1) each."""
    curves = 1 / saddles**2 + sum(
        2 * count * weight**2 * (1 + (weight * saddles) ** 2) / (1 - (weight * saddles) ** 2) ** 2
        for count, weight in zip(counts, weights, strict=True)
    )
    steps = 0.12 / np.sqrt(curves)
    along = 0.12 * np.arange(100)  # 100 points, in widths of the saddle
    points = saddles + steps / 0.12 * (1j * along + 0.2 * along**2)
    logs = -points * places
    for count, weight in zip(counts, weights, strict=True):
        logs = logs - count * np.log(1 - (weight * points) ** 2)
    values = np.exp(logs) * (1j + 2 * 0.2 * along)
    values[:, 0] /= 2
    tails = steps / np.pi * (values / points).imag.sum(axis=1, keepdims=True)
    return tails, steps / np.pi * values.imag.sum(axis=1, keepdims=True)
