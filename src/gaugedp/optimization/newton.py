"""Binary logistic regression by noisy Newton steps."""

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
from gaugedp.optimization.tuning import TUNED


@dataclass(frozen=True)
class NewtonStage:
    """Steps that share one curvature, released when they begin."""

    n_steps: int
    curvature: AdditiveNoise
    gradient: AdditiveNoise

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """Guarantees of the released parts, with their numbers of releases."""
        return [(self.curvature.guarantee, 1), (self.gradient.guarantee, self.n_steps)]


@dataclass(frozen=True)
class NoisyNewton:
    """Logistic regression with ‖x‖₂ ≤ 1 and ‖w‖₂ ≤ `radius`.

    It makes Σ u·log(1 + exp(−s·⟨w, x⟩)) small, with weights u in [0, 1] and labels s = ±1. The curvature Σ u·p(1 −
    p)·xxᵀ is released when a stage begins, and the gradient Σ u·x·(p − [s = 1]) at each step, all with noise. A step
    goes to the minimum of the quadratic model, projected onto the ball in the norm of the curvature with its
    eigenvalues raised above noise. The points of the last stage are averaged.

    Theorem. One row changes a curvature by at most √2/4 in the Frobenius norm (1/4 if rows are added or removed) and a
    gradient by at most 2 (1) in ℓ₂; the releases compose to (ε, δ)-DP, μ-GDP with Gaussian noise. docs/theory/newton.md
    """

    n_columns: int
    radius: float
    stages: tuple[NewtonStage, ...]

    @classmethod
    def calibrate(cls, n_columns: int, guarantee: Guarantee, radius: float | None, neighbours: str) -> "NoisyNewton":
        """Return the method for `n_columns`; `radius` defaults to 20√d."""
        root = math.sqrt(n_columns) * 2.0**-BITS  # the most that rounding adds to a row's norm
        curvature, gradient = (math.sqrt(2.0), 2.0) if neighbours == "replace" else (1.0, 1.0)
        of_curvature = LpBall(n_columns * (n_columns + 1) // 2, 2, curvature * (0.5 + root) ** 2)
        of_gradient, gaussian = LpBall(n_columns, 2, gradient * (1 + root)), for_gaussian_releases(guarantee)

        def stage(n_steps: int, to_curvature: float, to_step: float) -> NewtonStage:
            noises = (
                ball_noise(of_curvature, shared(gaussian, to_curvature)),
                ball_noise(of_gradient, shared(gaussian, to_step)),
            )
            return NewtonStage(n_steps, *noises)

        (n_stages, n_steps, *shares), (n_last, last_share) = TUNED.newton_first, TUNED.newton_last
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
        """Exactness of the noise: "exact" or "idealized"."""
        return self.stages[0].gradient.exactness

    def describe(self) -> str:
        """Describe the steps and the noise of the last ones."""
        std, n_steps = deviation_of(self.stages[-1].gradient), sum(stage.n_steps for stage in self.stages)
        return f"{n_steps} Newton steps, noise of deviation {std:.6g} on the last sums of gradients"

    def solve(self, sums: Sums, rng: Entropy, constant: float = 0.0) -> tuple[np.ndarray, NormalMixture]:
        """Return w (d,) and the distribution of the best weights.

        `sums` are over features in integer steps and (y, u), y 0 or 1. The distribution is that of β in P(s = 1) = 1/(1
        + exp(−⟨β, x⟩)), provided that the last steps approach it. If the last feature is a constant, its curvature over
        `constant`² is Σ u·p(1 − p). Charge the budget first.
        """
        points = [np.zeros(self.n_columns)]
        for stage in self.stages:
            second, faint = self._curvature(sums, points[-1], stage, rng), deviation_of(stage.curvature)
            metric = Metric.of(second, max(moments_edge(stage.curvature, self.n_columns), 1e-300), self.radius)
            points, gradients = self._steps(sums, metric, points[-1], stage, rng)
        total = max(float(np.trace(second)), second[-1, -1] / constant**2 if constant > 0 else 0.0, faint)
        supposed = faint, deviation_of(stage.gradient), 3.5**2 * total  # scores of root mean square 3.5 at most
        releases = NoisyEvidence(second, np.array(points[:-1]), np.array(gradients), *supposed)
        return np.mean(points[2:], axis=0), releases.best(1.0, total)

    def _steps(
        self, sums: Sums, metric: Metric, start: np.ndarray, stage: NewtonStage, rng: Entropy
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
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
    """Σ u·x·(p − y) in steps of 4^−BITS, with rounded slopes.

    w is `weights` integer steps of size `fine`, and the target is (y, u), shape (n, 2). A probability depends on its
    row only: scores are exact, and it is computed elementwise.
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
        """Return the probability p of each row."""
        chances: np.ndarray = expit(features @ self.weights * (self.fine * 2.0**-BITS))
        return chances


@dataclass(frozen=True, eq=False)
class Curvature(Slopes):
    """Σ u·p(1 − p)·xxᵀ in steps of 4^−BITS, from rounded rows x·√(u·p(1 − p))."""

    def __call__(self, features: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the sum (d, d) over a block of rows."""
        p = self.probabilities(features)
        shrunk = np.rint(features * np.sqrt(target[:, 1] * p * (1 - p))[:, None])
        return shrunk.T @ shrunk
