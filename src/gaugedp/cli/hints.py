"""Hints about a release, from what was released and the public domain alone: arithmetic that costs nothing."""

from collections.abc import Iterator

import numpy as np

from gaugedp.answer import Release
from gaugedp.attributes import BoundedColumn
from gaugedp.cli.empty_categories import about_counts
from gaugedp.queries.base import Query

_SLACK = 1e-9  # of a range: what rounding may take from an interval that is the whole of it
_NEAR, _SHORT = 0.01, 0.1  # of a range: an answer so near to a bound lies at it, where its interval is so short


def hints(answer: Release, question: Query) -> Iterator[str]:
    """Yield a sentence for what says nothing or lies at a bound, and for categories that may have no rows.

    Means and quantiles are judged by the intervals that are shown. Counts are by those that hold all at once: of many
    cells whose counts are 0, some have single intervals without it.
    """
    shown = np.array([answer.raw, *answer.interval(0.95)]) if question.bounded else np.zeros((3, 0))
    for part in question.bounded:
        facts = question.domain.column(part.column)
        yield from _about_range(part.name, facts, shown[:, part.answers])
        if part.middle is not None:
            yield from _about_bounds(part.middle_name, part.column, facts, shown[:, part.middle])
    if question.linear is not None:
        sides = np.array(answer.interval(0.95, simultaneous=True))
        ends = np.cumsum([estimate.n_answers for estimate in answer.estimates])[:-1]
        yield from about_counts(question.linear, np.split(sides, ends, axis=1))


def _about_range(name: str, facts: BoundedColumn, numbers: np.ndarray) -> Iterator[str]:
    """Say where intervals are the whole range; `numbers` (3, n) are answers, lower and upper ends."""
    lengths = numbers[2] - numbers[1]
    whole = int(np.sum(lengths >= float(facts.high - facts.low) * (1 - _SLACK)))
    if whole == len(lengths):
        yield (
            f"The interval of {name} is the whole range: this answer carries no information. "
            "Too few rows for this epsilon, or values that are not numbers with a decimal point."
        )
    elif whole:
        yield f"The interval of {name} is the whole range in {whole} of {len(lengths)} cells: no information there."


def _about_bounds(name: str, column: str, facts: BoundedColumn, numbers: np.ndarray) -> Iterator[str]:
    """Say where answers lie at a bound; `numbers` (3, n) are answers, lower and upper ends."""
    values, low, high = numbers
    length = float(facts.high - facts.low)
    for side, bound in (("lower", float(facts.low)), ("upper", float(facts.high))):
        at = int(np.sum((np.abs(values - bound) <= _NEAR * length) & (high - low < _SHORT * length)))
        where = "" if at == len(values) else f" in {at} of {len(values)} cells"
        if at:
            yield (
                f"{name} lies at the {side} bound of {column!r}{where}: most values may be clipped to it. "
                "Check the units of the bounds."
            )
