"""Full-batch methods for low rank: projected descent and Frank–Wolfe."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import NORMS
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, shared, with_noise
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.trace_designs import TraceProblem, TraceScale
from gaugedp.optimization.tuning import TUNED


@dataclass(frozen=True, eq=False)
class FullBatch:
    """Base class of both full-batch methods of trace regression.

    They compute T noisy sums Σ φ′·A, where φ′ is the slope of the loss and A the design of a row.

    Notes
    -----
    Theorem. A row adds a matrix of Frobenius norm at most 1 to a sum, so a sum changes by at most 2 if a row is
    replaced, 1 if it is added or removed. Gaussian noise in coordinates that preserve the Frobenius norm (symmetric
    matrices: the Gaussian orthogonal ensemble) at μ/√T per step makes all T steps μ-GDP; noise of the ball's shape at
    ε/T per step makes them ε-DP. docs/theory/nuclear_ball.md
    """

    region: Region
    n_steps: int
    noise: AdditiveNoise
    guarantee: Guarantee

    @property
    def exactness(self) -> str:
        """Exactness of the noise: "exact" or "idealized"."""
        return self.noise.exactness

    @abstractmethod
    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X. Charge the budget first.

        Sums are divided by `n_rows`, which is public or released.
        """

    def _noisy(self, exact: np.ndarray, noise: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return self.region.matrix_of(with_noise(self.region.coordinates(exact), self.noise, noise))


@dataclass(frozen=True, eq=False)
class MatrixDescent(FullBatch):
    """Trace regression by noisy projected gradient descent.

    Use it for matrices that are too large for `MatrixMoments`. A step is X ← Π(X − length·(Σ φ′·A + noise)/n), with Π
    the Euclidean projection of the spectrum. The length of the path is chosen from public numbers only: it balances the
    bias of descent, 1/(2·path), with the noise.
    """

    length: float

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: TraceScale) -> "MatrixDescent":
        """Return the method for GaussianDP or PureDP.

        With free = n/(the largest eigenvalue of the noise of one step with the whole guarantee), noise moves X by
        path·T^{p − ½}/free, p = ½ for Gaussian and 1 for pure noise: path² = 4·free·T^{½ − p}, and steps ≤ 1/β.
        """
        power, free = _power(guarantee), scale.n_rows / _edge(guarantee, scale)
        n_steps = math.ceil((2 * scale.smoothness * math.sqrt(free)) ** (2 / (1.5 + power)))
        n_steps = max(1, min(n_steps, TUNED.matrix_steps))
        path = 2 * math.sqrt(free / n_steps ** (power - 0.5))
        length = min(path / n_steps, 1 / scale.smoothness)
        return cls(scale.region, n_steps, _noise(guarantee, scale, n_steps), guarantee, length)

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return the mean of the later half of the steps."""
        point, total, n_averaged = np.zeros(self.region.shape), np.zeros(self.region.shape), 0
        for t in range(self.n_steps):
            noisy = self._noisy(problem.gradient(point), self.noise.prepare(rng))
            point = self.region.projection(point - self.length / n_rows * noisy)
            if 2 * t >= self.n_steps - 1:
                total, n_averaged = total + point, n_averaged + 1
        return total / n_averaged


@dataclass(frozen=True, eq=False)
class MatrixFrankWolfe(FullBatch):
    """Trace regression by Frank–Wolfe with noisy gradients.

    A step is X ← X + 2/(t + 2)·(V − X), where V is the extreme point of the region that the noisy gradient selects.
    """

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: TraceScale) -> "MatrixFrankWolfe":
        """Return the method for GaussianDP or PureDP.

        The number of steps T minimises β·swing²/(2T + 4) + 2·T^p/free: a quarter of Jaggi's bound (2013, theorem 1),
        which is attained on few problems, plus the effect of noise (p and free as for descent).
        """
        power, free = _power(guarantee), scale.n_rows / _edge(guarantee, scale)
        counts = np.arange(1, TUNED.matrix_steps + 1)
        bounds = scale.smoothness * scale.prediction_range**2 / (2 * counts + 4) + 2 * counts**power / free
        n_steps = int(counts[bounds.argmin()])
        return cls(scale.region, n_steps, _noise(guarantee, scale, n_steps), guarantee)

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return the last point."""
        del n_rows  # the direction does not depend on it
        point = np.zeros(self.region.shape)
        for t in range(self.n_steps):
            vertex = self.region.vertex(self._noisy(problem.gradient(point), self.noise.prepare(rng)))
            point = point + 2 / (t + 2) * (vertex.matrix - point)
        return point


def _noise(guarantee: Guarantee, scale: TraceScale, n_steps: int) -> AdditiveNoise:
    return ball_noise(LpBall(scale.region.n_coordinates, 2, scale.factor * (1 + NORMS)), shared(guarantee, 1 / n_steps))


def _power(guarantee: Guarantee) -> float:
    """Return p such that T steps with a shared guarantee have noise ∝ T^p."""
    if isinstance(guarantee, GaussianDP) and guarantee.mu > 0:
        return 0.5
    if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0:
        return 1.0
    raise InvalidRequest(f"{guarantee!r} cannot be divided between steps.", "Use GaussianDP or PureDP above 0.")


def _edge(guarantee: Guarantee, scale: TraceScale) -> float:
    """Return about the largest eigenvalue of one step's noise with the whole guarantee."""
    if isinstance(guarantee, GaussianDP):
        return scale.factor / guarantee.mu * scale.region.edge
    assert isinstance(guarantee, PureDP)
    return scale.factor / guarantee.epsilon_value * math.sqrt(scale.region.n_coordinates) * scale.region.edge
