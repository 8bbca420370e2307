"""Smooth approximations of losses with a kink, equally steep."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.losses import Absolute, Hinge, Huber, Loss


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """The hinge loss with a rounded corner, at most width/8 above `Hinge`.

    It is (m + width/2)²/(2·width) for |m| ≤ width/2, else max(0, m), m = 1 − yz, y = ±1; minima hardly move.
    """

    width: float

    def __post_init__(self) -> None:
        positive(width=self.width)

    lipschitz = 1.0

    @property
    def smoothness(self) -> float:
        """The smoothness constant 1/width."""
        return 1.0 / self.width

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss."""
        short = np.maximum(0, 1 - y * z + self.width / 2)
        near = np.minimum(short, self.width)
        return near * near / (2 * self.width) + (short - near)

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return −y·((m + width/2)/width, clipped to [0, 1])."""
        return -y * np.clip((1 - y * z) / self.width + 0.5, 0, 1)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return 1/width where |m| ≤ width/2, else 0."""
        return np.where(np.abs(1 - y * z) <= self.width / 2, 1 / self.width, 0.0)


def smoothed(loss: Loss, width: float) -> tuple[Loss, float]:
    """Return a smooth loss, convex and as steep, and its largest distance from `loss`."""
    if math.isfinite(loss.smoothness):
        return loss, 0.0
    if isinstance(loss, Absolute):
        return Huber(width), width / 2
    if isinstance(loss, Hinge):
        return SmoothHinge(width), width / 8
    what = f"{loss!r} is not smooth, and the library knows no smooth approximation of it."
    raise InvalidRequest(what, "Use a loss with a bounded second derivative, such as Huber or Logistic.")
