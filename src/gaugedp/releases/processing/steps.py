"""Processing steps by name, and consistent counts of nested areas."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaugedp.domain.nesting import Nesting, Recursion
from gaugedp.errors import UNTOUCHED, InvalidRequest, UnknownName
from gaugedp.queries import Query, Workload
from gaugedp.queries.columns import WorkloadColumns
from gaugedp.queries.maps import Identity
from gaugedp.queries.piece import Piece
from gaugedp.releases.processing.consistency import above_zero, answerable, consistent
from gaugedp.releases.processing.counts import processed_as_counts
from gaugedp.releases.processing.groups import groups
from gaugedp.releases.processing.rounding import base_of, can_round, rounded_together

MOST_CELLS = 10**5  # of the joint table: tens of seconds
_FLOORS = (0.3, 0.03, 0.003)  # relative deviations of held answers, decreasing
_UNMOVED = 1e-3  # share of a deviation: answers that move by less are not changed
WORDS = {
    "consistent": "made consistent by least squares, so that answers about the same rows add up",
    "non_negative": "counts below 0 set to 0",
    "rounded": "counts rounded to {multiples}",
}
STEPS = tuple(WORDS)
_JOINTLY = "fitted by one table without negative cells, so that answers add up and no count is below 0"
_TOGETHER = "rounded to {multiples} that add up"
_ALONE = {"non_negative": "set to 0", "rounded": "rounded"}
_UNDONE = "Totals and their parts add up before each count is {done}, and not exactly afterwards."


def solvable(query: Workload) -> bool:
    """Return True for moderately large tables of counts, sums and means."""
    if not all(isinstance(piece.cells, Identity) for piece in query.pieces):
        return False
    return query.operator.n_generators <= MOST_CELLS


def without_negatives(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return answers F·x near to `values`, with x ≥ 0.

    F is the linear map of the query; the shape is (n_released,). Starting from the consistent answers, level by level,
    first the total (requested or not), then the tables of one attribute, of two, and so on, are moved to the nearest
    ones, by squares over variances, that are attained by a table x ≥ 0 with the tables of the previous levels. So noise
    in many empty cells, which can only push them upward, does not become people.

    Each level is a convex problem, solved by L-BFGS-B with a penalty. Wherever that stops, the answers come from one
    table x ≥ 0 (one number for each joint cell and choice of the bounded columns' ends): they add up to rounding,
    counts are at least 0, and means lie within bounds.
    """
    nearest = consistent(query, values, deviations)
    rows = np.concatenate([np.full(part.cells.n_released, float(part.step) * part.reach) for part in query.pieces])
    deviations = np.maximum(deviations, 1e-3 * rows)  # integers without noise have none
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
    are_counts |= processed_as_counts(query)
    is_near = (np.abs(values_of_table - nearest) <= _UNMOVED * deviations).all()
    # rounded, so that integers look like integers
    return nearest if is_near and (nearest[are_counts] >= 0).all() else np.round(values_of_table, 10)


@dataclass(frozen=True)
class _Table:
    """Target answers of a piece, in steps; deviation per row's contribution."""

    piece: Piece
    values: np.ndarray
    deviation: float

    @property
    def level(self) -> int:
        return len(self.piece.attributes)


def _tables(query: Workload, nearest: np.ndarray, deviations: np.ndarray) -> Iterator[_Table]:
    totals = dict[tuple[object, ...], _Table]()
    start = 0
    for piece in query.pieces:
        stop, step = start + piece.cells.n_released, float(piece.step)
        values = nearest[start:stop] / step
        deviation = float(deviations[start:stop].max()) / (step * piece.reach)
        yield _Table(piece, values, deviation)
        whole = replace(piece, attributes=(), cells=Identity(1))
        total = _Table(whole, np.array([values.sum()]), deviation * math.sqrt(len(values)))
        kind = piece.choice, piece.centred, piece.weight
        if kind not in totals or total.deviation < totals[kind].deviation:
            totals[kind] = total
        start = stop
    yield from totals.values()


def _weights(tables: list[_Table], level: int, floor: float) -> np.ndarray:
    firm = floor * (max(part.deviation for part in tables if part.level == level) or 1.0)

    def weight(part: _Table) -> float:
        deviation = max(firm, part.deviation) if part.level == level else firm
        return 0.0 if part.level > level else 1 / (part.piece.reach * deviation)

    return np.concatenate([np.full(len(part.values), weight(part)) for part in tables])


def _descended(operator: WorkloadColumns, weights: np.ndarray, aims: np.ndarray, start: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    # 1e-10: of the sum of squares in one step, relative to itself
    options = {"maxiter": 3000, "maxfun": 2 * 3000, "ftol": 1e-10, "gtol": 0}
    facts, bounds = (operator, weights, aims), [(0, None)] * len(start)
    done = minimize(_half_squares, start, facts, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return np.asarray(done.x)


def _polished(operator: WorkloadColumns, tables: list[_Table], table: np.ndarray) -> np.ndarray:
    """Restore the counts that were not moved, by proportional fitting."""
    aims = np.concatenate([part.values for part in tables])
    far, ends = np.abs(operator.apply(table) - aims), np.cumsum([len(part.values) for part in tables])
    places = [slice(end - len(part.values), end) for end, part in zip(ends, tables, strict=True)]
    stay = [
        place
        for place, part in zip(places, tables, strict=True)
        if part.piece.column is None
        and part.piece.counts
        and far[place].max() <= _UNMOVED * part.deviation
        and part.values.min() > 2 * far[place].max()
    ]
    for place in stay * 10:
        ratios = np.zeros(len(aims))
        ratios[place] = aims[place] / operator.apply(table)[place]
        table = table * operator.adjoint(ratios)
    return table


def _half_squares(
    table: np.ndarray, operator: WorkloadColumns, weights: np.ndarray, aims: np.ndarray
) -> tuple[float, np.ndarray]:
    residual = weights * (operator.apply(table) - aims)
    return 0.5 * float(residual @ residual), operator.adjoint(weights * residual)


def may_be_joint(steps: Sequence[str]) -> bool:
    """Return True if both joinable steps are present."""
    return {"consistent", "non_negative"} <= set(steps)


def how(steps: Sequence[str], query: Query | None, chosen: np.ndarray | None = None) -> dict[str, Any]:
    """Return facts about which steps are solved together, for the released numbers that are `chosen` if not for all."""
    parts = list(groups(query)) if "consistent" in steps else []
    parts = [part for part in parts if chosen is None or chosen[part.places].any()]
    facts = {"jointly": may_be_joint(steps) and bool(parts) and all(_is_joint(part.query) for part in parts)}
    if parts and all(part.query.operator.nesting is not None for part in parts):
        facts["nested"] = True
    if base_of(steps) and parts and all(may_add_up(part.query) for part in parts):
        facts["together"] = True
    return facts


def may_add_up(query: Workload) -> bool:
    """Return True if rounded counts of the query can add up."""
    return query.operator.nesting is not None or can_round(query)


def adds_up(steps: Sequence[str], query: Workload) -> bool:
    """Return True if the answers of a group add up exactly after its steps."""
    is_joint = "non_negative" not in steps or _is_joint(query)
    return "consistent" in steps and is_joint and (not base_of(steps) or may_add_up(query))


def _is_joint(query: Workload) -> bool:
    return solvable(query) or query.operator.nesting is not None


def words(processing: Mapping[str, Any]) -> str:
    """Describe the processing of a release, from its facts."""
    if "parts" in processing:
        return "; ".join(f"in table {_numbers(part['tables'])}: {words(part)}" for part in processing["parts"])
    adds_up = processing.get("nested") or processing.get("together")
    known = WORDS | ({"rounded": _TOGETHER} if adds_up else {})
    base = base_of(processing["steps"])
    multiples = "integers" if base <= 1 else f"multiples of {base}"
    sentences = [known[step.partition(" ")[0]].format(multiples=multiples) for step in processing["steps"]]
    return "; then ".join([_JOINTLY, *sentences[2:]] if processing.get("jointly") else sentences)


def _numbers(tables: Sequence[int]) -> str:
    *rest, last = map(str, tables)
    return f"{', '.join(rest)} and {last}" if rest else last


def remark(processing: Mapping[str, Any]) -> str:
    """Describe which steps undo one another, or return ""."""
    if "parts" in processing:
        return " ".join(dict.fromkeys(filter(None, map(remark, processing["parts"]))))
    steps = {step.partition(" ")[0] for step in processing.get("steps", ())}
    undone = [] if processing.get("nested") else [step for step in _ALONE if step in steps]
    if processing.get("jointly"):
        undone = [step for step in undone if step != "non_negative"]
    if processing.get("together"):
        undone = [step for step in undone if step != "rounded"]
    done = " or ".join(_ALONE[step] for step in undone)
    return _UNDONE.format(done=done) if done and "consistent" in steps else ""


def check(steps: str | Sequence[str], query: Query | None, undone: str = UNTOUCHED) -> tuple[str, ...]:
    """Return the steps without repetition, in the order of STEPS.

    An unknown name, and "consistent" for a query (if given) to which it does not apply, are refused.
    """
    requested = (steps,) if isinstance(steps, str) else tuple(steps)
    for name in requested:
        if name not in STEPS and not (isinstance(name, str) and base_of([name])):
            raise UnknownName.among("processing step", str(name), [*STEPS, "rounded to 5"], undone)
    if len(bases := {name for name in requested if base_of([name])}) > 1:
        raise InvalidRequest(
            f"Counts cannot be both {' and '.join(sorted(bases))}.", "Pass only one of these steps.", undone
        )
    if "consistent" in requested and query is not None:
        answerable(query, undone)
    order = [*STEPS[:2], *bases]
    return tuple(name for name in order if name in requested)


def process(
    steps: tuple[str, ...], values: np.ndarray, are_counts: np.ndarray, query: Query | None, deviations: np.ndarray
) -> np.ndarray:
    """Return the released values (n_released,) after the checked steps.

    Theorem. Every step is a function of the released values and of public facts, so the guarantee does not change
    (post-processing). Only "consistent" needs the query, and the deviations of the noise. Answers that are not linear,
    such as quantiles, stay as they are.
    """
    values, base = values.astype(float), base_of(steps)
    for part in groups(query) if "consistent" in steps else ():
        values[part.places] = _consistent(part.query, steps, values[part.places], deviations[part.places])
    if "non_negative" in steps:
        values = np.where(are_counts, np.maximum(values, 0.0), values)
    if base:
        values = np.where(are_counts, base * np.rint(values / base), values)
    return values + 0.0  # no −0


def _consistent(query: Workload, steps: Sequence[str], values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    if (nesting := query.operator.nesting) is not None:
        return added_up(nesting, steps, values, above_zero(deviations))
    is_joint = may_be_joint(steps) and solvable(query)
    values = (without_negatives if is_joint else consistent)(query, values, deviations)
    base = base_of(steps)
    return rounded_together(query, values, base, "non_negative" in steps) if base and can_round(query) else values


def added_up(nesting: Nesting, steps: Sequence[str], values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return counts near to `values` that add up after `steps`.

    "consistent" gives the least squares for noise with these `deviations`; "non_negative", from the coarsest level
    down, the nearest counts of at least 0 that add up to those above; "rounded", multiples of the base, each less than
    a base away. All levels are sums over the finest; the shape is (n_released,).
    """
    recursion = Recursion.of(nesting, nesting.split(deviations**2))
    counts = nesting.split(values)
    finest = _without_negatives(recursion, counts) if "non_negative" in steps else recursion.estimates(counts)[-1]
    base, tables = base_of(steps), nesting.added(finest)
    return nesting.joined(_whole(nesting, tables, base) if base else tables)


def _without_negatives(recursion: Recursion, counts: list[np.ndarray]) -> np.ndarray:
    """Return the finest counts x ≥ 0, given upper levels."""
    estimates, _ = recursion.known(counts)
    fixed = np.maximum(estimates[0], 0.0)
    for level, parts in enumerate(estimates[1:]):
        fixed = _shared_out(recursion.nesting, level, fixed, parts, recursion.spreads[level + 1])
    return fixed


def _shared_out(
    nesting: Nesting, level: int, totals: np.ndarray, target: np.ndarray, spreads: np.ndarray
) -> np.ndarray:
    """Return parts x ≥ 0 that sum to `totals` ≥ 0.

    They minimise Σ (x − target)²/spread. Theorem. x = max(0, target − spread·t), with one number t per area
    (docs/theory/nesting.md). Parts that fall below 0 are set to 0 and the others are divided again, until none falls: t
    only grows, so that those at 0 stay there.
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


def _whole(nesting: Nesting, tables: list[np.ndarray], base: int) -> list[np.ndarray]:
    """Round counts to multiples of `base` so that the parts sum to their area.

    The parts of an area with the largest fractions are rounded up, as many as needed. That number is never negative,
    and no integer part is rounded up: floats of one sum preserve the order of the numbers that they are sums of.
    """
    tables = [table / base for table in tables]
    whole = np.rint(tables[0])
    for level, parts in enumerate(tables[1:]):
        down = np.floor(parts)
        n_up = whole - nesting.total(down, level)
        whole = down + (_ranks(nesting, level, parts - down) < nesting.handed(n_up, level))
    return nesting.added(base * whole)


def _ranks(nesting: Nesting, level: int, fractions: np.ndarray) -> np.ndarray:
    """Return each part's rank within its area, largest fraction first."""
    starts = np.array(nesting.starts[level])
    area = nesting.handed(np.arange(len(starts))[:, None], level)
    order = np.argsort(2.0 * area + 1 - fractions, axis=0, kind="stable")
    ranks = np.empty(fractions.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(len(fractions))[:, None] - nesting.handed(starts[:, None], level), axis=0)
    return ranks
