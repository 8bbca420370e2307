"""Regressions with weights drawn by the regularised exponential mechanism."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.guarantees import ApproxDP, Guarantee
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.losses import Absolute, Huber, Loss, Squared
from gaugedp.optimization.row_blocks import RowBlocks
from gaugedp.optimization.trace_designs import TraceProblem


@dataclass(frozen=True, eq=False)
class GibbsFit:
    """A fit with weights in the ball of `geometry`.

    Theorem. For rows of dual norm at most 1 the weights are (ε, δ)-DP for one row, together with the number of rows if
    that is private, which takes a twentieth of μ² (docs/theory/gibbs.md).
    """

    geometry: Geometry
    loss: Loss
    guarantee: ApproxDP
    neighbours: str
    count: NoisyRowCount

    @classmethod
    def plan(cls, geometry: Geometry, loss: Loss, guarantee: Guarantee, neighbours: str) -> "GibbsFit":
        """Return the plan; refuse δ = 0."""
        if not isinstance(guarantee, ApproxDP):
            raise InvalidRequest('solver="gibbs" requires `delta` above 0.', "Set `delta`, or use another solver.")
        plan = cls(geometry, loss, guarantee, neighbours, NoisyRowCount.gaussian(guarantee, neighbours))
        plan.mechanism(PUBLIC_ROWS)  # refuses before anything is charged
        return plan

    def mechanism(self, n_rows: float) -> Gibbs:
        """Return the mechanism for `n_rows` rows."""
        return Gibbs.calibrate(
            self.geometry, self.loss, max(1, round(n_rows)), self.count.remaining,
            neighbours=self.neighbours, auxiliary_mu=self.count.auxiliary_mu,
        )  # fmt: skip

    def start(self, target: np.ndarray, weights: np.ndarray, rng: Entropy) -> float:
        """Return 0: a draw starts nowhere."""
        del target, weights, rng
        return 0.0

    def solve(self, rows: RowBlocks, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, str, dict[str, Any]]:
        """Return the weights, the exactness, and the public facts."""
        mechanism = self.mechanism(self.count.draw(len(target), rng))
        facts = {"solver": "gibbs", "steps": mechanism.steps, "noise": mechanism.describe()}
        return mechanism.sample(rows[:], target, rng), mechanism.exactness, facts


@dataclass(frozen=True, eq=False)
class MatrixGibbs:
    """A matrix X for predictions reach·⟨A, X⟩.

    ‖A‖ ≤ `widest` in the operator norm, and X has nuclear norm about 1. It is drawn from the Frobenius ball around the
    nuclear ball, so that no corner slows the draw; its risk is compared with the nuclear ball. `guarantee` is for one
    row.
    """

    shape: tuple[int, ...]
    widest: float
    reach: float
    loss: str
    bounds: tuple[float, float]
    guarantee: ApproxDP
    neighbours: str

    exactness = "mixing"

    @property
    def unit(self) -> float:
        """Largest prediction of the nuclear ball."""
        return self.reach * self.widest

    @property
    def scaled_loss(self) -> Loss:
        """Loss of predictions and targets divided by `unit`."""
        low, high = (end / self.unit for end in self.bounds)
        if self.loss == "squared":
            return Squared(1 + max(abs(low), abs(high)))
        return Absolute() if self.loss == "absolute" else Huber((high - low) / 4)

    def mechanism(self, n_rows: float) -> Gibbs:
        """Return the mechanism for `n_rows` rows."""
        return Gibbs.calibrate(
            Geometry(self.shape, 1), self.scaled_loss, max(1, round(n_rows)), self.guarantee,
            neighbours=self.neighbours, in_ball=False,
        )  # fmt: skip

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return a draw of X."""
        rows = problem.designs.rows / self.widest
        return self.mechanism(n_rows).sample(rows, problem.target / self.unit, rng)
