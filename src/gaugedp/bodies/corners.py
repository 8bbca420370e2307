"""Corners of a box, represented implicitly (2^k generators)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.base import real_numbers
from gaugedp.bodies.generators import Structure
from gaugedp.domain.nesting import Nesting
from gaugedp.errors import InvalidRequest

_MOST_DENSE = 10**7


@dataclass(frozen=True)
class Corners:
    """The corners of B = Π[l_i, u_i], the last coordinate with l < u fastest, lower end first."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    whole_numbers: bool = False
    counting = False
    structure: Structure | None = None
    nesting: Nesting | None = None

    def __post_init__(self) -> None:
        low, high = real_numbers(self.low, "The lower bounds"), real_numbers(self.high, "The upper bounds")
        ends = np.concatenate([np.ravel(low), np.ravel(high)])
        # 1e140: squares must not leave the floats
        if low.ndim != 1 or low.shape != high.shape or not (np.abs(ends) < 1e140).all() or not (low <= high).all():
            raise InvalidRequest(
                f"The bounds, of shapes {low.shape} and {high.shape}, must be one pair low <= high for each answer.",
                "Pass two lists of finite numbers, of equal length.",
            )
        if not ends.any():
            raise InvalidRequest(
                "Every lower and upper bound is 0, so no unit can change the answer and no noise is needed.",
                "Pass at least one bound that is not 0.",
            )
        object.__setattr__(self, "low", tuple(low.tolist()))
        object.__setattr__(self, "high", tuple(high.tolist()))

    @cached_property
    def middle(self) -> np.ndarray:
        """c = (l + u)/2, shape (d,)."""
        return (np.array(self.low) + np.array(self.high)) / 2

    @cached_property
    def half(self) -> np.ndarray:
        """h = (u − l)/2, shape (d,)."""
        return (np.array(self.high) - np.array(self.low)) / 2

    @property
    def ambient_dim(self) -> int:
        """The dimension d."""
        return len(self.low)

    @property
    def n_generators(self) -> int:
        """2^k for k coordinates with l < u."""
        return int(2 ** len(self._moving))

    @property
    def rank(self) -> int:
        """k, plus one if another coordinate is not 0."""
        return len(self._moving) + bool(self.middle[self.half == 0].any())

    def apply(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the combination of the corners, which are listed."""
        return coefficients @ self._listed.T

    def adjoint(self, direction: np.ndarray) -> np.ndarray:
        """Return the products with every corner."""
        return np.asarray(direction @ self._listed)

    def extremes(self, direction: np.ndarray) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return the largest and least product, with their corners."""
        middle, half = float(direction @ self.middle), float(np.abs(direction) @ self.half)
        upper = direction[self._moving] > 0
        return (middle + half, self._index(upper)), (middle - half, self._index(~upper))

    def column(self, index: int) -> np.ndarray:
        """Return one corner."""
        corner = np.array(self.low)
        for place in self._moving[::-1]:
            index, at_upper = divmod(index, 2)
            corner[place] = (self.low, self.high)[at_upper][place]
        return corner

    def row_squares(self) -> np.ndarray:
        """Return 2^k·(c² + h²)."""
        return self.n_generators * (self.middle**2 + self.half**2)

    def largest_norm(self, p: float, weights: np.ndarray | None) -> float:
        """Return the norm of the farthest corner."""
        return _norm(np.abs(self.middle) + self.half, p, weights)

    def largest_difference(self, p: float, weights: np.ndarray | None) -> float:
        """Return the norm of u − l."""
        return _norm(2 * self.half, p, weights)

    @cached_property
    def _moving(self) -> np.ndarray:
        return np.flatnonzero(self.half)

    @property
    def _listed(self) -> np.ndarray:
        if self.n_generators * self.ambient_dim > _MOST_DENSE:
            raise InvalidRequest(
                f"The box has 2^{len(self._moving)} corners, which are too many to list in memory.",
                "Use gd.bodies.BoxHull, which computes norms without listing the corners.",
            )
        return np.stack([self.column(index) for index in range(self.n_generators)], axis=1)

    def _index(self, upper: np.ndarray) -> int:
        return int("".join("01"[bool(bit)] for bit in upper) or "0", 2)


def _norm(sizes: np.ndarray, p: float, weights: np.ndarray | None) -> float:
    sizes = sizes if weights is None else sizes / np.asarray(weights, dtype=float)
    largest = float(sizes.max())
    return largest * float(np.linalg.norm(sizes / largest, p)) if largest and math.isfinite(largest) else largest
