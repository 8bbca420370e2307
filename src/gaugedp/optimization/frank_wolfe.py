"""Private Frank–Wolfe on the ℓ₁ ball: every step goes towards a vertex that the exponential mechanism chose."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._progress import Progress, silent
from gaugedp._validate import one_of, positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, ExponentialLoss, Guarantee, PureDP, compose
from gaugedp.guarantees.calibrate import largest_parameter
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Exponential
from gaugedp.optimization.losses import Loss, check_loss
from gaugedp.optimization.row_blocks import slices

MOST_STEPS = 2000
_BITS = 12  # of features and of derivatives: sums of their products over 2^28 rows are exact in floats
_WEIGHT_BITS = 30  # of the weights over the radius: products with features add up exactly
_ROUNDING = 2.0**-20  # what floats may add to how far a score moves
_BLOCK = 2**21  # numbers
_FARTHEST = 2.0**60


@dataclass(frozen=True)
class FrankWolfe:
    """The choice of a vertex, made `steps` times, and the guarantee of all of them together."""

    selection: Exponential
    steps: int
    guarantee: Guarantee
    neighbours: str

    @classmethod
    def calibrate(  # noqa: PLR0913, PLR0917 - public numbers alone
        cls,
        n_rows: int,
        n_columns: int,
        loss: Loss,
        radius: float,
        guarantee: Guarantee,
        neighbours: str = "replace",
        steps: int | None = None,
    ) -> "FrankWolfe":
        """Return the calibration for PureDP(ε) or ApproxDP(ε, δ), all of it from public numbers.

        Hypothesis: features in [−1, 1]. A score is ∓Σ_i φ′_i·x_ij, which one row moves by at most 2·`lipschitz` where
        rows are replaced, `lipschitz` where they are added or removed; the guarantee never uses `n_rows`, which sets
        the number of steps where `steps` is None (a public guess will do where the number of rows is private).
        """
        whole(minimum=1, n_rows=n_rows, n_columns=n_columns)
        positive(radius=radius)
        one_of(("replace", "add_remove"), neighbours=neighbours)
        check_loss(loss)
        of_kind(guarantee, PureDP, ApproxDP, purpose="Frank-Wolfe")
        if not math.isfinite(loss.smoothness):
            raise InvalidRequest(
                f"Frank-Wolfe needs a smooth loss, and {loss!r} has a kink.", "Take Huber, Logistic or Squared."
            )
        if steps is None:
            noise = (4.0 if neighbours == "replace" else 2.0) * math.log(2 * n_columns) / n_rows  # 2B·log(2d)/n
            steps = _best_steps(noise, loss, radius, guarantee)
        whole(minimum=1, steps=steps)
        # of scores over the Lipschitz constant
        sensitivity = (2.0 if neighbours == "replace" else 1.0) * (1 + _ROUNDING)
        step_epsilon = _step_epsilon(guarantee, steps)
        selection = Exponential.calibrate(LpBall(2 * n_columns, math.inf, sensitivity), ExponentialLoss(step_epsilon))
        return cls(selection, steps, compose([(selection.guarantee, steps)]), neighbours)

    def risk_bound(self, n_rows: int, loss: Loss, radius: float) -> float:
        """Return a bound on the mean of F(w) − min over the ball of F, F the mean loss of `n_rows` rows.

        With C = 4βR² (β the loss's smoothness) and α = 2B·log(2d)·R·lipschitz/(n·ε₀) what a choice loses on average,
        it is 2C/(T + 2) + α (Jaggi 2013, theorem 1; docs/theory/frank_wolfe.md), or 2R·lipschitz where that is less.
        F is that of the features as they are rounded.
        """
        gap = math.log(self.selection.n_candidates) / float(self.selection.rate) + 1
        lost = radius * loss.lipschitz * (gap * float(self.selection.step) + 2.0**-_BITS * n_rows) / n_rows
        bound = 8 * loss.smoothness * radius**2 / (self.steps + 2) + lost
        return min(bound, 2 * radius * loss.lipschitz)


def frank_wolfe(  # noqa: PLR0913, PLR0917 - data, problem, guarantee, randomness
    features: np.ndarray,
    targets: np.ndarray,
    loss: Loss,
    radius: float,
    calibration: FrankWolfe,
    rng: Entropy | None = None,
    progress: Progress = silent,
) -> np.ndarray:
    """Return weights w (d,), ‖w‖₁ ≤ radius, that keep the mean of φ(⟨w, x⟩, y) small: pay first.

    Theorem (docs/theory/frank_wolfe.md). For features (n, d) in [−1, 1] and a loss of finite `lipschitz`, the weights
    satisfy `calibration.guarantee`: all T vertices together do, and the weights are made of them. Features are
    rounded to multiples of 2^−12 and clipped, one that is not a number counts as 0; the sums of products are exact.
    """
    stream = system_rng() if rng is None else rng
    grid = np.rint(np.clip(np.nan_to_num(features, nan=0.0, posinf=0.0, neginf=0.0), -1, 1) * 2.0**_BITS)
    goal = np.clip(targets, -_FARTHEST, _FARTHEST)  # so that no product overflows
    shares = np.zeros(grid.shape[1])  # the weights over the radius
    for t in range(calibration.steps):
        scores = _slopes(grid, goal, loss, (shares, radius))
        vertex = int(calibration.selection.sample(np.concatenate([-scores, scores]), stream))
        shares = _towards(shares, vertex, 2 / (t + 2))
        progress((t + 1) / calibration.steps)
    return radius * shares


def _slopes(grid: np.ndarray, targets: np.ndarray, loss: Loss, weights: tuple[np.ndarray, float]) -> np.ndarray:
    """Return Σ_i φ′_i·x_i over the loss's Lipschitz constant, shape (d,), exactly for derivatives on their grid.

    `weights` are shares on their grid, whose products with features are exact, and what they are multiplied by then.
    """
    shares, radius = weights
    gradient = np.zeros(grid.shape[1])
    for part in slices(grid, _BLOCK):
        slopes = loss.derivative(grid[part] @ shares * (radius * 2.0**-_BITS), targets[part]) / loss.lipschitz
        gradient += np.rint(np.clip(np.nan_to_num(slopes), -1, 1) * 2.0**_BITS) @ grid[part]
    return gradient * 4.0**-_BITS


def _towards(shares: np.ndarray, vertex: int, share: float) -> np.ndarray:
    """Return (1 − share)·shares + share·(the vertex), cut towards 0 to the grid: the ℓ₁ norm stays at most 1."""
    mixed = (1 - share) * shares
    place = vertex % len(shares)
    mixed[place] += share if vertex < len(shares) else -share
    return np.trunc(mixed * 2.0**_WEIGHT_BITS) * 2.0**-_WEIGHT_BITS


def _step_epsilon(guarantee: Guarantee, steps: int) -> float:
    """Return the largest range that `steps` choices may have each."""
    if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0:
        return guarantee.epsilon_value / steps * (1 - 2.0**-40)
    if isinstance(guarantee, ApproxDP) and guarantee.epsilon_value > 0 and guarantee.delta_value > 0:
        return largest_parameter(
            lambda epsilon: compose([(ExponentialLoss(epsilon), steps)]), guarantee.epsilon_value, guarantee.delta_value
        )
    raise InvalidRequest(
        f"Frank-Wolfe cannot guarantee {guarantee!r}.", "Give PureDP or ApproxDP with epsilon above 0."
    )


def _best_steps(noise: float, loss: Loss, radius: float, guarantee: Guarantee) -> int:
    """Return the T of least 2C/(T + 2) + noise·R·lipschitz/ε₀(T), ε₀ roughly, C = βR²/6: the usual, not the worst."""
    counts = np.arange(1, MOST_STEPS + 1)
    if isinstance(guarantee, ApproxDP) and guarantee.delta_value > 0:
        step_epsilons = 2 * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value) / np.sqrt(counts)
    else:
        step_epsilons = float(guarantee.epsilon(0.0)) / counts
    risks = loss.smoothness * radius**2 / 3 / (counts + 2) + noise * radius * loss.lipschitz / step_epsilons
    return int(counts[risks.argmin()])
