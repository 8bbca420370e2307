"""Optimal Gaussian noise for marginals."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.bodies.generators import Structure
from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.strategies.interactions import contrasts, is_small, normal_square
from gaugedp.mechanisms.strategies.marginals import Interactions, MarginalNoise
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.variables import Normal

_MOST_PATTERNS = 2**12


@dataclass(frozen=True, eq=False)
class Residual(MarginalNoise):
    """Independent normal noise on each interaction (ResidualPlanner, Xiao, He, Zhang and Kifer 2023).

    Theorem (docs/theory/matrix.md, theorem 3). With noise_T ∝ √(share_T/A_T) no Gaussian strategy has a smaller
    expected squared error, for units that are added or removed.
    """

    least: float = 0.0

    def interaction_tables(self, unit: np.ndarray) -> list[np.ndarray]:
        """Return √(noise_T/N_T) times residuals of independent variables."""
        start, tables = 0, []
        for axes, factor in zip(self.interactions.sets, self._factors, strict=True):
            cells = self.interactions.cells(axes)
            block = unit[:, start : start + cells].reshape(len(unit), *self.interactions.sizes(axes))
            tables.append(factor * self.interactions.residual(block, len(axes)))
            start += cells
        return tables

    @cached_property
    def _factors(self) -> list[float]:
        """The factors √(noise_T/N_T)."""
        return [math.sqrt(square) for square in self.noise * self.interactions.repeats]

    def proof(self, body: Polytope) -> tuple[float, Combined, None] | None:
        """Return the radius in rational numbers (docs/theory/reals.md, theorem 7)."""
        interactions = self.interactions
        if not is_small(interactions, self.n_noise):
            return None
        square = normal_square(body, interactions, self._factors)
        if square is None:
            return None
        left, divisors = contrasts(interactions)
        right = np.repeat(self._factors, [interactions.cells(axes) for axes in interactions.sets])
        return body.factor * math.sqrt(square) * UP, Combined(left, np.diag(right), Normal, divisors), None

    def describe(self) -> str:
        """Return the number of interactions."""
        return f"{len(self.interactions.sets)} interactions"


def residual(body: Polytope, structure: Structure) -> Residual:
    """Return the best strategy; for replaced units, one near it (see `least`)."""
    interactions = Interactions(structure)
    squares, times = _moves(body, interactions)
    noise, lower = _allocation(interactions.demand, squares)
    radius = times * body.factor * math.sqrt(float(_spent(squares, noise).max()))
    is_exact = times == 1 or body.with_zero  # else one cell is no move of the body
    return Residual(interactions, noise, radius * UP, lower * body.factor / UP if is_exact else 0.0)


def _moves(body: Polytope, interactions: Interactions) -> tuple[np.ndarray, float]:
    """Return N·‖P_T z‖² per kind of z, and a scale factor."""
    if not body.differences:
        return interactions.share[None], 1.0
    kinds = interactions.differences(_MOST_PATTERNS)
    if kinds is None:
        return interactions.share[None], 2.0
    rows = [interactions.apart(axes) for axes in kinds] + ([interactions.share] if body.with_zero else [])
    return np.array(rows), 1.0


def _allocation(demand: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, float]:
    """Return noise_T that minimises Σ A_T·noise_T·max_k Σ_T squares_kT/noise_T, and a bound."""
    probability = np.full(len(squares), 1 / len(squares))
    best: tuple[float, np.ndarray] = (math.inf, np.zeros(0))
    lower = 0.0
    for _ in range(1000 if len(squares) > 1 else 1):
        mixed = probability @ squares
        noise = np.sqrt(mixed / demand)
        dual = float(np.sqrt(mixed * demand).sum())
        spent = _spent(squares, noise)
        lower = max(lower, dual)
        best = min(best, (math.sqrt(dual * float(spent.max())), noise), key=lambda pair: pair[0])
        if best[0] <= lower * (1 + 1e-9):
            break
        probability = probability * spent / (probability @ spent)
    return best[1], lower


def _spent(squares: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return Σ_T squares_kT/noise_T for each move k, infinite if noise is missing."""
    bare = np.where(squares > 0, math.inf, 0.0)
    return np.divide(squares, noise, out=bare, where=noise > 0).sum(axis=1)
