"""Exact restricted Gaussian oracle of the negative entropy."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import wrightomega, xlogy

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, uniforms

_ABOVE_ZERO = 1e-250
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(24)
Exponents = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ThreeTangents:
    """Sampler of log-concave distributions on [`low`, `high`], by tangents.

    The densities j are ∝ e^{−h_j(x)}, h_j convex; `value` and `slope` give h_j(x) and its slope. `touches`, shape (3,
    k), are increasing interior points of tangency, which affect only the number of trials: a convex function lies above
    its tangents, so a draw from e^{−largest tangent}, accepted with probability e^{−(h − largest tangent)}, is exact.
    """

    value: Exponents
    slope: Exponents
    touches: np.ndarray
    low: float
    high: float

    @cached_property
    def _lines(self) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts and slopes of the tangents, shape (3, k)."""
        every = np.arange(self.touches.shape[1])
        heights, slopes = (np.stack([each(x, every) for x in self.touches]) for each in (self.value, self.slope))
        return heights - slopes * self.touches, slopes

    @cached_property
    def _pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        drops, slopes = self._lines
        bends = np.diff(slopes, axis=0)
        meets = -np.diff(drops, axis=0) / np.where(bends > 0, bends, 1.0)
        cuts = np.clip(np.where(bends > 0, meets, self.touches[:-1]), self.touches[:-1], self.touches[1:])
        ends = np.concatenate([np.full_like(cuts[:1], self.low), cuts, np.full_like(cuts[:1], self.high)])
        return np.where(slopes > 0, ends[:-1], ends[1:]), np.diff(ends, axis=0), np.abs(slopes)

    @cached_property
    def _chances(self) -> np.ndarray:
        (drops, slopes), (anchors, lengths, rates) = self._lines, self._pieces
        spans = rates * lengths
        sizes = np.where(spans > 0, -np.expm1(-spans) / np.where(rates > 0, rates, 1.0), lengths)
        logs = np.log(np.maximum(sizes, np.finfo(float).tiny)) - drops - slopes * anchors
        totals = np.cumsum(np.exp(logs - logs.max(axis=0)), axis=0)
        return totals / totals[-1]

    def draw(self, laws: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw from each of `laws`, shape (len(laws),)."""
        points, missing = np.empty(len(laws)), np.arange(len(laws))
        while len(missing):
            here = laws[missing]
            proposals, tangents = self._propose(here, rng)
            is_accepted = exponentials(len(here), rng) >= self.value(proposals, here) - tangents
            points[missing[is_accepted]] = proposals[is_accepted]
            missing = missing[~is_accepted]
        return points

    def _propose(self, laws: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        piece = (uniforms(len(laws), rng) >= self._chances[:2, laws]).sum(axis=0)
        anchors, lengths, rates = (part[piece, laws] for part in self._pieces)
        spans = np.maximum(rates * lengths, np.finfo(float).tiny)
        shares = np.where(
            spans > 1,
            np.fmod(exponentials(len(laws), rng), spans),  # a truncated exponential variable
            -np.log1p(uniforms(len(laws), rng) * np.expm1(-np.minimum(spans, 1.0))),
        )
        drops, slopes = (part[piece, laws] for part in self._lines)
        steps = shares / spans * lengths
        points = np.clip(anchors + np.where(slopes > 0, steps, -steps), self.low, self.high)
        return points, drops + slopes * points


@dataclass(frozen=True, eq=False)
class EntropicOracle:
    """Sampler of a Gaussian times an entropy factor on the simplex.

    The density is ∝ e^{−λ·Σ x_i·log x_i − ‖x − y‖₂²/(2η)} on {x ≥ 0, Σ x_i = 1}, λ = `strength`. There θ·(Σ x_i − 1) =
    0, so for any tilt θ the distribution is that of independent coordinates of density ∝ e^{−λ·x·log x − θx − (x −
    y_i)²/(2η)} on [0, 1], given that their sum is 1: all coordinates but the widest, j, are drawn, and accepted with
    probability f_j(1 − their sum)/max f_j (docs/theory/gibbs.md).
    """

    strength: float

    def around(self, places: np.ndarray, step: float) -> "Entropic":
        """Return the distributions for the rows y, with tilts whose means sum to 1."""
        law = Entropic(self.strength, places, step, _first_tilt(places, step, self.strength))
        for _ in range(30):
            means, variances = law.moments
            excess, spread = means.sum(axis=1, keepdims=True) - 1, variances.sum(axis=1, keepdims=True)
            if (excess**2 <= spread / 16).all():
                break
            bound = 4 * (np.abs(law.tilt) + 1 / step + self.strength)
            law = Entropic(self.strength, places, step, law.tilt + np.clip(excess / spread, -bound, bound))
        return law


@dataclass(frozen=True, eq=False)
class Entropic:
    """Product distributions tilted by θ = `tilt` (k, 1)."""

    strength: float
    places: np.ndarray
    step: float
    tilt: np.ndarray

    def value(self, points: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the exponents relative to the modes."""
        pull, mode = self._pulls[cells], self._modes[cells]
        apart = points - mode
        return self.strength * (xlogy(points, points / mode) + mode - points) + apart * (
            self.strength * (np.log(mode) + 1) + pull + (points + mode) / (2 * self.step)
        )

    def slope(self, points: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the slopes of the exponents, above 0."""
        return self.strength * (np.log(points) + 1) + self._pulls[cells] + points / self.step

    @cached_property
    def _pulls(self) -> np.ndarray:
        return (self.tilt - self.places / self.step).ravel()

    @cached_property
    def _modes(self) -> np.ndarray:
        """The solutions of λ·(log x + 1) + x/η = −pull in (0, 1]."""
        scale = self.strength * self.step
        roots = scale * wrightomega(-self._pulls / self.strength - 1 - math.log(scale))
        return np.clip(roots, _ABOVE_ZERO, 1.0)

    def _where(self, depth: float) -> tuple[np.ndarray, np.ndarray]:
        """Return points around the modes with exponents `depth` above the minimum."""
        every, modes = np.arange(len(self._modes)), self._modes
        width = math.sqrt(depth) / np.sqrt(self.strength / modes + 1 / self.step)
        left, right = modes * np.maximum(modes / (modes + width), 1e-6), np.minimum(modes + width, 1.0)
        for _ in range(6):
            rising = np.maximum(self.slope(right, every), _ABOVE_ZERO)
            right = np.clip(right + (depth - self.value(right, every)) / rising, modes, 1.0)
            falling = np.minimum(self.slope(left, every), -_ABOVE_ZERO)
            left = np.clip(left + (depth - self.value(left, every)) / falling, modes * 1e-6, modes)
        return left, right

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """The approximate means and variances of the coordinates."""
        left, right = self._where(12.0)  # down to e^−12 of the highest density
        middles, halves = (left + right) / 2, (right - left) / 2 + _ABOVE_ZERO
        nodes = middles + halves * _POINTS[:, None]
        heights = np.exp(-self.value(nodes, np.arange(len(left)))) * _WEIGHTS[:, None]
        masses = heights.sum(axis=0)
        means = (heights * nodes).sum(axis=0) / masses
        variances = (heights * (nodes - means) ** 2).sum(axis=0) / masses + _ABOVE_ZERO
        return means.reshape(self.places.shape), variances.reshape(self.places.shape)

    @property
    def centre(self) -> np.ndarray:
        """The approximate means, on the simplex."""
        means = self.moments[0]
        return means / means.sum(axis=1, keepdims=True)

    @cached_property
    def _lines(self) -> ThreeTangents:
        left, right = self._where(1.0)
        return ThreeTangents(self.value, self.slope, np.stack([left, self._modes, right]), 0.0, 1.0)

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one exact draw for each of `rows`."""
        d = self.places.shape[1]
        draws, missing = np.empty((len(rows), d)), np.arange(len(rows))
        widest = self.moments[1].argmax(axis=1)
        while len(missing):
            block = max(1, min(2 * math.isqrt(d), 2**16 // (len(missing) * d)))  # coordinates per batch
            here = np.repeat(rows[missing], block)
            points, accepted = self._conditioned(here, widest[here], rng)
            accepted = accepted.reshape(-1, block)
            first, is_drawn = accepted.argmax(axis=1), accepted.any(axis=1)
            draws[missing[is_drawn]] = points.reshape(len(missing), block, d)[is_drawn, first[is_drawn]]
            missing = missing[~is_drawn]
        return draws

    def _conditioned(self, rows: np.ndarray, widest: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        d, each = self.places.shape[1], np.arange(len(rows))
        cells = rows[:, None] * d + np.arange(d)
        points = self._lines.draw(cells.ravel(), rng).reshape(cells.shape)
        points[each, widest] = 0.0
        rest = 1 - points.sum(axis=1)
        points[each, widest] = rest
        heights = self.value(np.clip(rest, 0, 1), cells[each, widest])
        least = self.value(self._modes[cells[each, widest]], cells[each, widest])
        return points, (exponentials(len(rows), rng) >= heights - least) & (rest >= 0)


def _first_tilt(places: np.ndarray, step: float, strength: float) -> np.ndarray:
    """Return a tilt (k, 1) with modes that sum to about 1."""
    scale = strength * step
    low = (places.max(axis=1, keepdims=True) - 1) / step - strength  # then the largest mode is 1
    high = low + 1 / step + strength * math.log(places.shape[1] + 1) + 1
    for _ in range(14):  # any tilt is exact
        tilt = (low + high) / 2
        modes = scale * wrightomega((places / step - tilt) / strength - 1 - math.log(scale))
        total = modes.sum(axis=1, keepdims=True)
        low, high = np.where(total > 1, tilt, low), np.where(total > 1, high, tilt)
    return (low + high) / 2
