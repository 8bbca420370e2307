"""Linear support vector classification with clipped rows."""

import math
from typing import Any

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.estimators.linear_model import LinearClassifier, Task
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.base import Ledger
from gaugedp.optimization.losses import Hinge


class LinearSVC(LinearClassifier):
    """A linear classifier by the hinge loss; for more than two classes jointly (Crammer and Singer 2001).

    epsilon, delta : the promise for one row; delta = 0 asks for pure ε-DP.
    row_norm, bounds, classes, fit_intercept, neighbours, random_state, ledger : as in `LogisticRegression`.
    solver : "gradient", noisy gradient descent on all rows: the loss has a kink.
    radius : coefficients stay in the ball of this radius, where rows have norm 1; 10·√(K − 1) where None.

    Theorem. `fit` is (ε, δ)-DP for one row (ε-DP at δ = 0): docs/theory/gradient.md.

    After fit: coef_ (1 or K, d), intercept_, classes_, solver_, reason_, guarantee_, release_, n_features_in_.
    """

    solvers = ("auto", "gradient")

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        row_norm: float | None = None,
        bounds: Any = None,
        classes: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        radius: float | None = None,
        neighbours: str = "replace",
        random_state: int | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.bounds = bounds
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.radius = radius
        self.neighbours = neighbours
        self.random_state = random_state
        self.ledger = ledger

    def _chosen(self, asked: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        del asked, size, n_rows
        return "gradient", "asked for" if self.solver == "gradient" else "the loss has a kink"

    def _solve(self, solver: str, task: Task, rng: Entropy) -> tuple[np.ndarray, str]:
        del solver
        if task.n_classes == 2:
            descent = task.descent(1.0, kinked=True)
            weights = task.descend(descent, lambda z, y: Hinge().derivative(z[:, 0], y)[:, None], rng)
        else:
            weights = task.descend(task.descent(math.sqrt(2), kinked=True), _joint_slopes, rng)
        return weights, task.exactness


def _joint_slopes(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a subgradient of max(0, 1 + max_{k ≠ y} z_k − z_y), shape (n, K)."""
    every, found = np.arange(len(y)), np.zeros_like(z)
    rivals = z.copy()
    rivals[every, y] = -np.inf
    best = rivals.argmax(axis=1)
    wrong = z[every, y] < 1 + rivals[every, best]
    found[every, best] = wrong
    found[every, y] -= wrong
    return found
