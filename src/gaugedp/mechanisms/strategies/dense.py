"""Strategies given by an explicit matrix."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.factorisation import Factorisation, factorise
from gaugedp.mechanisms.remember import remembered
from gaugedp.mechanisms.strategies.base import PrefixStrategy
from gaugedp.samplers.reals import RealFunction


@dataclass(frozen=True, eq=False)
class Dense(PrefixStrategy):
    """An explicit L (d, k), its radius and its `cube` (None if flat)."""

    matrix: np.ndarray
    radius: float
    words: str
    least: float = 0.0
    cube: float | None = None
    law: RealFunction | None = None
    is_cube_proved: bool = False
    table: np.ndarray | None = None  # A with L·A = F, the distinct generators

    @property
    def n_noise(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return L·unit."""
        return unit @ self.matrix.T

    def preimages(self) -> np.ndarray | None:
        """Return the columns of `table`."""
        return None if self.table is None else self.table.T

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared norms of the rows."""
        return np.einsum("ij,ij->i", self.matrix, self.matrix)

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest entries of the rows."""
        return np.abs(self.matrix).max(axis=1)

    def covariance(self) -> np.ndarray:
        """Return LLᵀ."""
        return self.matrix @ self.matrix.T

    @remembered
    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared singular values."""
        scaled = self.matrix if weights is None else self.matrix / np.asarray(weights, dtype=float)[:, None]
        values = np.linalg.svd(scaled, compute_uv=False) ** 2
        return values, np.ones(len(values))

    def cube_radius(self) -> float:
        """Return the summed lengths of the unit vectors' preimages."""
        if self.cube is None:
            raise InvalidRequest(
                "Some answers follow from others, such as a total from its parts, and rounded noise would break "
                "this relation.",
                "Omit answers that follow from others, or use gaugedp.bodies.project(body, body.span).",
            )
        return self.cube * (1 + 1e-3)

    def describe(self) -> str:
        """Return its description."""
        return self.words


def optimal(body: Polytope, weights: np.ndarray | None) -> Dense:
    """Return the best Gaussian strategy of an explicit polytope."""
    factorisation = factorise(body, weights)
    flat = len(factorisation.left) > factorisation.left.shape[1]
    cube = None if flat else float(np.linalg.norm(factorisation.inverse, axis=0).sum())
    return Dense(factorisation.left, factorisation.radius, words_for(factorisation), factorisation.lower, cube)


def words_for(factorisation: Factorisation) -> str:
    """Return a description of a factorisation, with its gap."""
    return f"an optimal factorisation (gap {factorisation.gap:.0e})"
