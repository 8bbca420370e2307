"""The best strategy for a query, found in seconds."""

import contextlib
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp.bodies.box_hull import BoxHull
from gaugedp.bodies.generators import Structure
from gaugedp.bodies.polytope import MOST_DENSE, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import is_integer
from gaugedp.mechanisms.strategies.base import UP, PrefixStrategy, Strategy
from gaugedp.mechanisms.strategies.blocks import carried_prefixes, laplace_blocks, levelled
from gaugedp.mechanisms.strategies.certified import proved
from gaugedp.mechanisms.strategies.dense import optimal
from gaugedp.mechanisms.strategies.kronecker import kronecker
from gaugedp.mechanisms.strategies.nested import nested
from gaugedp.mechanisms.strategies.ordered import MOST_CELLS, best_ordered
from gaugedp.mechanisms.strategies.p_identity import MOST_COLUMNS, MOST_ENTRIES, by_block, p_identity
from gaugedp.mechanisms.strategies.ranges import RangeStrategy, optimal_ranges
from gaugedp.mechanisms.strategies.residual import residual
from gaugedp.mechanisms.strategies.segment import segment_and_box
from gaugedp.mechanisms.strategies.toeplitz import toeplitz
from gaugedp.mechanisms.strategies.trees import best_tree
from gaugedp.mechanisms.strategies.weighted import weighted

_MOST_GENERATORS = 20_000
_recent: deque[tuple[Any, Strategy]] = deque(maxlen=4)


def best_strategy(body: Polytope, p: int, weights: np.ndarray | None = None) -> Strategy:
    """Return the strategy of least Δ·‖W⁻¹L‖_F.

    For normal (p = 2) or Laplace (p = 1) noise. It does not depend on the guarantee, so the last few are cached.
    """
    request = (body, p, None if weights is None else np.asarray(weights, dtype=float).tobytes())
    for recent_key, strategy in list(_recent):
        if recent_key == request:
            return strategy
    best = proved(body, min(_searched(body, p, weights), key=lambda strategy: _length(strategy, weights)), p)
    _recent.append((request, best))
    return best


def _searched(body: Polytope, p: int, weights: np.ndarray | None) -> Iterator[Strategy]:
    nesting = body.generators.nesting
    if nesting is not None:
        yield nested(body, nesting, p, weights)
    if nesting is None or _is_written_out(body):
        yield from _gaussian(body, weights) if p == 2 else _laplace(body, weights)


def _length(strategy: Strategy, weights: np.ndarray | None) -> float:
    scales = 1.0 if weights is None else np.asarray(weights, dtype=float) ** 2
    return strategy.radius * math.sqrt(float((strategy.squares / scales).sum()))


def _gaussian(body: Polytope, weights: np.ndarray | None) -> Iterator[Strategy]:
    structure = body.generators.structure if weights is None else None
    kinds = _kinds(structure)
    if structure is not None and kinds == {"cells"}:
        yield residual(body, structure)
    elif structure is not None and kinds == {"product"} and len(structure.blocks) == 1:
        yield kronecker(body, structure, 2)
        # 16: cells of a product, whose differences take half a second: 36 take several
        if body.differences and body.generators.n_generators <= 16:  # theorem 7 is about added units
            yield optimal(body, None)
    elif structure is not None and len(structure.blocks) == 1:
        yield from _ordered(body, kinds)
    else:
        yield from _unstructured(body, weights)


def _ordered(body: Polytope, kinds: set[str]) -> Iterator[Strategy]:
    n = body.generators.n_generators
    if not body.differences and n <= MOST_CELLS:
        yield best_ordered(n, kinds == {"ranges"}, body.factor)
        return
    yield _answers(toeplitz(body), kinds, n)
    if n <= 64:  # cells of an ordered attribute whose differences are written out
        yield optimal(body, None) if kinds == {"prefix"} else optimal_ranges(body)


def _unstructured(body: Polytope, weights: np.ndarray | None) -> Iterator[Strategy]:
    if isinstance(body, BoxHull):
        yield segment_and_box(body, weights)
    if _has_many_corners(body):
        return
    if _is_written_out(body):
        try:
            yield optimal(body, weights)
            return
        except InvalidRequest:
            if not is_integer(body):
                raise
        columns = body.columns()
        yield levelled(body, columns, weights)
        yield carried_prefixes(body, columns)
    elif not body.generators.counting:
        _check_size(body)
    else:
        yield cells(body)


def _is_written_out(body: Polytope) -> bool:
    n = body.generators.n_generators
    return n <= _MOST_GENERATORS and n * body.ambient_dim <= MOST_DENSE


def _check_size(body: Polytope) -> None:
    n = body.generators.n_generators
    if not _is_written_out(body):
        raise InvalidRequest(
            f"Matrix noise is not available for this query, with {body.ambient_dim:,} answers and {n:,} cells.",
            f"Use Laplace or Identity, or at most {_MOST_GENERATORS:,} cells and {MOST_DENSE:,} answers times cells.",
        )


def _has_many_corners(body: Polytope) -> bool:
    return body.has_closed_form and body.generators.n_generators > 256  # corners of a box


def _kinds(structure: Structure | None) -> set[str]:
    return set() if structure is None else {block.kind for block in structure.blocks}


def _answers(prefixes: PrefixStrategy, kinds: set[str], n_cells: int) -> Strategy:
    return prefixes if kinds == {"prefix"} else RangeStrategy(prefixes, n_cells)


def _laplace(body: Polytope, weights: np.ndarray | None) -> Iterator[Strategy]:
    structure = body.generators.structure if weights is None else None
    kinds = _kinds(structure)
    n = body.generators.n_generators
    if _has_many_corners(body):
        raise InvalidRequest(
            "Laplace noise has no strategy for this query, whose sums a unit can change in too many ways.", "Use KNorm."
        )
    structured = kinds == {"cells"} or (structure is not None and len(structure.blocks) == 1)
    if structure is not None and structured:
        yield _structured_laplace(body, structure, kinds)
    else:
        _check_size(body)
    if not structured or (n <= MOST_COLUMNS and n * body.ambient_dim <= MOST_ENTRIES):
        try:
            yield p_identity(body, weights)
        except InvalidRequest:
            if not is_integer(body):
                raise
            yield laplace_blocks(body, body.columns(), weights)
        blocks = body.generators.structure
        if blocks is not None and len(blocks.blocks) > 1 and _kinds(blocks) != {"cells"}:
            with contextlib.suppress(InvalidRequest):  # a table with too many distinct columns
                yield by_block(body, blocks.heights, weights)


def _structured_laplace(body: Polytope, structure: Structure, kinds: set[str]) -> Strategy:
    if kinds == {"cells"}:
        return weighted(body, structure)
    if kinds == {"product"}:
        return kronecker(body, structure, 1)
    n = body.generators.n_generators
    return _answers(best_tree(n, kinds == {"ranges"}, body.coefficient_radius), kinds, n)


@dataclass(frozen=True, eq=False)
class CellStrategy(Strategy):
    """The strategy L = F, never written out; e_i − e_j has the length √2."""

    body: Polytope
    radius: float

    @property
    def n_noise(self) -> int:
        """The number of cells."""
        return self.body.generators.n_generators

    def apply(self, unit: np.ndarray) -> np.ndarray:
        """Return F·unit."""
        return self.body.generators.apply(unit)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared norms of the rows of F."""
        return self.body.generators.row_squares()

    def describe(self) -> str:
        """Return its description."""
        return f"the {self.n_noise:,} cells"


def cells(body: Polytope) -> CellStrategy:
    """Return the cell strategy of a counting query."""
    if not body.generators.counting or body.generators.n_generators > 10**6:  # cells at most
        raise InvalidRequest("Noise on the cells requires counts of rows in at most a million cells.", "Use Gaussian.")
    apart = body.differences and body.generators.n_generators > 1
    return CellStrategy(body, body.factor * (math.sqrt(2) if apart else 1.0) * UP)
