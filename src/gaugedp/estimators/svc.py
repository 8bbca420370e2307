"""Linear support vector classification with clipped rows."""

import math

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.linear_model import LinearClassifier, LinearProblem, Solution
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Hinge
from gaugedp.optimization.smoothing import SmoothHinge

# any threshold below 0.01 does about as well on synthetic tables
# the next were chosen on Adult (noise 0.0024 at epsilon 1) and on rows on the sphere (0.0038): see models.md
_BLURRED, _NARROWEST, _WIDEST = 0.004, 0.02, 2.0  # noise at which the kink is rounded off over a width of 1; its ends


class LinearSVC(LinearClassifier):
    """Linear support vector classification with differential privacy.

    Use it to separate classes by a linear boundary, if you do not need probabilities (otherwise use
    `LogisticRegression`). It minimises the hinge loss, and fits more than two classes jointly (Crammer and Singer
    2001).

    A fit is (ε, δ)-DP for one row, and ε-DP at δ = 0. The proofs are in docs/theory/gradient.md,
    objective_perturbation.md and gibbs.md. All parameters except `solver`, and all attributes, are those of
    `LogisticRegression`.

    Parameters
    ----------
    solver : {"auto", "gradient", "objective", "gibbs"}
        "gradient" is noisy gradient descent on all rows. "objective", for two classes, rounds the kink of the loss,
        adds a random linear term and minimises the sum. "auto", the default, chooses "objective" if public numbers show
        that the noise is small, if rows are added or removed, at δ = 0, and if without an intercept a pure guarantee
        needs less noise. Otherwise it chooses "gradient". "gibbs", for two classes and δ > 0, draws the weights from
        the regularised exponential mechanism. `reason_` explains the choice.

    Examples
    --------
    Fit 1,000 rows with one column, within [0, 100]. Rows with a score above 0 are predicted to be in class 1:

    >>> import numpy as np
    >>> from gaugedp.estimators import LinearSVC
    >>> X, y = np.array([[20.0], [60.0]] * 500), np.array([0, 1] * 500)
    >>> model = LinearSVC(epsilon=1.0, bounds=(0, 100), classes=[0, 1]).fit(X, y)
    >>> model.decision_function(X).shape
    (1000,)
    """

    def _chosen(self, guarantee: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        if self.solver == "objective" and len(self.classes) > 2:
            raise InvalidRequest('solver="objective" needs two classes.', 'Use solver="gradient", or "auto".')
        if self.solver != "auto":
            return self.solver, "requested"
        if len(self.classes) > 2:
            return "gradient", "more than two classes"
        if isinstance(self._kept(guarantee, size, "objective"), PureDP):
            return "objective", "a pure guarantee: its noise is added once"
        if n_rows is None:
            return "objective", "the number of rows is private: with few it does about as well, with many better"
        # 0.003: noise, in units of the rows' sum, below which the minimum of a rounded loss is worth its bias
        return self._by_noise(guarantee, size, n_rows, 0.003)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> Solution:
        if solver == "gibbs":
            return problem.sampled(Hinge(), rng)
        if solver == "objective":
            width = min(_WIDEST, max(_NARROWEST, math.sqrt(problem.noise_to_signal / _BLURRED)))
            return problem.perturbed(SmoothHinge(width), rng)
        if problem.n_classes == 2:
            return problem.descended(Hinge().derivative, 1.0, rng, kinked=True)
        return problem.descended(_joint_slopes, math.sqrt(2), rng, kinked=True)


def _joint_slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a subgradient (n, K) of the joint hinge loss."""
    every, slopes = np.arange(len(y)), np.zeros_like(z)
    rivals = z.copy()
    rivals[every, y] = -np.inf
    best = rivals.argmax(axis=1)
    wrong = z[every, y] < 1 + rivals[every, best]
    slopes[every, best] = wrong
    slopes[every, y] -= wrong
    return slopes
