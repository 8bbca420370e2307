"""Linear support vector classification with clipped rows."""

import math

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.linear_model import LinearClassifier, LinearProblem, Solution
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.optimization.losses import Hinge
from gaugedp.optimization.smoothing import SmoothHinge


class LinearSVC(LinearClassifier):
    """Linear support vector classification with differential privacy.

    Use it to separate classes by a linear boundary, if you do not need probabilities (otherwise use
    `LogisticRegression`). The fit minimises the hinge loss. More than two classes are fitted jointly (Crammer and
    Singer 2001).

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
            raise InvalidRequest('solver="objective" supports only two classes.', 'Use solver="gradient", or "auto".')
        if self.solver != "auto":
            return self.solver, "requested"
        if len(self.classes) > 2:
            return "gradient", "more than two classes"
        if isinstance(self._kept(guarantee, size, "objective"), PureDP):
            return "objective", "a pure guarantee: its noise is added once"
        if n_rows is None:
            return "objective", "the number of rows is private: with few it does about as well, with many better"
        # 0.003: noise, over the rows' sum, below which a rounded loss is worth its bias; any below 0.01 does as well
        return self._by_noise(guarantee, size, n_rows, 0.003)

    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> Solution:
        if solver == "gibbs":
            return problem.sampled(Hinge(), rng)
        if solver == "objective":
            width = min(2.0, max(0.02, math.sqrt(problem.noise_to_signal / TUNED.hinge_noise)))
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
