"""The steps of processing by name, and the order in which they are done."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gaugedp.errors import UNTOUCHED, UnknownName
from gaugedp.nesting import Nesting
from gaugedp.processing.consistency import above_zero, answerable, consistent
from gaugedp.processing.nested import added_up
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
