"""User-defined convex losses, evaluated by value, for the Gibbs sampler."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.optimization.losses import Loss, check_loss
from gaugedp.optimization.weight_maps import WeightMap

Function = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ValueLoss:
    """A user-defined loss f(W, rows, targets).

    The j-th value is that of the j-th weights (k, …) on the j-th row and target. Hypotheses, which the caller proves:
    for every possible row and target, f is convex in the weights and `lipschitz`-Lipschitz in the geometry's norm on
    its ball. The guarantee rests on both. A value that is not finite counts as 0, in that loss alone.
    """

    function: Function
    lipschitz: float

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidRequest(
                "`lipschitz` bounds the slope of a loss of your own, but `loss` is one of the library.",
                "Omit `lipschitz`, or pass a function f(W, rows, targets) as the loss.",
            )
        positive(lipschitz=self.lipschitz)

    def __repr__(self) -> str:
        return f"a user-defined loss, {self.lipschitz:g}-Lipschitz"


@dataclass(frozen=True, eq=False)
class PairedValues:
    """Values (k,) of a loss for pairs of points and rows; `shape` is that of weights."""

    loss: ValueLoss
    rows: np.ndarray
    targets: np.ndarray
    shape: tuple[int, ...]
    map: WeightMap = field(default_factory=WeightMap)

    def __call__(self, points: np.ndarray, picked: np.ndarray) -> np.ndarray:
        """Return values of points (k, d) for picked rows."""
        weights = self.map.weights(points).reshape(len(points), *self.shape)
        values = np.asarray(self.loss.function(weights, self.rows[picked], self.targets[picked]), dtype=float)
        if values.shape != (len(points),):
            raise InvalidRequest(
                f"The loss returned an array of shape {values.shape} for {len(points)} pairs.",
                "Return one number for each pair of weights and row.",
                STAYS_SPENT,
            )
        return np.where(np.isfinite(values), values, 0.0)


def loss_of(given: object, lipschitz: float | None, is_allowed: bool) -> Loss | ValueLoss:
    """Return a loss of the library, or a function with its Lipschitz constant; refuse anything else."""
    if lipschitz is None and not callable(given):
        check_loss(given)
    if isinstance(given, Loss) and lipschitz is None:
        return given
    if not callable(given):
        raise InvalidRequest(
            "`lipschitz` bounds the slope of a loss of your own, but `loss` is one of the library.",
            "Omit `lipschitz`, or pass a function f(W, rows, targets) as the loss.",
        )
    if lipschitz is None:
        raise InvalidRequest(
            "A loss of your own needs `lipschitz`, a bound on its slope in the norm of the geometry.",
            "Pass this bound as `lipschitz`.",
        )
    if not is_allowed:
        raise InvalidRequest(
            "For a loss of your own, the proof requires replaced rows, and weights in the ball itself.",
            'Use neighbours="replace" and in_ball=True, and omit `row_norm`, because `lipschitz` covers the whole row.',
        )
    return ValueLoss(given, lipschitz)
