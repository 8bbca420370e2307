"""Explicit strategies with exact rounding and a proved radius."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.whole_basis import whole_basis
from gaugedp.mechanisms.strategies.base import UP, Strategy
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.near_inverse import Inverse
from gaugedp.samplers.variables import LaplaceVariables, Normal

_RADIUS_ROUNDING = 1 + 1e-7  # of the radius that floats give


@dataclass(frozen=True, eq=False)
class Proved(Strategy):
    """A strategy with a proved radius and known distribution.

    L = M·H in rational numbers, `law` that of L·x. `cube` bounds ‖u‖_p over L·u in the cube; None if flat.
    """

    inner: Strategy
    radius: float
    law: Combined
    cube: float | None = None

    @property
    def least(self) -> float:
        """The lower bound of the strategy."""
        return self.inner.least

    @property
    def n_noise(self) -> int:
        """The number of noise variables of the strategy."""
        return self.inner.n_noise

    @property
    def is_cube_proved(self) -> bool:
        """True if the cube is proved, i.e. L fills the space."""
        return self.cube is not None

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the strategy's products, in floats."""
        return self.inner.apply(unit)

    def preimages(self) -> np.ndarray | None:
        """Return the strategy's preimages."""
        return self.inner.preimages()

    @property
    def squares(self) -> np.ndarray:
        """The squares of the strategy."""
        return self.inner.squares

    @property
    def largest(self) -> np.ndarray:
        """The largest entries of the strategy."""
        return self.inner.largest

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the spectrum of the strategy."""
        return self.inner.spectrum(weights)

    def cube_radius(self) -> float:
        """Return the proved bound, or that of the strategy."""
        return self.inner.cube_radius() if self.cube is None else self.cube

    def describe(self) -> str:
        """Return the strategy's description."""
        return self.inner.describe()


def proved(body: Polytope, strategy: Strategy, p: int) -> Strategy:
    """Return the strategy, with a proved radius if possible (docs/theory/reals.md, theorem 6)."""
    if (proof := strategy.proof(body)) is not None and proof[0] <= strategy.radius * _RADIUS_ROUNDING:
        return Proved(strategy, *proof)
    if not _is_small(body, strategy) or (strategy.law is not None and body.generators.whole_numbers):
        return strategy
    columns = _points(body)
    basis = whole_basis(columns)
    if basis is None or (cells := strategy.cells() if p == 1 else np.zeros(0)) is None:
        return strategy
    left, rows = basis
    right = np.ascontiguousarray(strategy.apply(np.eye(strategy.n_noise)).T[rows])
    if (inverse := Inverse.of(right, p)) is None:
        return strategy
    reach = inverse.reach(columns[rows], cells if p == 1 else inverse.matrix @ columns[rows])
    radius = body.factor * _longest(body, *reach, p) * UP
    if not radius <= strategy.radius * _RADIUS_ROUNDING:
        return strategy
    law = Combined(left, right, Normal if p == 2 else LaplaceVariables)
    return Proved(strategy, radius, law, inverse.cube if len(rows) == len(columns) else None)


def _is_small(body: Polytope, strategy: Strategy) -> bool:
    n, d, k = body.generators.n_generators, body.ambient_dim, strategy.n_noise
    # 2**21: entries at most
    return max(n, d, k) <= 2**10 and d * max(n, k) <= 2**21  # generators, answers and variables


def _points(body: Polytope) -> np.ndarray:
    """Return the generators, relative to the first if only integer differences matter."""
    columns = body.columns()
    is_apart = body.differences and not body.with_zero and body.generators.whole_numbers
    return columns - columns[:, :1] if is_apart else columns


def _longest(body: Polytope, vectors: np.ndarray, slack: float, p: int) -> float:
    """Return a bound of ‖u‖_p over the unscaled generators."""
    lengths = np.linalg.norm(vectors, p, axis=0)
    alone = float(lengths.max()) + slack
    if not body.differences or len(lengths) == 1:
        return alone * UP
    if p == 1:
        return 2 * alone * UP
    squares = lengths**2
    apart = np.add.outer(squares, squares) - 2 * vectors.T @ vectors
    error = 8 * (len(vectors) + 4) * UNIT * float(squares.max())
    return max(math.sqrt(float(apart.max()) + error) + 2 * slack, alone if body.with_zero else 0.0) * UP
