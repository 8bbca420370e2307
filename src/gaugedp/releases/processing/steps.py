"""The steps of processing by name, the order in which they are done, and counts of nested areas that add up."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaugedp.domain.nesting import Nesting, Recursion
from gaugedp.errors import UNTOUCHED, UnknownName
from gaugedp.queries.base import Query
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.linear import Workload, as_workload
from gaugedp.queries.maps import Identity
from gaugedp.queries.piece import Piece
from gaugedp.releases.processing.consistency import above_zero, answerable, consistent

MOST_CELLS = 10**5  # of the joint table: some tens of seconds
_FLOORS = (0.3, 0.03, 0.003)  # of deviations, relative to the largest: what is held is held ever more firmly
_MOST_STEPS = 3000
_SWEEPS, _DIGITS = 10, 10  # of polishing; after the point, so that whole numbers look whole
_NO_MOVE = 1e-3  # of a deviation: answers that would be moved by no more are left as they are
WORDS = {
    "consistent": "made consistent by least squares, so that answers about the same rows add up",
    "non_negative": "counts below 0 set to 0",
    "rounded": "counts rounded to whole numbers",
}
STEPS = tuple(WORDS)
_JOINTLY = "moved to near ones of one table without negative cells, so that they add up and no count is below 0"
_TOGETHER = "rounded to whole numbers that add up"
_ALONE = {"non_negative": "set to 0", "rounded": "rounded"}
_UNDONE = "Totals and their parts add up before counts are {done}, each alone, and not quite after it."


def solvable(query: Query | None) -> bool:
    """Return whether `without_negatives` is for this question: tables of counts, sums and means, not too large."""
    workload = as_workload(query)
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
    values_of_table = query.steps.sizes * query.operator.apply(table)
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

    # 1e-10: of the sum of squares in one step, relative to itself
    options = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-10, "gtol": 0}
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


def may_be_joint(steps: Sequence[str]) -> bool:
    """Return whether both steps are there that can be done as one."""
    return {"consistent", "non_negative"} <= set(steps)


def jointly(steps: Sequence[str], query: Query | None) -> bool:
    """Return whether "consistent" and "non_negative" are one step, so that the answers are both."""
    return may_be_joint(steps) and (solvable(query) or _nesting(query) is not None)


def how(steps: Sequence[str], query: Query | None) -> dict[str, Any]:
    """Return which steps are done as one, as a release's facts say it: of `nested` areas all are."""
    is_nested = "consistent" in steps and _nesting(query) is not None
    return {"jointly": jointly(steps, query), **({"nested": True} if is_nested else {})}


def _nesting(query: Query | None) -> Nesting | None:
    workload = as_workload(query)
    return None if workload is None else workload.operator.nesting


def words(processing: Mapping[str, Any]) -> str:
    """Return what was done to a release, from its facts."""
    together = {"rounded": _TOGETHER} if processing.get("nested") else {}
    sentences = [(WORDS | together)[step] for step in processing["steps"]]
    return "; then ".join([_JOINTLY, *sentences[2:]] if processing.get("jointly") else sentences)


def remark(processing: Mapping[str, Any]) -> str:
    """Return what the steps undo of one another, as a sentence from a release's facts; empty where they do not."""
    steps = set() if processing.get("nested") else set(processing.get("steps", ()))
    if processing.get("jointly"):
        steps.discard("non_negative")
    done = [word for step, word in _ALONE.items() if step in steps]
    return _UNDONE.format(done=" or ".join(done)) if done and "consistent" in steps else ""


def check(steps: str | Sequence[str], query: Query | None, undone: str = UNTOUCHED) -> tuple[str, ...]:
    """Return the steps in the order in which they are done: that of STEPS, each once.

    Refused: a name that is none of STEPS; "consistent" for a question (where one is given) that it is not for.
    """
    requested = (steps,) if isinstance(steps, str) else tuple(steps)
    for name in requested:
        if name not in STEPS:
            raise UnknownName.among("processing step", name, STEPS, undone)
    if "consistent" in requested and query is not None:
        answerable(query, undone)
    return tuple(name for name in STEPS if name in requested)


def process(
    steps: tuple[str, ...], values: np.ndarray, are_counts: np.ndarray, query: Query | None, deviations: np.ndarray
) -> np.ndarray:
    """Return the released values (n_released,), processed by steps that `check` returned; the units stay.

    Theorem. Every step is a function of the released values and of public facts, so the guarantee stays what it was
    (post-processing). Only "consistent" needs the question, and the deviations of the noise.
    """
    workload = as_workload(query)
    if workload is not None and "consistent" in steps:
        if (nesting := workload.operator.nesting) is not None:
            return added_up(nesting, steps, values, above_zero(deviations)) + 0.0
        values = (without_negatives if jointly(steps, workload) else consistent)(workload, values, deviations)
    if "non_negative" in steps:
        values = np.where(are_counts, np.maximum(values, 0.0), values)
    if "rounded" in steps:
        values = np.where(are_counts, np.rint(values), values)
    return values + 0.0  # no −0


def added_up(nesting: Nesting, steps: Sequence[str], values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return counts near to `values` that add up after all `steps`, shape (n_released,).

    "consistent": the least squares of noise with these `deviations`. "non_negative": of these, from the coarsest
    level down, the nearest counts of at least 0 that add up to those above. "rounded": whole numbers, each less than 1
    from what it was before. All levels are sums over the finest.
    """
    recursion = Recursion.of(nesting, nesting.split(deviations**2))
    counts = nesting.split(values)
    finest = _without_negatives(recursion, counts) if "non_negative" in steps else recursion.estimates(counts)[-1]
    tables = nesting.added(finest)
    return nesting.joined(_whole(nesting, tables) if "rounded" in steps else tables)


def _without_negatives(recursion: Recursion, counts: list[np.ndarray]) -> np.ndarray:
    """Return the finest counts x ≥ 0: a level's are the nearest to what is known of it, with the level above held."""
    estimates, _ = recursion.known(counts)
    fixed = np.maximum(estimates[0], 0.0)
    for level, parts in enumerate(estimates[1:]):
        fixed = _shared_out(recursion.nesting, level, fixed, parts, recursion.spreads[level + 1])
    return fixed


def _shared_out(
    nesting: Nesting, level: int, totals: np.ndarray, target: np.ndarray, spreads: np.ndarray
) -> np.ndarray:
    """Return x ≥ 0 of the parts of a level's areas that sum to `totals` ≥ 0, Σ (x − target)²/spread least.

    Theorem. x = max(0, target − spread·t), t one number for an area (docs/theory/nesting.md). Parts that fall below 0
    are set to 0 and the others share out anew, until none falls: t only grows, so that those at 0 stay there.
    """
    is_free = np.ones(target.shape, dtype=bool)
    while True:
        missing = totals - nesting.total(np.where(is_free, target, 0.0), level)
        room = nesting.total(np.where(is_free, spreads, 0.0), level)
        rate = np.divide(missing, room, out=np.zeros_like(missing), where=room > 0)
        shares = np.where(is_free, target + spreads * nesting.handed(rate, level), 0.0)
        falls = shares < 0
        if not falls.any():
            return shares
        is_free &= ~falls


def _whole(nesting: Nesting, tables: list[np.ndarray]) -> list[np.ndarray]:
    """Return whole counts that add up: the coarsest are rounded, and parts up or down to sum to their area's.

    Of an area's parts so many are rounded up as it takes, those of the largest fractions. It takes none less than 0
    and none that is whole already: floats of one sum keep the order of what they are sums of.
    """
    whole = np.rint(tables[0])
    for level, parts in enumerate(tables[1:]):
        down = np.floor(parts)
        n_up = whole - nesting.total(down, level)
        whole = down + (_ranks(nesting, level, parts - down) < nesting.handed(n_up, level))
    return nesting.added(whole)


def _ranks(nesting: Nesting, level: int, fractions: np.ndarray) -> np.ndarray:
    """Return the place of each part among those of its area, the largest fraction first: 0, 1, …"""
    starts = np.array(nesting.starts[level])
    area = nesting.handed(np.arange(len(starts))[:, None], level)
    order = np.argsort(2.0 * area + 1 - fractions, axis=0, kind="stable")
    ranks = np.empty(fractions.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(len(fractions))[:, None] - nesting.handed(starts[:, None], level), axis=0)
    return ranks
