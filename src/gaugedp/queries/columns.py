"""Columns of a workload as an operator, never written out."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from gaugedp.bodies.corners import Corners
from gaugedp.bodies.generators import Block, Structure
from gaugedp.domain.domain import Domain
from gaugedp.domain.nesting import Nesting
from gaugedp.errors import InvalidRequest
from gaugedp.queries.coarsened import folded, nested
from gaugedp.queries.maps import CellMap, Identity, Prefix, Ranges
from gaugedp.queries.piece import Piece
from gaugedp.queries.products import Product

_MOST_GENERATORS = 10**7
_KINDS: dict[type[CellMap], str] = {Identity: "cells", Prefix: "prefix", Ranges: "ranges", Product: "product"}


@dataclass(frozen=True)
class WorkloadColumns:
    """Generators of a workload, one per cell of the joint table.

    The last of the `attributes` runs fastest. They are all attributes of the pieces, but only the finest level of each
    tree: its cells determine those of the others. With bounded columns, there is one generator for each cell and each
    choice, for every column, of its lower bound, its upper bound or, if possible, no value (the choice slowest); the
    squares of a column are one more column. A row in the cell adds a point of the hull of these.

    If some pieces are weighted, there is one for the least and one for the largest weight of a row, slowest of all. If
    all are, the generators are those without weights, and the answers those of weighted joint tables: see `heaviest`.
    """

    domain: Domain
    attributes: tuple[str, ...]
    columns: tuple[str, ...]
    pieces: Sequence[Piece]

    @classmethod
    def of(cls, domain: Domain, columns: tuple[str, ...], pieces: Sequence[Piece]) -> "WorkloadColumns":
        """Return the generators of the pieces, in domain order."""
        if all(piece.weight for piece in pieces):
            pieces = [replace(piece, weight=None) for piece in pieces]
        used = {name for piece in pieces for name in piece.attributes}
        return cls(domain, domain.finest([name for name in domain.attributes if name in used]), columns, pieces)

    @cached_property
    def _pieces(self) -> Sequence[Piece]:
        return [folded(piece, self.domain, self.attributes) for piece in self.pieces]

    @property
    def ambient_dim(self) -> int:
        """Number of released integers."""
        return sum(piece.cells.n_released for piece in self.pieces)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells of the attributes."""
        return self.domain.shape(self.attributes)

    @property
    def n_generators(self) -> int:
        """Number of joint cells, times 2 or 3 per bounded column, and 2 for weights."""
        return math.prod(self.shape) * self._n_combined

    whole_numbers = True

    @property
    def counting(self) -> bool:
        """True if rows are only counted: neighbours differ by columns."""
        return not self.columns and not any(piece.weight for piece in self.pieces)

    @property
    def structure(self) -> Structure | None:
        """Blocks of cells, prefixes, ranges and products, or None. It is None with a matrix or a bounded column."""
        if not self.counting or any(type(piece.cells) not in _KINDS for piece in self._pieces):
            return None
        places = [tuple(self.attributes.index(name) for name in piece.attributes) for piece in self._pieces]
        kinds = [_KINDS[type(piece.cells)] for piece in self._pieces]
        factors = [tuple(_KINDS[type(factor)] for factor in piece.cells.factors) for piece in self._pieces]
        return Structure(self.shape, tuple(Block(*block) for block in zip(places, kinds, factors, strict=True)))

    @cached_property
    def nesting(self) -> Nesting | None:
        """Levels of one tree, if only their counts are requested."""
        return nested(self.domain, self.pieces)

    @property
    def corners(self) -> Corners | None:
        """Box whose corners span the generators, or None.

        It exists if the columns are summed over all rows. It is None if there are several cells, if bounds are beyond
        2^53 steps, if fewer than two columns are summed, if one is summed twice, and if a count leaves out the rows
        without a value: then a row's contribution to one released number depends on that to another.
        """
        if len(self.columns) < 2 or any(piece.cells != Identity(1) or piece.weight for piece in self.pieces):
            return None
        if max(piece.reach for piece in self.pieces) > 2**53:  # floats represent integers exactly up to here
            return None
        moving = [piece.choice for piece in self.pieces if not piece.counts]
        if len(set(moving)) < len(moving) or any(piece.counts and piece.may_miss for piece in self.pieces):
            return None
        low = tuple(float(min(piece.low, 0) if piece.may_miss else piece.low) for piece in self.pieces)
        high = tuple(float(max(piece.high, 0) if piece.may_miss else piece.high) for piece in self.pieces)
        return Corners(low, high, whole_numbers=True)

    @cached_property
    def rank(self) -> int:
        """Dimension of the span."""
        if self.counting and all(piece.cells.injective for piece in self.pieces):
            return self._interactions()
        n_cells, choices = math.prod(self.shape), self._spanning_choices()
        if self.ambient_dim * n_cells * len(choices) > 4 * 10**6:
            raise InvalidRequest(
                "The query is too large to compute how many of its answers are independent.",
                "Request fewer cells, or use fewer rows of the workload.",
            )
        few = [self.column(choice * n_cells + cell) for choice in choices for cell in range(n_cells)]
        return int(np.linalg.matrix_rank(np.stack(few, axis=1)))

    def apply(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the answers (…, d) of joint tables (…, n)."""
        choices = coefficients.reshape(*coefficients.shape[:-1], self._n_combined, *self.shape)
        return np.concatenate([self._piece_rows(piece, choices) for piece in self._pieces], axis=-1)

    def adjoint(self, direction: np.ndarray) -> np.ndarray:
        """Return ⟨direction, v⟩ for every generator v."""
        _check_size(self.n_generators)
        total = np.zeros((self._n_combined, *self.shape))
        for piece, spread in self._products(direction):
            total += np.multiply.outer(self._weights(piece), spread)
        return total.ravel()

    def extremes(self, direction: np.ndarray) -> tuple[tuple[float, int], tuple[float, int]]:
        """Return max_v and min_v ⟨direction, v⟩, each with its index."""
        _check_size(math.prod(self.shape))
        products = list(self._products(direction))
        highs, lows = zip(*(self._extremes_at(place, products) for place in range(len(self._row_weights))), strict=True)
        return max(highs), min(lows)

    def _extremes_at(
        self, place: int, products: Sequence[tuple[Piece, np.ndarray]]
    ) -> tuple[tuple[float, int], tuple[float, int]]:
        alike: dict[str | None, list[np.ndarray]] = {}  # by column, the products under each choice
        for piece, unweighted in products:
            spread = unweighted * self._row_weights[place] if piece.weight else unweighted
            values = [value * spread for value in ((1,) if piece.choice is None else piece.contributions)]
            before = alike.get(piece.choice, [np.zeros(self.shape)] * len(values))
            alike[piece.choice] = [total + value for total, value in zip(before, values, strict=True)]
        fixed = alike.pop(None, [np.zeros(self.shape)])[0]
        tables = [np.stack(alike[name][:count]) for name, count in zip(self.columns, self._n_choices, strict=True)]
        high, low = (self._best(sign * fixed, [sign * table for table in tables]) for sign in (1, -1))
        first = place * math.prod(self._n_choices) * math.prod(self.shape)
        return (high[0], first + high[1]), (-low[0], first + low[1])

    def _best(self, fixed: np.ndarray, tables: list[np.ndarray]) -> tuple[float, int]:
        """Return the largest total over cells and choices, with index."""
        total = fixed + sum(table.max(axis=0) for table in tables)
        cell = int(total.argmax())
        choice = 0
        for table, count in zip(tables, self._n_choices, strict=True):
            choice = choice * count + int(table.reshape(count, -1)[:, cell].argmax())
        return float(total.ravel()[cell]), choice * math.prod(self.shape) + cell

    def _products(self, direction: np.ndarray) -> Iterable[tuple[Piece, np.ndarray]]:
        start = 0
        for piece in self._pieces:
            cells = piece.cells.adjoint(np.asarray(direction[start : start + piece.cells.n_released], dtype=float))
            start += piece.cells.n_released
            yield piece, self._spread(cells, piece.attributes)

    def column(self, index: int) -> np.ndarray:
        """Return one generator."""
        choice, cell = divmod(index, math.prod(self.shape))
        places = np.unravel_index(cell, self.shape)
        parts = []
        for piece, (axes, shape) in zip(self._pieces, self._axes, strict=True):
            unit = np.zeros(piece.cells.n_cells, dtype=np.int64)
            unit[np.ravel_multi_index([places[axis] for axis in axes], shape) if axes else 0] = self._weight(
                piece, choice
            )
            parts.append(piece.cells.apply(unit).astype(float))
        return np.concatenate(parts)

    def row_squares(self) -> np.ndarray:
        """Return, for counts, row squares times the joint cells per cell."""
        joint = math.prod(self.shape)
        return np.concatenate([piece.cells.row_squares() * (joint // piece.cells.n_cells) for piece in self._pieces])

    def largest_norm(self, p: float, weights: np.ndarray | None) -> float:
        """Return the largest norm of a generator."""
        powers = self._powers(p, weights)
        fixed = _gather([block[0] for block, _ in powers if block.min() == block.max()], p)
        moving = [(block, piece) for block, piece in powers if block.min() < block.max()]
        return _root(_gather([fixed, self._largest_total(moving, p)], p), p)

    def _powers(self, p: float, weights: np.ndarray | None) -> list[tuple[np.ndarray, Piece]]:
        """Return the powers of the contributions by cell.

        A generator adds to one only of the parts of a column.
        """
        found: list[tuple[np.ndarray, Piece]] = []
        for scale, piece in self._scaled(p, weights):
            block = scale * piece.cells.powers(p)
            if found and _are_parts(found[-1][1], piece):
                block = np.maximum(block, found.pop()[0])
            found.append((block, piece))
        return found

    def largest_difference(self, p: float, weights: np.ndarray | None) -> float:
        """Bound the largest distance of two generators, block by block, or by twice the largest norm."""
        blocks = []
        for scale, piece in self._scaled(p, weights):
            apart = scale * piece.cells.largest_difference_power(p)
            least, most = piece.ends
            spread = max(most, 0) - min(least, 0) if piece.may_miss else most - least
            within = (spread if math.isinf(p) else float(spread) ** p) * scale / _raise(piece.reach, p)
            blocks.append(max(apart, within * float(piece.cells.powers(p).max())))
        apart = _root(_gather(blocks, p), p)
        return min(apart, 2 * self.largest_norm(p, weights)) if any(piece.part for piece in self.pieces) else apart

    def _scaled(self, p: float, weights: np.ndarray | None) -> Iterable[tuple[float, Piece]]:
        """Yield (reach/least weight)^p with each piece. The least weight of a piece is conservative."""
        start = 0
        for piece in self._pieces:
            stop = start + piece.cells.n_released
            least = 1.0 if weights is None else float(np.min(weights[start:stop]))
            yield _raise(piece.reach / least, p), piece
            start = stop

    def _largest_total(self, blocks: list[tuple[np.ndarray, Piece]], p: float) -> float:
        names = tuple(name for name in self.attributes if any(name in piece.attributes for _, piece in blocks))
        if not blocks or math.isinf(p) or math.prod(self.domain.shape(names)) > _MOST_GENERATORS:
            return _gather([float(block.max()) for block, _ in blocks], p)
        tables = [_along(self.domain, block, piece.attributes, names) for block, piece in blocks]
        return float(sum(tables, np.zeros(1)).max())

    def _interactions(self) -> int:
        levels = {name: self.domain.levels(name) for piece in self.pieces for name in piece.attributes}
        tables = {
            frozenset(names) - {None}
            for piece in self.pieces
            for names in product(*((None, *levels[name]) for name in piece.attributes))
        }
        sizes = {name: [1, *self.domain.shape(above)] for name, above in levels.items()}
        new = {level: sizes[name][i + 1] - sizes[name][i] for name in levels for i, level in enumerate(levels[name])}
        return sum(math.prod(new[name] for name in names if name) for names in tables)

    @cached_property
    def _n_choices(self) -> tuple[int, ...]:
        """Numbers of choices per column: bounds or parts, and no value if possible."""
        missing = {piece.choice for piece in self.pieces if piece.may_miss}
        numbers = {piece.choice: len(piece.contributions) for piece in self.pieces}
        return tuple(numbers[name] - (name not in missing) for name in self.columns)

    @cached_property
    def _row_weights(self) -> tuple[int, ...]:
        weight = next((piece.weight for piece in self.pieces if piece.weight), None)
        return (1,) if weight is None else (weight.light, weight.heavy)

    @property
    def _n_combined(self) -> int:
        return len(self._row_weights) * math.prod(self._n_choices)

    def _weight(self, piece: Piece, choice: int) -> int:
        """Return the piece's factor under a mixed-radix choice. The last column runs fastest, the weight slowest."""
        weight = self._row_weights[choice // math.prod(self._n_choices)] if piece.weight else 1
        if piece.choice is None:
            return weight
        place = self.columns.index(piece.choice)
        later = math.prod(self._n_choices[place + 1 :])
        return weight * piece.contributions[choice // later % self._n_choices[place]]

    def _weights(self, piece: Piece) -> np.ndarray:
        return np.array([self._weight(piece, choice) for choice in range(self._n_combined)])

    def _spanning_choices(self) -> list[int]:
        n_later = [math.prod(self._n_choices[place + 1 :]) for place in range(len(self.columns))]
        pairs = zip(self._n_choices, n_later, strict=True)
        changed = [0, *(digit * later for count, later in pairs for digit in range(1, count))]
        n_choices = math.prod(self._n_choices)
        return [place * n_choices + choice for place in range(len(self._row_weights)) for choice in changed]

    def _piece_rows(self, piece: Piece, choices: np.ndarray) -> np.ndarray:
        axes = len(self.attributes)
        weighted = np.moveaxis(choices, -axes - 1, -1) @ self._weights(piece)
        others = tuple(axis - axes for axis, name in enumerate(self.attributes) if name not in piece.attributes)
        return piece.cells.apply(_ordered(weighted.sum(axis=others), self.attributes, piece.attributes))

    def _spread(self, cells: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
        return np.broadcast_to(_along(self.domain, cells, names, self.attributes), self.shape)

    @cached_property
    def _axes(self) -> list[tuple[list[int], tuple[int, ...]]]:
        """Axes of the joint table, and numbers of cells, of each piece."""
        return [
            ([self.attributes.index(name) for name in piece.attributes], self.domain.shape(piece.attributes))
            for piece in self._pieces
        ]


def heaviest(pieces: Sequence[Piece]) -> int:
    """Return the largest weight of a row, in steps, if all pieces are weighted, else 1.

    The body of neighbours is then that of the unweighted pieces, times this (docs/theory/survey_weights.md, theorem 1).
    """
    return min(1 if piece.weight is None else piece.weight.heavy for piece in pieces)


def _are_parts(piece: Piece, after: Piece) -> bool:
    """Return True for adjacent parts of one table."""
    part = piece.part
    if part is None or after.part != part._replace(place=part.place + 1):
        return False
    return piece == replace(after, part=part, low=piece.low, high=piece.high, step=piece.step)


def _check_size(n_cells: int) -> None:
    if n_cells > _MOST_GENERATORS:
        raise InvalidRequest(
            f"This sensitivity must be listed for all {n_cells:,} cells of the joint table, which are too many.",
            f"Use attributes with at most {_MOST_GENERATORS:,} cells together.",
        )


def _along(domain: Domain, cells: np.ndarray, names: tuple[str, ...], onto: tuple[str, ...]) -> np.ndarray:
    table = cells.reshape(domain.shape(names))
    shared = [name for name in onto if name in names]
    table = table.transpose([names.index(name) for name in shared])
    return table.reshape([domain.attribute(name).n_cells if name in names else 1 for name in onto])


def _ordered(table: np.ndarray, have: tuple[str, ...], want: tuple[str, ...]) -> np.ndarray:
    shared = [name for name in have if name in want]
    ahead = table.ndim - len(shared)
    order = [*range(ahead), *(ahead + shared.index(name) for name in want)]
    return table.transpose(order).reshape(*table.shape[:ahead], -1)


def _raise(value: float, p: float) -> float:
    return float(value) if math.isinf(p) else float(value) ** p


def _root(value: float, p: float) -> float:
    return float(value) if math.isinf(p) else float(value) ** (1 / p)


def _gather(values: list[float], p: float) -> float:
    collect: Callable[[list[float]], float] = max if math.isinf(p) else sum
    return float(collect([0.0, *values]))
