"""The exponent of the Gibbs sampler: losses plus a regulariser."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.optimization.geometry import NormedSet
from gaugedp.optimization.losses import Loss


@dataclass(frozen=True, eq=False)
class Posterior:
    """The exponent κ·Σ_i φ(⟨w, x_i⟩, y_i) + λ·r(w)."""

    rows: np.ndarray
    targets: np.ndarray
    loss: Loss
    geometry: NormedSet
    rate: float
    strength: float

    def value(self, points: np.ndarray) -> np.ndarray:
        """Return its values (k,) at the points (k, d)."""
        predictions = points @ self.rows.T
        losses = self.loss.value(predictions, np.broadcast_to(self.targets, predictions.shape))
        total = self.rate * losses.sum(axis=1)
        return total + self.strength * self.geometry.regulariser(points) if self.strength else total

    @cached_property
    def curvature(self) -> float:
        """Upper bound κβ·λ_max(Σ x xᵀ) on the Hessian's eigenvalues; ∞ if not computed."""
        # 1000: rows or columns for which a largest eigenvalue is computed
        if self.strength or not 0 < min(self.rows.shape) <= 1000:
            return math.inf
        wide = self.rows if self.rows.shape[0] < self.rows.shape[1] else self.rows.T
        return self.rate * self.loss.smoothness * float(np.linalg.eigvalsh(wide @ wide.T)[-1]) * (1 + 1e-9)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """Return its gradients (k, d) at the points (k, d)."""
        predictions = points @ self.rows.T
        slopes = self.loss.derivative(predictions, np.broadcast_to(self.targets, predictions.shape))
        total = self.rate * slopes @ self.rows
        return total + self.strength * self.geometry.gradient(points) if self.strength else total


def clean(rows: np.ndarray, targets: np.ndarray, geometry: NormedSet, row_norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rows clipped to `row_norm` in the dual norm, and targets; 0 if not finite."""
    is_finite = np.isfinite(rows).all(axis=1) & np.isfinite(targets)
    finite = np.where(is_finite[:, None], rows, 0.0)
    largest = np.maximum(np.abs(finite).max(axis=1, initial=0.0, keepdims=True), row_norm)  # no power overflows
    shrunk = finite / largest
    lengths = geometry.dual_norm(shrunk)[:, None] if len(rows) else np.ones((0, 1))
    return shrunk / np.maximum(lengths / row_norm, 1 / largest), np.where(is_finite, targets, 0.0)
