"""Random walk over the facets of a symmetric polytope.

Its distribution approaches the volumes of the cones over the facets. The polytope is conv{±w_j}, w_j the columns of a
matrix (r, k), all its facets simplices. A state is a facet: its basis of r signed columns. A step crosses a uniformly
chosen ridge, to the only other facet there, with probability min(1, |det B′|/|det B|), and otherwise stays: the
proposal is symmetric, so the distribution ∝ |det B| is stationary (Metropolis et al. 1953). |det B′|/|det B| is the
pivot of a simplex step; docs/theory/knorm.md.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import cast

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.samplers.continuous import normals, uniforms
from gaugedp.samplers.tuning import TUNED


@dataclass(eq=False)
class Chains:
    """States of c independent walks.

    They are bases (c, r), their signs, inverses (c, r, r) and yᵀW (c, k), y the normals. The facet of a state is {z :
    ⟨y, z⟩ = 1}: |yᵀw_j| ≤ 1 for all j, with equality on the basis.
    """

    columns: np.ndarray
    basis: np.ndarray
    signs: np.ndarray
    inverse: np.ndarray
    products: np.ndarray
    age: int = 0  # steps since the last inversion

    @property
    def count(self) -> int:
        """The number c of walks."""
        return len(self.basis)

    def facets(self) -> np.ndarray:
        """Return the bases as signed matrices (c, r, r)."""
        return facets_of(self.columns, self.basis, self.signs)

    def refactor(self) -> None:
        """Recompute the inverses and the products from the bases."""
        self.inverse = np.linalg.inv(self.facets())
        self.products = self.inverse.sum(axis=1) @ self.columns
        self.age = 0

    def walk(self, steps: int, rng: Entropy) -> None:
        """Take `steps` steps in each walk, if possible compiled."""
        self.take(*self.draws(steps, rng))

    def step_or_stay(self, rng: Entropy) -> None:
        """Take one more step in about half of the walks.

        If no step is ever rejected, walks alternate between two classes of facets; afterwards both are equally likely.
        """
        ridges, coins = self.draws(1, rng)
        coins[:, uniforms(self.count, rng) < 0.5] = np.inf  # rejected
        self.take(ridges, coins)

    def draws(self, steps: int, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return ridges and coins in [0, 1), both (steps, c)."""
        size = steps * self.count
        ridges = (uniforms(size, rng) * self.basis.shape[1]).astype(np.int64)
        return ridges.reshape(steps, -1), uniforms(size, rng).reshape(steps, -1)

    def take(self, ridges: np.ndarray, coins: np.ndarray, step: Callable[..., None] | None = None) -> None:
        """Take the steps of `ridges` and `coins`."""
        kernel, done = step or fastest(), 0
        while done < len(ridges):
            count = min(TUNED.steps_between_inversions - self.age, len(ridges) - done)
            kernel(self, ridges[done : done + count], coins[done : done + count])
            done, self.age = done + count, self.age + count
            if self.age == TUNED.steps_between_inversions:
                self.refactor()


def facets_of(columns: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return the signed columns of bases as matrices (c, r, r)."""
    return np.moveaxis(columns[:, basis], 0, 1) * signs[:, None, :]


def started(columns: np.ndarray, count: int, rng: Entropy) -> Chains:
    """Return `count` walks from facets that r rays each reach in the polar body."""
    rank, n_columns = columns.shape
    basis, signs = np.zeros((count, rank), dtype=np.int64), np.ones((count, rank))
    products = np.zeros((count, n_columns))
    frame = np.zeros((count, rank, rank))  # orthonormal rows that span the constraints met so far
    every = np.arange(count)
    for place in range(rank):
        ray = _orthogonal(normals(count * rank, rng).reshape(count, rank), frame)
        along = ray @ columns
        along[every[:, None], basis[:, :place]] = 0.0
        gap = _distances(along, products)
        met = gap.argmin(axis=1)
        products += gap[every, met][:, None] * along
        basis[:, place], signs[:, place] = met, np.sign(along[every, met])
        normal = _orthogonal(columns.T[met], frame)
        frame[:, place] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    chains = Chains(columns, basis, signs, np.empty(0), products)
    chains.refactor()
    return chains


def _orthogonal(vectors: np.ndarray, frame: np.ndarray) -> np.ndarray:
    for _ in range(2):
        vectors = vectors - ((frame @ vectors[:, :, None]).swapaxes(1, 2) @ frame)[:, 0]
    return vectors


def _distances(along: np.ndarray, products: np.ndarray, *, smallest_pivot: float = 1e-9) -> np.ndarray:
    """Return the distances along each ray to |yᵀw_j| = 1."""
    size = np.abs(along)
    room = np.where(along >= 0, 1 - products, 1 + products)
    return np.divide(room, size, out=np.full_like(size, np.inf), where=size > smallest_pivot)


def numpy_steps(chains: Chains, ridges: np.ndarray, coins: np.ndarray) -> None:
    """Take steps in all walks together."""
    every = np.arange(chains.count)
    outer = np.empty_like(chains.inverse)
    for ridge, coin in zip(ridges, coins, strict=True):
        row = chains.inverse[every, ridge]
        along = row @ chains.columns
        leaving = chains.basis[every, ridge]
        direction = -along
        direction[every[:, None], chains.basis] = 0.0
        direction[every, leaving] = -chains.signs[every, ridge]  # the negative of the leaving column may enter
        gap = _distances(direction, chains.products)
        entering = gap.argmin(axis=1)
        size = direction[every, entering]
        is_accepted = coin < np.abs(size)
        sign = np.sign(size)
        column = (chains.inverse @ (chains.columns.T[entering] * sign[:, None])[:, :, None])[:, :, 0]
        pivot = column[every, ridge]
        factor = column / pivot[:, None]
        factor[every, ridge] = 1 - 1 / pivot
        factor[~is_accepted] = 0.0
        np.multiply(factor[:, :, None], row[:, None, :], out=outer)
        chains.inverse -= outer
        chains.products += (is_accepted * np.maximum(gap[every, entering], 0.0))[:, None] * -along
        chains.basis[every[is_accepted], ridge[is_accepted]] = entering[is_accepted]
        chains.signs[every[is_accepted], ridge[is_accepted]] = sign[is_accepted]
        _tidy(chains, is_accepted & (np.abs(pivot) < 0.02))


def _tidy(chains: Chains, tiny: np.ndarray) -> None:
    for index in np.flatnonzero(tiny):
        facet = chains.columns[:, chains.basis[index]] * chains.signs[index]
        chains.inverse[index] = np.linalg.inv(facet)
        chains.products[index] = chains.inverse[index].sum(axis=0) @ chains.columns


@cache
def fastest() -> Callable[..., None]:
    """Return the compiled steps, or those of numpy without numba."""
    if importlib.util.find_spec("numba") is None:
        return numpy_steps
    compiled: ModuleType = importlib.import_module("gaugedp.samplers.facet_walk_compiled")
    return cast(Callable[..., None], compiled.compiled_steps)
