"""Exact restricted Gaussian oracle of a squared norm on an ℓ_p ball."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import expit, log_ndtr, ndtri_exp

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, uniforms
from gaugedp.samplers.proximal import Ball

ABOVE_ZERO = 1e-200


class PowerBall(Ball, Protocol):
    """Ball of an ℓ_p norm."""

    @property
    def p(self) -> float:
        """The exponent p."""


@dataclass(frozen=True, eq=False)
class SeparableOracle:
    """Sampler of a Gaussian times e^{−(c/2)·‖x‖_q²} on an ℓ_p ball.

    The density is ∝ e^{−(c/2)·‖x‖_q² − ‖x − y‖₂²/(2η)} on {‖x‖_p ≤ R}, c = `weight`, 1 < q ≤ 2, p ≥ 1. Three lower
    bounds, each tight near the draws, make it a product over coordinates (docs/theory/gibbs.md): u^{2/q} lies above its
    tangent in u = Σ|x_i|^q; on the ball θ·(R^p − Σ|x_i|^p) ≥ 0 for θ ≥ 0; and |x|^q and |x|^p lie above their tangents
    in |x|. So coordinates are normal on half-lines, and the slack of the bounds is rejected, the last one for each
    coordinate separately. A point on an axis costs no more.
    """

    weight: float
    exponent: float
    ball: PowerBall

    def around(self, places: np.ndarray, step: float) -> "Tilted":
        """Return the product distribution for the rows y (k, d)."""
        if self.exponent == 2:
            shrunk = 1 / (1 + step * self.weight)
            places, step = places * shrunk, step * shrunk
        return Tilted.around(self, places, step)

    @property
    def limit(self) -> float:
        """The largest Σ|x_i|^p on the ball."""
        return 0.0 if math.isinf(self.ball.p) else self.ball.radius**self.ball.p

    def wall(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return |x|^p and two derivatives in |x|; 0 for p = ∞, where the ball bounds coordinates."""
        p = self.ball.p
        if math.isinf(p):
            return np.zeros_like(sizes), np.zeros_like(sizes), np.zeros_like(sizes)
        floor = np.maximum(sizes, ABOVE_ZERO)
        power = floor**p
        return power, p * power / floor, p * (p - 1) * power / floor**2

    def growth(self, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (c/2)·u^{2/q} and its derivative in u; 0 for q = 2, where the Gaussian includes it."""
        if self.exponent == 2:
            return np.zeros_like(powers), np.zeros_like(powers)
        value = self.weight / 2 * powers ** (2 / self.exponent)
        return value, 2 / self.exponent * value / np.maximum(powers, ABOVE_ZERO)


@dataclass(frozen=True, eq=False)
class Tilted:
    """Product distribution with tangents at `sizes`.

    Coordinates are ∝ e^{−a|x|^q − θ|x|^p − (x − y)²/(2η)}. `sizes` m (k, d) are the points of tangency of both powers;
    `power` u₀, `slope` a and `tilt` θ ≥ 0 (k, 1).
    """

    oracle: SeparableOracle
    places: np.ndarray
    step: float
    sizes: np.ndarray
    power: np.ndarray
    slope: np.ndarray
    tilt: np.ndarray

    @classmethod
    def around(cls, oracle: SeparableOracle, places: np.ndarray, step: float) -> "Tilted":
        """Return the distribution with tangents near its means."""
        q, radius = oracle.exponent, oracle.ball.radius
        sizes = np.minimum(np.abs(places) + math.sqrt(step), radius)
        sizes *= np.minimum(1, radius / oracle.ball.norm(sizes))[:, None]
        power, tilt = (sizes**q).sum(axis=1, keepdims=True), np.zeros((len(places), 1))
        for _ in range(60):  # of the search for tangents: all are exact, good ones need few trials
            law, is_near = cls(oracle, places, step, sizes, power, oracle.growth(power)[1], tilt).moved()
            sizes, power, tilt = law.sizes, law.power, law.tilt
            if is_near.all():
                break
        return law

    def moved(self) -> tuple["Tilted", np.ndarray]:
        """Return the distribution after a Newton step towards tangents at its means, and convergence by row."""
        oracle, sizes, tilt, q = self.oracle, self.sizes, self.tilt, self.oracle.exponent
        _, means, variances = self.folded
        height, slope, bend = oracle.wall(sizes)
        firmness = 1 + variances * (self.slope * q * (q - 1) * sizes ** (q - 2) + tilt * bend)
        variances = variances / firmness
        moves = (means - sizes) / firmness
        spread = np.maximum(_total(slope**2 * variances), ABOVE_ZERO)
        excess = _total(height + bend * variances / 2 + slope * moves) - oracle.limit
        change = np.maximum(-tilt, excess / spread)
        moves -= slope * variances * change
        powers = _total(sizes**q * (1 + q * (q - 1) / 2 * np.minimum(1, variances / sizes**2)))
        next_sizes = np.minimum(np.clip(sizes + moves, sizes / 4, 4 * sizes), oracle.ball.radius)
        is_near = (np.abs(change) * np.sqrt(spread) <= 1) & (np.abs(next_sizes / sizes - 1) <= 1 / 2).all(
            axis=1, keepdims=True
        )
        is_near &= (powers - self.power) ** 2 <= _total((q * sizes ** (q - 1)) ** 2 * variances)
        power = np.sqrt(np.maximum(self.power * powers, ABOVE_ZERO))
        law = Tilted(oracle, self.places, self.step, next_sizes, power, oracle.growth(power)[1], tilt + change)
        return law, is_near

    @cached_property
    def rates(self) -> np.ndarray:
        """t = a·q·m^{q−1} + θ·p·m^{p−1}, the slopes in |x| of the coordinates' bounds."""
        q = self.oracle.exponent
        return self.slope * q * self.sizes ** (q - 1) + self.tilt * self.oracle.wall(self.sizes)[1]

    @cached_property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """The means of the normals for x > 0, and for −x where x < 0, before truncation at 0."""
        drift = self.step * self.rates
        return self.places - drift, -self.places - drift

    @cached_property
    def sides(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means and tails of both half-lines, shapes (2, k·d), and P(x > 0), shape (k·d,)."""
        deviation, radius = math.sqrt(self.step), self.oracle.ball.radius
        means = np.stack(self.halves).reshape(2, -1)
        nears = np.minimum(means, radius - means) / deviation
        tops, bottoms = log_ndtr(nears), log_ndtr(nears - radius / deviation)
        logs = tops + np.log1p(-np.exp(bottoms - tops))
        return means, np.stack([tops, bottoms]), self._positive(logs[0], logs[1])

    def _positive(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return P(x > 0) from the half-lines' log probabilities."""
        return expit(above - below - 2 * (self.rates * self.places).reshape(above.shape))

    @cached_property
    def folded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The means of x and |x|, and the variance of |x|, without the ball and the curvature of |x|^q."""
        deviation = math.sqrt(self.step)
        means = np.stack(self.halves)
        scaled = means / deviation
        logs = log_ndtr(scaled)
        hazards = np.exp(-scaled * scaled / 2 - logs - math.log(2 * math.pi) / 2)
        firsts = deviation * np.maximum(scaled + hazards, 0)
        chance = self._positive(logs[0], logs[1])
        above, below = chance * firsts[0], (1 - chance) * firsts[1]
        squares = above * means[0] + below * means[1] + self.step
        return above - below, above + below, np.maximum(squares - (above + below) ** 2, 0)

    @property
    def centre(self) -> np.ndarray:
        """The approximate mean of x."""
        return self.folded[0]

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw of the oracle for each of `rows`."""
        draws, missing = np.empty((len(rows), self.places.shape[1])), np.arange(len(rows))
        while len(missing):
            # at most 16 proposals, and 4096 coordinates
            block = max(1, min(16, 4096 // (len(missing) * self.places.shape[1])))
            points = self._coordinates(rows[missing], block, rng)
            waits = exponentials(block * len(missing), rng).reshape(block, -1)
            accepted = waits >= self._excess(points, rows[missing])
            first, has_draw = accepted.argmax(axis=0), accepted.any(axis=0)
            draws[missing[has_draw]] = points[first[has_draw], np.flatnonzero(has_draw)]
            missing = missing[~has_draw]
        return draws

    def _excess(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return −log of the density relative to the coordinates' bound, ∞ outside the ball, shape (b, k)."""
        oracle, sizes = self.oracle, np.abs(points)
        lengths = oracle.ball.norm(points.reshape(-1, points.shape[2])).reshape(points.shape[:2])
        power, slope, tilt = self.power[rows, 0], self.slope[rows, 0], self.tilt[rows, 0]
        powers = (sizes**oracle.exponent).sum(axis=2)
        bend = oracle.growth(powers)[0] - oracle.growth(power)[0] - slope * (powers - power)
        wall = tilt * (oracle.limit - oracle.wall(sizes)[0].sum(axis=2))
        return np.where(lengths <= oracle.ball.radius, bend + wall, np.inf)

    def _coordinates(self, rows: np.ndarray, block: int, rng: Entropy) -> np.ndarray:
        """Return draws (block, k, d) of the product distribution within [−R, R]."""
        d = self.places.shape[1]
        cells = np.tile((rows[:, None] * d + np.arange(d)).ravel(), block)
        points, missing = np.empty(len(cells)), np.arange(len(cells))
        while len(missing):
            here = cells[missing]
            proposals = self._line(here, rng)
            is_accepted = exponentials(len(missing), rng) >= self._above_tangents(np.abs(proposals), here)
            points[missing[is_accepted]] = proposals[is_accepted]
            missing = missing[~is_accepted]
        return points.reshape(block, len(rows), d)

    def _above_tangents(self, sizes: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return a·|x|^q + θ·|x|^p less its tangent at m."""
        q, oracle, rows = self.oracle.exponent, self.oracle, cells // self.places.shape[1]
        base = self.sizes.ravel()[cells]
        gaps = self.slope[rows, 0] * (sizes**q - base**q - q * base ** (q - 1) * (sizes - base))
        height, slope, _ = oracle.wall(base)
        return gaps + self.tilt[rows, 0] * (oracle.wall(sizes)[0] - height - slope * (sizes - base))

    def _line(self, cells: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return draws of e^{−t|x| − (x − y)²/(2η)} on [−R, R]."""
        means, (tops, bottoms), chance = self.sides
        side = (uniforms(len(cells), rng) >= chance[cells]).astype(np.intp)
        mean = means[side, cells]
        radius, deviation = self.oracle.ball.radius, math.sqrt(self.step)
        flipped = mean > radius / 2  # from the wall at R instead: both ends are alike, and the tail is shorter
        near = np.where(flipped, radius - mean, mean)
        waits = exponentials(len(cells), rng)
        tails = np.logaddexp(tops[side, cells] - waits, bottoms[side, cells] + np.log(-np.expm1(-waits)))
        sizes = np.clip(near - deviation * ndtri_exp(tails), 0, radius)
        return np.where(flipped, radius - sizes, sizes) * np.where(side == 0, 1.0, -1.0)


def _total(values: np.ndarray) -> np.ndarray:
    return values.sum(axis=1, keepdims=True)
