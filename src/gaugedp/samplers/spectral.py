"""Exact restricted Gaussian oracle of a squared Schatten norm."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, cast

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals, uniforms
from gaugedp.samplers.proximal import Ball
from gaugedp.samplers.separable import ABOVE_ZERO


class SpectralBall(Ball, Protocol):
    """Ball of a Schatten norm."""

    @property
    def p(self) -> float:
        """The exponent p."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (m, n)."""


@dataclass(frozen=True, eq=False)
class SpectralOracle:
    """Sampler of a Gaussian times e^{−(c/2)·‖X‖_q²} on a Schatten ball.

    The density is ∝ e^{−(c/2)·‖X‖_q² − ‖X − Y‖²/(2η)} on {‖X‖_p ≤ R}, 1 < q ≤ 2, c = `weight`, in Schatten norms. The
    first part is `convexity`-strongly convex in the Frobenius norm, so a Gaussian lies over the density, with its
    tangent near the proximal point of Y, on a half-space that contains the ball: docs/theory/gibbs.md.
    """

    weight: float
    exponent: float
    convexity: float
    ball: SpectralBall

    def around(self, places: np.ndarray, step: float) -> "SpectralLaw":
        """Return the distributions for the rows Y (k, m·n)."""
        left, values, right = np.linalg.svd(places.reshape(-1, *self.ball.shape), full_matrices=False)
        sizes = self._proximal(values, step)
        lengths = np.linalg.norm(sizes, self.ball.p, axis=1)
        sizes *= np.minimum(1, self.ball.radius / np.maximum(lengths, ABOVE_ZERO))[:, None]
        normals = self._normal(sizes)
        widths = np.sqrt((normals**2).sum(axis=1))
        rooms = np.maximum(self.ball.radius - lengths, 0) / widths
        normals /= widths[:, None]
        precision = 1 / step + self.convexity
        slopes = self.slope(sizes) + (sizes - values) / step
        cuts = -((slopes * normals).sum(axis=1) / precision + rooms) * math.sqrt(precision)
        heights = self.value(sizes) + ((sizes - values) ** 2).sum(axis=1) / (2 * step)
        heights -= (slopes**2).sum(axis=1) / (2 * precision)
        half = HalfSpaceNormals(precision, sizes - slopes / precision, normals, cuts, heights, (left, sizes, right))
        return SpectralLaw(self, places, values, step, half)

    def value(self, values: np.ndarray) -> np.ndarray:
        """Return r at singular values (k, N)."""
        return self.weight / 2 * np.linalg.norm(values, self.exponent, axis=1) ** 2

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Return the singular values of ∇r."""
        q = self.exponent
        lengths = np.maximum(np.linalg.norm(values, q, axis=1, keepdims=True), ABOVE_ZERO)
        return self.weight * lengths * (values / lengths) ** (q - 1)

    def _normal(self, sizes: np.ndarray) -> np.ndarray:
        """Return the singular values of a subgradient of ‖·‖_p."""
        if self.ball.p == 1:
            return np.ones_like(sizes)
        if math.isinf(self.ball.p):
            return (sizes.argmax(axis=1)[:, None] == np.arange(sizes.shape[1])).astype(float)
        largest = sizes.max(axis=1, keepdims=True)
        powers = (sizes / largest) ** (self.ball.p - 1)
        return powers / np.linalg.norm(sizes / largest, self.ball.p, axis=1, keepdims=True) ** (self.ball.p - 1)

    def _proximal(self, values: np.ndarray, step: float) -> np.ndarray:
        """Return s near the solution of s + ηc·‖s‖_q^{2−q}·s^{q−1} = values."""
        q, sizes = self.exponent, np.maximum(values / (1 + step * self.weight), ABOVE_ZERO)
        for _ in range(4 if q < 2 else 0):  # Newton's steps towards a proximal point: tangents at any point are exact
            powers = sizes**q
            powers *= step * self.weight * powers.sum(axis=1, keepdims=True) ** (2 / q - 1) / sizes
            sizes = np.maximum((values + (q - 2) * powers) / (1 + (q - 1) * powers / sizes), sizes / 8)
        return np.maximum(sizes, ABOVE_ZERO)


@dataclass(frozen=True, eq=False)
class HalfSpaceNormals:
    """Normals of precision A, truncated to half-spaces.

    These are ⟨x − mean, `walls`⟩·√A ≤ −`cuts` (k,), and `means` are (k, m·n). The negative log of the k-th envelope is
    `heights`[k] + A·‖x − mean‖²/2. `bases` are U, s and Vᵀ of the centres, also for means and walls.
    """

    precision: float
    mean_values: np.ndarray
    wall_values: np.ndarray
    cuts: np.ndarray
    heights: np.ndarray
    bases: tuple[np.ndarray, np.ndarray, np.ndarray]

    @cached_property
    def means(self) -> np.ndarray:
        """The means."""
        return self.turned(self.mean_values)

    @cached_property
    def walls(self) -> np.ndarray:
        """The unit normals of the half-spaces."""
        return self.turned(self.wall_values)

    def turned(self, values: np.ndarray) -> np.ndarray:
        """Return the rows (k, m·n) with these singular values."""
        return ((self.bases[0] * values[:, None, :]) @ self.bases[2]).reshape(len(values), -1)

    def propose(self, rows: np.ndarray, depths: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return one proposal per row, and the envelope's negative log."""
        walls = self.walls[rows]
        noise = normals(walls.size, rng).reshape(walls.shape)
        noise -= ((noise * walls).sum(axis=1) + depths)[:, None] * walls
        return self.means[rows] + noise / math.sqrt(self.precision), self.heights[rows] + (noise**2).sum(axis=1) / 2

    def depths(self, rows: np.ndarray, waits: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return normal draws of at least `cuts`."""
        cuts = self.cuts[rows]
        depths, far = -ndtri_exp(log_ndtr(-cuts) - waits), np.flatnonzero(cuts > 5.0)  # deviations
        while len(far):  # Marsaglia 1964: the inverse has too few digits there
            tried = np.sqrt(cuts[far] ** 2 + 2 * exponentials(len(far), rng))
            is_taken = uniforms(len(far), rng) * tried <= cuts[far]
            depths[far[is_taken]] = tried[is_taken]
            far = far[~is_taken]
        return depths


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """Distributions of an oracle under Gaussians on half-spaces; `values` (k, N) are singular values of the places."""

    oracle: SpectralOracle
    places: np.ndarray
    values: np.ndarray
    step: float
    half: HalfSpaceNormals

    @property
    def centre(self) -> np.ndarray:
        """The approximate modes."""
        return self.half.turned(self.half.bases[1])

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw for each of `rows`."""
        draws, missing = np.empty((len(rows), self.places.shape[1])), np.arange(len(rows))
        while len(missing):
            # at most 16 proposals of a chain, and 16384 entries of all
            block = max(1, min(16, 16384 // (len(missing) * self.places.shape[1])))
            points, accepted = self._proposals(np.repeat(rows[missing], block), rng)
            by_row = accepted.reshape(-1, block)
            first, has_draw = by_row.argmax(axis=1), by_row.any(axis=1)
            draws[missing[has_draw]] = points.reshape(len(missing), block, -1)[has_draw, first[has_draw]]
            missing = missing[~has_draw]
        return draws

    def _proposals(self, rows: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        waits, others = exponentials(2 * len(rows), rng).reshape(2, -1)
        depths, ball = self.half.depths(rows, others, rng), self.oracle.ball
        compiled = _compiled() if ball.p == 1 and ball.shape[0] == ball.shape[1] else None
        if compiled is None:
            points, logs = self.half.propose(rows, depths, rng)
            matrices, places = (part.reshape(-1, *ball.shape) for part in (points, self.places[rows]))
            return points, waits >= self._exponents(matrices, matrices - places) - logs
        near, matrices, logs = compiled(self, rows, depths, waits, rng)
        is_kept, points, accepted = (
            np.isinf(logs),
            np.zeros((len(rows), self.places.shape[1])),
            np.zeros(len(rows), bool),
        )
        if not is_kept.all():
            aside = matrices - self.values[rows[near]][:, None] * np.eye(matrices.shape[1])
            is_kept |= waits[near] >= self._exponents(matrices, aside) - logs
        accepted_at = np.flatnonzero(is_kept)
        left, _, right = (part[rows[near[accepted_at]]] for part in self.half.bases)
        accepted[near[accepted_at]] = True
        points[near[accepted_at]] = (left @ matrices[accepted_at] @ right).reshape(len(accepted_at), points.shape[1])
        return points, accepted

    def _exponents(self, matrices: np.ndarray, aside: np.ndarray) -> np.ndarray:
        """Return −log of the density, ∞ outside the ball."""
        ball, far = self.oracle.ball, (aside**2).sum(axis=(1, 2)) / (2 * self.step)
        values = np.linalg.svd(matrices, compute_uv=False)
        is_inside = np.linalg.norm(values, ball.p, axis=1) <= ball.radius
        return np.where(is_inside, self.oracle.value(values) + far, np.inf)


@cache
def _compiled() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
    if importlib.util.find_spec("numba") is None:
        return None
    compiled = importlib.import_module("gaugedp.samplers.spectral_compiled")
    return cast(Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]], compiled.proposals)
