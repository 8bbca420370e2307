"""Counts of nested areas and their recursive least squares."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Tables = list[np.ndarray]  # one per level, coarsest first, of shape (…, areas, cells)


@dataclass(frozen=True)
class Place:
    """Place of a level's counts: `start`, `shape`, and axes by `order`. `order` puts areas first."""

    start: int
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def n_areas(self) -> int:
        """Number of areas."""
        return self.shape[self.order[0]]

    @property
    def stop(self) -> int:
        """End of the counts."""
        return self.start + math.prod(self.shape)


@dataclass(frozen=True)
class Nesting:
    """Levels of one tree, coarsest first, crossed with the same cells.

    The parts of area k of level l are the areas of level l + 1 from `starts[l][k]` on, up to the first of area k + 1.
    """

    places: tuple[Place, ...]
    starts: tuple[tuple[int, ...], ...]

    def split(self, values: np.ndarray) -> Tables:
        """Return counts (…, n_answers) as a table for each level."""
        ahead = values.ndim - 1
        parts = [
            values[..., place.start : place.stop].reshape(*values.shape[:-1], *place.shape) for place in self.places
        ]
        return [
            part.transpose(*range(ahead), *(ahead + axis for axis in place.order)).reshape(
                *part.shape[:ahead], place.n_areas, -1
            )
            for part, place in zip(parts, self.places, strict=True)
        ]

    def joined(self, tables: Tables) -> np.ndarray:
        """Return the tables as counts (…, n_answers), in query order."""
        ahead = tables[0].shape[:-2]
        values = np.empty((*ahead, sum(math.prod(place.shape) for place in self.places)), tables[0].dtype)
        for table, place in zip(tables, self.places, strict=True):
            axes = table.reshape(*ahead, *(place.shape[axis] for axis in place.order))
            back = (len(ahead) + int(axis) for axis in np.argsort(place.order))
            values[..., place.start : place.stop] = axes.transpose(*range(len(ahead)), *back).reshape(*ahead, -1)
        return values

    def added(self, finest: np.ndarray) -> Tables:
        """Return the tables of all levels from the finest."""
        tables = [finest]
        for begins in reversed(self._begins):
            tables.insert(0, np.add.reduceat(tables[0], begins, axis=-2))
        return tables

    def total(self, parts: np.ndarray, level: int) -> np.ndarray:
        """Return the sum of the parts of each area."""
        return np.add.reduceat(parts, self._begins[level], axis=-2)

    def most(self, parts: np.ndarray, level: int) -> np.ndarray:
        """Return the largest of the parts of each area."""
        return np.maximum.reduceat(parts, self._begins[level], axis=-2)

    def handed(self, areas: np.ndarray, level: int) -> np.ndarray:
        """Repeat the value of each area for its parts."""
        return np.repeat(areas, self._sizes[level], axis=-2)

    @cached_property
    def _begins(self) -> list[np.ndarray]:
        return [np.array(begins) for begins in self.starts]

    @cached_property
    def _sizes(self) -> list[np.ndarray]:
        ends = [place.n_areas for place in self.places[1:]]
        return [np.diff(begins, append=end) for begins, end in zip(self._begins, ends, strict=True)]


@dataclass(frozen=True)
class Recursion:
    """Linear-time least squares of noisy counts that must add up.

    Theorem (docs/theory/nesting.md). The noise is independent. From below, the estimate of an area from its count y (of
    variance v) and from the sum s of the estimates of its parts (of variance S) is z = y + trust·(s − y), trust = v/(v
    + S), of variance u = trust·S. From above, the estimate of a part is z + share·(x − s), share = u/S, where x is the
    estimate of its area. All tables broadcast over the counts; `trusts`, `rooms` (S) and `shares` have one for each
    level but the finest, `spreads` (u) one for each level.
    """

    nesting: Nesting
    spreads: Tables
    rooms: Tables
    trusts: Tables
    shares: Tables

    @classmethod
    def of(cls, nesting: Nesting, variances: Tables) -> "Recursion":
        """Return the recursion for noise of `variances` > 0.

        The tables are (areas, cells), or (areas, 1) if cells agree.
        """
        spreads, rooms, trusts, shares = variances[-1:], Tables(), Tables(), Tables()
        for level in reversed(range(len(variances) - 1)):
            rooms.insert(0, nesting.total(spreads[0], level))
            trusts.insert(0, variances[level] / (variances[level] + rooms[0]))
            shares.insert(0, spreads[0] / nesting.handed(rooms[0], level))
            spreads.insert(0, trusts[0] * rooms[0])
        return cls(nesting, spreads, rooms, trusts, shares)

    def known(self, counts: Tables) -> tuple[Tables, Tables]:
        """Return estimates from below: with and without the area's count."""
        estimates, sums = counts[-1:], Tables()
        for level in reversed(range(len(counts) - 1)):
            sums.insert(0, self.nesting.total(estimates[0], level))
            estimates.insert(0, counts[level] + self.trusts[level] * (sums[0] - counts[level]))
        return estimates, sums

    def estimates(self, counts: Tables) -> Tables:
        """Return the estimates; they add up to rounding."""
        from_below, sums = self.known(counts)
        estimates = from_below[:1]
        for level, parts in enumerate(from_below[1:]):
            above = estimates[level] - sums[level]
            estimates.append(parts + self.shares[level] * self.nesting.handed(above, level))
        return estimates

    @cached_property
    def variances(self) -> Tables:
        """Variances of the estimates.

        They are u for the coarsest level, and u·(1 − share + share·V/S) for parts of an area with variance V.
        """
        variances = self.spreads[:1]
        for level, share in enumerate(self.shares):
            left = self.nesting.handed(variances[level] / self.rooms[level], level)
            variances.append(self.spreads[level + 1] * (1 - share + share * left))
        return variances
