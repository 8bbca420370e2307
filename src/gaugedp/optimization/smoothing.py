"""Smooth losses in the place of losses with a kink: as steep, and never far."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._validate import positive
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.losses import Absolute, Hinge, Huber, Loss


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """m²/(2·width) for 0 ≤ m ≤ width, m − width/2 beyond, 0 below, m = 1 − yz, y = ±1: at most width/2 under Hinge."""

    width: float

    def __post_init__(self) -> None:
        positive(width=self.width)

    @property
    def lipschitz(self) -> float:
        """1."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """1/width."""
        return 1.0 / self.width

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss."""
        short = np.maximum(0, 1 - y * z)
        near = np.minimum(short, self.width)
        found: np.ndarray = near * near / (2 * self.width) + (short - near)
        return found

    def derivative(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """−y·(m/width, clipped to [0, 1])."""
        found: np.ndarray = -y * np.clip((1 - y * z) / self.width, 0, 1)
        return found

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1/width for 0 ≤ m ≤ width."""
        short = 1 - y * z
        return np.where((short >= 0) & (short <= self.width), 1 / self.width, 0.0)


def smoothed(loss: Loss, width: float) -> tuple[Loss, float]:
    """Return a smooth loss, convex and as steep, and by how much it may be below `loss`: itself and 0 where smooth."""
    if math.isfinite(loss.smoothness):
        return loss, 0.0
    if isinstance(loss, Absolute):
        return Huber(width), width / 2
    if isinstance(loss, Hinge):
        return SmoothHinge(width), width / 2
    raise InvalidRequest(f"{loss!r} has a kink, and no smooth loss is known for it.", "Give one of finite smoothness.")
