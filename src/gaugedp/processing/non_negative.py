"""Answers that a table without negative cells has: they add up, no count is below 0, and totals stay where they are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gaugedp.processing.consistency import consistent
from gaugedp.queries.base import Query
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.linear import Workload
from gaugedp.queries.maps import Identity
from gaugedp.queries.piece import Piece

MOST_CELLS = 10**5  # of the joint table: some tens of seconds
_FLOORS = (0.3, 0.03, 0.003)  # of deviations, relative to the largest: what is held is held ever more firmly
_MOST_STEPS = 3000
_TOLERANCE = 1e-10  # of the sum of squares in one step, relative to itself
_SWEEPS, _DIGITS = 10, 10  # of polishing; after the point, so that whole numbers look whole
_NO_MOVE = 1e-3  # of a deviation: answers that would be moved by no more are left as they are


def solvable(query: Query | None) -> bool:
    """Return whether `without_negatives` is for this question: tables of counts, sums and means, not too large."""
    workload = None if query is None else query.linear
    if workload is None or not all(isinstance(piece.cells, Identity) for piece in workload.pieces):
        return False
    return workload.operator.n_generators <= MOST_CELLS


def without_negatives(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return answers F·x of a table x ≥ 0 near to `values`, F the linear map of the question; shape (n_released,).

    Level by level: of the consistent answers, first the total (asked for or not), then the tables of one attribute, of
    two, and so on, are moved to the nearest ones, by squares over variances, that a table x ≥ 0 with the tables of
    the levels before has. So noise in many empty cells, which has nowhere to go but up, does not become people.

    Each level is a convex problem, solved by L-BFGS-B with a penalty. Wherever that stops, the answers come from one
    table x ≥ 0 (one number for each joint cell and choice of the bounded columns' ends): they add up to rounding,
    counts are at least 0, and means lie within bounds.
    """
    nearest = consistent(query, values, deviations)
    tables = sorted(_tables(query, nearest, deviations), key=lambda part: part.level)
    operator = WorkloadColumns.of(query.domain, query.choices, [part.piece for part in tables])
    aims, table = np.concatenate([part.values for part in tables]), np.zeros(operator.n_generators)
    for level in sorted({part.level for part in tables}):
        for floor in _FLOORS:
            table = _descended(operator, _weights(tables, level, floor), aims, table)
        held = np.concatenate([np.full(len(part.values), part.level <= level) for part in tables])
        aims = np.where(held, operator.apply(table), aims)
    table = _polished(operator, tables, table)
    values_of_table = query.step_sizes * query.operator.apply(table)
    are_counts = np.concatenate([np.full(piece.cells.n_released, piece.counts) for piece in query.pieces])
    is_near = (np.abs(values_of_table - nearest) <= _NO_MOVE * deviations).all()
    return nearest if is_near and (nearest[are_counts] >= 0).all() else np.round(values_of_table, _DIGITS)


@dataclass(frozen=True)
class _Table:
    """Wanted answers of a piece in its steps, and about their deviation, in what a row can add."""

    piece: Piece
    values: np.ndarray
    deviation: float

    @property
    def level(self) -> int:
        return len(self.piece.attributes)


def _tables(query: Workload, nearest: np.ndarray, deviations: np.ndarray) -> Iterator[_Table]:
    """Yield the tables of the question, and for each kind of them the total, whose noise is the least known."""
    totals = dict[tuple[str | None, bool], _Table]()
    start = 0
    for piece in query.pieces:
        stop, step = start + piece.cells.n_released, float(piece.step)
        values = nearest[start:stop] / step
        deviation = float(deviations[start:stop].max()) / (step * piece.reach)
        yield _Table(piece, values, deviation)
        whole = replace(piece, attributes=(), cells=Identity(1))
        total = _Table(whole, np.array([values.sum()]), deviation * math.sqrt(len(values)))
        kind = piece.choice, piece.centred
        if kind not in totals or total.deviation < totals[kind].deviation:
            totals[kind] = total
        start = stop
    yield from totals.values()


def _weights(tables: list[_Table], level: int, floor: float) -> np.ndarray:
    """Return the roots of what squares weigh: tables of the level by their noise, those before it are held."""
    firm = floor * (max(part.deviation for part in tables if part.level == level) or 1.0)

    def weight(part: _Table) -> float:
        deviation = max(firm, part.deviation) if part.level == level else firm
        return 0.0 if part.level > level else 1 / (part.piece.reach * deviation)

    return np.concatenate([np.full(len(part.values), weight(part)) for part in tables])


def _descended(operator: WorkloadColumns, weights: np.ndarray, aims: np.ndarray, start: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    options = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": _TOLERANCE, "gtol": 0}
    facts, bounds = (operator, weights, aims), [(0, None)] * len(start)
    done = minimize(_half_squares, start, facts, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return np.asarray(done.x)


def _polished(operator: WorkloadColumns, tables: list[_Table], table: np.ndarray) -> np.ndarray:
    """Return the table with the very counts that were not moved, by iterative proportional fitting: descent is near."""
    aims = np.concatenate([part.values for part in tables])
    far, ends = np.abs(operator.apply(table) - aims), np.cumsum([len(part.values) for part in tables])
    places = [slice(end - len(part.values), end) for end, part in zip(ends, tables, strict=True)]
    stay = [
        place
        for place, part in zip(places, tables, strict=True)
        if part.piece.column is None
        and far[place].max() <= _NO_MOVE * part.deviation
        and part.values.min() > 2 * far[place].max()
    ]
    for place in stay * _SWEEPS:
        ratios = np.zeros(len(aims))
        ratios[place] = aims[place] / operator.apply(table)[place]
        table = table * operator.adjoint(ratios)
    return table


def _half_squares(
    table: np.ndarray, operator: WorkloadColumns, weights: np.ndarray, aims: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return half the weighted squares of what is left of the wanted answers, and their gradient."""
    residual = weights * (operator.apply(table) - aims)
    return 0.5 * float(residual @ residual), operator.adjoint(weights * residual)
