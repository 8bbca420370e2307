"""Logistic regression of two classes by noisy Newton steps: curvature is released twice, gradients at every step."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee, compose
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.best_weights import NoisyEvidence, NormalMixture
from gaugedp.optimization.lattice import BITS, ball_noise, for_gaussian_releases, released, shared, weight_step
from gaugedp.optimization.least_squares import Metric, Sums, deviation_of, moments_edge
from gaugedp.optimization.row_blocks import summed
from gaugedp.optimization.symmetric import released_square

_WAY = (4, 2, 0.01, 0.03)  # stages on the way: how many, the steps of each, and shares of μ² (ε): curvature, each step
_END = (5, 0.15)  # the last stage: its steps, all but the first of which are averaged, and the share of its curvature
_SCORE = 3.5  # the root mean square of scores ⟨β, x⟩, weighted by p(1 − p), that intervals suppose at most


@dataclass(frozen=True)
class NewtonStage:
    """Some steps by one curvature, which is released where they begin."""

    n_steps: int
    curvature: AdditiveNoise
    gradient: AdditiveNoise

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """Return the released parts, and how often each is released."""
        return [(self.curvature.guarantee, 1), (self.gradient.guarantee, self.n_steps)]


@dataclass(frozen=True)
class NoisyNewton:
    """Estimate w with Σ u·log(1 + exp(−s·⟨w, x⟩)) small, ‖x‖₂ ≤ 1, u in [0, 1], labels s = ±1, ‖w‖₂ ≤ `radius`.

    The curvature Σ u·p(1 − p)·xxᵀ is released where a stage begins, each step's gradient Σ u·x·(p − [s = 1]) where
    the step does, all with noise. A step goes to the point of the ball that is nearest, in the norm of the curvature
    with its eigenvalues raised above noise, to the minimum of the quadratic. Those of the last stage are averaged.

    Theorem. One row moves a curvature by at most √2/4 in the Frobenius norm (1/4 where rows are added or removed) and a
    gradient by at most 2 (1) in ℓ₂; the releases compose to (ε, δ)-DP, μ-GDP with Gaussian noise. docs/theory/newton.md
    """

    n_columns: int
    radius: float
    stages: tuple[NewtonStage, ...]

    @classmethod
    def calibrate(cls, n_columns: int, guarantee: Guarantee, radius: float | None, neighbours: str) -> "NoisyNewton":
        """Return the method for rows of `n_columns` numbers; `radius` None: 20√d."""
        root = math.sqrt(n_columns) * 2.0**-BITS  # how much longer rounding makes a row
        curvature, gradient = (math.sqrt(2.0), 2.0) if neighbours == "replace" else (1.0, 1.0)
        of_curvature = LpBall(n_columns * (n_columns + 1) // 2, 2, curvature * (0.5 + root) ** 2)
        of_gradient, gaussian = LpBall(n_columns, 2, gradient * (1 + root)), for_gaussian_releases(guarantee)

        def stage(n_steps: int, to_curvature: float, to_step: float) -> NewtonStage:
            noises = (
                ball_noise(of_curvature, shared(gaussian, to_curvature)),
                ball_noise(of_gradient, shared(gaussian, to_step)),
            )
            return NewtonStage(n_steps, *noises)

        (n_stages, n_steps, *shares), (n_last, last_share) = _WAY, _END
        spent = n_stages * (shares[0] + n_steps * shares[1]) + last_share
        stages = (*[stage(n_steps, *shares)] * n_stages, stage(n_last, last_share, (1 - spent) / n_last))
        # 20.0: times √d: the radius of a ball that hardly ever binds
        return cls(n_columns, 20.0 * math.sqrt(n_columns) if radius is None else radius, stages)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all releases together."""
        return compose([part for stage in self.stages for part in stage.parts])

    @property
    def exactness(self) -> str:
        """ "exact" or "idealized", as the noise is."""
        return self.stages[0].gradient.exactness

    def describe(self) -> str:
        """Return the steps and the deviation of the noise of the last ones."""
        std, n_steps = deviation_of(self.stages[-1].gradient), sum(stage.n_steps for stage in self.stages)
        return f"{n_steps} Newton steps, noise of deviation {std:.6g} on the last sums of gradients"

    def solve(self, sums: Sums, rng: Entropy, constant: float = 0.0) -> tuple[np.ndarray, NormalMixture]:
        """Return w (d,) and where the best weights are; `sums` are over features in whole steps and (y, u), y 0 or 1.

        The law is that of β in P(s = 1) = 1/(1 + exp(−⟨β, x⟩)), where the last steps come near it: pay first. Where
        the last feature is a constant, its curvature over `constant`² is Σ u·p(1 − p).
        """
        points = [np.zeros(self.n_columns)]
        for stage in self.stages:
            second, faint = self._curvature(sums, points[-1], stage, rng), deviation_of(stage.curvature)
            metric = Metric.of(second, max(moments_edge(stage.curvature, self.n_columns), 1e-300), self.radius)
            points, gradients = self._steps(sums, metric, points[-1], stage, rng)
        total = max(float(np.trace(second)), second[-1, -1] / constant**2 if constant > 0 else 0.0, faint)
        supposed = faint, deviation_of(stage.gradient), _SCORE**2 * total
        releases = NoisyEvidence(second, np.array(points[:-1]), np.array(gradients), *supposed)
        return np.mean(points[2:], axis=0), releases.best(1.0, total)

    def _steps(
        self, sums: Sums, metric: Metric, start: np.ndarray, stage: NewtonStage, rng: Entropy
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the points, the first of them `start`, and the noisy gradients at all but the last."""
        points, gradients = [start], []
        for _ in range(stage.n_steps):
            exact = sums(Slopes(np.rint(points[-1] / self._fine), self._fine)) * 4.0**-BITS
            gradients.append(released(exact, stage.gradient, rng))
            points.append(np.rint(metric.step(points[-1], gradients[-1]) / self._fine) * self._fine)
        return points, gradients

    def _curvature(self, sums: Sums, point: np.ndarray, stage: NewtonStage, rng: Entropy) -> np.ndarray:
        exact = sums(Curvature(np.rint(point / self._fine), self._fine)) * 4.0**-BITS
        return released_square(exact, stage.curvature, rng)

    @property
    def _fine(self) -> float:
        return weight_step(self.radius)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Σ u·x·(p − y), slopes rounded, in steps of 4^−BITS, where w is `weights` whole steps of size `fine`.

    The target is (y, u), shape (n, 2).

    A probability is a function of the row alone: scores are exact, and it is computed number by number.
    """

    weights: np.ndarray
    fine: float

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the sum over a block of rows."""
        label, share = target.T

        def of(part: slice) -> np.ndarray:
            slopes = (self.probabilities(features[part]) - label[part]) * share[part]
            return features[part].T @ np.rint(slopes * 2.0**BITS)

        return summed(of, features)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Return p of each row."""
        chances: np.ndarray = expit(features @ self.weights * (self.fine * 2.0**-BITS))
        return chances


@dataclass(frozen=True, eq=False)
class Curvature(Slopes):
    """Σ u·p(1 − p)·xxᵀ in steps of 4^−BITS: of rows x·√(u·p(1 − p)), rounded."""

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the sum over a block of rows, shape (d, d)."""
        p = self.probabilities(features)
        shrunk = np.rint(features * np.sqrt(target[:, 1] * p * (1 - p))[:, None])
        return shrunk.T @ shrunk
