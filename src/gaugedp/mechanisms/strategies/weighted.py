"""Laplace noise for marginals: weighted sub-marginals."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from gaugedp.bodies.generators import Structure
from gaugedp.bodies.polytope import Polytope
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.strategies.interactions import contrasts, is_small, spread
from gaugedp.mechanisms.strategies.marginals import Interactions, MarginalNoise
from gaugedp.mechanisms.strategies.weights import best_weights
from gaugedp.samplers.combined import Combined
from gaugedp.samplers.variables import LaplaceVariables

_MOST_DENSE = 3000  # sets up to which a matrix over pairs of them is written out


@dataclass(frozen=True, eq=False)
class WeightedMarginals(MarginalNoise):
    """L = F·A⁺, A the weighted marginals inside a block.

    AᵀA has on E_T, for weights c_S, the eigenvalue λ_T = Σ_{S ⊇ T} c_S²·N/N_S, so noise_T = 1/λ_T
    (docs/theory/matrix.md, section 5; McKenna, Miklau, Hay and Machanavajjhala 2018). A row is once in each: Δ₁ = Σ_S
    c_S.
    """

    weights: np.ndarray

    def interaction_tables(self, unit: np.ndarray) -> list[np.ndarray]:
        """Return λ_T⁻¹ times the residual of the weighted noise on S ⊇ T."""
        sets = self.interactions.sets
        ends = np.cumsum([self.interactions.cells(axes) for axes in sets])
        parts = [
            scale * part.reshape(len(unit), *self.interactions.sizes(axes))
            for scale, axes, part in zip(self._scales(), sets, np.split(unit, ends[:-1], axis=1), strict=True)
        ]
        tables = []
        for axes, noise, around in zip(sets, self.noise, self.interactions.around, strict=True):
            total = sum(
                parts[wider].sum(axis=tuple(1 + place for place, axis in enumerate(sets[wider]) if axis not in axes))
                for wider in around
            )
            tables.append(noise * self.interactions.residual(np.asarray(total), len(axes)))
        return tables

    @cached_property
    def largest(self) -> np.ndarray:
        """max_S c_S·Σ_{T ⊆ S ∩ S′} dim E_T/(N_S·N_S′·λ_T) on S′, as projections peak on their diagonal."""
        traces, scales = self.noise * self.interactions.share, self._scales()
        cells = list(map(self.interactions.cells, self.interactions.blocks))
        around, reach = self.interactions.is_inside.T, []
        for places, size in zip(self.interactions.inside_blocks, cells, strict=True):
            within = np.zeros(len(traces))
            within[places] = traces[places]
            reach.append(float((scales * (around @ within)).max()) / size)
        return np.repeat(reach, cells)

    def preimages(self) -> np.ndarray | None:
        """Return c_S at the marginal cells of each joint cell."""
        shape = self.interactions.structure.shape
        if math.prod(shape) * self.n_noise > 4 * 10**6:  # numbers of the preimages' table
            return None
        places = np.indices(shape).reshape(len(shape), math.prod(shape))
        parts = []
        for axes, weight in zip(self.interactions.sets, self.weights, strict=True):
            sizes = [shape[axis] for axis in axes]
            at = np.ravel_multi_index(places[list(axes)], sizes) if axes else np.zeros(places.shape[1], dtype=int)
            parts.append(weight * np.eye(math.prod(sizes))[at])
        return np.hstack(parts)

    def describe(self) -> str:
        """Return the number of marginals."""
        return f"{len(self.weights)} weighted marginals"

    def proof(self, body: Polytope) -> tuple[float, Combined, None] | None:
        """Return the radius, including rounded weights (docs/theory/reals.md, theorem 7)."""
        interactions = self.interactions
        if not is_small(interactions, self.n_noise):
            return None
        factors = self.noise[:, None] * self._scales()
        missed, total = Fraction(0), sum(map(Fraction, self.weights.tolist()))
        for axes, row, around in zip(interactions.sets, factors, interactions.around, strict=True):
            pairs = zip(row[around].tolist(), self.weights[around].tolist(), strict=True)
            off = abs(sum((Fraction(x) * Fraction(c) for x, c in pairs), Fraction(-1)))
            if off >= 1:
                return None
            missed += 2 ** len(axes) * off / (1 - off)
        left, divisors = contrasts(interactions)
        law = Combined(left, spread(interactions, factors), LaplaceVariables, divisors)
        return body.coefficient_radius * float(total * (1 + missed)) * UP, law, None

    def _scales(self) -> np.ndarray:
        return self.weights * self.interactions.repeats


def weighted(body: Polytope, structure: Structure) -> WeightedMarginals:
    """Return weighted marginals for a counting body."""
    interactions = Interactions(structure)
    parts = interactions.is_inside.multiply(interactions.repeats).tocsr()
    parts = parts.toarray() if len(interactions.sets) <= _MOST_DENSE else parts
    weights = best_weights(parts / parts.max(), interactions.demand / interactions.demand.max())
    radius = body.coefficient_radius * float(weights.sum()) * UP
    return WeightedMarginals(interactions, 1 / (parts @ weights**2), radius, weights)
