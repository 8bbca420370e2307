"""Weights that are linear images of points."""

from dataclasses import dataclass

import numpy as np

from gaugedp.bodies import LinearImage, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.optimization.geometry import Geometry


@dataclass(frozen=True, eq=False)
class WeightMap:
    """The map w = F·x, with F = `matrix` (p, d).

    Theorem. Let K = F·𝒳. A loss that is G-Lipschitz in the norm of K is G-Lipschitz in that of 𝒳 as a function of x,
    convex if it was, and has the same minimum. Predictions ⟨w, a⟩ are ⟨x, Fᵀa⟩. So guarantees for x hold for w:
    privacy, as w is a function of x, and risks.
    """

    matrix: np.ndarray | None = None

    def weights(self, points: np.ndarray) -> np.ndarray:
        """Return w (k, p) for the points (k, d)."""
        return points if self.matrix is None else points @ self.matrix.T

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Return Fᵀa (n, d) for rows a (n, p), NaN for rows that are not finite."""
        if self.matrix is None:
            return rows
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows @ self.matrix, np.nan)

    def shape(self, inner: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of w, given that of points."""
        return inner if self.matrix is None else (len(self.matrix),)


def set_and_map(given: object) -> tuple[object, WeightMap]:
    """Return the set of x, and the map F; for a polytope the set is the ℓ₁ ball of generators' weights."""
    if isinstance(given, LinearImage):
        inner, first = set_and_map(given.body)
        return inner, WeightMap(given.matrix if first.matrix is None else given.matrix @ first.matrix)
    if isinstance(given, Polytope):
        if given.differences:
            raise InvalidRequest(
                "The set of weights is a Polytope.difference_hull, which is meant for sensitivities.",
                "Pass Polytope.symmetric_hull(matrix), whose columns are the corners of the set.",
            )
        n_generators = given.generators.n_generators
        vertices = given.factor * given.generators.apply(np.eye(n_generators))
        return Geometry((n_generators,), 1), WeightMap(np.asarray(vertices, dtype=float).T)
    return given, WeightMap()
