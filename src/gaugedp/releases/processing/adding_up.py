"""Agreement: which tables of a release add up with each other after their steps."""

from collections.abc import Sequence
from typing import Any

from gaugedp.queries.base import Query
from gaugedp.queries.outline import COUNT, SUM
from gaugedp.releases.processing.groups import groups
from gaugedp.releases.processing.rounding import base_of
from gaugedp.releases.processing.steps import adds_up
from gaugedp.statistics.base import Statistic


def agreement(query: Query, steps: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the `sets` of parts that add up with each other, and the reasons `because` of which others do not.

    `steps` are those of each part. A part is the list of the texts of its terms. The reasons are "rows", which are not
    the same, and "steps"; there are none if no part is consistent.
    """
    parts = [number for number, part in enumerate(query.parts) if not any(one.of_sampling for one in part.estimates)]
    sets, reasons = {number: number for number in parts}, []
    counted = {number for number in parts if _is_counted(query.parts[number])}
    about_rows = [(group, counted.intersection(group.parts)) for group in groups(query)]
    for group, _ in about_rows:
        for names in {tuple(steps[number]) for number in group.parts}:
            alike = [number for number in group.parts if tuple(steps[number]) == names]
            sets |= dict.fromkeys(alike, alike[0]) if adds_up(names, group.query) else {}
    if any("consistent" in steps[number] for number in counted):
        has_apart = any(len({sets[number] for number in own}) > 1 for _, own in about_rows)
        is_apart = sum(bool(own) for _, own in about_rows) > 1
        reasons = ["rows"] * is_apart + ["steps"] * has_apart
    texts = {number: [outline.text for outline in query.parts[number].outlines] for number in parts}
    joined = [[texts[number] for number in parts if sets[number] == first] for first in dict.fromkeys(sets.values())]
    return {"sets": joined, "because": reasons}


def effective(steps: Sequence[str], estimates: Sequence[Statistic]) -> tuple[str, ...]:
    """Return the steps that change one of the estimates: only counts are rounded, and quantiles stay as they are."""
    if all(estimate.ends for estimate in estimates):
        return ()
    has_counts = any(estimate.is_plain and estimate.has_counts for estimate in estimates)
    return tuple(step for step in steps if has_counts or not base_of([step]))


def _is_counted(part: Query) -> bool:
    return any(outline.measure in (COUNT, SUM) for outline in part.outlines)
