"""Losses with slopes in [−1, 1]."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from gaugedp._internal.validate import one_of, positive
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.rows import into_box

SQUARED = "squared"
LOSSES = (SQUARED, "huber", "absolute", "logistic")
_PREDICTIONS, _TARGETS = 2049, 65  # points at which a user-defined loss is evaluated
_SLOPE_ROUNDING = 1e-6  # of the Lipschitz constant: the rounding error of differences


@dataclass(frozen=True)
class _Within:
    reach: float
    bounds: tuple[float, float]

    def target(self, target: np.ndarray) -> np.ndarray:
        """Return the target clipped to its bounds, their middle if missing."""
        low, high = self.bounds
        return (low + high) / 2 + (high - low) / 2 * into_box(target, np.array(low), np.array(high))

    @property
    def range(self) -> float:
        """Distance between the bounds."""
        return self.bounds[1] - self.bounds[0]


@dataclass(frozen=True)
class SquaredTraceLoss(_Within):
    """The squared loss, with slope (prediction − target)/cap.

    Predictions are reach·p, p in `span`, clipped to the target's bounds if `cut`; else the slope is affine in p.
    """

    span: tuple[float, float]
    cut: bool

    @property
    def cap(self) -> float:
        """Largest |prediction − target|."""
        low, high = self.bounds
        lowest, highest = (self._predicted(self.reach * end) for end in self.span)
        return max(high - float(lowest), float(highest) - low)

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the slope in p."""
        return self.reach / self.cap

    def __call__(self, scaled: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the slopes, row by row."""
        return (self._predicted(self.reach * scaled) - target) / self.cap

    def _predicted(self, predictions: Any) -> Any:
        return np.clip(predictions, *self.bounds) if self.cut else predictions


@dataclass(frozen=True)
class HuberTraceLoss(_Within):
    """The Huber loss (1964), quadratic within a `share` of the range."""

    share: float

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the slope in p."""
        return self.reach / (self.share * self.range)

    def __call__(self, scaled: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the slopes, row by row."""
        return np.clip((self.reach * scaled - target) / (self.share * self.range), -1.0, 1.0)


@dataclass(frozen=True)
class LogisticTraceLoss(_Within):
    """The negative log-likelihood of targets as shares; predictions are log-odds of the upper bound."""

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the slope in p."""
        return self.reach / 4

    def __call__(self, scaled: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the slopes, row by row."""
        return np.asarray(expit(self.reach * scaled) - (target - self.bounds[0]) / self.range)


@dataclass(frozen=True)
class Tabulated(_Within):
    """A user-defined convex loss, tabulated at public points.

    It is never evaluated at a row. `slopes` (predictions, targets), over L₀, are at equal distances from −`widest` to
    `widest` and from bound to bound.
    """

    widest: float
    slopes: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls, loss: Callable[..., Any], lipschitz: float, reach: float, widest: float, bounds: tuple[float, float]
    ) -> "Tabulated":
        """Return the table of φ(predictions, targets); refuse nonconvex and steeper losses."""
        places = np.linspace(-reach * widest, reach * widest, _PREDICTIONS)
        targets = np.linspace(*bounds, _TARGETS)
        values = np.asarray(loss(places[:, None] + 0 * targets, targets + 0 * places[:, None]), dtype=float)
        if values.shape != (_PREDICTIONS, _TARGETS) or not np.isfinite(values).all():
            raise InvalidRequest(
                "The loss must return one number for each prediction and target, but its result has another shape.",
                "Write it for arrays of the same shape: loss(predictions, targets).",
            )
        slopes = np.diff(values, axis=0) / (places[1] - places[0]) / lipschitz
        if np.abs(slopes).max() > 1 + _SLOPE_ROUNDING:
            steepest = float(np.abs(slopes).max()) * lipschitz
            raise InvalidRequest(
                f"The loss has a slope of {steepest:.6g}, which exceeds `lipschitz`, the bound that you stated.",
                "Pass a larger `lipschitz`.",
            )
        if (np.diff(slopes, axis=0) < -_SLOPE_ROUNDING).any():
            raise InvalidRequest("The loss is not convex in the prediction.", "Choose a convex loss.")
        return cls(reach, bounds, widest, np.clip(slopes, -1.0, 1.0))

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the slope in p."""
        steepest = float(np.diff(self.slopes, axis=0).max()) * (_PREDICTIONS - 1) / (2 * self.widest)
        return max(steepest, 1e-6)

    def __call__(self, scaled: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the slopes, row by row, by linear interpolation."""
        low, _ = self.bounds
        along = (scaled / self.widest + 1) / 2 * (_PREDICTIONS - 1) - 0.5  # slopes stand in the middle of places
        across = (target - low) / self.range * (_TARGETS - 1)
        (i, right), (j, above) = _place(along, _PREDICTIONS - 1), _place(across, _TARGETS)
        lower = (1 - right) * self.slopes[i, j] + right * self.slopes[i + 1, j]
        upper = (1 - right) * self.slopes[i, j + 1] + right * self.slopes[i + 1, j + 1]
        return np.asarray((1 - above) * lower + above * upper)


# the slope of a convex loss of predictions reach·p and targets: each slope depends on its own row only
TraceLoss = SquaredTraceLoss | HuberTraceLoss | LogisticTraceLoss | Tabulated


def trace_loss(
    loss: Any, lipschitz: float | None, reach: float, span: tuple[float, float], bounds: tuple[float, float], cut: bool
) -> TraceLoss:
    """Return the loss by name or function, for predictions reach·p, p in `span`."""
    if callable(loss):
        if lipschitz is None:
            raise InvalidRequest(
                "A loss of your own needs `lipschitz`, a bound on its slope.",
                "Pass the largest slope of the loss in the prediction.",
            )
        positive(lipschitz=lipschitz)
        return Tabulated.of(loss, float(lipschitz), reach, max(map(abs, span)), bounds)
    one_of(LOSSES, loss=loss)
    if lipschitz is not None:
        raise InvalidRequest(
            "`lipschitz` bounds the slope of a loss of your own, but `loss` is one of the library.", "Omit `lipschitz`."
        )
    named: dict[str, Callable[[], TraceLoss]] = {
        SQUARED: lambda: SquaredTraceLoss(reach, bounds, span, cut),
        "huber": lambda: HuberTraceLoss(reach, bounds, 1 / 4),
        "absolute": lambda: HuberTraceLoss(reach, bounds, 1 / 20),
        "logistic": lambda: LogisticTraceLoss(reach, bounds),
    }
    return named[loss]()


def _place(position: np.ndarray, n_places: int) -> tuple[np.ndarray, np.ndarray]:
    inside = np.clip(position, 0, n_places - 1)
    before = np.minimum(inside.astype(int), n_places - 2)
    return before, inside - before
