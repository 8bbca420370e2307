"""The steps of processing by name, the order in which they are done, and counts of nested areas that add up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaugedp.errors import UNTOUCHED, UnknownName
from gaugedp.nesting import Nesting, Recursion
from gaugedp.processing.consistency import above_zero, answerable, consistent
from gaugedp.processing.non_negative import solvable, without_negatives
from gaugedp.queries.base import Query

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
    workload = None if query is None else query.linear
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
    workload = None if query is None else query.linear
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
