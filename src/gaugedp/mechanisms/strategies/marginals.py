"""Marginals of any size, with independent noise per interaction."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from gaugedp.bodies.generators import Structure
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.strategies.base import Strategy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_SUBSETS = 20000

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Interactions:
    """The spaces E_T of interactions T in a block.

    T is a set of axes. E_T holds the tables that are constant off T and sum to 0 along each axis of T. P_T projects on
    E_T, of dimension ∏_{a∈T}(n_a − 1); N_T is the number of cells of the table over T, N that of all.
    """

    structure: Structure

    @cached_property
    def sets(self) -> list[Axes]:
        """The T of positive dimension, by size, in ascending axes."""
        subsets = {subset for block in self.blocks for subset in self._within(block)}
        if len(subsets) > MOST_SUBSETS:
            what = f"The tables have {len(subsets):,} subsets of attributes; at most {MOST_SUBSETS:,} are supported."
            raise InvalidRequest(what, "Request tables with fewer attributes.")
        return sorted(subsets, key=lambda axes: (len(axes), axes))

    @cached_property
    def inside_blocks(self) -> list[np.ndarray]:
        """The indices in `sets` of the T ⊆ S, for each requested marginal S."""
        return [self._places(block) for block in self.blocks]

    @cached_property
    def inside(self) -> list[np.ndarray]:
        """The indices in `sets` of the T ⊆ S, for each S of `sets`."""
        return [self._places(axes) for axes in self.sets]

    @cached_property
    def around(self) -> list[list[int]]:
        """The indices in `sets` of the S ⊇ T, for each T of `sets`."""
        places: list[list[int]] = [[] for _ in self.sets]
        for wider, inside in enumerate(self.inside):
            for place in inside:
                places[place].append(wider)
        return places

    @cached_property
    def is_inside(self) -> "csr_array":
        """The sparse matrix 1[T ⊆ S], rows T and columns S of `sets`."""
        from scipy.sparse import csr_array

        ends = np.cumsum([0, *map(len, self.around)])
        return csr_array((np.ones(ends[-1]), np.concatenate(self.around), ends), shape=(len(self.sets), len(self.sets)))

    @cached_property
    def blocks(self) -> list[Axes]:
        """The axes of each marginal, in query order."""
        return [block.axes for block in self.structure.blocks]

    def sizes(self, axes: Axes) -> list[int]:
        """Return the numbers of cells of some axes."""
        return [self.structure.shape[axis] for axis in axes]

    def cells(self, axes: Axes) -> int:
        """Return N_T."""
        return math.prod(self.sizes(axes))

    def dimension(self, axes: Axes) -> int:
        """Return dim E_T."""
        return math.prod(size - 1 for size in self.sizes(axes))

    @cached_property
    def repeats(self) -> np.ndarray:
        """1/N_T for each T."""
        return np.array([1 / self.cells(axes) for axes in self.sets])

    @cached_property
    def share(self) -> np.ndarray:
        """dim E_T = N·‖P_T e_j‖² for each T and every cell j."""
        return np.array([float(self.dimension(axes)) for axes in self.sets])

    @cached_property
    def demand(self) -> np.ndarray:
        """A_T/N = dim E_T·Σ_{S ⊇ T} 1/N_S over the requested marginals S."""
        times = np.zeros(len(self.sets))
        for block, places in zip(self.blocks, self.inside_blocks, strict=True):
            times[places] += 1 / self.cells(block)
        return self.share * times

    def differences(self, most: int) -> list[Axes] | None:
        """Return the axis sets in which cells differ, or None if too many."""
        movable = [axis for axis, size in enumerate(self.structure.shape) if size > 1]
        return list(_subsets(movable))[1:] if 2 ** len(movable) <= most else None

    def apart(self, movable: Sequence[int]) -> np.ndarray:
        """Return N·‖P_T(e_i − e_j)‖² for each T, for cells that differ exactly in `movable`."""
        inner = [math.prod(-1 if a in movable else self.structure.shape[a] - 1 for a in axes) for axes in self.sets]
        return 2 * (self.share - np.array(inner, dtype=float))

    def residual(self, table: np.ndarray, n_axes: int) -> np.ndarray:
        """Subtract the means along the last `n_axes` axes."""
        for axis in range(-n_axes, 0):
            table = table - table.mean(axis=axis, keepdims=True)
        return table

    def _within(self, block: Axes) -> Iterator[Axes]:
        return _subsets([axis for axis in sorted(block) if self.structure.shape[axis] > 1])

    def _places(self, block: Axes) -> np.ndarray:
        return np.sort([self._place[axes] for axes in self._within(block)])

    @cached_property
    def _place(self) -> dict[Axes, int]:
        return {axes: place for place, axes in enumerate(self.sets)}


@dataclass(frozen=True, eq=False)
class MarginalNoise(Strategy, ABC):
    """Noise F·Σ_T x_T with independent interactions x_T in E_T.

    x_T has the covariance noise_T·P_T/N; the joint table is never formed. The factor N, often beyond floats, is left
    out.
    """

    interactions: Interactions
    noise: np.ndarray
    radius: float

    @property
    def n_noise(self) -> int:
        """The number of variables, one per cell of each T."""
        return sum(self.interactions.cells(axes) for axes in self.interactions.sets)

    @abstractmethod
    def interaction_tables(self, unit: np.ndarray) -> list[np.ndarray]:
        """Return x_T summed to the cells of T, for each T."""

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return the marginals of Σ_T x_T."""
        tables = self.interaction_tables(unit)
        blocks = zip(self.interactions.blocks, self.interactions.inside_blocks, strict=True)
        return np.concatenate([self._marginal(block, places, tables) for block, places in blocks], axis=1)

    @cached_property
    def squares(self) -> np.ndarray:
        """Σ_{T ⊆ S} noise_T·dim E_T/N_S², for each cell of S."""
        traces = self.noise * self.interactions.share
        cells = list(map(self.interactions.cells, self.interactions.blocks))
        places = zip(self.interactions.inside_blocks, cells, strict=True)
        return np.repeat([float(traces[inside].sum()) / size / size for inside, size in places], cells)

    def spectrum(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return noise_T·A_T/(N·dim E_T) with multiplicity dim E_T, without weights only."""
        if weights is not None and np.ptp(weights) > 0:
            return None
        dimensions = self.interactions.share
        scale = 1.0 if weights is None else float(weights[0]) ** 2
        return self.noise * self.interactions.demand / dimensions / scale, dimensions

    def _marginal(self, block: Axes, places: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
        ordered, size = tuple(sorted(block)), len(tables[0])
        total = np.zeros((size, *self.interactions.sizes(ordered)))
        for place in places:
            axes = self.interactions.sets[place]
            spread = self.interactions.cells(axes) / self.interactions.cells(block)
            total += spread * _onto(tables[place], axes, ordered)
        return total.transpose([0, *(1 + ordered.index(axis) for axis in block)]).reshape(size, -1)


def _subsets(axes: Sequence[int]) -> chain[Axes]:
    return chain.from_iterable(combinations(axes, size) for size in range(len(axes) + 1))


def _onto(table: np.ndarray, axes: Axes, ordered: Axes) -> np.ndarray:
    sizes = iter(table.shape[1:])
    return table.reshape(len(table), *(next(sizes) if axis in axes else 1 for axis in ordered))
