"""Linear support vector classification with clipped rows."""

import math

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.linear_model import LinearClassifier, LinearProblem
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Hinge
from gaugedp.optimization.smoothing import SmoothHinge

# any threshold below 0.01 does about as well on made tables: docs/theory/objective_perturbation.md
# the next chosen while looking at Adult (noise 0.0024 at epsilon 1) and at rows on the sphere (0.0038): see models.md
_BLURRED, _NARROWEST, _WIDEST = 0.004, 0.02, 2.0  # noise at which the kink is rounded off over a width of 1; its ends


class LinearSVC(LinearClassifier):
    """A linear classifier by the hinge loss; for more than two classes jointly (Crammer and Singer 2001).

    All parameters but `solver` : as in `LogisticRegression`.
    solver : "gradient" is noisy gradient descent on all rows; "objective", for two classes, rounds off the kink of the
        loss, adds a random linear term and minimises; "auto" takes it where public numbers say that the noise is faint,
        where rows are added or removed, at δ = 0, and where without an intercept a pure guarantee needs shorter noise.
        "gibbs", for two classes and δ > 0, draws the weights from the regularised exponential mechanism. `reason_` says
        why.

    Theorem. `fit` is (ε, δ)-DP for one row (ε-DP at δ = 0): docs/theory/gradient.md,
    objective_perturbation.md and gibbs.md.

    After fit: what `LogisticRegression` has.
    """

    def _chosen(self, guarantee: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        if self.solver == "objective" and len(self.classes) > 2:
            raise InvalidRequest("objective is for two classes.", 'Give solver="gradient", or "auto".')
        if self.solver != "auto":
            return self.solver, "asked for"
        if len(self.classes) > 2:
            return "gradient", "more than two classes"
        if isinstance(self._kept(guarantee, size, "objective"), PureDP):
            return "objective", "a pure guarantee: its noise is added once"
        if n_rows is None:
            return "objective", "the number of rows is not public: with few it does about as well, with many better"
        # 0.003: noise, in units of the rows' sum, below which the minimum of a rounded loss is worth its bias
        return self._by_noise(guarantee, size, n_rows, 0.003)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> tuple[np.ndarray, str]:
        if solver == "gibbs":
            return problem.sampled(Hinge(), rng)
        if solver == "objective":
            width = min(_WIDEST, max(_NARROWEST, math.sqrt(problem.noise_to_signal / _BLURRED)))
            return problem.perturbed(SmoothHinge(width), rng)
        if problem.n_classes == 2:
            return problem.descended(Hinge().derivative, 1.0, rng, kinked=True)
        return problem.descended(_joint_slopes, math.sqrt(2), rng, kinked=True)


def _joint_slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a subgradient of max(0, 1 + max_{k ≠ y} z_k − z_y), shape (n, K)."""
    every, slopes = np.arange(len(y)), np.zeros_like(z)
    rivals = z.copy()
    rivals[every, y] = -np.inf
    best = rivals.argmax(axis=1)
    wrong = z[every, y] < 1 + rivals[every, best]
    slopes[every, best] = wrong
    slopes[every, y] -= wrong
    return slopes
