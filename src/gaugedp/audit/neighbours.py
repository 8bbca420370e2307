"""Neighbouring answers that are easy to distinguish."""

import numpy as np

from gaugedp.bodies.base import Body
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism


def neighbours(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return answers a and a + z, with z in the body far apart for the noise."""
    if not isinstance(mechanism, AdditiveNoise):
        corners = _corners(mechanism.body, np.ones(mechanism.body.ambient_dim))
        best = corners[int(np.argmax(np.abs(corners).sum(axis=1)))]
        return np.full_like(best, 20.0), best + 20.0
    deviations = np.maximum(np.sqrt(mechanism.variances), 1e-300)
    corners = _corners(mechanism.body, 1 / deviations)
    sizes = np.abs(corners / deviations).sum(axis=1)
    best = corners[int(np.argmax(sizes))]
    return np.zeros_like(best), best


def _corners(body: Body, rates: np.ndarray, *, most_directions: int = 64) -> np.ndarray:
    d = body.ambient_dim
    axes = np.zeros((min(d, most_directions), d))
    places = np.unique(np.linspace(0, d - 1, len(axes)).astype(int))
    axes[np.arange(len(places)), places] = 1.0
    directions = np.vstack([axes[: len(places)], np.ones(d), rates / rates.max()])
    return np.asarray(body.argmax(directions), dtype=float)
