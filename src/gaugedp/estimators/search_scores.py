"""What the models of a private search are compared by: losses in [0, 1] on rows held out, summed with noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.estimators.held_out import PIECES, Score
from gaugedp.estimators.labels import codes_of, read_both
from gaugedp.estimators.rows import read_target
from gaugedp.guarantees import PureDP
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.lattice import released


@dataclass(frozen=True, eq=False)
class ClassScore:
    """The loss 1 for a class that is not predicted, else 0."""

    classes: np.ndarray
    strict: bool = False

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the labels as they are; if `strict`, refuse those that are no class."""
        return read_both(y, n_rows, self.classes, self.strict)[0]

    def public_target(self, n_rows: int) -> np.ndarray:
        """Return the first class, again and again."""
        return np.repeat(self.classes[:1], n_rows)

    def losses(self, predicted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the losses; a label that is no class is always a loss."""
        codes = codes_of(target, self.classes)
        return ((codes < 0) | (codes != codes_of(predicted, self.classes))).astype(float)


@dataclass(frozen=True, eq=False)
class NumberScore:
    """The loss |prediction − target| over the width of the bounds, to which both are clipped; 1 without a target."""

    low: float
    high: float

    def read(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the targets as floats."""
        return read_target(y, n_rows)

    def public_target(self, n_rows: int) -> np.ndarray:
        """Return the middle of the bounds, again and again."""
        return np.full(n_rows, (self.low + self.high) / 2)

    def losses(self, predicted: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the losses."""
        gaps = np.abs(np.clip(predicted, self.low, self.high) - np.clip(target, self.low, self.high))
        return np.where(np.isnan(gaps), 1.0, np.minimum(gaps / (self.high - self.low), 1.0))


SearchScore = ClassScore | NumberScore  # losses of predictions, in [0, 1]


def noisy_score(losses: np.ndarray, epsilon: float, neighbours: str, rng: Entropy) -> float:
    """Return 1 less the mean loss, ε-DP for one row: with Laplace noise on the sum of losses.

    A row moves the sum, in whole pieces, by at most 1. Where rows are added or removed, their number has noise too.
    """
    if neighbours == "add_remove":
        return 1 - Score(epsilon, 1).prepare(rng).mean(losses)[0]
    total = np.array([np.rint(losses * PIECES).astype(np.int64).sum() / PIECES])
    return 1 - float(released(total, Laplace.calibrate(LpBall(1, 1), PureDP(epsilon)), rng)[0]) / len(losses)
