"""Posterior mixtures for minimisers, from noisy moments and gradients."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from gaugedp.optimization.symmetric import repulsion
from gaugedp.optimization.tuning import TUNED


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """A mixture of normal distributions of `basis`·v + `shift`.

    All weights are equal; the shapes are (k, r)·(r,) + (k,). Component j has mean `means`[j] (r,) of v and covariance
    diag(`variances`[j]) + Σ ppᵀ over p in `pulls`[j] (s, r).
    """

    means: np.ndarray
    variances: np.ndarray
    pulls: np.ndarray
    basis: np.ndarray
    shift: np.ndarray

    def mapped(self, matrix: np.ndarray, shift: np.ndarray) -> "NormalMixture":
        """Return the distribution of matrix·w + shift."""
        return replace(self, basis=matrix @ self.basis, shift=matrix @ self.shift + shift)

    @property
    def median(self) -> np.ndarray:
        """Medians (k,): the estimates."""
        return self._quantile(0.5)

    @property
    def deviations(self) -> np.ndarray:
        """Standard errors (k,): half-widths of 68.27 % intervals."""
        level = 0.682689
        return (self._quantile((1 + level) / 2) - self._quantile((1 - level) / 2)) / 2

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends (lower, upper) of intervals, each (k,).

        Each covers its weight with probability `level` plus a fifth of the remainder (96 % for 95 %), which allows for
        approximations in the mixture.
        """
        outside = (1 - level) * (1 - TUNED.interval_reserve) / 2
        return self._quantile(outside), self._quantile(1 - outside)

    def _quantile(self, share: float, *, halvings: int = 80) -> np.ndarray:
        middles = self.means @ self.basis.T + self.shift
        squares = self.variances @ (self.basis**2).T + ((self.pulls @ self.basis.T) ** 2).sum(axis=1)
        spreads = np.sqrt(np.maximum(squares, 1e-300))
        ends = middles + float(ndtri(share)) * spreads
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(halvings):
            middle = (low + high) / 2
            below = ndtr((middle - middles) / spreads).mean(axis=0) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high


@dataclass(frozen=True, eq=False)
class NoisyEvidence:
    """Released moments `second` = H + E (d, d) and `gradients` H·point − b + e at `points`, both (k, d).

    `deviation` is the standard deviation of a coordinate of E, scaled to keep the Frobenius norm, and `noise` that of a
    coordinate of e. The best weights β are assumed to satisfy ⟨β, Hβ⟩ ≤ `most`. No direction is likely to contribute
    more than `most`/√d, or to have a weight of more than twice √(`most`·d/tr H).
    """

    second: np.ndarray
    points: np.ndarray
    gradients: np.ndarray
    deviation: float
    noise: float
    most: float

    def within(self, span: np.ndarray) -> "NoisyEvidence":
        """Restrict the evidence to the range of orthonormal `span` U (d, r), which holds the rows.

        For instance, indicators of all cells of an attribute sum to the constant, so H is singular. Then H = U·UᵀHU·Uᵀ,
        and the best w of least norm is U·γ. UᵀEU is noise of the same distribution in fewer dimensions, as E is
        spherical in the Frobenius norm, and so is Uᵀe. So all formulas apply to γ with UᵀHU in place of H.
        """
        inside = span.T @ self.second @ span, self.points @ span, self.gradients @ span
        return NoisyEvidence(*inside, self.deviation, self.noise, self.most)

    def _prior(self, curvature: np.ndarray) -> np.ndarray:
        """Return the prior variances (m, d) of weights with these curvatures. docs/theory/least_squares.md"""
        d = len(self.second)
        mean = max(float(np.trace(self.second)) / d, self.deviation, 1e-150)
        return np.asarray(self.most / (curvature * math.sqrt(d) + mean / TUNED.likely_weight**2))

    def best(self, mean_square: float, total: float | None = None) -> NormalMixture:
        """Return the distribution of the best weights β.

        The model is t = ⟨β, x⟩ + a residual of mean square `mean_square` that does not depend on x. With `total`, β are
        logistic weights: H is a sum of `total`·xxᵀ at the first point and varies with the weights. Given H, β = w −
        H⁻¹·(gradient + noise) with w and gradient the means; the mixture is over quantiles of H.
        docs/theory/least_squares.md, newton.md
        """
        values, vectors = np.linalg.eigh(self.second)
        points, gradients = self.points @ vectors, self.gradients @ vectors
        expected, gradient = points.mean(axis=0), gradients.mean(axis=0)
        curvature = self._quantiles(*self._curvature(values, points, gradients), gradient, expected, mean_square)
        told = (self.noise**2 / len(points) + mean_square * curvature) / curvature**2
        straight, room = gradient / curvature, self._prior(curvature)

        share = 1 / (1 + told / room)
        away = expected + share * (straight - expected)
        length = (away**2 + share * told).sum(axis=1, keepdims=True)
        turned = self.deviation**2 / 2 * (length - 2 * away**2 - share * told) / curvature**2
        pull = self.deviation / np.sqrt(2) * away / curvature

        share = 1 / (1 + (told + turned + pull**2) / room)
        middle = share * (expected - straight)
        variances, pulls = share * (told + turned), [np.sqrt(share) * pull]
        if total is not None:
            bias = _longer(points - middle[:, None], middle, share * told, curvature, total)
            middle, pulls = middle - bias, [*pulls, TUNED.bias_deviations * bias]
        return NormalMixture(middle, variances, np.stack(pulls, axis=1), vectors, np.zeros(len(vectors)))

    def _curvature(
        self, values: np.ndarray, points: np.ndarray, gradients: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations (d,) of the eigenvalues."""
        doubt = max(self.deviation, 1e-9 * float(np.abs(values).max()), 1e-150)
        off = points - points.mean(axis=0)
        mean = values - repulsion(values, doubt**2, doubt**2)
        squares = (off**2).sum(axis=0)
        noise = self.noise**2 + doubt**2 / 2 * squares.sum() / len(points)
        precision = 1 / doubt**2 + squares / noise
        return (mean / doubt**2 + (off * gradients).sum(axis=0) / noise) / precision, 1 / np.sqrt(precision)

    def _quantiles(
        self, mean: np.ndarray, spread: np.ndarray, gradient: np.ndarray, expected: np.ndarray, mean_square: float
    ) -> np.ndarray:
        """Return quantiles (60, d) of normally distributed curvatures.

        Their square roots are uniform a priori, and they are conditioned on the assumed size of β.
        docs/theory/least_squares.md
        """
        mean = np.maximum(mean, -5.0 * spread)  # deviations by which a centre may lie below 0
        n_cells, reach = 400, 9.0 * spread
        low, high = np.maximum(mean - reach, 0.0), np.maximum(mean, 0.0) + reach
        cells = low + (high - low) * (np.arange(n_cells)[:, None] + 0.5) / n_cells
        variance = self.noise**2 / len(self.points) + mean_square * cells + self._prior(cells) * cells**2
        costs = ((cells - mean) / spread) ** 2 + (gradient - cells * expected) ** 2 / variance
        costs += np.log(variance * cells)
        weights = np.exp((costs.min(axis=0) - costs) / 2)
        below, shares = (np.cumsum(weights, axis=0) - weights / 2) / weights.sum(axis=0), _shares(len(mean))
        return np.stack([np.interp(shares[:, i], below[:, i], cells[:, i]) for i in range(len(mean))], axis=1)


def _shares(d: int, *, prime: int = 61, root: int = 17) -> np.ndarray:
    """Return a lattice of points (60, d) in the unit cube; powers of `root` are all numbers below `prime`."""
    powers = np.array([pow(root, i, prime) for i in range(d)])
    return (np.arange(1, prime)[:, None] * powers % prime - 0.5) / (prime - 1)


def _longer(off: np.ndarray, middle: np.ndarray, told: np.ndarray, curvature: np.ndarray, total: float) -> np.ndarray:
    """Return the second-order bias of `middle` (m, d).

    It comes from the curvature of logistic loss, with points at offsets `off` (m, k, d). docs/theory/newton.md
    """
    twisted, pull = off / 2 - off[:, :1], curvature * middle
    whole = np.maximum(total, curvature.sum(axis=1))
    score = np.sqrt((pull * middle).sum(axis=1) / whole) / 2
    noise = (told * curvature).sum(axis=1)
    square, product = (((part * off).mean(axis=1) * curvature).sum(axis=1) for part in (off, twisted))
    share = np.tanh(score) / np.maximum(score, 1e-300) / (2 * whole + square + noise)
    across = (twisted * (off @ pull[:, :, None]) + off * (twisted @ pull[:, :, None])).mean(axis=1) - told * pull
    return np.asarray(share[:, None] * ((product - noise / 2)[:, None] * middle + across))
