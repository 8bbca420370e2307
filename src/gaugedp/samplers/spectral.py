"""The restricted Gaussian oracle of a squared Schatten norm on a Schatten ball: exact, from a tangent."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import exponentials, normals, uniforms
from gaugedp.samplers.proximal import Ball

_ROUNDS = 8  # of Newton's method towards a proximal point: tangents at any point are exact
_TINY = 1e-200
_FAR_CUT = 5.0  # deviations
_BLOCK, _CELLS, _PIECE = 16, 16384, 2  # proposals at a time and entries, and proposals of a single chain


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
    density, with its tangent near the proximal point of Y, on a half-space that holds the ball: docs/theory/gibbs.md.
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
        sizes *= np.minimum(1, self.ball.radius / np.maximum(lengths, _TINY))[:, None]
        normals = self._normal(sizes)
        rooms = np.maximum(self.ball.radius - lengths, 0) / np.linalg.norm(normals, axis=1)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        precision = 1 / step + self.convexity
        slopes = self.slope(sizes) + (sizes - values) / step
        cuts = -((slopes * normals).sum(axis=1) / precision + rooms) * math.sqrt(precision)
        heights = self.value(sizes) + ((sizes - values) ** 2).sum(axis=1) / (2 * step)
        heights -= (slopes**2).sum(axis=1) / (2 * precision)
        parts = (sizes, sizes - slopes / precision, normals)
        centre, means, walls = (((left * part[:, None, :]) @ right).reshape(places.shape) for part in parts)
        half = HalfGaussian(precision, means, walls, cuts, heights, (left, sizes, right))
        return SpectralLaw(self, places, step, centre, half)

    def value(self, values: np.ndarray) -> np.ndarray:
        """Return r by the singular values (k, N)."""
        return self.weight / 2 * np.linalg.norm(values, self.exponent, axis=1) ** 2

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Return the singular values of ∇r."""
        q = self.exponent
        lengths = np.maximum(np.linalg.norm(values, q, axis=1, keepdims=True), _TINY)
        return self.weight * lengths * (values / lengths) ** (q - 1)

    def _normal(self, sizes: np.ndarray) -> np.ndarray:
        """Return the singular values of a subgradient of ‖·‖_p, of dual norm 1, at singular values (k, N)."""
        largest = sizes.max(axis=1, keepdims=True)
        if math.isinf(self.ball.p):
            return (sizes.argmax(axis=1)[:, None] == np.arange(sizes.shape[1])).astype(float)
        powers = (sizes / largest) ** (self.ball.p - 1)
        return powers / np.linalg.norm(sizes / largest, self.ball.p, axis=1, keepdims=True) ** (self.ball.p - 1)

    def _proximal(self, values: np.ndarray, step: float) -> np.ndarray:
        """Return s near the solution of s + ηc·‖s‖_q^{2−q}·s^{q−1} = values."""
        q, sizes = self.exponent, np.maximum(values / (1 + step * self.weight), _TINY)
        for _ in range(_ROUNDS if q < 2 else 0):
            rate = step * self.weight * np.linalg.norm(sizes, q, axis=1, keepdims=True) ** (2 - q)
            powers = rate * sizes ** (q - 1)
            sizes = np.maximum((values + (q - 2) * powers) / (1 + (q - 1) * powers / sizes), sizes / 8)
        return np.maximum(sizes, _TINY)


@dataclass(frozen=True, eq=False)
class HalfGaussian:
    """Normal laws of precision A about `means` (k, m·n), cut off to where ⟨x − mean, `walls`⟩·√A ≤ −`cuts` (k,).

    The negative log of the k-th envelope is `heights`[k] + A·‖x − mean‖²/2. `bases` are U, s and Vᵀ of the centres.
    """

    precision: float
    means: np.ndarray
    walls: np.ndarray
    cuts: np.ndarray
    heights: np.ndarray
    bases: tuple[np.ndarray, np.ndarray, np.ndarray]

    def propose(self, rows: np.ndarray, depths: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return one proposal for each of these rows, and the negative log of the envelope there."""
        noise = normals(len(rows) * self.means.shape[1], rng).reshape(len(rows), -1)
        walls = self.walls[rows]
        noise -= ((noise * walls).sum(axis=1) + depths)[:, None] * walls
        return self.means[rows] + noise / math.sqrt(self.precision), self.heights[rows] + (noise**2).sum(axis=1) / 2

    def depths(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return normal draws that are at least `cuts`, for these rows: by the inverse, or by rejection far out."""
        cuts = self.cuts[rows]
        depths, far = -ndtri_exp(log_ndtr(-cuts) - exponentials(len(rows), rng)), np.flatnonzero(cuts > _FAR_CUT)
        while len(far):  # Marsaglia 1964: the inverse has too few digits there
            tried = np.sqrt(cuts[far] ** 2 + 2 * exponentials(len(far), rng))
            is_taken = uniforms(len(far), rng) * tried <= cuts[far]
            depths[far[is_taken]] = tried[is_taken]
            far = far[~is_taken]
        return depths


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """The laws of an oracle, `centre` nearly their modes, and a Gaussian on a half-space over each of them."""

    oracle: SpectralOracle
    places: np.ndarray
    step: float
    centre: np.ndarray
    half: HalfGaussian

    def draw(self, rows: np.ndarray, rng: Entropy) -> np.ndarray:
        """Return one draw of each of these rows' laws, shape (len(rows), m·n)."""
        draws, missing = np.empty((len(rows), self.places.shape[1])), np.arange(len(rows))
        while len(missing):
            block = max(1, min(_BLOCK, _CELLS // (len(missing) * self.places.shape[1])))
            which = np.repeat(rows[missing], block)
            depths, waits = self.half.depths(which, rng), exponentials(len(which), rng)
            piece = _PIECE if len(missing) == 1 else len(which)
            points, accepted = np.empty((len(which), self.places.shape[1])), np.zeros(len(which), dtype=bool)
            for start in range(0, len(which), piece):
                part = slice(start, start + piece)
                points[part], accepted[part] = self._proposals(which[part], depths[part], waits[part], rng)
                if piece < len(which) and accepted[part].any():
                    break
            by_row = accepted.reshape(-1, block)
            first, has_draw = by_row.argmax(axis=1), by_row.any(axis=1)
            draws[missing[has_draw]] = points.reshape(len(missing), block, -1)[has_draw, first[has_draw]]
            missing = missing[~has_draw]
        return draws

    def _proposals(
        self, rows: np.ndarray, depths: np.ndarray, waits: np.ndarray, rng: Entropy
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one proposal a row, and which are kept; singular values only of those that may be in the ball."""
        ball, cells = self.oracle.ball, len(rows) * self.places.shape[1]
        compiled = _compiled() if ball.p == 1 and ball.shape[0] == ball.shape[1] else None
        if compiled is None:
            points, logs = self.half.propose(rows, depths, rng)
            return points, waits >= self._exponents(points, rows) - logs
        words = np.stack([rng.words((cells + 1) // 2) for _ in range(3)])  # as `normals` asks for them
        points, logs, lengths = compiled(self.half, rows, depths, words)
        accepted = lengths <= ball.radius
        if accepted.any():
            accepted[accepted] = waits[accepted] >= self._exponents(points[accepted], rows[accepted]) - logs[accepted]
        return points, accepted

    def _exponents(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return −log of the density at the points, ∞ outside the ball."""
        ball = self.oracle.ball
        values = np.linalg.svd(points.reshape(-1, *ball.shape), compute_uv=False)
        far = ((points - self.places[rows]) ** 2).sum(axis=1) / (2 * self.step)
        is_inside = np.linalg.norm(values, ball.p, axis=1) <= ball.radius
        return np.where(is_inside, self.oracle.value(values) + far, np.inf)


@cache
def _compiled() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
    """Return what makes proposals where numba is installed, else None."""
    if importlib.util.find_spec("numba") is None:
        return None
    compiled = importlib.import_module("gaugedp.samplers.spectral_compiled")
    return cast(Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]], compiled.proposals)
