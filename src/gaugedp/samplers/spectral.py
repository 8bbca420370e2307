"""The restricted Gaussian oracle of a squared Schatten norm on a Schatten ball: exact, from a tangent."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials
from gaugedp.samplers.proximal import Ball, Envelope

_ROUNDS = 8  # of Newton's method towards a proximal point: tangents at any point are exact
_TINY = 1e-200
_BLOCK, _CELLS = 8, 16384  # proposals at a time, and entries


class SpectralBall(Ball, Protocol):
    """The ball of a Schatten norm."""

    @property
    def p(self) -> float:
        """p."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(m, n)."""


@dataclass(frozen=True, eq=False)
class SpectralOracle:
    """Draws from the density ∝ e^{−(c/2)·‖X‖_q² − ‖X − Y‖²/(2η)} on {‖X‖_p ≤ R}, 1 < q ≤ 2, in Schatten norms.

    c is `weight`. The first part is `convexity`-strongly convex in the Frobenius norm, so a Gaussian lies over the
    density, with its tangent near the proximal point of Y: docs/theory/gibbs.md.
    """

    weight: float
    exponent: float
    convexity: float
    ball: SpectralBall

    def around(self, places: np.ndarray, step: float) -> "SpectralLaw":
        """Return the laws for the rows Y (k, m·n) and η = `step`."""
        left, values, right = np.linalg.svd(places.reshape(-1, *self.ball.shape), full_matrices=False)
        sizes = self._proximal(values, step)
        lengths = np.linalg.norm(sizes, self.ball.p, axis=1)
        is_outside = lengths > self.ball.radius
        sizes *= np.minimum(1, self.ball.radius / np.maximum(lengths, _TINY))[:, None]
        aside = self.slope(sizes) + (sizes - values) / step
        points, slopes = (((left * part[:, None, :]) @ right).reshape(places.shape) for part in (sizes, aside))
        walls = np.zeros_like(points)
        if is_outside.any():
            normals = self.ball.normal(points[is_outside])
            walls[is_outside] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        precision = 1 / step + self.convexity
        outward = -(slopes * walls).sum(axis=1)
        pushes = np.where(outward > math.sqrt(precision), outward, 0.0)
        walls[pushes == 0] = 0.0
        heights = self.value(sizes) + ((sizes - values) ** 2).sum(axis=1) / (2 * step)
        envelope = Envelope(precision, self.ball.bend, points, slopes, heights, walls, pushes)
        return SpectralLaw(self, places, step, envelope)

    def value(self, values: np.ndarray) -> np.ndarray:
        """Return r by the singular values (k, N)."""
        return self.weight / 2 * np.linalg.norm(values, self.exponent, axis=1) ** 2

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Return the singular values of ∇r."""
        q = self.exponent
        lengths = np.maximum(np.linalg.norm(values, q, axis=1, keepdims=True), _TINY)
        return self.weight * lengths * (values / lengths) ** (q - 1)

    def _proximal(self, values: np.ndarray, step: float) -> np.ndarray:
        """Return s near the solution of s + ηc·‖s‖_q^{2−q}·s^{q−1} = values."""
        q, sizes = self.exponent, np.maximum(values / (1 + step * self.weight), _TINY)
        for _ in range(_ROUNDS if q < 2 else 0):
            rate = step * self.weight * np.linalg.norm(sizes, q, axis=1, keepdims=True) ** (2 - q)
            powers = rate * sizes ** (q - 1)
            sizes = np.maximum((values + (q - 2) * powers) / (1 + (q - 1) * powers / sizes), sizes / 8)
        return np.maximum(sizes, _TINY)


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """The laws of an oracle, and a Gaussian over each of them."""

    oracle: SpectralOracle
    places: np.ndarray
    step: float
    envelope: Envelope

    @property
    def centre(self) -> np.ndarray:
        """The modes, nearly."""
        return self.envelope.points

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw of each of these rows' laws, shape (len(rows), m·n)."""
        draws, missing = np.empty((len(rows), self.places.shape[1])), np.arange(len(rows))
        while len(missing):
            block = max(1, min(_BLOCK, _CELLS // (len(missing) * self.places.shape[1])))
            which = np.repeat(rows[missing], block)
            points, logs = self.envelope.of(which).propose(rng)
            accepted = exponentials(len(which), rng) >= self._exponents(points, which) - logs
            accepted = accepted.reshape(-1, block)
            first, found = accepted.argmax(axis=1), accepted.any(axis=1)
            draws[missing[found]] = points.reshape(len(missing), block, -1)[found, first[found]]
            missing = missing[~found]
        return draws

    def _exponents(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return −log of the density at the points, ∞ outside the ball."""
        ball = self.oracle.ball
        values = np.linalg.svd(points.reshape(-1, *ball.shape), compute_uv=False)
        far = ((points - self.places[rows]) ** 2).sum(axis=1) / (2 * self.step)
        is_inside = np.linalg.norm(values, ball.p, axis=1) <= ball.radius
        return np.where(is_inside, self.oracle.value(values) + far, np.inf)
